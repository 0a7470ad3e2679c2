"""The agent in a training loop that the test plays: it holds the grid, tells every rank the same, and harms nothing."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from played_loop import MS, NATURAL, Clock, Link, error_ns, schedule

from cassini_agent.control.controller import Controller
from cassini_agent.loop import Agent, connect
from cassini_agent.loop.rank0_controller import Rank0Controller
from cassini_agent.loop.timeline import HostTimeline


class Loop:
    """A training loop of one rank, with 60 ms of computation and 40 ms of communication."""

    def __init__(self, link: Link | None = None, timeline: type[HostTimeline] = HostTimeline) -> None:
        self.clock = Clock()
        self.link = link if link is not None else Link()
        rank0_controller = Rank0Controller(self.link, Controller(0))
        self.agent = Agent(timeline(self.clock), rank0_controller, self.clock, self.clock.wait)
        self.starts_ns: list[int] = []

    def run(self, iterations: int, natural_ns: Callable[[int], int] = lambda _: NATURAL) -> None:
        for k in range(iterations):
            self.agent.iteration()
            self.starts_ns.append(self.clock.now_ns)
            took_ns = natural_ns(k)
            self.clock.now_ns += took_ns * 6 // 10
            with self.agent.communication():
                self.clock.now_ns += took_ns - took_ns * 6 // 10


def test_a_schedule_is_held_to_the_nanosecond_where_nothing_jitters() -> None:
    loop = Loop()
    loop.run(5)
    told = schedule(loop.clock)
    loop.link.incoming.append(told)
    loop.run(50)
    assert [error_ns(start, told) for start in loop.starts_ns[10:]] == [0] * 45
    assert loop.agent.summary()["state"] == "held"
    # One wait to get there, then the difference of pace and uncontrolled time.
    assert max(loop.clock.waited_ns) < told["pace_ns"]
    assert loop.clock.waited_ns[1:] == [MS] * (len(loop.clock.waited_ns) - 1)


@given(st.lists(st.integers(-6, 6), min_size=40, max_size=40))
def test_with_jitter_starts_stay_within_the_hold_and_never_come_early(jitter_ms: list[int]) -> None:
    loop = Loop()
    loop.run(5)
    told = schedule(loop.clock, hold_ns=40 * MS, slack_ns=40 * MS, pace_ns=107 * MS)
    loop.link.incoming.append(told)
    loop.run(20)  # lateness that the pace makes good is not waited for
    loop.run(40, lambda k: NATURAL + jitter_ms[k] * MS)
    errors = [error_ns(start, told) for start in loop.starts_ns[25:]]
    assert all(0 <= error <= 6 * MS for error in errors)
    assert all(0 <= wait < told["pace_ns"] for wait in loop.clock.waited_ns)


class GpuThatIsWaitedFor(HostTimeline):
    """A stream that is done when the host comes to the next iteration; a mark is known a moment after it is made."""

    def known(self) -> list[tuple[tuple[str, int], int]]:
        marks = super().known()
        self._marks.extend(mark for mark in marks if mark[1] == self._now_ns())
        return [mark for mark in marks if mark[1] < self._now_ns()]


@pytest.mark.parametrize("timeline", [HostTimeline, GpuThatIsWaitedFor])
@given(
    lengths=st.lists(st.sampled_from([1, 5, 50, 60, 80, 95, 100, 100, 100, 120, 1000, 17_000]), max_size=60),
    at=st.integers(0, 20),
    place_ms=st.integers(0, 200),
)
def test_however_iterations_vary_no_wait_is_as_long_as_a_pace(
    timeline: type[HostTimeline], lengths: list[int], at: int, place_ms: int
) -> None:
    loop = Loop(timeline=timeline)
    loop.run(min(at, len(lengths)), lambda k: lengths[k] * MS)
    loop.link.incoming.append(schedule(loop.clock, epoch_ns=loop.clock.now_ns + place_ms * MS))
    loop.run(len(lengths[at:]), lambda k: lengths[at + k] * MS)
    loop.run(8)
    assert all(0 <= wait < 101 * MS for wait in loop.clock.waited_ns)


def test_an_iteration_that_ends_early_is_known_to_have_ended() -> None:
    loop = Loop()
    loop.run(5)
    told = schedule(loop.clock)
    loop.link.incoming.append(told)
    loop.run(30)
    waits = len(loop.clock.waited_ns)
    loop.run(1, lambda _: 60 * MS)
    loop.run(1)
    assert loop.clock.waited_ns[waits:] == [MS, 41 * MS]  # no GPU is waited for that would be busy until then
    loop.agent.close()
    errors = [at for message in loop.link.sent if message["type"] == "iterations" for at in message["error_ns"]]
    assert errors[-1] == error_ns(loop.starts_ns[-1], told) == 0


def test_the_profile_is_what_the_job_does() -> None:
    loop = Loop()
    loop.run(20)
    profile = loop.agent.summary()["profile"]
    assert profile["iteration_ns"] == NATURAL
    assert (profile["communication_start_ns"], profile["communication_end_ns"]) == (60 * MS, 100 * MS)
    loop.link.incoming.append(schedule(loop.clock))
    loop.run(30)
    assert loop.agent.summary()["profile"]["iteration_ns"] == NATURAL  # waits are not the job's


def test_reports_say_what_happened() -> None:
    loop = Loop()
    loop.run(5)
    told = schedule(loop.clock)
    loop.link.incoming.append(told)
    loop.run(60)
    loop.agent.close()
    reports = [message for message in loop.link.sent if message["type"] == "iterations"]
    starts = [at for report in reports for at in report["start_ns"]]
    assert starts == loop.starts_ns
    numbers = [report["first"] + i for report in reports for i in range(len(report["start_ns"]))]
    assert numbers == list(range(65))
    assert {at for report in reports for at in report["natural_ns"]} == {NATURAL}
    assert sum(at for report in reports for at in report["delay_ns"]) == sum(loop.clock.waited_ns)
    assert reports[-1]["delay_total_ns"] == sum(loop.clock.waited_ns)
    assert reports[-1]["state"] == "held"
    offsets = [
        at - start
        for report in reports
        for at, start in zip(report["communication_start_ns"], report["start_ns"], strict=True)
    ]
    assert set(offsets) == {60 * MS}
    assert loop.link.closed


def test_a_job_that_meets_others_says_so_at_its_first_start_there() -> None:
    loop = Loop()
    loop.run(5)
    told = schedule(loop.clock, version=7)
    loop.link.incoming.append(told)
    loop.run(30)
    loop.run(1, lambda _: 17_190 * MS)
    loop.link.sent.clear()
    loop.run(2)
    assert [message["state"] for message in loop.link.sent] == ["adjusting", "adjusting"]
    for message, start in zip(loop.link.sent, loop.starts_ns[-2:], strict=True):
        assert (message["version"], message["place_ns"]) == (7, error_ns(start, told))


def test_while_it_is_out_of_its_place_it_says_where_it_is_not_too_often() -> None:
    loop = Loop()
    told = schedule(
        loop.clock, pace_ns=10 * MS, iteration_ns=10 * MS, shift_ns=5 * MS, hold_ns=MS // 2, slack_ns=MS // 2
    )
    loop.link.incoming.append(told)
    loop.run(30, lambda _: 10 * MS)
    loop.link.sent.clear()
    loop.run(150, lambda _: 10 * MS + MS // 20)
    said = [message["state"] for message in loop.link.sent].count("adjusting")
    assert 150 * 10 // 50 // 2 < said <= 150 * 11 // 50


@given(st.lists(st.integers(1, 12), min_size=1, max_size=12), st.integers(0, 50))
def test_the_errors_of_a_report_are_all_from_the_grid_that_it_names(runs: list[int], place_ms: int) -> None:
    loop = Loop()
    told: dict[int, dict[str, Any]] = {}
    for version, iterations in enumerate(runs, 1):
        told[version] = schedule(loop.clock, version=version, epoch_ns=loop.clock.now_ns + version * place_ms * MS)
        loop.link.incoming.append(dict(told[version]))
        loop.run(iterations)
    loop.agent.close()
    for message in (message for message in loop.link.sent if message["type"] == "iterations"):
        for start, error in zip(message["start_ns"], message["error_ns"], strict=True):
            assert error is None or error == error_ns(start, told[message["version"]])
    numbers = [m["first"] + i for m in loop.link.sent if "first" in m for i in range(len(m["start_ns"]))]
    assert numbers == list(range(sum(runs)))


def test_a_pause_is_not_learned_from_and_nothing_is_waited_after_it() -> None:
    loop = Loop()
    loop.run(5)
    loop.link.incoming.append(schedule(loop.clock))
    loop.run(30)
    waits = len(loop.clock.waited_ns)
    with loop.agent.paused():
        loop.clock.now_ns += 17_345 * MS
    loop.run(1)
    assert len(loop.clock.waited_ns) == waits
    loop.run(20)
    assert loop.agent.summary()["profile"]["iteration_ns"] == NATURAL
    natural = [at for message in loop.link.sent if message["type"] == "iterations" for at in message["natural_ns"]]
    assert set(natural) == {NATURAL, None}


@pytest.mark.parametrize(
    "message",
    [
        {"type": "schedule"},
        {"type": "schedule", "pace_ns": "x" * 10_000},
        {"type": 3},
        {},
        {"type": "refused"},
        {"type": "refused", "reason": {"a": [1] * 1000}},
        {"type": "schedule", "job": None, "version": True},
    ],
)
def test_garbage_changes_nothing(message: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    loop.run(5)
    told = schedule(loop.clock)
    loop.link.incoming.append(told)
    loop.run(10)
    loop.link.incoming.append(message)
    loop.run(20)
    assert loop.agent.summary()["state"] == "held"
    assert [error_ns(start, told) for start in loop.starts_ns[12:]] == [0] * 23


def test_a_refusal_is_said_once_however_often_it_comes(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    for reason in ["name_taken"] * 3 + ["not_yours"] * 2:
        loop.link.incoming.append({"type": "refused", "reason": reason})
        loop.run(1)
    said = [record.getMessage() for record in caplog.records if "refuses" in record.getMessage()]
    assert len(said) == 2
    assert "CASSINI_JOB_ID" in said[0]
    assert loop.agent.summary()["note"] == "not_yours"


def test_what_a_newer_daemon_adds_to_a_schedule_is_passed_over() -> None:
    loop = Loop()
    loop.run(5)
    told = schedule(loop.clock)
    loop.link.incoming.append({**told, "colour": ["green"], "priority": 3})
    loop.run(20)
    assert loop.agent.summary()["state"] == "held"


@pytest.mark.parametrize("key", ["epoch_ns", "expires_ns"])
def test_a_schedule_of_another_day_is_refused(key: str, caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop()
    loop.run(5)
    loop.link.incoming.append(schedule(loop.clock, **{key: loop.clock.now_ns + 2 * 86_400 * 10**9}))
    loop.run(20)
    assert loop.clock.waited_ns == []
    assert key in loop.agent.summary()["note"]


def test_a_failure_of_the_agent_is_said_once_and_training_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Link):
        def receive(self) -> list[dict[str, Any]]:
            raise RuntimeError("as the test wants it")

    loop = Loop(Broken())
    loop.run(20)
    assert len(loop.starts_ns) == 20
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert loop.agent.summary()["note"] == "stopped after a failure"
    assert loop.link.closed  # or the daemon would think for ever that the job is held
    loop.agent.close()


def test_without_a_daemon_it_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    loop = Loop(Link(connected=False))
    with caplog.at_level(logging.WARNING):
        loop.run(20)
    assert [record.getMessage() for record in caplog.records] == [
        "no agent daemon at /nowhere: training goes on without time-shifts"
    ]
    assert loop.clock.waited_ns == []


def test_an_exception_of_the_training_loop_is_its_own() -> None:
    loop = Loop()
    loop.agent.iteration()
    with pytest.raises(KeyError), loop.agent.communication():
        raise KeyError("the job's")
    with pytest.raises(KeyError), loop.agent.paused():
        raise KeyError("the job's")


def test_a_forked_child_is_not_the_job() -> None:
    loop = Loop()
    loop.run(3)
    sent = len(loop.link.sent)
    child = os.fork()
    if child == 0:
        loop.run(40)
        os._exit(0 if len(loop.link.sent) == sent and loop.agent.summary()["iterations"] == 3 else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_after_close_nothing_happens() -> None:
    loop = Loop()
    loop.run(3)
    loop.agent.close()
    sent = len(loop.link.sent)
    loop.run(40)
    loop.agent.close()
    assert len(loop.link.sent) == sent


# --- connecting -------------------------------------------------------------------------------------------------------


def test_connecting_takes_what_the_environment_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("CASSINI_AGENT_SOCKET", str(tmp_path / "s"))
    monkeypatch.setenv("CASSINI_JOB_ID", "vgg16")
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    agent = connect()
    assert agent._rank0_controller._link._hello["job"] == "vgg16"
    assert agent._rank0_controller._link.path == str(tmp_path / "s")
    agent.iteration()
    agent.close()


def name_in(monkeypatch: pytest.MonkeyPatch, **environment: str) -> str:
    for name in ("CASSINI_JOB_ID", "SLURM_JOB_ID", "SLURM_STEP_ID", "TORCHELASTIC_RUN_ID", "JOB_NAME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return str(connect(rank=0, world_size=1)._rank0_controller._link._hello["job"])


@pytest.mark.parametrize("environment", [{"TORCHELASTIC_RUN_ID": "none"}, {}])
def test_jobs_that_nobody_has_named_are_not_one(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where their processes have one id, in two containers or on two hosts."""
    names = [name_in(monkeypatch, **environment) for _ in range(20)]
    assert len(set(names)) == 20
    assert all(name.startswith(f"pid-{os.getpid()}-") for name in names)


