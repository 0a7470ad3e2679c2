"""``cassini-agent interleave`` and the call of the same name, with real daemons and jobs that report to them."""

from __future__ import annotations

import importlib
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from daemon_process import TOKEN, DaemonProcess, wait_until
from played_training import PlayedTraining

from cassini_agent.cli import main
from cassini_agent.coordinator import events as of_coordinator
from cassini_agent.coordinator.background import coordinating
from cassini_agent.coordinator.coordinator import Coordinator
from cassini_agent.coordinator.member import Member
from cassini_agent.dispatch import Endpoint
from cassini_agent.interleave import Interleaving, Network, engine, jobs
from cassini_agent.interleave.events import Arranged, Found, GoesOn
from cassini_agent.interleave.jobs import SeenJobs
from cassini_agent.schedule import Schedule

MS = 1_000_000
ONE = Network.one_link("up", 50.0)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Played jobs run many times faster than real ones."""
    monkeypatch.setattr(jobs, "EVERY_S", 0.5)
    monkeypatch.setattr(engine, "LOOK_S", 0.1)
    monkeypatch.setattr(importlib.import_module("cassini_agent.cli.interleave"), "ANSWER_S", 0.3)


@pytest.fixture
def both(tmp_path: Path) -> Iterator[dict[str, DaemonProcess]]:
    with ExitStack() as stack:
        daemons = {}
        for job in "ab":
            (tmp_path / job).mkdir()
            daemons[job] = DaemonProcess(tmp_path / job, forked=True).start()
            stack.callback(daemons[job].stop)
        for job, daemon in daemons.items():
            stack.enter_context(PlayedTraining(daemon, job))
        yield daemons


def options(daemons: dict[str, DaemonProcess]) -> list[str]:
    jobs = [f"--job={job}@http://127.0.0.1:{daemon.port}" for job, daemon in daemons.items()]
    return ["interleave", "--link=up=50", f"--token-file={daemons['a'].folder / 'token'}", *jobs]


def endpoints(daemons: dict[str, DaemonProcess]) -> dict[str, Endpoint]:
    return {job: Endpoint(f"http://127.0.0.1:{one.port}", TOKEN) for job, one in daemons.items()}


def schedule_of(daemons: dict[str, DaemonProcess], job: str) -> dict[str, object] | None:
    told = daemons[job].status_of(job)["schedule"]
    return None if told is None else dict(told)


def test_once_arranges_the_jobs_and_again_leaves_them_alone(
    both: dict[str, DaemonProcess], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*options(both), "--once"]) == 0
    shown = capsys.readouterr().out
    # Played jobs wait by the clock of the machine: where it is busy, their iterations take longer.
    assert re.search(r"arranged \(new\): paces a 43\d\.\d ms, b 43\d\.\d ms, score 1\.000", shown)
    assert re.search(r"b is apart: 41\d\.\d ms\): paces a 41\d\.\d ms, b 41\d\.\d ms, score 1\.000", shown)
    assert "2 jobs, 2 held" in shown
    assert "2 jobs keep their schedules" in shown
    before = {job: schedule_of(both, job) for job in both}
    assert all(before.values())
    assert main([*options(both), "--once"]) == 0
    assert "goes on: a, b" in capsys.readouterr().out
    assert {job: schedule_of(both, job) for job in both} == before
    assert main([*options(both), "--once", "--release"]) == 0
    assert {job: schedule_of(both, job) for job in both} == {"a": None, "b": None}


def test_once_fails_where_a_job_is_not_there(
    both: dict[str, DaemonProcess], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "SETTLE_S", 0.5)
    assert main([*options(both), f"--job=c@http://127.0.0.1:{both['a'].port}", "--once", "--release"]) == 1
    assert "c: not seen yet" in capsys.readouterr().err
    assert {job: schedule_of(both, job) for job in both} == {"a": None, "b": None}


def test_the_live_table_is_shown_until_ctrl_c(both: dict[str, DaemonProcess]) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "cassini_agent.cli", *options(both)]
    environment = {**os.environ, "COLUMNS": "150", "LINES": "40", "TERM": "xterm"}
    process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    try:
        shown = read_until(ours, "2 jobs, 2 held")
        shown += read_until(ours, "arranged")
        process.send_signal(signal.SIGINT)
        shown += read_until(ours, "goes on with them")
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert "Traceback" not in shown


NEWER = "another-token-that-may-do-all"


def replace_token(daemon: DaemonProcess, token: str) -> None:
    fresh = daemon.folder / "fresh"
    fresh.write_text(token)
    fresh.chmod(0o600)
    fresh.replace(daemon.folder / "token")


def test_a_token_that_is_replaced_is_read_again(both: dict[str, DaemonProcess]) -> None:
    command = [sys.executable, "-m", "cassini_agent.cli", *options(both), "--release"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        assert any("arranged" in line for line in process.stdout)
        replace_token(both["a"], "short")
        assert any("reading the token or certificates failed" in line for line in process.stdout)
        for daemon in both.values():
            replace_token(daemon, NEWER)
        for daemon in both.values():
            wait_until(lambda daemon=daemon: daemon.ask("GET", "/v1/jobs", token=NEWER).status == 200)
        time.sleep(1.5)  # it looks once a second
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        for job, daemon in both.items():
            assert daemon.ask("GET", f"/v1/jobs/{job}", token=NEWER).body["schedule"] is None
    finally:
        process.kill()
        process.communicate()


def test_the_live_status_reads_a_token_that_is_replaced(
    both: dict[str, DaemonProcess], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    daemon, sleep, looks = both["a"], time.sleep, []

    def between_two_looks(seconds: float) -> None:
        if seconds == 0.7:
            looks.append(seconds)
        if seconds != 0.7:
            sleep(seconds)
        elif len(looks) == 1:
            replace_token(daemon, "short")
        elif len(looks) == 2:
            replace_token(daemon, NEWER)
            wait_until(lambda: daemon.ask("GET", "/v1/jobs", token=NEWER).status == 200)
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", between_two_looks)
    monkeypatch.setattr("cassini_agent.cli.status.EVERY_S", 0.7)
    url = f"http://127.0.0.1:{daemon.port}"
    assert main(["status", f"--url={url}", f"--token-file={daemon.folder / 'token'}"]) == 130
    shown = capsys.readouterr().out
    assert "1 jobs" in shown
    assert "unauthorized" not in shown


def read_until(terminal: int, wanted: str) -> str:
    shown, end_s = b"", time.monotonic() + 60
    while wanted not in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown.decode(errors="replace")):
        assert time.monotonic() < end_s, shown.decode(errors="replace")[-3000:]
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                shown += os.read(terminal, 65536)
            except OSError:  # the other side has gone
                break
    return shown.decode(errors="replace")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "expected --job JOB@URL or --daemon URL, got neither"),
        (["--job=a"], "--job: expected JOB@URL, got 'a'"),
        (["--job=a@ftp://x"], "--job: expected JOB@URL"),
        (["--daemon=x"], "url: expected http://host:port"),
        (["--daemon=http://x:y"], "url: expected http://host:port"),
        (["--daemon=http://h:1"], "expected --link or --problem, got neither"),
        (["--daemon=http://h:1", "--link=up"], "--link: expected NAME=GBPS, got 'up'"),
        (["--daemon=http://h:1", "--link==5"], "--link: expected NAME=GBPS"),
        (["--daemon=http://h:1", "--link=up=inf"], "--link: expected NAME=GBPS"),
        (["--daemon=http://h:1", "--link=up=5", "--rate=a=0"], "--rate: expected NAME=GBPS"),
        (["--daemon=http://h:1", "--link=up=5", "--problem=x"], "expected --link or --problem, got both"),
        (["--daemon=http://h:1", "--problem=/no/such/file"], "/no/such/file: No such file"),
        (["--daemon=http://h:1", "--link=up=5", "--token-file=/no/token"], "/no/token: No such file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(given: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["interleave", *given]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("verb", ["status --once --url", "interleave --link=up=5 --daemon"])
def test_a_token_does_not_leave_the_host_in_the_clear(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    assert main([*verb.split(), "http://192.0.2.1:9311", f"--token-file={token}"]) == 2
    told = capsys.readouterr().err
    assert "in the clear (--plain-http where it is trusted)" in told
    assert TOKEN not in told


def test_an_endpoint_shows_no_token_and_sends_none_in_the_clear() -> None:
    for here in ("http://127.0.0.1:1", "http://localhost:1", "http://[::1]:1", "https://far:1"):
        assert TOKEN not in repr(Endpoint(here, TOKEN))
    assert Endpoint("http://far:1", TOKEN, plain_http=True).token == TOKEN
    assert Endpoint("http://far:1").token is None
    for far in ("http://far:1", "http://127.0.0.1.example.org:1", "http://10.0.0.1", "http://localhost.example:1"):
        with pytest.raises(ValueError, match="in the clear"):
            Endpoint(far, TOKEN)
    for strange in ("far:1", "ftp://far", "http://", "http://a:b@far", "http://far:99999999", "http://["):
        with pytest.raises(ValueError, match="expected http://host:port"):
            Endpoint(strange, TOKEN)


@pytest.mark.slow
def test_a_scheduler_makes_one_call(both: dict[str, DaemonProcess]) -> None:
    told: list[object] = []
    with Interleaving(ONE, endpoints(both), tell=told.append) as running:
        wait_until(running.is_arranged)
        wait_until(lambda: [row.state for row in running.status()] == ["held", "held"])
        rows = running.status()
        assert [row.job for row in rows] == ["a", "b"]
        schedules = [row.status.schedule for row in rows]
        assert len({None if one is None else one.pace_ns for one in schedules} - {None}) == 1
        assert rows[0].status.iteration_ns == pytest.approx(413 * MS, rel=1e-3)
        assert [row.answer is not None and row.answer.accepted for row in rows] == [True, True]
        before = schedule_of(both, "a")
        with PlayedTraining(both["a"], "c", 360, 50):
            wait_until(lambda: any(isinstance(event, Arranged) and "c joined" in event.because for event in told))
            wait_until(lambda: schedule_of(both, "a") != before)
            running.update(jobs={"a", "b"})
            wait_until(lambda: [row.job for row in running.status()] == ["a", "b"])
        with pytest.raises(ValueError, match="cross a link"):
            running.update(network=Network({"up": 5.0}, {"a": {"up": 1.0}}))
    assert [event for _, event in running.events] == told
    with pytest.raises(RuntimeError, match="within its block"):
        running.status()


@pytest.mark.slow
def test_a_daemon_that_is_killed_is_told_of_once_and_the_grid_stays(both: dict[str, DaemonProcess]) -> None:
    told: list[object] = []
    port = both["b"].port

    def told_of_b() -> list[of_coordinator.Unreachable | of_coordinator.Reachable]:
        # Where the machine is busy the other daemon, too, may once answer too late.
        kinds = of_coordinator.Unreachable | of_coordinator.Reachable
        return [event for event in told if isinstance(event, kinds) and event.host == "b"]

    def is_last(kind: type[object]) -> bool:
        return any(isinstance(event, kind) for event in told_of_b()[-1:])

    with Interleaving(ONE, endpoints(both), tell=told.append) as running:
        wait_until(running.is_arranged)
        before = {job: schedule_of(both, job) for job in both}
        both["b"].stop(signal.SIGKILL)
        wait_until(lambda: is_last(of_coordinator.Unreachable))
        time.sleep(2.5)
        both["b"]._options = [one for one in both["b"]._options if one != "--port=0"] + [f"--port={port}"]
        both["b"].start()
        wait_until(lambda: is_last(of_coordinator.Reachable))
        time.sleep(2.0)
    assert {job: schedule_of(both, job) for job in both} == before
    gone, back = told_of_b()[::2], told_of_b()[1::2]
    assert {type(event) for event in gone} == {of_coordinator.Unreachable}
    assert {type(event) for event in back} == {of_coordinator.Reachable}
    assert not [event for event in gone if "ssl" in str(event)]
    kinds = [type(event) for event in told]
    assert kinds.count(Found) == 2
    assert kinds.count(Arranged) == 2
    assert not kinds.count(GoesOn)


# --- a coordinator in the background ----------------------------------------------------------------------------------


def member() -> Member:
    made = Schedule("a", "c", 1, 10**18, 10**8, 0, 10**8, 10**6, 10**6, 0, 2 * 10**18)
    return Member(made, "h")


def test_a_coordinator_that_ends_is_told_of_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(self: Coordinator) -> None:
        raise ZeroDivisionError("by a fault of ours")

    monkeypatch.setattr(Coordinator, "run", run)
    told: list[object] = []
    inside = []

    def scheduler() -> None:
        with coordinating([member()], {"h": Endpoint("http://127.0.0.1:9")}, told.append):
            wait_until(lambda: told)
            inside.extend(told)

    with pytest.raises(ZeroDivisionError):
        scheduler()
    assert inside == told == [of_coordinator.Failed("the coordinator", "ZeroDivisionError: by a fault of ours", 1)]


def test_the_scheduler_s_own_error_is_not_hidden_by_the_coordinator_s(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(self: Coordinator) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Coordinator, "run", run)
    told: list[object] = []

    def scheduler() -> None:
        with coordinating([member()], {"h": Endpoint("http://127.0.0.1:9")}, told.append):
            wait_until(lambda: told)
            raise KeyError("of the scheduler")

    with pytest.raises(KeyError):
        scheduler()


@pytest.mark.slow
def test_an_interleaving_goes_on_when_its_coordinator_has_ended(
    both: dict[str, DaemonProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, ended = Coordinator.run, []

    async def once(self: Coordinator) -> None:
        if not ended:
            ended.append(True)
            raise ZeroDivisionError("by a fault of ours")
        await run(self)

    monkeypatch.setattr(Coordinator, "run", once)
    with Interleaving(ONE, endpoints(both)) as running:
        wait_until(running.is_arranged)
        wait_until(lambda: len(running._engine.holding.coordinator._tasks) == 2)
        assert any("the coordinator failed" in str(line) for line in describe_all(running))


def test_a_round_that_fails_is_told_of_and_the_next_one_comes(
    both: dict[str, DaemonProcess], monkeypatch: pytest.MonkeyPatch
) -> None:
    look, failed = SeenJobs.look, []

    def once(self: SeenJobs, *given: Any) -> None:
        if len(failed) < 2:
            failed.append(True)
            raise ZeroDivisionError("by a fault of ours")
        look(self, *given)

    monkeypatch.setattr(SeenJobs, "look", once)
    with Interleaving(ONE, endpoints(both)) as running:
        wait_until(lambda: len(running.status()) == 2)
        assert [line for line in describe_all(running) if "failed" in line] == [
            "a look at the jobs failed: ZeroDivisionError: by a fault of ours",
            "a look at the jobs failed 2 times: ZeroDivisionError: by a fault of ours",
        ]


def describe_all(running: Interleaving) -> list[str]:
    from cassini_agent.interleave import describe

    return [describe(event) for _, event in running.events]


@pytest.mark.slow
def test_it_ends_when_nobody_reads_what_it_prints(both: dict[str, DaemonProcess]) -> None:
    command = [sys.executable, "-m", "cassini_agent.cli", *options(both)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert b"runs at" in process.stdout.readline()
        process.stdout.close()
        assert process.wait(20) == 1
