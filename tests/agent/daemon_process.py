"""A real daemon in a process of its own, what talks to it, and what it says of itself."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import daemon_under_test
from forked_daemon import ForkedDaemon

from cassini_agent import cli

TOKEN = "a-token-that-may-do-all-there-is"
READ_TOKEN = "a-token-that-may-look-and-no-more"
SECOND_NS = 1_000_000_000
MS_NS = 1_000_000

PATIENCE_S = 60.0
"""With what comes at once, unless the machine is busy."""


class Answer(NamedTuple):
    status: int
    body: Any


def schedule_of(job: str, version: int = 1, **changes: Any) -> dict[str, Any]:
    now_ns = time.time_ns()
    return {
        "format": "cassini-schedule/1",
        "job": job,
        "component": "c0",
        "version": version,
        "epoch_ns": now_ns,
        "pace_ns": 200 * MS_NS,
        "shift_ns": 30 * MS_NS,
        "iteration_ns": 195 * MS_NS,
        "hold_ns": 8 * MS_NS,
        "slack_ns": 9 * MS_NS,
        "gain_ns": 5 * MS_NS,
        "expires_ns": now_ns + 600 * SECOND_NS,
        **changes,
    }


def iterations_of(first: int = 0, many: int = 4, **changes: Any) -> dict[str, Any]:
    return {
        "type": "iterations",
        "first": first,
        "start_ns": [1000 + i for i in range(many)],
        "natural_ns": [195 * MS_NS + i for i in range(many)],
        "delay_ns": [0] * many,
        "error_ns": [-1000 + i for i in range(many)],
        "communication_start_ns": [None] * many,
        "communication_end_ns": [None] * many,
        "adjustments": 3,
        "delay_total_ns": 4,
        "dropped": 5,
        "state": "held",
        "note": "",
        **changes,
    }


class JobSocket:
    """A job that says and hears exactly what the test wants."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE_S)
        last = time.monotonic() + PATIENCE_S
        while True:
            try:
                self.socket.connect(str(path))
                return
            except OSError as error:
                # A full queue of connections is no reason to wait to the system, whatever the timeout.
                if not isinstance(error, BlockingIOError) or time.monotonic() > last:
                    self.socket.close()
                    raise
                time.sleep(0.005)

    def send(self, message: dict[str, Any] | bytes) -> None:
        self.socket.send(message if isinstance(message, bytes) else json.dumps(message).encode())

    def hello(self, name: str, **changes: Any) -> JobSocket:
        self.send({"type": "hello", "protocol": 1, "job": name, **changes})
        return self

    def receive(self, timeout_s: float = PATIENCE_S) -> dict[str, Any] | None:
        """The next message; None if the daemon has closed. TimeoutError if nothing comes."""
        self.socket.settimeout(timeout_s)
        try:
            data = self.socket.recv(64 * 1024)
        except ConnectionResetError:
            return None
        return json.loads(data) if data else None

    def is_silent(self, for_s: float = 0.2) -> bool:
        try:
            return self.receive(for_s) is None and False
        except TimeoutError:
            return True

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> JobSocket:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class DaemonProcess:
    """``cassini-agent serve``, or with ``test_options`` the same service with a clock or limits of the test's.

    With ``forked`` or ``test_options`` it is forked from a process that has imported what it needs.
    """

    def __init__(
        self,
        folder: Path,
        *options: str,
        socket: Path | None = None,
        counters: str = "off",
        test_options: dict[str, Any] | None = None,
        forked: bool = False,
    ) -> None:
        self.folder = folder
        self.socket = socket or folder / "agent.sock"
        self.state = folder / "state"
        self.log = folder / "log"
        self.state.mkdir(exist_ok=True)
        self.url_host = "127.0.0.1"
        for name, token in (("token", TOKEN), ("read-token", READ_TOKEN)):
            (folder / name).write_text(token)
            (folder / name).chmod(0o600)
        self._port_file = folder / "port"
        self._test_options = test_options
        self._forked = forked
        self._options = [
            *(
                f"--socket={self.socket}",
                f"--counters={counters}",
                "--port=0",
                f"--port-file={self._port_file}",
            ),
            *(f"--token-file={folder / 'token'}", f"--read-token-file={folder / 'read-token'}"),
            *(f"--state-directory={self.state}", *options),
        ]
        self.process: subprocess.Popen[bytes] | ForkedDaemon | None = None
        self.port = 0

    def start(self) -> DaemonProcess:
        self._port_file.unlink(missing_ok=True)
        if self._test_options is not None:
            options = [json.dumps(self._test_options), *self._options]
            self.process = ForkedDaemon(daemon_under_test.main, options, self.folder, self.log)
        elif self._forked:
            self.process = ForkedDaemon(cli.main, ["serve", *self._options], self.folder, self.log)
        else:
            command = [sys.executable, "-m", "cassini_agent.cli", "serve", *self._options]
            with self.log.open("ab") as log:
                self.process = subprocess.Popen(command, cwd=self.folder, stderr=log)
        wait_until(lambda: self._is_listening() or self._died())
        self.port = int(self._port_file.read_text())
        return self

    def _is_listening(self) -> bool:
        return self._port_file.exists() and self._port_file.read_text().endswith("\n")

    def _died(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the daemon ended with {self.process.poll()}"
        return False

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def kill(self, number: int) -> None:
        os.kill(self.pid, number)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it, and the status it ended with."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
            self.process.send_signal(signal.SIGCONT)
        try:
            return self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
            raise

    def job(self, name: str, **hello: Any) -> JobSocket:
        return JobSocket(self.socket).hello(name, **hello)

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = TOKEN, headers: dict[str, str] | None = None
    ) -> Answer:
        connection = http.client.HTTPConnection(self.url_host, self.port, timeout=PATIENCE_S)
        try:
            data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
            sent = {**({"Authorization": f"Bearer {token}"} if token else {}), **(headers or {})}
            connection.request(method, path, data, sent)
            answer = connection.getresponse()
            text = answer.read()
            kind = answer.headers.get("Content-Type", "")
            return Answer(answer.status, json.loads(text) if "json" in kind else text.decode())
        finally:
            connection.close()

    def put(self, schedule: dict[str, Any], job: str | None = None, **how: Any) -> Answer:
        return self.ask("PUT", f"/v1/jobs/{job or schedule['job']}/schedule", schedule, **how)

    def status_of(self, job: str) -> dict[str, Any]:
        answer = self.ask("GET", f"/v1/jobs/{job}")
        assert answer.status == 200, answer
        return dict(answer.body)

    def metric(self, name: str, /, **labels: str) -> float:
        """0 if it is not there."""
        for line in self.ask("GET", "/metrics").body.splitlines():
            match = re.fullmatch(rf"cassini_agent_{name}(?:\{{(.*)\}})? (\S+)", line)
            if match and dict(re.findall(r'(\w+)="([^"]*)"', match[1] or "")) == labels:
                return float(match[2])
        return 0.0

    def refused(self, where: str, reason: str) -> float:
        return self.metric("refused_total", where=where, reason=reason)

    @contextmanager
    def counts_refusal(self, where: str, reason: str, least: int = 1) -> Iterator[None]:
        """What happens inside is refused, and the metrics say so."""
        before = self.refused(where, reason)
        yield
        wait_until(lambda: self.refused(where, reason) >= before + least)

    def resident_bytes(self) -> int:
        return int(Path(f"/proc/{self.pid}/statm").read_text().split()[1]) * resource.getpagesize()


def wait_until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not true():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)
