"""The store of a job of plain processes: what the agent needs of ``torch.distributed``'s, kept by rank 0."""

from __future__ import annotations

import json
import socket
import socketserver
import threading
import time
from typing import Any

__all__ = ["ClientStore", "ServerStore"]


class _Values:
    def __init__(self) -> None:
        self._values: dict[str, str] = {}
        self._lock = threading.Lock()

    def ask(self, what: str, key: str, value: str) -> Any:
        with self._lock:
            if what == "set":
                self._values[key] = value
            elif what == "delete":
                return self._values.pop(key, None) is not None
            elif what == "check":
                return key in self._values
            return self._values.get(key)


class _Store:
    def _ask(self, what: str, key: str, value: str = "") -> Any:
        raise NotImplementedError

    def set(self, key: str, value: str) -> None:
        """Keep a value."""
        self._ask("set", key, value)

    def get(self, key: str) -> bytes:
        """A value that is there."""
        return str(self._ask("get", key)).encode()

    def check(self, keys: list[str]) -> bool:
        """Whether all are there."""
        return all(self._ask("check", key) for key in keys)

    def delete_key(self, key: str) -> bool:
        """Whether it was there."""
        return bool(self._ask("delete", key))


class ServerStore(_Store):
    """Rank 0's: serves the others for as long as the process lives."""

    def __init__(self, address: str, port: int) -> None:
        self._values = _Values()
        values = self._values

        class Answer(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                for line in self.rfile:
                    self.wfile.write(json.dumps(values.ask(*json.loads(line))).encode() + b"\n")

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True

        self._server = Server((address, port), Answer)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _ask(self, what: str, key: str, value: str = "") -> Any:
        return self._values.ask(what, key, value)

    def close(self) -> None:
        """Serve nobody any more."""
        self._server.shutdown()
        self._server.server_close()

    def clone(self) -> ServerStore:
        """Itself: any thread may ask."""
        return self


class ClientStore(_Store):
    """Another rank's: a connection to rank 0, for one thread."""

    def __init__(self, address: str, port: int, patience_s: float = 20.0) -> None:
        self._where = (address, port)
        end_s = time.monotonic() + patience_s
        while True:
            try:
                self._socket = socket.create_connection(self._where, timeout=patience_s)
                self._file = self._socket.makefile("rwb", buffering=0)
                return
            except ConnectionError:
                if time.monotonic() > end_s:
                    raise
                time.sleep(0.05)

    def _ask(self, what: str, key: str, value: str = "") -> Any:
        self._file.write(json.dumps([what, key, value]).encode() + b"\n")
        line = self._file.readline()
        if not line:
            raise ConnectionError("rank 0 is gone")
        return json.loads(line)

    def clone(self) -> ClientStore:
        """Another connection."""
        return ClientStore(*self._where)

    def close(self) -> None:
        """Let go of rank 0."""
        self._file.close()
        self._socket.close()
