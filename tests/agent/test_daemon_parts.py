"""Parts of the daemon by themselves: arithmetic of clocks, bounded memory, limits, the journal, logs."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import random
import statistics
import threading
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from daemon_process import MS_NS, SECOND_NS, iterations_of, schedule_of
from hypothesis import given
from hypothesis import strategies as st

from cassini_agent.counters.starts import Heard, Witness
from cassini_agent.daemon.access import Access
from cassini_agent.daemon.clocks import OFFSET_STEP_NS, CoordinatorClock, Reading, wall_clock_error_ns
from cassini_agent.daemon.journal import Journal
from cassini_agent.daemon.limits import TokenBucket
from cassini_agent.daemon.log import LineWriter, Log
from cassini_agent.daemon.measurements import WINDOW, Measurements, median
from cassini_agent.daemon.messages import read_message
from cassini_agent.daemon.metrics import Metrics
from cassini_agent.daemon.registry import RefusedError, Registry, on_host
from cassini_agent.daemon.schedules import FOLLOW_NS, Schedules
from cassini_agent.daemon.status import CounterView, job_status
from cassini_agent.schedule import DAY_NS, Schedule

instants = st.integers(1_600_000_000 * SECOND_NS, 2_000_000_000 * SECOND_NS)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    now_ns = draw(instants)
    iteration_ns = draw(st.one_of(st.integers(MS_NS, 2**40), st.sampled_from([MS_NS, 2**40])))
    pace_ns = draw(st.one_of(st.integers(iteration_ns, iteration_ns * 3 // 2), st.just(iteration_ns * 3 // 2)))
    hold_ns = draw(st.integers(0, pace_ns // 2))
    return Schedule(
        job="a",
        component="c",
        version=1,
        epoch_ns=now_ns + draw(st.integers(-DAY_NS, DAY_NS)),
        pace_ns=pace_ns,
        shift_ns=draw(st.integers(0, pace_ns - 1)),
        iteration_ns=iteration_ns,
        hold_ns=hold_ns,
        slack_ns=draw(st.integers(hold_ns, pace_ns // 2)),
        gain_ns=draw(st.integers(0, iteration_ns)),
        expires_ns=now_ns + draw(st.integers(1, DAY_NS)),
    )


@given(schedules(), st.integers(-(2**61), 2**61), st.integers(-100, 100))
def test_the_grid_on_the_host_is_the_grid_of_the_coordinator(schedule: Schedule, offset_ns: int, turn: int) -> None:
    """Every grid point lies where the offset puts it; and what comes out is a schedule again."""
    host = on_host(schedule, offset_ns)  # its bounds are checked as it is made
    expected = schedule.epoch_ns + schedule.shift_ns + turn * schedule.pace_ns + offset_ns
    assert (expected - host.epoch_ns - host.shift_ns) % host.pace_ns == 0
    assert host.expires_ns == schedule.expires_ns + offset_ns


@given(schedules(), instants, st.one_of(st.integers(0, DAY_NS), st.just(DAY_NS)))
def test_what_the_daemon_takes_the_job_takes_whenever_it_comes(
    schedule: Schedule, taken_ns: int, later_ns: int
) -> None:
    schedule = dataclasses.replace(
        schedule,
        epoch_ns=taken_ns + (schedule.epoch_ns - taken_ns) % (2 * DAY_NS) - DAY_NS,
        expires_ns=taken_ns + 1 + (schedule.expires_ns - taken_ns) % DAY_NS,
    )
    schedule.check_near(taken_ns)  # as the daemon sees it
    now_ns = 1000 * SECOND_NS
    host = on_host(schedule, now_ns - taken_ns)
    now_ns += min(later_ns, host.expires_ns - now_ns - 1)
    host.check_near(now_ns)  # as the job does


class HandClocks:
    """Both clocks are set by hand."""

    def __init__(self) -> None:
        self.now = Reading(1000 * SECOND_NS, 1_700_000_000 * SECOND_NS)

    def read(self) -> Reading:
        return self.now

    def monotonic_ns(self) -> int:
        return self.now.monotonic_ns

    def step(self, elapsed_ns: int, wall_ns: int = 0) -> None:
        self.now = Reading(self.now.monotonic_ns + elapsed_ns, self.now.unix_ns + elapsed_ns + wall_ns)


@given(st.lists(st.tuples(st.integers(0, DAY_NS), st.sampled_from([0, 0, 300, -2 * MS_NS, 3600 * SECOND_NS]))))
def test_every_step_of_the_wall_clock_is_seen_and_nothing_else(moves: list[tuple[int, int]]) -> None:
    clocks = HandClocks()
    clock = CoordinatorClock(clocks)
    for elapsed_ns, wall_ns in moves:
        clocks.step(elapsed_ns, wall_ns)
        clock.observe()
    assert clock.wall_steps == sum(abs(wall_ns) > MS_NS for _, wall_ns in moves)
    assert abs(clocks.monotonic_ns() - clock.current() - clocks.now.unix_ns) <= 2


def test_the_kernel_says_how_far_the_wall_clock_may_be_off_or_that_nobody_keeps_it() -> None:
    error_ns = wall_clock_error_ns()
    assert error_ns is None or 0 <= error_ns < 20 * SECOND_NS  # at 16 s the kernel itself gives it up


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1).map(sorted))
def test_the_median_lies_between_the_middle_two(ordered: list[int]) -> None:
    assert abs(median(ordered) - statistics.median_low(ordered)) <= abs(ordered[-1] - ordered[0])
    assert statistics.median_low(ordered) <= median(ordered) <= statistics.median_high(ordered)


def message(**changes: Any) -> Any:
    return read_message(json.dumps(iterations_of(**changes)).encode())


def test_measurements_of_a_job_that_began_again_do_not_mix() -> None:
    told = Measurements()
    told.record(message(first=100, many=3, natural_ns=[5, 6, 7]))
    told.record(message(first=0, many=3, natural_ns=[50, None, 70]))
    assert told.iteration_ns() == 60
    assert told.iterations == 3


Report = st.tuples(
    st.integers(1, 40),  # iterations
    st.integers(0, 9),  # that were not heard of before them
    st.integers(0, 1),  # version
    st.sampled_from(["held", "adjusting"]),
    st.sampled_from([[], [0], [-1, 1]]),  # pattern
)


@given(st.lists(Report, max_size=20), st.randoms(use_true_random=False))
def test_a_window_has_the_last_iterations_and_nothing_else(reports: list[Any], rng: random.Random) -> None:
    """Against plain lists of all that was ever told."""
    told, first, was = Measurements(), 0, ("waiting", 0, 0)
    all_of: dict[str, list[int | None]] = {key: [] for key in ("start_ns", "natural_ns", "communication_start_ns")}
    steady: list[tuple[int, int]] = []  # with the number of its iteration
    calm = 0
    for many, lost, version, state, pattern in reports:
        first += lost
        columns = {key: [rng.choice([None, rng.randrange(10**6)]) for _ in range(many)] for key in all_of}
        told.record(message(first=first, many=many, version=version, state=state, pattern_ns=pattern, **columns))
        for key, values in columns.items():
            all_of[key] += values
        if version != was[1]:
            calm, steady = first + 1, []
        elif (was[0], state) == ("adjusting", "held"):
            calm, steady = first + many + 1, []
        if len(pattern) != was[2]:
            steady = []
        for number, value in enumerate(columns["natural_ns"], first):
            if value is not None and number >= calm:
                steady.append((number, max(0, value - (pattern[number % len(pattern)] if pattern else 0))))
            elif value is None:
                steady.append((number, -1))
        first, was = first + many, (state, version, len(pattern))
        last = {key: values[-WINDOW:] for key, values in all_of.items()}
        assert told.starts_ns() == [value for value in last["start_ns"] if value is not None][-65:]
        assert told.communication_starts_ns() == [one for one in last["communication_start_ns"] if one is not None]
        assert told.recent_ns()["natural_ns"] == all_of["natural_ns"][-32:]
        values = sorted(value for _, value in steady[-WINDOW:] if value >= 0)
        assert told.iteration_ns() == (median(values) if values else None)


class Nobody:
    pid, secret_sha256 = 1, None

    def __init__(self, uid: int) -> None:
        self.uid = uid

    def send(self, message: bytes) -> None:
        raise AssertionError

    prove = send

    def evict(self, reason: str) -> None:
        self.evicted = reason


def test_the_longest_unheard_job_makes_room() -> None:
    registry = Registry(4)
    for i in range(4):
        job = registry.join(f"job{i}", Nobody(0), i)
        if i < 3 and job.link is not None:
            registry.leave(job, job.link, i)
    scheduled = registry.get_or_add("job0", 5)
    scheduled.version, scheduled.keep_until_ns = 1, 100
    registry.touch(registry.get_or_add("job1", 5), 5)
    registry.join("new", Nobody(0), 6)  # job0 has a version to remember, job3 is connected, job1 was heard of last
    assert sorted(registry.ids()) == ["job0", "job1", "job3", "new"]
    registry.join("newer", Nobody(0), 7)
    assert sorted(registry.ids()) == ["job0", "job3", "new", "newer"]
    connected = registry.get_or_add("job3", 5).link
    registry.join("newest", Nobody(0), 8)  # of those that no schedule has named the one that is longest unheard goes
    assert sorted(registry.ids()) == ["job0", "new", "newer", "newest"]
    assert connected.evicted == "too_many_jobs"  # type: ignore[attr-defined]
    for name in ("new", "newer", "newest"):
        registry.get_or_add(name, 9).version = 1
    with pytest.raises(RefusedError, match="too many jobs"):
        registry.get_or_add("last", 10)
    registry.get_or_add("last", 101)  # by now nothing of job0 could be replayed
    assert registry.get("job0") is None


def test_a_user_gets_no_job_of_others() -> None:
    registry = Registry(4)
    registry.join("theirs", Nobody(8), 0)
    with pytest.raises(RefusedError, match="not yours"):
        registry.join("theirs", Nobody(7), 0)
    registry.leave(registry.get_or_add("theirs", 0), registry.get_or_add("theirs", 0).link, 0)  # type: ignore[arg-type]
    with pytest.raises(RefusedError, match="not yours"):
        registry.join("theirs", Nobody(7), 0)
    registry.join("theirs", Nobody(0), 0)
    assert registry.get("theirs").owner == 8  # type: ignore[union-attr]


@given(st.floats(0.1, 1000), st.floats(1, 100), st.lists(st.tuples(st.floats(0, 5), st.floats(0, 20))))
def test_a_bucket_gives_no_more_than_its_rate(per_s: float, burst: float, takes: list[tuple[float, float]]) -> None:
    now, taken = 0.0, 0.0
    bucket = TokenBucket(per_s, burst, now)
    for pause, cost in takes:
        now += pause
        taken += cost
        now += bucket.take(now, cost)
        assert taken <= (burst + per_s * now) * (1 + 1e-9)


@given(st.floats(0.1, 1000), st.floats(1, 100), st.integers(1, 50))
def test_who_takes_no_more_than_there_is_does_not_wait(per_s: float, burst: float, many: int) -> None:
    bucket = TokenBucket(per_s, burst, 0.0)
    for number in range(many):
        assert bucket.take(1.001 * number / per_s, 1.0) == 0


def test_the_journal_holds_what_was_saved_last_whatever_fails(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    kept = [b"0"]
    failures: list[Exception] = []

    async def fill() -> None:
        journal = Journal(path, lambda: kept[-1], failures.append)
        assert journal.read() is None
        for i in range(3):
            kept.append(b"%d" % i)
            await journal.saved()
        (tmp_path / ".journal.part").mkdir()  # nothing can be written
        kept.append(b"last")
        await journal.saved()
        assert journal.has_failed
        assert journal.read() == b"2"
        (tmp_path / ".journal.part").rmdir()
        for _ in range(100):  # all of them while the first is being written
            journal.save()
        await journal.close()
        assert journal.read() == b"last"
        assert not journal.has_failed

    asyncio.run(fill())
    assert len(failures) == 1


def test_a_fault_in_what_is_to_be_written_ends_nothing(tmp_path: Path) -> None:
    faults: list[ValueError] = [ValueError("a fault")]
    failures: list[Exception] = []

    def content() -> bytes:
        if faults:
            raise faults.pop()
        return b"{}"

    async def write() -> None:
        journal = Journal(tmp_path / "journal", content, failures.append)
        await journal.saved()
        await journal.saved()
        await journal.close()

    asyncio.run(write())
    assert (tmp_path / "journal").read_bytes() == b"{}"
    assert [str(one) for one in failures] == ["a fault"]


@given(st.lists(st.integers(-(10**8), 10**8), min_size=1, max_size=8))
def test_the_journal_knows_the_offset_but_for_what_grids_do_not_follow(moves: list[int]) -> None:
    """Also where no job is held: a schedule may come before the coordinator asks again."""
    schedules = Schedules(Registry(4), CoordinatorClock(HandClocks()), "b")
    offset_ns, kept = 0, schedules.kept()
    for move in moves:
        offset_ns += move
        if schedules.follow(offset_ns):
            kept = schedules.kept()
        again = CoordinatorClock(HandClocks())
        Schedules(Registry(4), again, "b").restore(kept)
        assert again.offset_ns is not None
        assert abs(again.offset_ns - offset_ns) <= FOLLOW_NS


class Hears(Nobody):
    """Keeps what it is sent."""

    def __init__(self) -> None:
        super().__init__(0)
        self.grids: list[int] = []

    def send(self, message: bytes) -> None:
        self.grids.append(json.loads(message)["epoch_ns"])

    def evict(self, reason: str) -> None: ...


@given(st.lists(st.integers(-3 * OFFSET_STEP_NS, 3 * OFFSET_STEP_NS), max_size=8), st.integers(0, 8))
def test_a_held_job_follows_drift_and_no_step_over_restarts_too(moves: list[int], restart: int) -> None:
    """What a job was told last is within what grids do not follow of the clock, unless that is a step away."""
    clocks, registry, job = HandClocks(), Registry(4), Hears()
    clock = CoordinatorClock(clocks)
    schedules = Schedules(registry, clock, "b")
    unix_ns = clocks.now.unix_ns
    offset_ns = clocks.now.monotonic_ns - unix_ns
    registry.join("a", job, 0)
    sent = {**schedule_of("a"), "epoch_ns": unix_ns, "expires_ns": unix_ns + 600 * SECOND_NS}
    schedules.offer("a", Schedule.from_mapping(sent))
    held_ns = offset_ns
    for number, move in enumerate(moves):
        offset_ns += move
        schedules.follow(offset_ns)
        if FOLLOW_NS < abs(offset_ns - held_ns) <= OFFSET_STEP_NS:
            held_ns = offset_ns
        assert job.grids[-1] == unix_ns + held_ns
        if number == restart:
            kept, registry = schedules.kept(), Registry(4)
            clock = CoordinatorClock(clocks)
            schedules = Schedules(registry, clock, "b")
            schedules.restore(kept)
            again = registry.join("a", job, 0).in_force(clocks.now.monotonic_ns)
            assert again is not None
            assert again.epoch_ns == job.grids[-1]


def test_a_slow_disk_delays_nobody_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassini_agent.daemon.journal.WAIT_S", 0.2)
    os.mkfifo(tmp_path / ".journal.part")  # opening it for writing waits for a reader that does not come

    async def write() -> float:
        journal = Journal(tmp_path / "journal", lambda: b"{}", lambda _: None)
        began = time.monotonic()
        await journal.saved()
        took = time.monotonic() - began
        reader = os.open(tmp_path / ".journal.part", os.O_RDONLY | os.O_NONBLOCK)
        await journal.close()
        os.close(reader)
        return took

    assert 0.15 < asyncio.run(write()) < 30.0  # not for ever


def test_logging_into_a_pipe_that_nobody_reads_does_not_wait(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    descriptor = os.open(pipe, os.O_WRONLY)
    writer = LineWriter(descriptor)
    log = Log(writer.write)
    began = time.monotonic()
    for _ in range(3000):
        log.info("long", text="x" * 200)
    assert time.monotonic() - began < 30  # not until somebody reads
    assert writer.dropped > 1000
    os.set_blocking(reader, True)
    draining = threading.Thread(target=lambda: deque(iter(lambda: os.read(reader, 65536), b""), maxlen=0))
    draining.start()
    writer.close(5.0)  # what is in the queue is written as soon as somebody reads
    os.close(descriptor)
    draining.join(5)
    os.close(reader)


def test_a_refusal_that_repeats_is_logged_once_a_second_and_counted_each_time() -> None:
    lines: list[bytes] = []
    now = 0.0
    log = Log(lines.append, lambda: now)
    for i in range(100):
        now = i / 50
        log.refused("http", "malformed", peer="a")
    assert [json.loads(line)["unsaid"] for line in lines] == [0, 49]
    assert log.refusals["http", "malformed"] == 100


def kept_of(*jobs: dict[str, Any], **changes: Any) -> bytes:
    """What a journal of this boot holds."""
    return json.dumps({"boot": "b", "offset_ns": None, "jobs": jobs, **changes}).encode()


def kept_job(job: str, **changes: Any) -> dict[str, Any]:
    kept = {"job": job, "version": 3, "cleared": False, "owner": None, "offered": None, "offset_ns": None}
    return {**kept, "keep_until_unix_ns": 1_700_000_100 * SECOND_NS, **changes}


@pytest.mark.parametrize(
    "kept",
    [
        kept_of(kept_job("a", offered=3)),
        kept_of(kept_job("a", offered={"format": 1})),
        kept_of(kept_job("a", offered={**schedule_of("a"), "pace_ns": 1})),
        kept_of(kept_job("a", version=None)),
        kept_of(kept_job("a", keep_until_unix_ns="soon")),
        kept_of(kept_job("a", offset_ns=2**63)),
        kept_of({"job": 3}),
        kept_of(offset_ns="3"),
        kept_of(offset_ns=2**63),
        b"{}",
    ],
)
def test_a_journal_that_makes_no_sense_brings_nothing_back(kept: bytes) -> None:
    registry = Registry(4)
    schedules = Schedules(registry, CoordinatorClock(HandClocks()), "b")
    with pytest.raises(ValueError, match=r"[Ee]xpected|missing"):
        schedules.restore(kept)
    assert registry.ids() == []


def test_a_journal_of_more_jobs_than_there_is_room_for_is_read_as_far_as_there_is() -> None:
    registry = Registry(4)
    schedules = Schedules(registry, CoordinatorClock(HandClocks()), "b")
    schedules.restore(kept_of(kept_job("old", keep_until_unix_ns=0), *(kept_job(f"job{i}") for i in range(5))))
    assert registry.ids() == [f"job{i}" for i in range(4)]


def test_after_a_reboot_only_the_versions_count() -> None:
    registry = Registry(4)
    clocks = HandClocks()
    offered = {**schedule_of("a"), "epoch_ns": clocks.now.unix_ns, "expires_ns": clocks.now.unix_ns + SECOND_NS}
    kept = kept_of(kept_job("a", owner=7, offered=offered, offset_ns=5), boot="another", offset_ns=5)
    Schedules(registry, (clock := CoordinatorClock(clocks)), "b").restore(kept)
    job = registry.get("a")
    assert job is not None
    assert (job.version, job.owner, job.offset_ns, clock.offset_ns) == (3, None, None, None)


def test_names_without_a_schedule_are_not_kept() -> None:
    registry = Registry(4)
    schedules = Schedules(registry, CoordinatorClock(HandClocks()), "b")
    empty = schedules.kept()
    registry.join("a", Hears(), 0)
    assert (schedules.kept(), registry.has_new_owner) == (empty, False)


class BrokenCounters:
    def start(self) -> None: ...

    def stop(self) -> None: ...

    def latest(self) -> Mapping[str, Any]:
        raise OSError(19, "No such device")

    def witness(self, jobs: Mapping[str, Heard]) -> dict[str, Witness]:
        raise OSError(19, "No such device")


def test_counters_that_fail_cost_only_themselves() -> None:
    log = Log(lambda _: None)
    view = CounterView(BrokenCounters(), log)  # type: ignore[arg-type]
    registry = Registry(4)
    job = registry.join("a", Nobody(0), 0)
    job.measurements.record(message(communication_start_ns=[1, 2, 3, 4]))
    asyncio.run(view.refresh(registry))
    assert job_status(job, view, 0)["counters"] is None
    assert job_status(job, view, 0)["counters_say"] is None
    assert job_status(job, view, 0)["disagreement"] is None
    assert log.errors["counters"] == 1


def test_each_job_is_counted_by_its_state() -> None:
    log, registry = Log(lambda _: None), Registry(8)
    states = ("waiting", "held", "adjusting", "unlocked", "free", "expired")
    for number, state in enumerate(states):
        job = registry.join(f"job{number}", Hears(), 0)
        job.measurements.record(message(state=state))
        job.heard_ns = 0
    silent = registry.join("silent", Hears(), 0)
    silent.measurements.record(message(state="held"))
    silent.heard_ns = -3600 * SECOND_NS
    view = CounterView(None, log)
    text = asyncio.run(Metrics(registry, log, view, lambda: 0, {}, {}).render())[0].decode()
    for state in (*states, "silent"):
        assert f'cassini_agent_jobs_by_state{{state="{state}"}} 1.0' in text


@pytest.mark.parametrize("scheme", ["bearer", "Bearer", "BEARER"])
def test_the_token_opens_and_nothing_like_it(scheme: str) -> None:
    access = Access(token="t" * 20, read_token="r" * 20)
    assert access.allows(f"{scheme} {'t' * 20}", reading=False)
    assert access.allows(f"{scheme} {'r' * 20}", reading=True)
    assert not access.allows(f"{scheme} {'r' * 20}", reading=False)
    for wrong in ("", scheme, f"{scheme} ", f"Basic {'t' * 20}", f"{scheme} {'t' * 20} ", "t" * 20, f"{scheme} None"):
        assert not access.allows(wrong, reading=True)
    assert not Access(token=None).allows("Bearer ", reading=True)
    assert "tttt" not in repr(access)
    assert "rrrr" not in repr(access)


def test_a_schedule_of_the_tests_is_one() -> None:
    Schedule.from_mapping(schedule_of("a"))
