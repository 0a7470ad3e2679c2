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
from hypothesis import assume, given
from hypothesis import strategies as st

from cassini_agent.counters.starts import Heard, Witness
from cassini_agent.daemon.access import Access
from cassini_agent.daemon.clocks import ClockMapping, CoordinatorClock, Reading
from cassini_agent.daemon.counts import Counts
from cassini_agent.daemon.host_schedule import grid_move_ns, on_host
from cassini_agent.daemon.journal import Journal, read_journal
from cassini_agent.daemon.limits import Limits, TokenBucket
from cassini_agent.daemon.logs import LogWriter, RefusalLog, make_logger
from cassini_agent.daemon.measurements import Measurements, Ring, median, quantiles
from cassini_agent.daemon.messages import read_message
from cassini_agent.daemon.registry import NotYoursError, Registry, TooManyError
from cassini_agent.daemon.schedules import Schedules
from cassini_agent.daemon.status import CounterView, job_status
from cassini_agent.schedule import DAY_NS, MAX_ITERATION_NS, Schedule

instants = st.integers(1_600_000_000 * SECOND_NS, 2_000_000_000 * SECOND_NS)
rates = st.one_of(st.integers(-500_000, 500_000), st.floats(-500_000, 500_000))


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


@given(instants, st.integers(-(2**61), 2**61), rates)
def test_a_mapping_and_its_inverse_agree(now_ns: int, offset_ns: int, rate_ppb: float) -> None:
    mapping = ClockMapping(offset_ns, rate_ppb, now_ns - DAY_NS)
    assert abs(mapping.to_coordinator(mapping.to_monotonic(now_ns)) - now_ns) <= 2


@given(schedules(), st.integers(-(2**61), 2**61), rates, st.integers(-100, 100))
def test_the_grid_on_the_host_is_the_grid_of_the_coordinator(
    schedule: Schedule, offset_ns: int, rate_ppb: float, turn: int
) -> None:
    """Around now, every grid point lies where the mapping puts it; and what comes out is a schedule again."""
    mapping = ClockMapping(offset_ns, rate_ppb, schedule.epoch_ns)
    now_coordinator_ns = schedule.expires_ns - 1
    now_ns = mapping.to_monotonic(now_coordinator_ns)
    host = on_host(schedule, mapping, now_ns)  # its bounds are checked as it is made
    assume(schedule.pace_ns - schedule.shift_ns > MS_NS or not rate_ppb)  # a shift that must be clipped
    assume(host.pace_ns < MAX_ITERATION_NS * 3 // 2 or not rate_ppb)  # a pace that must be
    point = (now_coordinator_ns - schedule.epoch_ns - schedule.shift_ns) // schedule.pace_ns + turn
    expected = mapping.to_monotonic(schedule.epoch_ns + schedule.shift_ns + point * schedule.pace_ns)
    origin = host.epoch_ns + host.shift_ns
    nearest = origin + round((expected - origin) / host.pace_ns) * host.pace_ns
    # Half a nanosecond per turn, and the clipping of a pace that would be less than a millisecond.
    assert abs(nearest - expected) <= 4 + abs(turn) + (600 * (abs(turn) + 1) if host.pace_ns <= MS_NS + 600 else 0)
    assert abs(host.expires_ns - mapping.to_monotonic(schedule.expires_ns)) == 0


@given(schedules(), instants, st.one_of(st.integers(0, DAY_NS), st.just(DAY_NS)), rates)
def test_what_the_daemon_takes_the_job_takes_whenever_it_comes(
    schedule: Schedule, taken_ns: int, later_ns: int, rate_ppb: float
) -> None:
    schedule = dataclasses.replace(
        schedule,
        epoch_ns=taken_ns + (schedule.epoch_ns - taken_ns) % (2 * DAY_NS) - DAY_NS,
        expires_ns=taken_ns + 1 + (schedule.expires_ns - taken_ns) % DAY_NS,
    )
    schedule.check_near(taken_ns)  # as the daemon sees it
    mapping = ClockMapping(1000 * SECOND_NS - taken_ns, rate_ppb, taken_ns)
    now_ns = mapping.to_monotonic(taken_ns)
    host = on_host(schedule, mapping, now_ns)
    now_ns += min(later_ns, host.expires_ns - now_ns - 1)
    host.check_near(now_ns)  # as the job does


@given(schedules(), st.integers(-(2**40), 2**40))
def test_a_grid_that_moves_by_whole_paces_has_not_moved(schedule: Schedule, move_ns: int) -> None:
    moved = dataclasses.replace(schedule, epoch_ns=schedule.epoch_ns + move_ns)
    least = move_ns % schedule.pace_ns
    least = min(least, schedule.pace_ns - least)
    found = grid_move_ns(schedule, moved, schedule.expires_ns)
    assert abs(found - least) <= schedule.pace_ns // 2**40 + 1024  # a float rounds to the nearest grid point
    assert found <= schedule.pace_ns // 2


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


@pytest.mark.parametrize(
    "wrong", [{"offset_ns": 2**63}, {"offset_ns": 1.0}, {"rate_ppb": float("nan")}, {"rate_ppb": 2e6}]
)
def test_a_mapping_out_of_bounds_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"mapping\."):
        ClockMapping(**{"offset_ns": 0, "rate_ppb": 0, "reference_ns": 0, **wrong})


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


def test_the_journal_gives_back_what_was_written_whatever_tore(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    kept: list[bytes] = []
    failures: list[OSError] = []

    async def fill() -> None:
        journal = Journal(path, lambda: kept, failures.append)
        for i in range(3):
            kept.append(b'{"job":"j%d"}' % i)
            await journal.settle(journal.append(kept[-1]))
        with path.open("ab") as stream:
            stream.write(b'{"job":"to')  # as a disk that is full leaves it
        journal._torn = True
        kept.append(b'{"job":"last"}')
        await journal.settle(journal.append(kept[-1]))
        await journal.close()

    asyncio.run(fill())
    assert [line["job"] for line in read_journal(path)] == ["j0", "j1", "j2", "last"]
    assert not failures


def test_a_slow_disk_delays_nobody_for_longer_than_a_second(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".journal.part")  # opening it for writing waits for a reader that does not come

    async def write() -> float:
        journal = Journal(tmp_path / "journal", lambda: [b"{}"], lambda _: None)
        began = time.monotonic()
        await journal.settle(journal.append(b"{}"))
        took = time.monotonic() - began
        reader = os.open(tmp_path / ".journal.part", os.O_RDONLY | os.O_NONBLOCK)
        await journal.close()
        os.close(reader)
        return took

    assert 0.9 < asyncio.run(write()) < 30.0  # not for ever


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
        {"mapping": 3, "boot": "b"},
        {"mapping": ["1", 2, 3], "boot": "b"},
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
