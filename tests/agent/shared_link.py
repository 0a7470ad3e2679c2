"""A link that jobs share: every byte asked for takes a millisecond of it, whoever asks, one after the other."""

from __future__ import annotations

import selectors
import socket
import threading
import time

__all__ = ["SharedLink"]


class SharedLink:
    """A Unix socket server in a thread. Bytes that wait are served in turn: the link is shared fairly."""

    def __init__(self, path: str, chunk_s: float = 0.001) -> None:
        self.path = path
        self.chunk_s = chunk_s
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(8)
        self._stop = False
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> SharedLink:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop = True
        self._thread.join(5)
        self._listener.close()

    def _serve(self) -> None:
        with selectors.DefaultSelector() as ready:
            ready.register(self._listener, selectors.EVENT_READ)
            free_s = time.monotonic()
            while not self._stop:
                for key, _ in ready.select(0.05):
                    peer = key.fileobj
                    assert isinstance(peer, socket.socket)
                    if peer is self._listener:
                        ready.register(peer.accept()[0], selectors.EVENT_READ)
                        continue
                    if not peer.recv(1):
                        ready.unregister(peer)
                        peer.close()
                        continue
                    # An idle link saves nothing up, but what the thread oversleeps is made good.
                    free_s = max(free_s, time.monotonic() - 5 * self.chunk_s) + self.chunk_s
                    time.sleep(max(0.0, free_s - time.monotonic()))
                    peer.sendall(b"x")