@pytest.mark.parametrize(
    ("step", "name"),
    [
        (None, "1234"),  # of the batch script
        ("0", "1234"),
        ("1", "1234.1"),
        ("12", "1234.12"),
        ("4294967290", "1234"),  # of an interactive shell
        ("4294967291", "1234"),
        ("what", "1234"),
    ],
)
def test_steps_of_one_slurm_job_are_not_one(step: str | None, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"SLURM_JOB_ID": "1234", "TORCHELASTIC_RUN_ID": "none"} | ({} if step is None else {"SLURM_STEP_ID": step})
    assert name_in(monkeypatch, **own) == name
    assert name_in(monkeypatch, CASSINI_JOB_ID="vgg16", **own) == "vgg16"


def test_who_knows_better_may_let_a_job_wait_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("CASSINI_AGENT_SOCKET", str(tmp_path / "s"))
    monkeypatch.setenv("CASSINI_AGENT_ADJUSTING_SHARE", "0.03")
    shares = [
        connect(rank=0, world_size=1, adjusting_share=given)._rank0_controller._controller._share
        for given in (None, 0.2)
    ]
    assert shares == [0.03, 0.2]
    assert connect(rank=0, world_size=1, adjusting_share=7.0)._rank0_controller is None  # said, and without shifts


def test_it_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CASSINI_AGENT", "0")
    agent = connect()
    for _ in range(3):
        agent.iteration()
    assert agent.summary()["iterations"] == 3
    assert agent.is_off
    monkeypatch.setenv("CASSINI_AGENT", "1")
    assert not connect(rank=0, world_size=1).is_off


def test_a_wrong_environment_costs_the_agent_and_not_the_job(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("RANK", "first")
    agent = connect()
    agent.iteration()
    assert "could not be set up" in caplog.text
    assert agent.summary()["iterations"] == 1


def test_in_a_training_process_only_the_standard_library_is_imported() -> None:
    probe = (
        "import sys; before = set(sys.modules); import cassini_agent; agent = cassini_agent.connect(); "
        "agent.iteration(); "
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}; "
        "print(sorted(n for n in new if n not in sys.stdlib_module_names and n != 'cassini_agent'))"
    )
    out = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_threads_are_ended_by_close() -> None:
    before = threading.active_count()
    agent = connect(rank=0, world_size=1)
    agent.iteration()
    agent.close()
    assert threading.active_count() == before
