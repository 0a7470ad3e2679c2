"""Who may pass for a job that has a secret: against the real daemon, as rows of its table of refusals."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest
from conftest import Row, Start
from daemon_process import MS_NS, DaemonProcess, iterations_of, schedule_of
from daemon_process import wait_until as until
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_agent import dispatch
from cassini_agent.daemon.limits import Places
from cassini_agent.daemon.messages import read_message
from cassini_agent.daemon.registry import RefusedError, Registry
from cassini_agent.schedule import Schedule, ScheduleError

SECRET, OTHER = "a-secret-of-one-job-and-no-other", "a-secret-of-another-job-altogether"
AS_USER = """
import json, os, socket, sys
uid, job, secret = int(sys.argv[1]), sys.argv[2], sys.argv[3]
os.setgroups([])
os.setresuid(uid, uid, uid)
one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
one.settimeout(60)
one.connect("agent.sock")
hello = {"type": "hello", "protocol": 1, "job": job}
one.send(json.dumps(hello | ({"secret": secret} if secret else {})).encode())
for line in sys.stdin:  # a message to send, or nothing: the next one is to be heard
    if line.strip():
        one.send(line.encode())
    print(one.recv(65536).decode(), flush=True)
"""


class OtherUser:
    """A process of another user, which says hello for a job and then hears what it is asked to."""

    def __init__(self, daemon: DaemonProcess, uid: int, job: str, secret: str = "") -> None:
        daemon.folder.chmod(0o755)
        daemon.folder.parent.chmod(0o755)
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-c", AS_USER, str(uid), job, secret],
            cwd=daemon.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def hears(self) -> dict[str, Any] | None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().strip()
        return dict(json.loads(line)) if line else None

    def __enter__(self) -> OtherUser:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


def hash_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def secret_schedule(job: str, secret: str = SECRET, version: int = 1, **changes: Any) -> dict[str, Any]:
    return schedule_of(job, version, secret_sha256=hash_of(secret), **changes)


REFUSED = {"type": "refused", "reason": "wrong_secret"}


def test_without_the_secret_of_its_schedule_nobody_is_the_job(daemon: DaemonProcess, row: Row) -> None:
    """Not even root, such as of a container without a user namespace."""
    assert daemon.put(secret_schedule("locked")).status == 200
    for hello in ({}, {"secret": OTHER}, {"secret": ""}, {"secret": hash_of(SECRET)}):
        with daemon.counts_refusal("socket", "wrong_secret"), daemon.job("locked", **hello) as squatter:
            assert squatter.receive() == REFUSED
            assert squatter.receive() is None
    with daemon.job("locked", secret=SECRET) as job:
        told = job.receive() or {}
        assert told["type"] == "schedule"
        assert "secret_sha256" not in told  # nothing that a job needs to know
        job.send(iterations_of())
        until(lambda: daemon.status_of("locked")["iterations"] == 4)
    with daemon.job("locked", secret=SECRET) as again:  # it lost its connection
        assert (again.receive() or {})["type"] == "schedule"
    row("security", "a job's name without the secret of its schedule, as root too", "`wrong_secret`, counted, closed")


def test_a_squatter_that_came_first_goes_and_what_it_said_counts_no_more(daemon: DaemonProcess, row: Row) -> None:
    with daemon.job("predictable") as squatter:
        squatter.send(iterations_of())
        until(lambda: daemon.status_of("predictable")["iterations"] == 4)
        with daemon.counts_refusal("socket", "wrong_secret"):
            assert daemon.put(secret_schedule("predictable")).status == 200
        assert squatter.receive() == {"type": "clear"}  # it may have had a schedule
        assert squatter.receive() == REFUSED
        assert squatter.receive() is None
        status = daemon.status_of("predictable")
        assert (status["connected"], status["iterations"], status["errors_ns"]) == (False, 0, [])
        with daemon.job("predictable", secret=SECRET) as job:
            assert (job.receive() or {})["type"] == "schedule"
            job.send(iterations_of(many=2))
            until(lambda: daemon.status_of("predictable")["iterations"] == 2)
    row(
        "security",
        "somebody came first under a job's name",
        "evicted when the schedule comes, and its reports forgotten",
    )


def test_what_a_squatter_said_is_forgotten_though_it_has_gone(daemon: DaemonProcess) -> None:
    with daemon.job("gone") as squatter:
        squatter.send(iterations_of())
        until(lambda: daemon.status_of("gone")["iterations"] == 4)
    until(lambda: not daemon.status_of("gone")["connected"])
    assert daemon.put(secret_schedule("gone")).status == 200
    assert daemon.status_of("gone")["iterations"] == 0


def test_a_job_that_was_there_before_its_schedule_stays(daemon: DaemonProcess) -> None:
    with daemon.job("first", secret=SECRET) as job:
        job.send(iterations_of())
        until(lambda: daemon.status_of("first")["iterations"] == 4)
        for version in (1, 2):  # and what it has measured stays, whatever comes under the same secret
            assert daemon.put(secret_schedule("first", version=version)).status == 200
            assert (job.receive() or {})["type"] == "schedule"
        assert daemon.status_of("first")["iterations"] == 4
        assert daemon.put(schedule_of("first", version=3)).status == 200  # without one nobody has to go
        assert (job.receive() or {})["type"] == "schedule"


def test_another_secret_is_another_job(daemon: DaemonProcess, row: Row) -> None:
    daemon.put(secret_schedule("renewed"))
    with daemon.job("renewed", secret=SECRET) as old:
        assert (old.receive() or {})["type"] == "schedule"
        with daemon.job("renewed", secret=OTHER) as early:
            assert early.receive() == REFUSED
        assert daemon.put(secret_schedule("renewed", OTHER, 2)).status == 200
        assert [old.receive(), old.receive(), old.receive()] == [{"type": "clear"}, REFUSED, None]
        with daemon.job("renewed", secret=OTHER) as new:
            assert (new.receive() or {})["version"] == 2
    row("security", "a job that was started anew under another secret", "the process that has the old one is evicted")


def test_withdrawn_expired_and_without_a_hash_go_by_the_user(daemon: DaemonProcess) -> None:
    daemon.put(secret_schedule("over", expires_ns=time.time_ns() + 300 * MS_NS))
    with daemon.job("over", secret=OTHER) as job:
        assert job.receive() == REFUSED
    time.sleep(0.4)
    with daemon.job("over", secret=OTHER) as job:  # else nobody could learn of a job that was started anew
        job.send(iterations_of())
        until(lambda: daemon.status_of("over")["iterations"] == 4)
    daemon.put(secret_schedule("fallback"))
    assert daemon.ask("DELETE", "/v1/jobs/fallback/schedule?version=1").status == 200
    with daemon.job("fallback") as job:  # whoever comes first, as ever
        assert daemon.put(schedule_of("fallback", 2)).status == 200
        assert (job.receive() or {})["type"] == "schedule"
        assert daemon.put(secret_schedule("fallback", version=3)).status == 200
        assert [job.receive(), job.receive(), job.receive()] == [{"type": "clear"}, REFUSED, None]


@pytest.mark.skipif(os.getuid() != 0, reason="only root can be somebody else")
def test_the_user_does_not_matter_to_who_has_the_secret(daemon: DaemonProcess, row: Row) -> None:
    daemon.put(secret_schedule("users"))
    with OtherUser(daemon, 4242, "users", SECRET) as job:
        assert (job.hears() or {})["type"] == "schedule"
        assert daemon.status_of("users")["uid"] == 4242
        with daemon.counts_refusal("socket", "wrong_secret"), daemon.job("users") as root:
            assert root.receive() == REFUSED
        with OtherUser(daemon, 4242, "users") as same_user:
            assert same_user.hears() == REFUSED
        with daemon.counts_refusal("socket", "name_taken"), daemon.job("users", secret=SECRET) as second:
            assert second.receive() == {"type": "refused", "reason": "name_taken"}  # as long as the first one runs
    until(lambda: not daemon.status_of("users")["connected"])
    with OtherUser(daemon, 4243, "users", SECRET) as elsewhere:  # started again, by another user
        assert (elsewhere.hears() or {})["type"] == "schedule"
        assert daemon.status_of("users")["uid"] == 4243
    with OtherUser(daemon, 4244, "owned"):
        until(lambda: daemon.ask("GET", "/v1/jobs/owned").status == 200)
        with OtherUser(daemon, 4245, "owned", SECRET) as kept_out:
            assert kept_out.hears() == {"type": "refused", "reason": "not_yours"}
        daemon.put(secret_schedule("owned"))
        with OtherUser(daemon, 4245, "owned", SECRET) as let_in:
            assert (let_in.hears() or {})["type"] == "schedule"
    row(
        "security",
        "another user's process with the job's secret",
        "it is the job; the user counts where there is no hash",
    )


def test_a_daemon_that_is_killed_knows_the_secret_again(start: Start, row: Row) -> None:
    daemon = start()
    daemon.put(secret_schedule("kept"))
    with daemon.job("kept", secret=SECRET) as job:
        assert (job.receive() or {})["type"] == "schedule"
        daemon.stop(signal.SIGKILL)
        daemon.start()
    with daemon.job("kept") as squatter:
        assert squatter.receive() == REFUSED
    with daemon.job("kept", secret=SECRET) as job:
        assert (job.receive() or {})["type"] == "schedule"
    row("fault", "a daemon killed, a squatter quicker than the job", "`wrong_secret`: the hash is in the journal")


@pytest.mark.parametrize("secret", ["x" * 257, 7, "\ud800", ["s"]])
def test_a_secret_that_is_none_is_malformed(daemon: DaemonProcess, secret: object) -> None:
    with daemon.counts_refusal("socket", "malformed"), daemon.job("odd", secret=secret) as job:
        assert job.receive() == {"type": "refused", "reason": "malformed"}
        assert job.receive() is None


def test_the_secret_stands_nowhere(start: Start) -> None:
    daemon = start()
    daemon.put(secret_schedule("quiet"))
    for secret in (SECRET, OTHER):
        with daemon.job("quiet", secret=secret) as job:
            job.receive()
            with suppress(BrokenPipeError):  # the other one was shown the door
                job.send({"type": "hello", "protocol": 1, "secret": secret})
                job.receive()
    said = [daemon.log.read_text(), daemon.ask("GET", "/metrics").body, json.dumps(daemon.status_of("quiet"))]
    daemon.stop()
    said += [file.read_text() for file in daemon.state.iterdir()] + [daemon.log.read_text()]
    hello = read_message(json.dumps({"type": "hello", "protocol": 1, "job": "quiet", "secret": SECRET}).encode())
    said += [repr(hello), repr(dispatch.JobSecret(SECRET)), str(dispatch.JobSecret(SECRET))]
    for text in said:
        assert SECRET not in text
        assert OTHER not in text


@pytest.mark.parametrize(
    "value", ["", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "0" * 63 + "\n", 0, ["0" * 64], b"0" * 64]
)
def test_a_hash_is_64_digits(value: object) -> None:
    with pytest.raises(ScheduleError, match="secret_sha256: expected 64 digits"):
        Schedule.from_mapping({**schedule_of("a"), "secret_sha256": value})


def test_a_schedule_with_a_hash_of_another_kind_is_refused(daemon: DaemonProcess) -> None:
    for value in ("0" * 63, 1):
        assert daemon.put({**schedule_of("hash"), "secret_sha256": value}).body["reason"] == "malformed"


def test_a_schedule_says_its_hash_and_is_read_again() -> None:
    for mapping in (schedule_of("a"), secret_schedule("a")):
        one = Schedule.from_mapping(mapping)
        assert one.to_mapping() == mapping  # as daemons of before know it, where there is none
        assert Schedule.from_json(one.to_json()) == one


@pytest.mark.parametrize(
    "text", ["", "x" * 15, "x" * 257, "a secret with spaces in it", "\u00fc" * 20, "x" * 20 + "\n"]
)
def test_a_secret_that_can_be_guessed_or_lost_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="16 to 256 printable") as error:
        dispatch.JobSecret(text)
    assert not text or text not in str(error.value)


# --- all that a registry may be asked, in any order -------------------------------------------------------------------


class Speaker:
    """A connection, as far as a registry cares."""

    def __init__(self, registry: Registry, uid: int, secret: str | None) -> None:
        self.registry, self.uid, self.pid = registry, uid, os.getpid()
        self.secret_sha256 = None if secret is None else hash_of(secret)
        self.is_proved = False

    def send(self, message: bytes) -> None: ...

    def prove(self) -> None:
        self.is_proved = True

    def evict(self, reason: str) -> None:
        job = self.registry.get("a")
        assert job is not None
        self.registry.leave(job, self, 0)


SECRETS = st.sampled_from([None, SECRET, OTHER])


@settings(max_examples=100)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("join"), st.integers(0, 2), SECRETS),
            st.tuples(st.just("offer"), SECRETS),
            st.tuples(st.just("clear")),
            st.tuples(st.just("leave")),
        )
    )
)
def test_who_speaks_for_a_job_has_its_secret_or_is_its_user(steps: list[tuple[Any, ...]]) -> None:
    registry = Registry(4)
    job = registry.get_or_add("a", 0)
    secret: str | None = None  # that the schedule in force has
    told_by: str | None = None  # what who reported last had shown
    for step in steps:
        match step:
            case ("join", uid, shown):
                speaker = Speaker(registry, uid, shown)
                owner = job.owner
                try:
                    registry.join("a", speaker, 0)
                except RefusedError as error:
                    refused = (
                        ("not_yours", uid not in (owner, 0)) if secret is None else ("wrong_secret", secret != shown)
                    )
                    assert (error.reason, True) == refused  # noqa: PT017
                else:
                    assert shown == secret if secret is not None else owner is None or uid in (owner, 0)
                    assert speaker.is_proved == (secret is not None)
                    assert job.link is speaker
                    job.hear(speaker.secret_sha256)
                    assert job.measurements.iterations == 0 or told_by == shown
                    job.measurements.iterations, told_by = 1, shown
            case ("offer", new):
                before = job.secret_sha256(0)
                version = job.version + 1
                changes = {} if new is None else {"secret_sha256": hash_of(new)}
                job.offered = Schedule.from_mapping({**schedule_of("a", version), **changes})
                job.version, job.offset_ns, secret = version, 0, new
                if new is not None and hash_of(new) != before:
                    registry.check_secret(job, hash_of(new))
                    assert job.measurements.iterations == 0 or told_by == new
            case ("clear",):
                job.offset_ns, secret = None, None
            case ("leave",) if job.link is not None:
                registry.leave(job, job.link, 0)
        if secret is not None and isinstance(job.link, Speaker):
            assert job.link.secret_sha256 == hash_of(secret)
            assert job.link.is_proved


@settings(max_examples=100)
@given(
    st.lists(
        st.tuples(st.sampled_from(["take", "take", "take", "keep", "leave"]), st.integers(0, 3), st.integers(0, 30))
    )
)
def test_places_are_kept_by_those_who_need_them(steps: list[tuple[str, int, int]]) -> None:
    """Against a plain list of who is there."""
    most = 6
    places: Places[int] = Places(most)
    there: list[tuple[int, int, bool]] = []  # who, of which peer, whether it keeps its place; the oldest first
    for number, (what, peer, which) in enumerate(steps):
        if what == "take":
            strangers = [one for one in there if not one[2]]
            goes = places.take(number, peer)
            if len(there) < most:
                assert goes is None
            elif not strangers:
                assert goes == number
                continue
            else:
                (gone,) = (one for one in strangers if one[0] == goes)
                many = {one[1]: sum(other[1] == one[1] for other in strangers) for one in strangers}
                assert many[gone[1]] == max(many.values())
                assert gone == next(one for one in strangers if one[1] == gone[1])
            there = [one for one in there if one[0] != goes] + [(number, peer, False)]
        elif there:
            one = there[which % len(there)]
            if what == "keep":
                places.keep(one[0])
                there = [(who, of, kept or who == one[0]) for who, of, kept in there]
            else:
                places.leave(one[0])
                there.remove(one)
        assert len(places) == len(there)
    for who, _, _ in there:
        places.leave(who)
    assert (len(places), len(places._strangers)) == (0, 0)
