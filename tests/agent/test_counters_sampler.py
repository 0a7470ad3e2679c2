"""The sampler's schedule and the rows it gives, on a clock that the test plays."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_agent.counters.sampler import Sampler
from cassini_agent.counters.sources import Channel
from cassini_agent.counters.unwrap import MISSING

MS = 1_000_000


class Clock:
    """Time that passes by sleeping, and by what ``busy`` says that each tick takes."""

    def __init__(self, busy: Sequence[int], oversleep: Sequence[int]) -> None:
        self.now = 5_000 * MS
        self.busy, self.oversleep = list(busy), list(oversleep)

    def __call__(self) -> int:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += round(seconds * 1e9) + (self.oversleep.pop() if self.oversleep else 0)


class Slowed:
    """A source that takes the time the clock says, and stops the sampler after the last one."""

    channels = (Channel("x", "tx_bytes", "bytes"),)
    problem: str | None = None

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.sampler: Sampler | None = None

    def sample(self, now_ns: int) -> list[int]:
        assert now_ns == self.clock.now
        if not self.clock.busy:
            assert self.sampler is not None
            self.sampler._stopping = True
            return [0]
        self.clock.now += self.clock.busy.pop()
        return [1]

    def close(self) -> None:
        pass


def times_of(busy: Sequence[int], oversleep: Sequence[int]) -> tuple[list[int], Sampler]:
    clock = Clock(busy, oversleep)
    source = Slowed(clock)
    sampler = Sampler([source], clock=clock, sleep=clock.sleep, most_cpu=None)
    source.sampler = sampler
    sampler._run()
    return [row[0] - 5_000 * MS for row in sampler.rows], sampler


class Given:
    """A source that gives these values, one after the other."""

    channels = (Channel("x", "tx_bytes", "bytes"),)
    problem: str | None = None

    def __init__(self, *values: int) -> None:
        self.values = list(values)

    def sample(self, now_ns: int) -> list[int]:
        return [self.values.pop(0)]

    def close(self) -> None:
        pass


@given(
    busy=st.lists(st.integers(0, 5 * MS), max_size=200),
    oversleep=st.lists(st.integers(0, 3 * MS), max_size=200),
)
def test_ticks_keep_to_the_schedule_and_what_is_skipped_is_counted(busy: list[int], oversleep: list[int]) -> None:
    times, sampler = times_of(busy, oversleep)
    assert sampler.samples == len(times) == len(busy) + 1
    # One sample in each tick of the schedule at most: never two, and none made up for.
    ticks = [at // MS for at in times]
    assert ticks == sorted(set(ticks))
    assert sampler.missed == ticks[-1] + 1 - len(ticks)
    assert sampler.worst_ns == max(busy, default=0)


def test_without_delays_there_is_no_drift() -> None:
    times, sampler = times_of([300_000] * 1000, [60_000] * 1000)
    assert times[1:] == [n * MS + 60_000 for n in range(1, 1001)]
    assert sampler.missed == 0


@given(cost=st.floats(0.0, 0.3), most=st.floats(0.005, 0.05))
@settings(max_examples=30, deadline=None)
def test_sampling_takes_no_more_of_a_core_than_it_may(cost: float, most: float) -> None:
    """With a price per tick that is given, as a share of a core at 1 kHz."""
    clock = Clock([0] * 8_000, [])
    source = Slowed(clock)
    ticks = 0

    def counted(now_ns: int) -> list[int]:
        nonlocal ticks
        ticks += 1
        return Slowed.sample(source, now_ns)

    source.sample = counted  # type: ignore[method-assign]
    sampler = Sampler(
        [source], clock=clock, sleep=clock.sleep, most_cpu=most, cpu=lambda: round(ticks * cost * MS), interval_ns=MS
    )
    source.sampler = sampler
    sampler._run()
    times = sampler.now_interval_ns // MS
    assert times in (1, 2, 4, 8, 16, 32, 64)
    assert sampler.missed == 0
    assert cost / times <= most * 1.01
    # And no less than that either, but for what keeps it from going to and fro.
    assert times == 1 or cost / times >= 0.4 * most * 0.99


def test_a_source_that_raises_ends_nothing() -> None:
    class Bad(Slowed):
        def sample(self, now_ns: int) -> list[int]:
            raise RuntimeError("broken")

    clock = Clock([], [])
    sampler = Sampler([Bad(clock), Slowed(clock)], clock=clock, sleep=clock.sleep)
    clock.busy = [0]
    sampler.tick(clock.now)
    assert list(sampler.rows) == [(clock.now, MISSING, 1)]
    assert sampler.errors == 1


def test_the_thread_starts_samples_and_stops() -> None:
    source = Slowed(Clock([], []))
    closed = threading.Event()
    source.sample = lambda now_ns: [1]  # type: ignore[method-assign]
    source.close = closed.set  # type: ignore[method-assign]
    sampler = Sampler([source])
    sampler.start()
    with pytest.raises(RuntimeError, match="started before"):
        sampler.start()
    deadline = time.monotonic() + 60
    while (sampler.samples < 200 or not sampler.cpu_share) and time.monotonic() < deadline:
        time.sleep(0.01)
    sampler.stop()
    sampler.stop()
    samples = sampler.samples
    assert samples >= 200
    assert closed.is_set()
    assert 0 < sampler.cpu_share < 1
    time.sleep(0.01)
    assert sampler.samples == samples


def test_slow_sources_are_read_once_a_second() -> None:
    clock = Clock([0] * 2_500, [])
    source, slow = Slowed(clock), Given(*range(10))
    sampler = Sampler([source], [slow], clock=clock, sleep=clock.sleep, most_cpu=None)
    source.sampler = sampler
    assert sampler.slow == [MISSING]
    sampler._run()
    assert (len(slow.values), sampler.slow) == (7, [2])  # after 0, 1 and 2 s


@given(reads=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 15)), max_size=20))
def test_each_row_is_given_once_or_the_newest_of_them(reads: list[tuple[int, int]]) -> None:
    capacity = 12
    with mock.patch("cassini_agent.counters.sampler.ROWS_KEPT", capacity):
        sampler = Sampler([Given(*range(1000))])
    written, expected = 0, []
    for sampled, taken in reads:
        for _ in range(sampled):
            sampler.tick(written)
            expected = [*expected, (written, written)][-capacity:]
            written += 1
        assert [sampler.rows.popleft() for _ in range(min(taken, len(sampler.rows)))] == expected[:taken]
        expected = expected[taken:]
    assert list(sampler.rows) == expected


def test_a_reader_beside_the_writer_sees_all_rows_in_order() -> None:
    sampler = Sampler([Given(*range(10_000))])
    writer = threading.Thread(target=lambda: [sampler.tick(n) for n in range(10_000)])
    writer.start()
    seen = []
    while writer.is_alive() or sampler.rows:
        while sampler.rows:
            seen.append(sampler.rows.popleft())
    assert seen == [(n, n) for n in range(10_000)]
