"""The daemon on sockets that were opened before it, as systemd opens them: they stay when it restarts."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from daemon_process import DaemonProcess, schedule_of, wait_until

from cassini_agent.local_link import LocalLink

SERVE = 'LISTEN_PID=$$ exec "$@"'
"""What systemd does between fork and exec: the number is that of the process that will be the daemon."""


class ActivatedDaemon(DaemonProcess):
    """``cassini-agent serve`` with listening sockets as its descriptors 3, 4, ..."""

    passed: tuple[socket.socket, ...] = ()

    def begin(self, stderr: int | None = None) -> subprocess.Popen[bytes]:
        numbers = [one.fileno() for one in self.passed]

        def pass_on() -> None:
            copies = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 10) for number in numbers]
            for place, copy in enumerate(copies):
                os.dup2(copy, 3 + place, inheritable=True)

        program = [sys.executable, "-m", "cassini_agent.cli", "serve", *self._options]
        return subprocess.Popen(
            ["sh", "-c", SERVE, "sh", *program],
            cwd=self.folder,
            env={**os.environ, "LISTEN_FDS": str(len(numbers))},
            preexec_fn=pass_on,
            close_fds=False,
            stderr=stderr,
        )

    def start(self) -> ActivatedDaemon:
        self._port_file.unlink(missing_ok=True)
        self.process = self.begin()
        wait_until(lambda: self._is_listening() or self._died())
        self.port = int(self._port_file.read_text())
        return self


def listening(family: socket.AddressFamily, kind: socket.SocketKind, address: object) -> socket.socket:
    one = socket.socket(family, kind)
    one.bind(address)
    one.listen(64)
    return one


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    return folder


@pytest.fixture
def jobs(run_folder: Path) -> Iterator[socket.socket]:
    with listening(socket.AF_UNIX, socket.SOCK_SEQPACKET, str(run_folder / "agent.sock")) as one:
        yield one


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_a_job_that_holds_the_folder_meets_the_next_daemon_there(
    tmp_path: Path, run_folder: Path, jobs: socket.socket, end: signal.Signals
) -> None:
    inode = (run_folder / "agent.sock").stat().st_ino
    daemon = ActivatedDaemon(tmp_path, socket=tmp_path / "not-used.sock")
    with listening(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)) as http:
        daemon.passed = (jobs, http)
        daemon.start()
        assert daemon.port == http.getsockname()[1]
        assert not (tmp_path / "not-used.sock").exists()
        held = os.open(run_folder, os.O_PATH | os.O_DIRECTORY)  # as a container holds what it has mounted
        hello = {"type": "hello", "protocol": 1, "job": "a"}
        link = LocalLink(f"/proc/self/fd/{held}/agent.sock", hello)
        try:
            wait_until(lambda: link.receive() or link.connected)
            wait_until(lambda: daemon.ask("GET", "/v1/jobs").body["jobs"])
            assert daemon.put(schedule_of("a")).body["connected"]
            wait_until(link.receive)
            daemon.stop(end)
            assert (run_folder / "agent.sock").stat().st_ino == inode
            wait_until(lambda: not link.receive() and link.connected)  # in the queue of the socket, within a second
            daemon.start()
            assert wait_until_received(link)["version"] == 1
            assert daemon.put(schedule_of("a", version=2)).body["connected"]
            assert wait_until_received(link)["version"] == 2
            assert (run_folder / "agent.sock").stat().st_ino == inode
        finally:
            link.close()
            os.close(held)
        assert daemon.stop() == 0
        assert (run_folder / "agent.sock").exists()


def wait_until_received(link: LocalLink) -> dict[str, object]:
    received: list[dict[str, object]] = []
    wait_until(lambda: received.extend(link.receive()) or received)
    return received[0]


def test_a_port_that_was_passed_is_no_way_round_tls(tmp_path: Path, jobs: socket.socket) -> None:
    daemon = ActivatedDaemon(tmp_path)
    with listening(socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)) as http:
        daemon.passed = (jobs, http)
        with daemon.begin(subprocess.PIPE) as process:
            said = process.communicate(timeout=60)[1].decode()
    assert process.returncode == 2
    assert "--host 0.0.0.0: tokens would cross the network in the clear" in said


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET])
def test_what_the_daemon_has_no_use_for_is_refused(
    tmp_path: Path, run_folder: Path, jobs: socket.socket, kind: socket.SocketKind
) -> None:
    """A stream where packets are meant, something that listens to nobody, and two for jobs."""
    daemon = ActivatedDaemon(tmp_path)
    with socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(str(run_folder / "other"))
        if kind != socket.SOCK_DGRAM:
            other.listen()
        daemon.passed = (jobs, other)
        with daemon.begin(subprocess.PIPE) as process:
            said = process.communicate(timeout=60)[1].decode()
    assert (process.returncode, said.count("\n")) == (2, 1)
    assert "passed descriptor 4: expected one listening socket for jobs" in said


def test_what_was_passed_to_another_process_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LISTEN_PID", "1")
    monkeypatch.setenv("LISTEN_FDS", "1")
    daemon = DaemonProcess(tmp_path).start()
    assert daemon.socket.exists()
    assert daemon.stop() == 0
