"""The job's end of the socket: whatever the daemon does, a call returns at once and raises nothing."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.local_link import MOST_AT_ONCE, RETRY_NS, LocalLink, socket_path
from cassini_agent.strict_json import MAX_BYTES

HELLO = {"type": "hello", "protocol": 1}


class Clock:
    """A monotonic clock that moves when told."""

    now_ns = 10**12

    def __call__(self) -> int:
        return self.now_ns


class Daemon:
    """The other end: accepts, reads, writes, goes away."""

    def __init__(self, path: str) -> None:
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.listener.bind(path)
        self.listener.listen(1)
        self.listener.settimeout(30)
        self.peer: socket.socket | None = None

    def accept(self) -> None:
        self.peer, _ = self.listener.accept()
        self.peer.settimeout(30)

    def read(self) -> dict[str, Any]:
        assert self.peer is not None
        return json.loads(self.peer.recv(1 << 17))

    def write(self, data: bytes) -> None:
        assert self.peer is not None
        self.peer.send(data)

    def close(self) -> None:
        if self.peer is not None:
            self.peer.close()
        self.listener.close()


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "agent.sock")


@pytest.fixture
def daemon(path: str) -> Iterator[Daemon]:
    daemon = Daemon(path)
    yield daemon
    daemon.close()


def test_hello_is_the_first_message_of_each_connection(path: str, daemon: Daemon) -> None:
    clock = Clock()
    link = LocalLink(path, HELLO, clock)
    assert link.send({"n": 1})
    daemon.accept()
    assert [daemon.read(), daemon.read()] == [HELLO, {"n": 1}]
    daemon.peer.close()
    assert link.receive() == []  # sees that the daemon has gone
    assert not link.connected
    clock.now_ns += RETRY_NS
    assert link.send({"n": 2})
    daemon.accept()
    assert [daemon.read(), daemon.read()] == [HELLO, {"n": 2}]
    link.close()


def test_a_daemon_that_is_not_there_is_looked_for_once_a_second(path: str) -> None:
    clock = Clock()
    link = LocalLink(path, HELLO, clock)
    assert not link.send({})
    late = Daemon(path)
    assert not link.send({})
    assert link.receive() == []
    clock.now_ns += RETRY_NS
    assert link.send({})
    assert link.dropped == 2
    late.close()
    link.close()


def test_a_daemon_that_does_not_read_costs_messages_and_no_time(path: str, daemon: Daemon) -> None:
    link = LocalLink(path, HELLO)
    message = {"data": "x" * 8000}
    took_ns = []
    for _ in range(2000):
        before_ns = time.monotonic_ns()
        link.send(message)
        took_ns.append(time.monotonic_ns() - before_ns)
    assert link.dropped > 0
    assert link.connected
    assert sorted(took_ns)[1800] < 1_000_000  # nine in ten: other processes may hold up this one
    link.close()


def test_a_full_backlog_does_not_wait(path: str, daemon: Daemon) -> None:
    links = [LocalLink(path, HELLO) for _ in range(8)]
    before_ns = time.monotonic_ns()
    reached = [link.send({}) for link in links]
    assert time.monotonic_ns() - before_ns < 1_000_000_000
    assert True in reached
    assert False in reached
    for link in links:
        link.close()


@given(
    data=st.one_of(
        st.binary(min_size=1, max_size=200), st.sampled_from([b"[" * 20_000, b"1e999", b'{"a":1']), st.none()
    )
)
def test_what_is_no_object_is_left_out(data: bytes | None, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = str(tmp_path_factory.mktemp("link") / "s")
    daemon = Daemon(path)
    link = LocalLink(path, HELLO)
    link.send({})
    daemon.accept()
    if data is not None:
        daemon.write(data[:MAX_BYTES])
    daemon.write(b'{"type": "clear"}')
    got = link.receive()
    assert got[-1] == {"type": "clear"}
    assert all(isinstance(message, dict) for message in got)
    daemon.close()
    link.close()


def test_a_flood_is_read_in_parts(path: str, daemon: Daemon) -> None:
    link = LocalLink(path, HELLO)
    link.send({})
    daemon.accept()
    for n in range(MOST_AT_ONCE + 3):
        daemon.write(json.dumps({"n": n}).encode())
    assert [m["n"] for m in link.receive()] == list(range(MOST_AT_ONCE))
    assert [m["n"] for m in link.receive()] == list(range(MOST_AT_ONCE, MOST_AT_ONCE + 3))
    link.close()


def test_too_large_a_message_is_dropped(path: str, daemon: Daemon) -> None:
    link = LocalLink(path, HELLO)
    assert not link.send({"data": "x" * MAX_BYTES})
    assert link.connected
    assert link.dropped == 1
    link.close()


@pytest.mark.parametrize("path", ["", "a\0b", "/nowhere/at/all", "x" * 300, "/dev/null"])
def test_a_wrong_path_is_a_daemon_that_is_not_there(path: str) -> None:
    link = LocalLink(path, HELLO)
    assert not link.send({})
    assert link.receive() == []


def test_the_environment_says_where(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASSINI_AGENT_SOCKET", "/somewhere/else")
    assert socket_path() == "/somewhere/else"
    monkeypatch.setenv("CASSINI_AGENT_SOCKET", "")
    assert socket_path() == "/run/cassini-agent/agent.sock"
