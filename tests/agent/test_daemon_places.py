"""Who has no token and no secret never uses up what those need who have: rows of the real daemon's table."""

from __future__ import annotations

import http.client
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest
from conftest import Row, Start
from daemon_process import PATIENCE_S, READ_TOKEN, TOKEN, DaemonProcess, iterations_of, schedule_of
from daemon_process import wait_until as until

from cassini_agent.dispatch import JobSecret

PEERS = [f"127.0.0.{number}" for number in range(1, 5)]
SCHEDULER = "127.0.0.9"
SUB_UIDS = (100_000, 165_535)
SECRET = "a-secret-that-only-one-job-has"

AS_SUB_UIDS = """
import json, os, socket, sys
many, folder, uids = int(sys.argv[1]), sys.argv[2], [int(one) for one in sys.argv[3:]]
os.chdir(folder)
os.setgroups([])
open_ones = []
for uid in uids:
    os.setresuid(uid, uid, 0)
    for number in range(many):
        one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        one.connect("agent.sock")
        hello = {"type": "hello", "protocol": 1, "job": f"sub-{uid}-{number}"}
        one.send(json.dumps(hello).encode())
        open_ones.append(one)
    os.setresuid(0, 0, 0)
print("open", flush=True)
sys.stdin.read()
"""


def connection_from(address: str, daemon: DaemonProcess) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", daemon.port), PATIENCE_S, source_address=(address, 0))
    one.settimeout(PATIENCE_S)
    return one


def status_from(address: str, daemon: DaemonProcess, token: str = TOKEN) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", daemon.port, timeout=PATIENCE_S, source_address=(address, 0))
    with closing(connection):
        connection.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {token}"})
        return connection.getresponse().status


def request(one: socket.socket, token: str | None) -> bytes:
    """What is answered on a connection that stays open."""
    shown = f"Authorization: Bearer {token}\r\n" if token else ""
    one.send(f"GET /v1/{'jobs' if token else 'health'} HTTP/1.1\r\nHost: a\r\n{shown}\r\n".encode())
    answer = b""
    while not answer.endswith((b"}", b"0\r\n\r\n")):  # a piece at a time, where it is a list
        part = one.recv(65536)
        assert part, answer
        answer += part
    return answer


def test_256_strangers_do_not_keep_the_scheduler_out(start: Start, row: Row) -> None:
    daemon = start()
    with ExitStack() as held:
        strangers = [held.enter_context(connection_from(peer, daemon)) for peer in PEERS for _ in range(64)]
        for one in strangers[::2]:  # every other one has a request answered, to look useful
            assert b"200" in request(one, None)
        assert status_from(SCHEDULER, daemon) == 200
        assert status_from(PEERS[0], daemon) == 200  # also from an address that strangers share
        assert daemon.refused("http", "too_many_connections") >= 1
    row(
        "security",
        "64 connections without a token from each of four addresses",
        "the scheduler gets in: the oldest of the address that has most is closed, counted as `too_many_connections`",
    )


def test_who_has_shown_the_token_keeps_its_connection(start: Start) -> None:
    daemon = start(test_options={"limits": {"http_connections": 4}})
    with ExitStack() as held:
        known = [held.enter_context(connection_from(SCHEDULER, daemon)) for _ in range(4)]
        for one in known:
            assert b"200" in request(one, TOKEN)
        with connection_from(SCHEDULER, daemon) as fifth, suppress(ConnectionResetError):
            assert fifth.recv(1) == b""  # of those that may all nobody makes room
        for peer in PEERS:
            for _ in range(4):
                held.enter_context(connection_from(peer, daemon))
        for one in known:
            assert b"200" in request(one, TOKEN)


def test_the_read_only_token_does_not_keep_the_scheduler_out(start: Start) -> None:
    daemon = start(test_options={"limits": {"http_connections": 8}})
    with ExitStack() as held:
        for peer in PEERS[:2]:
            for _ in range(4):
                assert b"200" in request(held.enter_context(connection_from(peer, daemon)), READ_TOKEN)
        assert status_from(SCHEDULER, daemon) == 200


@contextmanager
def flood(daemon: DaemonProcess, peers: list[str]) -> Iterator[list[int]]:
    """Connections that come again and again; how many came."""
    over, came = threading.Event(), [0]

    def go_on(peer: str) -> None:
        held: list[socket.socket] = []
        while not over.is_set():
            with suppress(OSError):
                held.append(connection_from(peer, daemon))
                came[0] += 1
            while len(held) > 16:
                held.pop(0).close()
        for one in held:
            one.close()

    threads = [threading.Thread(target=go_on, args=(peer,)) for peer in peers]
    for thread in threads:
        thread.start()
    try:
        yield came
    finally:
        over.set()
        for thread in threads:
            thread.join()


def test_a_flood_of_connections_does_not_push_a_slow_request_out(start: Start, row: Row) -> None:
    """However many come meanwhile: who has fewer connections than others is not the one to go."""
    daemon = start(test_options={"limits": {"http_connections": 48}})
    with flood(daemon, PEERS) as came, connection_from(SCHEDULER, daemon) as one:
        head = f"GET /v1/jobs HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
        one.send(head.encode())
        before = came[0]
        until(lambda: came[0] > before + 100)
        one.send(b"\r\n")
        assert b"200" in one.recv(4096)
    row("security", "connections come again and again", "a request from an address with few is answered all the same")


