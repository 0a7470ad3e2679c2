"""Who may not, does not, and the metrics say so: each test is a row of the table of refusals."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from conftest import Row, Start
from daemon_process import (
    MS_NS,
    PATIENCE_S,
    READ_TOKEN,
    SECOND_NS,
    TOKEN,
    DaemonProcess,
    JobSocket,
    iterations_of,
    schedule_of,
)
from daemon_process import wait_until as until

from cassini_agent.cli import main
from cassini_agent.daemon.access import ConfigError, read_token

NOBODY = 65534
AS_NOBODY = f"""
import json, os, socket, sys
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
one.settimeout(30)
one.connect("agent.sock")  # from the folder: those above it are for root only
hello = {{"type": "hello", "protocol": 1, "job": sys.argv[1]}}
one.send(json.dumps(hello).encode())
print(one.recv(65536).decode(), flush=True)
sys.stdin.read()
"""


TOKENS = [None, "", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), READ_TOKEN, "\u00fc"]


def test_without_the_token_nothing_is_done(start: Start, row: Row) -> None:
    daemon = start(test_options={"limits": {"http_wrong_token_s": 0.0}})
    with daemon.job("locked") as job:
        for token in TOKENS:
            headers = {"Authorization": f"Bearer {token}".encode().decode("latin-1")} if token is not None else {}
            for method, path, body in (
                ("PUT", "/v1/jobs/locked/schedule", schedule_of("locked")),
                ("DELETE", "/v1/jobs/locked/schedule?version=1", None),
                ("POST", "/v1/clock", {"offset_ns": None}),
            ):
                answer = daemon.ask(method, path, body, token=None, headers=headers)
                assert (answer.status, answer.body["reason"]) == (401, "unauthorized")
            for path in ("/v1/jobs", "/v1/jobs/locked", "/metrics"):
                answer = daemon.ask("GET", path, token=None, headers=headers)
                assert answer.status == (200 if token == READ_TOKEN else 401)
        assert job.is_silent(0.05)
    assert daemon.ask("GET", "/v1/health", token=None) == (200, {"ok": True})
    until(lambda: daemon.refused("http", "unauthorized") == 6 * len(TOKENS) - 3)
    row(
        "security",
        "no token, a wrong one, the read-only one",
        "401 for every command, counted; the read-only one reads",
    )


def status_over(connection: http.client.HTTPConnection, token: str | None) -> int:
    connection.request("GET", "/v1/jobs", headers={"Authorization": f"Bearer {token}"} if token is not None else {})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_who_guesses_tokens_waits_and_nobody_else_does(start: Start, row: Row) -> None:
    """Nor is the right one kept out, though it comes from the same address."""
    daemon = start()
    guessing, knowing = (http.client.HTTPConnection(daemon.url_host, daemon.port, timeout=PATIENCE_S) for _ in range(2))
    with closing(guessing), closing(knowing):
        began = time.monotonic()
        assert [status_over(guessing, f"guess-{i}") for i in range(5)] == [401] * 5
        assert time.monotonic() - began >= 1.0
        assert status_over(guessing, TOKEN) == 200
        assert [status_over(knowing, token) for token in (READ_TOKEN, TOKEN) * 20] == [200] * 40
        assert [status_over(knowing, None) for _ in range(20)] == [401] * 20  # nothing to compare
    row(
        "security",
        "guesses of the token",
        "five a second are looked at on a connection; the right one is taken, from that address too",
    )


def test_a_token_that_is_replaced_is_read_again(start: Start, row: Row) -> None:
    daemon = start()
    file = daemon.folder / "token"
    newer = "another token".replace(" ", "-") * 2

    def replaced(text: str) -> None:
        fresh = daemon.folder / "fresh"
        fresh.write_text(text)
        fresh.chmod(0o600)
        fresh.replace(file)

    replaced(newer)
    until(lambda: daemon.ask("GET", "/v1/jobs", token=newer).status == 200)
    assert daemon.ask("GET", "/v1/jobs", token=TOKEN).status == 401
    replaced("short")
    until(lambda: "credentials" in daemon.log.read_text())
    assert daemon.ask("GET", "/v1/jobs", token=newer).status == 200  # what cannot be read changes nothing
    replaced(TOKEN)
    until(lambda: daemon.ask("GET", "/v1/jobs", token=TOKEN).status == 200)
    row(
        "security",
        "the token's file has another token",
        "that one counts from the next second on; an unfit one is logged",
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"pace_ns": 194 * MS_NS}, "out_of_bounds"),
        ({"pace_ns": 293 * MS_NS}, "out_of_bounds"),
        ({"shift_ns": -1}, "out_of_bounds"),
        ({"shift_ns": 200 * MS_NS}, "out_of_bounds"),
        ({"hold_ns": 101 * MS_NS}, "out_of_bounds"),
        ({"slack_ns": 7 * MS_NS}, "out_of_bounds"),
        ({"gain_ns": 196 * MS_NS}, "out_of_bounds"),
        ({"iteration_ns": 1}, "out_of_bounds"),
        ({"version": 0}, "out_of_bounds"),
        ({"version": 2**53 + 1}, "out_of_bounds"),
        ({"component": ""}, "out_of_bounds"),
        ({"epoch_ns": 0}, "out_of_bounds"),
        ({"epoch_ns": 2**70}, "out_of_bounds"),
        ({"expires_ns": time.time_ns() + 25 * 3600 * SECOND_NS}, "out_of_bounds"),
        ({"pace_ns": 200.0 * MS_NS}, "malformed"),
        ({"pace_ns": "200000000"}, "malformed"),
        ({"pace_ns": True}, "malformed"),
        ({"more": 1}, "malformed"),
        ({"format": "cassini-schedule/2"}, "malformed"),
        ({"job": "another"}, "wrong_job"),
    ],
)
def test_a_schedule_out_of_bounds_is_refused(
    daemon: DaemonProcess, changes: dict[str, Any], reason: str, row: Row
) -> None:
    with daemon.job("bounded") as job, daemon.counts_refusal("http", reason):
        answer = daemon.put({**schedule_of("bounded"), **changes}, job="bounded")
        assert (answer.status, answer.body["reason"], answer.body["accepted"]) == (400, reason, False)
        assert job.is_silent(0.02)
    row("security", f"schedule: `{reason}`", f"400 `{reason}`, counted; the job hears nothing")


def test_an_old_version_is_not_replayed(daemon: DaemonProcess, row: Row) -> None:
    old, new = schedule_of("replay", version=3), schedule_of("replay", version=4)
    with daemon.job("replay") as job:
        for one in (old, new):
            assert daemon.put(one).status == 200
            assert job.receive() is not None
        with daemon.counts_refusal("http", "older_version", 2):
            assert daemon.put(old).body["reason"] == "older_version"
            assert daemon.ask("DELETE", "/v1/jobs/replay/schedule?version=3").status == 409
        assert daemon.put(new).status == 200
        with daemon.counts_refusal("http", "same_version_differs"):
            answer = daemon.put({**new, "shift_ns": 31 * MS_NS})
            assert (answer.status, answer.body["reason"]) == (409, "same_version_differs")
        assert job.is_silent(0.05)
        assert daemon.ask("DELETE", "/v1/jobs/replay/schedule?version=5").status == 200
        assert job.receive() == {"type": "clear"}
        with daemon.counts_refusal("http", "older_version"):
            assert daemon.put(new).status == 409
        with daemon.counts_refusal("http", "cleared"):
            assert daemon.put(schedule_of("replay", version=5)).body["reason"] == "cleared"
        assert job.is_silent(0.05)
    row("security", "an older version again", "409 `older_version`, counted")
    row("security", "the same version with other contents", "409 `same_version_differs`, counted")
    row("security", "a schedule that was withdrawn, again", "409 `cleared` or `older_version`, counted")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_the_job_of_another_user_is_out_of_reach(daemon: DaemonProcess, row: Row) -> None:
    def as_nobody(job: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-S", "-c", AS_NOBODY, job],
            cwd=daemon.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    with daemon.job("roots") as job:
        daemon.put(schedule_of("roots"))
        assert job.receive() is not None
        with daemon.counts_refusal("socket", "not_yours"):
            intruder = as_nobody("roots")
            said, _ = intruder.communicate("", timeout=PATIENCE_S)
        assert json.loads(said) == {"type": "refused", "reason": "not_yours"}
        job.send(iterations_of())
        until(lambda: daemon.status_of("roots")["iterations"] == 4)
    with daemon.counts_refusal("socket", "not_yours"):  # also while the owner is away
        assert "not_yours" in as_nobody("roots").communicate("", timeout=PATIENCE_S)[0]
    daemon.put(schedule_of("nobodys"))
    theirs = as_nobody("nobodys")
    try:
        assert theirs.stdout is not None
        assert json.loads(theirs.stdout.readline())["job"] == "nobodys"
        assert daemon.status_of("nobodys")["uid"] == NOBODY
    finally:
        theirs.communicate("", timeout=PATIENCE_S)
    with daemon.job("nobodys") as root:
        assert root.receive() is not None  # root may all
    assert daemon.status_of("nobodys")["uid"] == NOBODY
    row("security", "a job of another user", "`not_yours`, also while its owner is away; root may all")


ANOTHER = """
import json, os, socket, sys
one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
one.settimeout(30)
one.connect("agent.sock")
hello = {"type": "hello", "protocol": 1, "job": sys.argv[1]}
one.send(json.dumps(hello).encode())
print(one.recv(65536).decode(), flush=True)
if "fork" in sys.argv and os.fork():
    os._exit(0)
