"""A scheduler gives its jobs secrets: real jobs, a real daemon, and what dispatching keeps of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from conftest import Row
from daemon_process import PATIENCE_S, TOKEN, DaemonProcess
from daemon_process import wait_until as until
from fake_daemons import FakeDaemons

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.control.phase import wrap
from cassini_agent.dispatch import JobSecret

JOBS = [cc.Job(name, 20.0, [cc.Phase(0.0, length, 45.0)]) for name, length in (("a", 9.0), ("b", 8.0))]
PROBLEM = cc.Problem(JOBS, [cc.Link("up", 50.0)], [cc.Candidate("c", {job.id: ["up"] for job in JOBS})])
RANKING = cc.rank(PROBLEM)

TRAINS = """
import sys, threading
import cassini_agent
agent = cassini_agent.connect()
pause = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), pause.set()), daemon=True).start()
while not pause.wait(0.02):
    agent.iteration()
agent.close()
"""


@contextmanager
def training(daemon: DaemonProcess, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINS],
        env={**os.environ, "CASSINI_AGENT_SOCKET": str(daemon.socket), **environment},
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.communicate("", timeout=PATIENCE_S)


def test_a_scheduler_starts_jobs_with_secrets(daemon: DaemonProcess, row: Row) -> None:
    """The squatter is there first; the job comes in, is held, and survives a scheduler that remembers no secret."""
    secrets = {job.id: JobSecret() for job in JOBS}
    where = dict.fromkeys(secrets, dispatch.Endpoint(f"http://{daemon.url_host}:{daemon.port}", TOKEN))

    def reports(job: str) -> bool:
        answer = daemon.ask("GET", f"/v1/jobs/{job}")
        return bool(answer.status == 200 and answer.body["connected"] and answer.body["iterations"] > 8)

    with training(daemon, {"CASSINI_JOB_ID": "a"}) as squatter:
        until(lambda: reports("a"))
        with training(daemon, secrets["a"].environment("a")), training(daemon, secrets["b"].environment("b")):
            answers = dispatch.apply(RANKING, PROBLEM, where, secrets=secrets)
            assert [one.accepted for one in answers] == [True, True]
            until(lambda: reports("a") and reports("b"))
            again = dispatch.apply(RANKING, PROBLEM, where)  # by a scheduler that was restarted
            assert [one.attempts for one in again] == [0, 0]
            hashes = {job: daemon.status_of(job)["schedule"]["secret_sha256"] for job in secrets}
            assert hashes == {job: secret.sha256 for job, secret in secrets.items()}
            version = daemon.status_of("a")["schedule"]["version"]
            until(lambda: daemon.status_of("a")["followed"] == version)  # it is the job that follows
            _, said = squatter.communicate("", timeout=PATIENCE_S)
    assert said.count("wrong_secret") == 1
    assert "CASSINI_JOB_SECRET" in said
    row(
        "security",
        "a squatter that trains beside the job of that name",
        "runs free, and says why once; the job is held",
    )


def apply(daemons: FakeDaemons, **secrets: JobSecret) -> list[dispatch.Acknowledgement]:
    where = {job.id: dispatch.Endpoint("http://here") for job in JOBS}
    return dispatch.apply(RANKING, PROBLEM, where, transport=daemons, secrets=secrets)


def hashes_of(daemons: FakeDaemons) -> list[str | None]:
    return [daemons.schedules[job].secret_sha256 for job in "ab"]


def test_a_secret_stays_until_there_is_another_and_moves_nobody() -> None:
    daemons, first, second = FakeDaemons(), JobSecret(), JobSecret()
    apply(daemons)
    before = dict(daemons.schedules)
    for secrets, expected, is_sent in (
        ({}, [None, None], False),
        ({"a": first}, [first.sha256, None], True),
        ({"a": first}, [first.sha256, None], False),
        ({}, [first.sha256, None], False),
        ({"b": second}, [first.sha256, second.sha256], True),
        ({"a": second, "elsewhere": first}, [second.sha256, second.sha256], True),
    ):
        requests = daemons.requests.total()
        answers = apply(daemons, **secrets)
        assert hashes_of(daemons) == expected
        assert (daemons.requests.total() > requests) == is_sent
        for one in answers:
            assert (one.accepted, one.schedule) == (True, daemons.schedules[one.job])
            was, now = before[one.job], daemons.schedules[one.job]
            assert now.component == was.component
            assert wrap(now.epoch_ns + now.shift_ns - was.epoch_ns - was.shift_ns, now.pace_ns) == 0


def test_a_secret_stays_where_a_component_is_planned_anew() -> None:
    daemons, secret = FakeDaemons(), JobSecret()
    apply(daemons, a=secret)
    shorter = cc.Problem([JOBS[0], cc.Job("b", 20.0, [cc.Phase(0.0, 5.0, 45.0)])], PROBLEM.links, PROBLEM.candidates)
    where = {job.id: dispatch.Endpoint("http://here") for job in JOBS}
    version = daemons.versions["a"]
    dispatch.apply(cc.rank(shorter), shorter, where, transport=daemons)
    assert daemons.versions["a"] > version
    assert hashes_of(daemons) == [secret.sha256, None]


def test_secrets_are_made_and_are_not_alike() -> None:
    one, other = JobSecret(), JobSecret()
    assert one != other
    assert len(one.text) >= 40
    assert one.environment("x") == {"CASSINI_JOB_ID": "x", "CASSINI_JOB_SECRET": one.text}
    assert JobSecret(one.text).sha256 == one.sha256 != other.sha256
