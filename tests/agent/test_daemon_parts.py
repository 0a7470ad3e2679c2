"""Parts of the daemon by themselves: arithmetic of clocks, bounded memory, limits, the journal, logs."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
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
from cassini_agent.daemon.clocks import CoordinatorClock, Reading, checked_offset, wall_clock_error_ns
from cassini_agent.daemon.counts import Counts
from cassini_agent.daemon.host_schedule import grid_move_ns, on_host
from cassini_agent.daemon.journal import Journal, read_journal
from cassini_agent.daemon.limits import Limits, TokenBucket
from cassini_agent.daemon.logs import LogWriter, RefusalLog, make_logger
from cassini_agent.daemon.measurements import Measurements, Ring, median, quantiles
from cassini_agent.daemon.messages import read_message
from cassini_agent.daemon.registry import NotYoursError, Registry, TooManyError
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
    host = on_host(schedule, offset_ns, schedule.expires_ns - 1 + offset_ns)  # its bounds are checked as it is made
    expected = schedule.epoch_ns + schedule.shift_ns + turn * schedule.pace_ns + offset_ns
    assert (expected - host.epoch_ns - host.shift_ns) % host.pace_ns == 0
    assert host.expires_ns == schedule.expires_ns + offset_ns
    assert grid_move_ns(dataclasses.replace(host, epoch_ns=schedule.epoch_ns + offset_ns), host) == 0


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
    host = on_host(schedule, now_ns - taken_ns, now_ns)
    now_ns += min(later_ns, host.expires_ns - now_ns - 1)
    host.check_near(now_ns)  # as the job does


@given(schedules(), st.integers(-(2**40), 2**40))
def test_a_grid_that_moves_by_whole_paces_has_not_moved(schedule: Schedule, move_ns: int) -> None:
    moved = dataclasses.replace(schedule, epoch_ns=schedule.epoch_ns + move_ns)
    least = move_ns % schedule.pace_ns
    assert grid_move_ns(schedule, moved) == min(least, schedule.pace_ns - least)


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
    assert abs(clock.now_ns() - clocks.now.unix_ns) <= 2


@pytest.mark.parametrize("wrong", [2**63, -(2**63), 1.0, float("nan"), True, None, "1"])
def test_an_offset_out_of_bounds_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="offset_ns: expected"):
        checked_offset(wrong)


def test_the_kernel_says_how_far_the_wall_clock_may_be_off_or_that_nobody_keeps_it() -> None:
    error_ns = wall_clock_error_ns()
    assert error_ns is None or 0 <= error_ns < 20 * SECOND_NS  # at 16 s the kernel itself gives it up


@given(st.integers(1, 9), st.lists(st.lists(st.integers(-(2**62), 2**62))))
def test_a_ring_keeps_the_last_values(size: int, batches: list[list[int]]) -> None:
    ring, expected = Ring(size), deque[int](maxlen=size)
    for batch in batches:
        ring.extend(batch)
        expected.extend(batch)
        assert ring.to_list() == list(expected)


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1).map(sorted), st.integers(2, 70))
def test_median_and_quantiles(ordered: list[int], many: int) -> None:
    assert abs(median(ordered) - statistics.median_low(ordered)) <= abs(ordered[-1] - ordered[0])
    assert statistics.median_low(ordered) <= median(ordered) <= statistics.median_high(ordered)
    found = quantiles(ordered, many)
    assert len(found) == min(many, len(ordered))
    assert (found[0], found[-1]) == (ordered[0], ordered[-1])
    assert found == sorted(found)


def message(**changes: Any) -> Any:
    return read_message(json.dumps(iterations_of(**changes)).encode())


def test_measurements_of_a_job_that_began_again_do_not_mix() -> None:
    told = Measurements()
    told.record(message(first=100, many=3, natural_ns=[5, 6, 7]))
    told.record(message(first=0, many=3, natural_ns=[50, None, 70]))
    assert told.iteration_ns() == (60, [-10, 10])
    assert told.iterations == 3


class Nobody:
    rank, pid, secret_sha256 = 0, 1, None

    def __init__(self, uid: int) -> None:
        self.uid = uid

    def send(self, message: bytes) -> None:
        raise AssertionError

    prove = send

    def evict(self, reason: str) -> None:
        self.evicted = reason


def test_the_longest_unheard_job_makes_room() -> None:
    registry = Registry(Limits(jobs=4, connections_per_job=2))
    for i in range(4):
        job, _ = registry.join(f"job{i}", Nobody(0), i)
        if i < 3:
            registry.leave(job, next(iter(job.links)), i)
    scheduled = registry.get_or_add("job0", 5)
    scheduled.version, scheduled.keep_until_ns = 1, 100
    registry.touch(registry.get_or_add("job1", 5), 5)
    registry.join("new", Nobody(0), 6)  # job0 has a version to remember, job3 is connected, job1 was heard of last
    assert sorted(registry.ids()) == ["job0", "job1", "job3", "new"]
    registry.join("newer", Nobody(0), 7)
    assert sorted(registry.ids()) == ["job0", "job3", "new", "newer"]
    (connected,) = registry.get_or_add("job3", 5).links
    registry.join("newest", Nobody(0), 8)  # of those that no schedule has named the one that is longest unheard goes
    assert sorted(registry.ids()) == ["job0", "new", "newer", "newest"]
    assert connected.evicted == "too_many_jobs"  # type: ignore[attr-defined]
    for name in ("new", "newer", "newest"):
        registry.get_or_add(name, 9).version = 1
    with pytest.raises(TooManyError, match="too_many_jobs"):
        registry.get_or_add("last", 10)
    registry.get_or_add("last", 101)  # by now nothing of job0 could be replayed
    assert registry.get("job0") is None


def test_a_user_gets_half_of_the_jobs_and_no_job_of_others() -> None:
    registry = Registry(Limits(jobs=4))
    for i in range(2):
        registry.join(f"mine{i}", Nobody(7), 0)
    with pytest.raises(TooManyError):
        registry.join("mine2", Nobody(7), 0)
    registry.join("theirs", Nobody(8), 0)
    with pytest.raises(NotYoursError):
        registry.join("theirs", Nobody(7), 0)
    registry.join("theirs", Nobody(0), 0)
    assert registry.get("theirs").owner == 8  # type: ignore[union-attr]


@given(st.floats(0.1, 1000), st.floats(1, 100), st.lists(st.tuples(st.floats(0, 5), st.floats(0, 20))))
def test_a_bucket_gives_no_more_than_its_rate(per_s: float, burst: float, takes: list[tuple[float, float]]) -> None:
    now, taken, largest = 0.0, 0.0, 0.0
    bucket = TokenBucket(per_s, burst, now)
    for pause, cost in takes:
        now += pause
        if bucket.take(now, cost):
            taken += cost
            largest = max(largest, cost)
        else:
            wait_s = bucket.wait_s(now)
            assert wait_s > 0
            now += wait_s
            assert bucket.take(now + 1e-9 * now, 0)
    assert taken <= burst + per_s * now + largest + 1e-6 * (1 + taken)


def test_the_journal_holds_what_was_saved_last_whatever_fails(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    kept: list[bytes] = []
    failures: list[OSError] = []

    async def fill() -> None:
        journal = Journal(path, lambda: kept, failures.append)
        for i in range(3):
            kept.append(b'{"job":"j%d"}' % i)
            await journal.saved()
        (tmp_path / ".journal.part").mkdir()  # nothing can be written
        kept.append(b'{"job":"last"}')
        await journal.saved()
        assert [line["job"] for line in read_journal(path)] == ["j0", "j1", "j2"]
        (tmp_path / ".journal.part").rmdir()
        for _ in range(100):  # all of them while the first is being written
            journal.save()
        await journal.close()

    asyncio.run(fill())
    assert [line["job"] for line in read_journal(path)] == ["j0", "j1", "j2", "last"]
    assert len(failures) == 1


def test_a_fault_in_what_is_to_be_written_ends_nothing(tmp_path: Path) -> None:
    faults: list[ValueError] = [ValueError("a fault")]

    def lines() -> list[bytes]:
        if faults:
            raise faults.pop()
        return [b"{}"]

    async def write() -> None:
        journal = Journal(tmp_path / "journal", lines, lambda _: None)
        journal.save()
        assert journal._task is not None
        with pytest.raises(ValueError, match="a fault"):
            await journal._task
        await journal.saved()
        await journal.close()

    asyncio.run(write())
    assert list(read_journal(tmp_path / "journal")) == [{}]


@given(st.lists(st.integers(-(10**8), 10**8), min_size=1, max_size=8))
def test_the_journal_knows_the_offset_but_for_what_grids_do_not_follow(moves: list[int]) -> None:
    """Also where no job is held: a schedule may come before the coordinator asks again."""
    schedules = Schedules(Registry(Limits()), CoordinatorClock(HandClocks()), "b")
    offset_ns, kept_lines = 0, schedules.records()
    for move in moves:
        offset_ns += move
        if schedules.follow(offset_ns):
            kept_lines = schedules.records()
        again = CoordinatorClock(HandClocks())
        Schedules(Registry(Limits()), again, "b").restore([json.loads(kept_lines[0])])
        assert again.offset_ns is not None
        assert abs(again.offset_ns - offset_ns) <= FOLLOW_NS


def test_what_could_not_be_written_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassini_agent.daemon.journal.RETRY_S", 0.01)
    (tmp_path / ".journal.part").mkdir()
    failures: list[OSError] = []

    async def write() -> None:
        journal = Journal(tmp_path / "journal", lambda: [b"{}"], failures.append)
        await journal.saved()
        (tmp_path / ".journal.part").rmdir()
        while not (tmp_path / "journal").exists():
            await asyncio.sleep(0.01)
        await journal.close()

    asyncio.run(write())
    assert failures


def test_a_slow_disk_delays_nobody_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cassini_agent.daemon.journal.WAIT_S", 0.2)
    os.mkfifo(tmp_path / ".journal.part")  # opening it for writing waits for a reader that does not come

    async def write() -> float:
        journal = Journal(tmp_path / "journal", lambda: [b"{}"], lambda _: None)
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
    writer = LogWriter(pipe)
    log = make_logger(writer, "info")
    began = time.monotonic()
    for _ in range(3000):
        log.info("long", text="x" * 200)
    assert time.monotonic() - began < 30  # not until somebody reads
    assert writer.dropped > 1000
    os.set_blocking(reader, True)
    draining = threading.Thread(target=lambda: deque(iter(lambda: os.read(reader, 65536), b""), maxlen=0))
    draining.start()
    writer.close(5.0)  # what is in the queue is written as soon as somebody reads
    draining.join(5)
    os.close(reader)


def test_a_refusal_that_repeats_is_logged_once_a_second() -> None:
    lines: list[dict[str, Any]] = []

    class Log:
        def warning(self, event: str, **values: Any) -> None:
            lines.append(values)

    now = 0.0
    refusals = RefusalLog(Log(), lambda: now)
    for i in range(100):
        now = i / 50
        refusals("http", "malformed", {"peer": "a"})
    assert [line["unsaid"] for line in lines] == [0, 49]


def kept(job: str, **changes: Any) -> dict[str, Any]:
    """A line of the journal, of this boot."""
    line = {"job": job, "version": 3, "cleared": False, "boot": "b", "owner": None, "offered": None, "host": None}
    return {**line, "keep_until_ns": 10**18, "keep_until_unix_ns": 10**19, "follows": True, **changes}


@pytest.mark.parametrize(
    "strange",
    [
        kept("a", offered=3),
        kept("a", host=[1]),
        kept("a", offered={"format": 1}),
        kept("a", version=None),
        kept("a", keep_until_ns="soon"),
        kept("a", keep_until_ns=float("inf")),
        {"job": 3},
        {"job": "a"},
        {},
        {"offset_ns": 2**63, "boot": "b"},
        {"offset_ns": "3", "boot": "b"},
    ],
    ids=str,
)
def test_lines_of_the_journal_that_make_no_sense_are_passed_over(strange: dict[str, Any]) -> None:
    registry = Registry(Limits())
    schedules = Schedules(registry, CoordinatorClock(HandClocks()), "b")
    assert schedules.restore([strange, kept("other")]) == 1
    assert registry.ids() == ["other"]


def test_a_journal_of_more_jobs_than_there_is_room_for_is_read_as_far_as_there_is() -> None:
    registry = Registry(Limits(jobs=4))
    schedules = Schedules(registry, CoordinatorClock(HandClocks()), "b")
    lines = [kept(f"job{i}") for i in range(5)] + [kept("owned", owner=7, keep_until_ns=0)]
    assert schedules.restore(lines) == 2
    assert registry.ids() == [f"job{i}" for i in range(4)]


class BrokenCounters:
    def start(self) -> None: ...

    def stop(self) -> None: ...

    def latest(self) -> Mapping[str, Any]:
        raise OSError(19, "No such device")

    def witness(self, jobs: Mapping[str, Heard]) -> dict[str, Witness]:
        raise OSError(19, "No such device")


def test_counters_that_fail_cost_only_themselves() -> None:
    counts = Counts()
    view = CounterView(BrokenCounters(), counts)
    view.refresh()
    registry = Registry(Limits())
    job, _ = registry.join("a", Nobody(0), 0)
    job.measurements.record(message(communication_start_ns=[1, 2, 3, 4]))
    assert job_status(job, view, 0)["counters"] is None
    asyncio.run(view.judge(registry))
    assert job_status(job, view, 0)["counters_say"] is None
    assert job_status(job, view, 0)["disagreement"] is None
    assert counts.errors["counters"] == 2


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