sys.stdin.read()
"""


def another(daemon: DaemonProcess, job: str, *more: str) -> subprocess.Popen[str]:
    """A process beside this one that says hello for a job, and says what it hears."""
    return subprocess.Popen(
        [sys.executable, "-S", "-c", ANOTHER, job, *more],
        cwd=daemon.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def heard(one: subprocess.Popen[str]) -> dict[str, Any]:
    assert one.stdout is not None
    return dict(json.loads(one.stdout.readline()))


def test_two_processes_are_not_one_job(daemon: DaemonProcess, row: Row) -> None:
    """One name was given twice. What they report would be mixed, and both be held."""
    daemon.put(schedule_of("twice"))
    with daemon.job("twice") as job:
        assert job.receive() is not None
        with daemon.counts_refusal("socket", "name_taken"):
            second = another(daemon, "twice")
            assert heard(second) == {"type": "refused", "reason": "name_taken"}
            second.communicate("", timeout=PATIENCE_S)
        with daemon.job("twice") as again:  # the same process, which has not closed its first agent
            assert again.receive() is not None
            assert job.receive() == {"type": "refused", "reason": "name_taken"}
            assert job.receive() is None
            again.send(iterations_of())
            until(lambda: daemon.status_of("twice")["iterations"] == 4)
    until(lambda: not daemon.status_of("twice")["connected"])
    third = another(daemon, "twice")
    assert heard(third)["type"] == "schedule"
    third.communicate("", timeout=PATIENCE_S)
    row("security", "a second process says that it is a job", "`name_taken`, until the first has gone")


def test_the_child_of_a_process_that_is_gone_does_not_keep_its_name(daemon: DaemonProcess) -> None:
    """A worker that was forked has the connection too."""
    daemon.put(schedule_of("orphan"))
    parent = another(daemon, "orphan", "fork")
    assert heard(parent)["type"] == "schedule"
    assert parent.wait(PATIENCE_S) == 0
    assert daemon.status_of("orphan")["connected"]
    with daemon.job("orphan") as job:
        assert job.receive() is not None
    parent.communicate("", timeout=PATIENCE_S)


MESSAGES: list[tuple[str, bytes | dict[str, Any], str]] = [
    ("nothing but noise", b"\x00\xff\x80", "malformed"),
    ("no JSON", b"hello", "malformed"),
    ("a list", b"[]", "malformed"),
    ("deep nesting", b"[" * 16_000, "malformed"),
    ("unknown type", {"type": "give me root"}, "malformed"),
    ("a key is missing", {"type": "changed"}, "malformed"),
    ("another type", {"type": "changed", "iteration_ns": "1", "was_ns": 1}, "malformed"),
    ("negative duration", {"type": "changed", "iteration_ns": -1, "was_ns": 1}, "malformed"),
    ("huge number", {"type": "changed", "iteration_ns": 10**300, "was_ns": 1}, "malformed"),
    ("lists of unequal length", iterations_of(error_ns=[]), "malformed"),
    ("unknown state", iterations_of(state="asleep"), "malformed"),
    ("16 KiB and a byte", b'{"type":"' + b"x" * (16 * 1024 - 8), "oversized"),
    ("60 KiB", b" " * 60_000, "oversized"),
    ("hello again", {"type": "hello", "protocol": 1, "job": "x"}, "second_hello"),
]


@pytest.mark.parametrize(("what", "message", "reason"), MESSAGES, ids=[one[0] for one in MESSAGES])
def test_a_message_that_is_none_is_refused(
    daemon: DaemonProcess, what: str, message: bytes | dict[str, Any], reason: str, row: Row
) -> None:
    with daemon.job("talker") as job, daemon.counts_refusal("socket", reason):
        job.send(message)
        assert job.receive() == {"type": "refused", "reason": reason}
        job.send(iterations_of(first=1000 + MESSAGES.index((what, message, reason))))  # and is heard all the same
        until(lambda: daemon.status_of("talker")["iterations"] >= 1000)
    row("security", f"socket: `{reason}`", "answered and counted")


HELLOS: list[tuple[dict[str, Any], str]] = [
    ({"protocol": 2}, "protocol"),
    ({"job": ""}, "malformed"),
    ({"job": "x" * 257}, "malformed"),
    ({"rank": 1}, "malformed"),
    ({"rank": -1}, "malformed"),
    ({"world_size": 0}, "malformed"),
    ({"type": "changed", "iteration_ns": 1, "was_ns": 1}, "no_hello"),
]


@pytest.mark.parametrize(("changes", "reason"), HELLOS)
def test_who_does_not_say_hello_is_shown_the_door(
    daemon: DaemonProcess, changes: dict[str, Any], reason: str, row: Row
) -> None:
    with daemon.counts_refusal("socket", reason), JobSocket(daemon.socket) as job:
        job.hello("rude", **changes)
        assert job.receive() == {"type": "refused", "reason": reason}
        assert job.receive() is None
    row("security", f"hello: `{reason}`", "answered, counted, closed")


def test_clients_of_before_are_understood_and_their_other_ranks_take_no_name(daemon: DaemonProcess, row: Row) -> None:
    """They say rank and world size, and those of long ago connect on every rank."""
    old = {"world_size": 2, "pid": os.getpid()}
    daemon.put(schedule_of("old"))
    with daemon.job("old", rank=1, **old) as other_rank, daemon.job("old", rank=0, **old) as job:
        assert other_rank.receive() == {"type": "refused", "reason": "malformed"}
        assert (job.receive() or {})["type"] == "schedule"
        job.send(iterations_of())
        until(lambda: daemon.status_of("old")["iterations"] == 4)
        assert daemon.status_of("old")["world_size"] == 2
    row("security", "another rank than 0", "`malformed`, counted, closed")


@pytest.fixture
def strict(start: Start) -> DaemonProcess:
    """A daemon of little patience."""
    limits = {
        "hello_timeout_s": 0.3,
        "http_patience_s": 0.6,
        "http_connections": 4,
        "connections": 12,
        "jobs": 6,
        "message_burst": 50.0,
        "messages_per_s": 50.0,
    }
    return start(test_options={"limits": limits})


def http_socket(daemon: DaemonProcess) -> socket.socket:
    one = socket.create_connection((daemon.url_host, daemon.port))
    one.settimeout(PATIENCE_S)
    return one


def is_healthy(daemon: DaemonProcess) -> bool:
    try:
        return daemon.ask("GET", "/v1/health").status == 200
    except OSError:
        return False


def is_closed_by_peer(one: socket.socket) -> bool:
    with suppress(ConnectionResetError):
        while one.recv(65536):
            pass
    return True


def test_slow_requests_are_ended(strict: DaemonProcess, row: Row) -> None:
    head = f"PUT /v1/jobs/a/schedule HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
    with (
        http_socket(strict) as silent,
        http_socket(strict) as slow_head,
        http_socket(strict) as slow_body,
    ):
        slow_head.send(head.strip().encode())
        slow_body.send(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        for _ in range(2):  # for a third of the time that is given
            time.sleep(0.1)
            slow_head.send(b"x")
            slow_body.send(b" ")
        assert b"408" in slow_body.recv(4096)
        assert is_closed_by_peer(silent)
        assert is_closed_by_peer(slow_head)
    until(lambda: strict.refused("http", "no_request") == 2)
    until(lambda: strict.refused("http", "slow_request") >= 1)
    row("security", "a body that drips in", "408 after 10 s, counted as `slow_request`")
    row(
        "security", "connection without a request, or a head that drips in", "ended after 10 s, counted as `no_request`"
    )


def test_a_client_that_does_not_read_is_ended(start: Start, row: Row) -> None:
    daemon = start(test_options={"limits": {"http_patience_s": 0.3}})
    with daemon.job("big") as job:
        for i in range(8):
            job.send(iterations_of(first=64 * i, many=64))
        with http_socket(daemon) as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            request = f"GET /v1/jobs/big HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {READ_TOKEN}\r\n\r\n".encode()
            deaf.settimeout(0.2)
            with suppress(OSError):
                for _ in range(4000):  # answers of 16 MB: more than any buffer between the two
                    deaf.send(request)
            until(lambda: daemon.metric("http_connections") == 1)  # which asks for it
    row("security", "answers are never read", "ended after 10 s")


def test_too_much_at_once_is_refused(strict: DaemonProcess, row: Row) -> None:
    held = [http_socket(strict) for _ in range(4)]
    fifth = http_socket(strict)
    held[0].settimeout(0.3)  # before it is ended as idle
    assert is_closed_by_peer(held[0])
    for one in (*held, fifth):
        one.close()
    until(lambda: is_healthy(strict))
    until(lambda: strict.refused("http", "too_many_connections") >= 1)
    row(
        "security",
        "too many HTTP connections",
        "the oldest that has not shown the token is closed at once, counted",
    )


def test_too_large_a_body_is_refused(daemon: DaemonProcess, row: Row) -> None:
    with daemon.counts_refusal("http", "oversized"):
        answer = daemon.ask("PUT", "/v1/jobs/a/schedule", b" " * (16 * 1024 + 1))
        assert (answer.status, answer.body["reason"]) == (413, "oversized")
    row("security", "request of more than 16 KiB", "413 `oversized`, counted")


def test_too_many_connections_and_jobs_on_the_socket(strict: DaemonProcess, row: Row) -> None:
    crowd = strict.job("crowd")
    until(lambda: strict.ask("GET", "/v1/jobs/crowd").status == 200)
    more = [JobSocket(strict.socket) for _ in range(12)]
    assert crowd.receive() == {"type": "refused", "reason": "too_many_connections"}
    assert crowd.receive() is None
    until(lambda: strict.refused("socket", "too_many_connections") >= 1)
    for one in (crowd, *more):
        one.close()
    row(
        "security",
        "too many connections",
        "`too_many_connections`, counted; the oldest that has not shown a secret makes room",
    )
    kept = [schedule_of(f"kept{i}") for i in range(5)]  # and the crowd is the sixth
    for one in kept:
        assert strict.put(one).status == 200
    assert strict.put(schedule_of("sixth")).status == 200  # nobody is connected to the crowd and it has no version
    answer = strict.put(schedule_of("seventh"))
    assert (answer.status, answer.body["reason"]) == (429, "too_many_jobs")
    with strict.job("eighth") as job:
        assert job.receive() == {"type": "refused", "reason": "too_many_jobs"}
    until(lambda: strict.refused("http", "too_many_jobs") == 1)
    until(lambda: strict.refused("socket", "too_many_jobs") == 1)
    row(
        "security",
        "too many jobs",
        "429 or `too_many_jobs`, counted; jobs with a version to remember are not forgotten",
    )


def test_a_connection_without_hello_is_closed(strict: DaemonProcess, row: Row) -> None:
    with JobSocket(strict.socket) as silent:
        assert silent.receive() == {"type": "refused", "reason": "no_hello"}
        assert silent.receive() is None
    until(lambda: strict.refused("socket", "no_hello") == 1)
    row("security", "connection without hello", "closed after 5 s, counted as `no_hello`")


def test_a_job_that_talks_too_fast_is_not_read_for_a_while(strict: DaemonProcess, row: Row) -> None:
    with strict.job("fast") as fast, strict.job("calm") as calm:
        fast.socket.setblocking(False)
        sent = 0
        began = time.monotonic()
        while time.monotonic() - began < 0.5:
            try:
                fast.send(iterations_of(first=4 * sent))
                sent += 1
            except BlockingIOError:
                time.sleep(0.001)
        calm.send(iterations_of())
        until(lambda: strict.status_of("calm")["iterations"] == 4)
        read, took_s = strict.metric("events_total", event="messages"), time.monotonic() - began
        assert read <= 2 * (50 + 50 * took_s)  # of two jobs, by the limits of this daemon
        until(lambda: strict.refused("socket", "too_fast") >= 1)
    row(
        "security",
        "a job that floods the socket",
        "it is read at 64 messages/s, counted as `too_fast`; others are served",
    )


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o622])
def test_a_token_that_others_can_read_is_not_used(tmp_path: Path, mode: int, row: Row) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(mode)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_token(token)
    if mode == 0o644:
        program = [sys.executable, "-m", "cassini_agent.cli", "serve", f"--socket={tmp_path / 's'}"]
        done = subprocess.run([*program, f"--token-file={token}"], capture_output=True, text=True, timeout=30)
        assert done.returncode == 2
        assert "chmod 600" in done.stderr
    row("security", "token file open to others", "`serve` does not start, exit status 2")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--socket=s",), "--token-file or --tls-client-ca"),
        (("--token-file=short", "--socket=s"), "at least 16"),
        (("--token-file=.", "--socket=s"), "regular file"),
        (("--token-file=gone", "--socket=s"), "No such file"),
        (("--token-file=token", "--read-token-file=token", "--socket=s"), "another token"),
        (("--token-file=token", "--host=0.0.0.0", "--socket=s"), "in the clear"),
        (("--token-file=token", "--tls-certificate=token", "--socket=s"), "both or neither"),
        (("--token-file=token", "--tls-certificate=token", "--tls-key=token", "--socket=s"), "TLS"),
        (
            (
                *("--token-file=token", "--socket=s", "--tls-certificate=token", "--tls-key=token"),
                "--tls-client-ca=token",
            ),
            "--tls-client-name",
        ),
        (("--token-file=token", "--state-directory=gone", "--socket=s"), "--state-directory"),
        (("--token-file=token", f"--socket=/tmp/{'x' * 120}"), "at most 107 bytes"),
        (("--token-file=token", "--port=70000", "--socket=s"), "0 to 65535"),
    ],
)
def test_an_unsafe_configuration_does_not_start(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    says: str,
    row: Row,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("token", TOKEN), ("short", "secret")):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o600)
    assert main(["check-config", *options]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    row("security", "plain HTTP beyond the host, short token, no token, ...", "`serve` does not start, exit status 2")