def test_requests_of_strangers_do_not_hold_up_those_of_the_scheduler(start: Start, row: Row) -> None:
    """However many connections ask, one after the other is served."""
    daemon = start()
    over = threading.Event()

    def go_on(path: str) -> None:
        with ExitStack() as held:
            crowd = [held.enter_context(connection_from(PEERS[0], daemon)) for _ in range(16)]
            asked = f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode() * 32
            while not over.is_set():
                for one in crowd:
                    one.setblocking(False)
                    with suppress(OSError):
                        one.send(asked)
                    with suppress(OSError):
                        one.recv(1 << 20)

    threads = [threading.Thread(target=go_on, args=(path,)) for path in ("/v1/health", "/v1/jobs")]
    for thread in threads:
        thread.start()
    try:
        until(lambda: daemon.refused("http", "unauthorized") > 100)
        took = []
        for _ in range(20):
            began = time.monotonic()
            assert daemon.ask("GET", "/v1/jobs").status == 200
            took.append(time.monotonic() - began)
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert statistics.median(took) < 2
    row(
        "security",
        "requests without a token, at any rate",
        f"those with one, from the same address, are answered within {1e3 * statistics.median(took):.0f} ms (median)",
    )


@contextmanager
def sub_uids(daemon: DaemonProcess, many: int) -> Iterator[None]:
    """A user's container, which has connections and jobs of several users of the host."""
    daemon.folder.chmod(0o755)
    daemon.folder.parent.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", AS_SUB_UIDS, str(many), str(daemon.folder), *map(str, SUB_UIDS)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield
    finally:
        process.communicate("", timeout=PATIENCE_S)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_sub_uids_do_not_use_up_the_jobs(start: Start, row: Row) -> None:
    daemon = start(test_options={"limits": {"jobs": 8}})
    with sub_uids(daemon, 4):
        until(lambda: daemon.metric("jobs") == 8)
        assert daemon.put(schedule_of("scheduled")).status == 200
        with daemon.job("scheduled") as job:
            assert (job.receive() or {})["type"] == "schedule"
        for number in range(7):
            assert daemon.put(schedule_of(f"more{number}")).status == 200
        assert daemon.put(schedule_of("ninth")).status == 429  # now all have a version to remember
    row("security", "jobs of many sub-uids of one user", "those without a schedule make room for one with")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_sub_uids_do_not_use_up_the_connections(start: Start, row: Row) -> None:
    daemon = start(test_options={"limits": {"connections": 8}})
    with daemon.job("old", secret=SECRET) as old:
        assert daemon.put({**schedule_of("old"), "secret_sha256": JobSecret(SECRET).sha256}).status == 200
        assert (old.receive() or {})["type"] == "schedule"
        with sub_uids(daemon, 4):  # 4 of each are all that a user may have here
            until(lambda: daemon.metric("connections") == 8)
            daemon.put({**schedule_of("new"), "secret_sha256": JobSecret(SECRET).sha256})
            with daemon.job("new", secret=SECRET) as new:
                assert (new.receive() or {})["type"] == "schedule"
                assert old.is_silent(0.05)  # and has not been closed
    row("security", "connections of many sub-uids of one user", "the oldest make room; who has shown a secret does not")


@contextmanager
def flooding(daemon: DaemonProcess, many: int) -> Iterator[None]:
    """Connections of this user that send as much as they can."""
    over = threading.Event()

    def go_on() -> None:
        with ExitStack() as held:
            crowd = [held.enter_context(daemon.job(f"noise{number}")) for number in range(many)]
            for one in crowd:
                one.socket.setblocking(False)
            while not over.is_set():
                for one in crowd:
                    with suppress(OSError):
                        one.send(iterations_of())
                over.wait(0.002)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def test_messages_of_strangers_do_not_use_up_those_of_a_job_with_a_secret(start: Start, row: Row) -> None:
    daemon = start(test_options={"limits": {"strangers_messages_per_s": 100.0}})
    daemon.put({**schedule_of("heard"), "secret_sha256": JobSecret(SECRET).sha256})
    with flooding(daemon, 40):
        until(lambda: daemon.refused("socket", "too_fast") > 0)
        with daemon.job("heard", secret=SECRET) as job:
            assert (job.receive() or {})["type"] == "schedule"
            for number in range(20):
                job.send(iterations_of(first=4 * number))
                time.sleep(0.02)
            sent = time.monotonic()
            until(lambda: daemon.status_of("heard")["iterations"] == 80)
            assert time.monotonic() - sent < 3  # its part of what strangers may send would take eight
    row("security", "messages of many jobs, at any rate", "a job that has shown its secret is heard")


def written_bytes(daemon: DaemonProcess) -> int:
    """By the daemon, into files and pipes, since it began."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{daemon.pid}/io").read_text().splitlines())
    return int(fields["wchar"])


def test_names_that_strangers_give_cost_the_journal_nothing(start: Start, row: Row) -> None:
    """Each wrote the whole journal anew: 200 MB a second where many jobs have a schedule."""
    daemon = start()
    for number in range(100):
        assert daemon.put(schedule_of(f"scheduled{number}")).status == 200
    before, began, many = written_bytes(daemon), time.monotonic(), 100
    for number in range(many):
        daemon.job(f"new{number}").close()
        time.sleep(0.002)  # what comes at once is written together
    until(lambda: daemon.metric("jobs") == 100 + many)
    time.sleep(1.2)  # what is written later is written by now
    each, took_s = (written_bytes(daemon) - before) / many, time.monotonic() - began
    row("security", "new names of jobs, again and again", f"{each:.0f} bytes are written for each")
    print(f"{each:.0f} bytes for each new name, {each * many / took_s / 1e6:.2f} MB/s")
    assert each < 1000
