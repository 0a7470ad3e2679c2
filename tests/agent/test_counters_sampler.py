"""The sampler's schedule and what subscribers get, on a clock that the test plays."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

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

    def sample(self, now_ns: int) -> Sequence[int]:
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
    rows, _ = sampler.subscribe()
    sampler._run()
    return [row[0] - 5_000 * MS for row in rows], sampler


class Given:
    """A source that gives these values, one after the other."""

    channels = (Channel("x", "tx_bytes", "bytes"),)
    problem: str | None = None

    def __init__(self, *values: int) -> None:
        self.values = list(values)

    def sample(self, now_ns: int) -> Sequence[int]:
        return [self.values.pop(0)]

    def close(self) -> None:
        pass


def test_what_is_no_number_of_64_bits_is_missing_and_sampling_goes_on() -> None:
    sampler = Sampler([Given(1, 2**63, 3)], [Given(4, 5, -(2**63) - 1)])
    fast, slow = sampler.subscribe()
    for tick in range(3):
        sampler.tick(tick * MS, with_slow=True)
    assert [row[1] for row in fast] == [1, MISSING, 3]
    assert [row[1] for row in slow] == [4, 5, MISSING]
    assert sampler.stats().errors == 2


@given(
    busy=st.lists(st.integers(0, 5 * MS), max_size=200),
    oversleep=st.lists(st.integers(0, 3 * MS), max_size=200),
)
def test_ticks_keep_to_the_schedule_and_what_is_skipped_is_counted(busy: list[int], oversleep: list[int]) -> None:
    times, sampler = times_of(busy, oversleep)
    stats = sampler.stats()
    assert stats.samples == len(times) == len(busy) + 1
    # One sample in each tick of the schedule at most: never two, and none made up for.
    ticks = [at // MS for at in times]
    assert ticks == sorted(set(ticks))
    assert stats.missed == ticks[-1] + 1 - len(ticks)
    assert stats.worst_ns == max(busy, default=0)


def test_without_delays_there_is_no_drift() -> None:
    times, sampler = times_of([300_000] * 1000, [60_000] * 1000)
    assert times[1:] == [n * MS + 60_000 for n in range(1, 1001)]
    assert sampler.stats().missed == 0


@given(cost=st.floats(0.0, 0.2), most=st.floats(0.005, 0.05))
@settings(max_examples=30, deadline=None)
def test_sampling_takes_no_more_of_a_core_than_it_may(cost: float, most: float) -> None:
    """With a price per tick that is given, as a share of a core at 1 kHz."""
    clock = Clock([0] * 8_000, [])
    source = Slowed(clock)
    ticks = 0

    def counted(now_ns: int) -> Sequence[int]:
        nonlocal ticks
        ticks += 1
        return Slowed.sample(source, now_ns)

    source.sample = counted  # type: ignore[method-assign]
    sampler = Sampler(
        [source], clock=clock, sleep=clock.sleep, most_cpu=most, cpu=lambda: round(ticks * cost * MS), interval_ns=MS
    )
    source.sampler = sampler
    sampler._run()
    stats = sampler.stats()
    times = stats.interval_ns // MS
    assert times in (1, 2, 4, 8, 16)
    assert stats.missed == 0
    assert cost / times <= most * 1.01 or times == 16
    # And no less than that either, but for what keeps it from going to and fro.
    assert times == 1 or cost / times >= 0.4 * most * 0.99


def test_a_source_that_raises_ends_nothing() -> None:
    class Bad(Slowed):
        def sample(self, now_ns: int) -> Sequence[int]:
            raise RuntimeError("broken")

    clock = Clock([], [])
    sampler = Sampler([Bad(clock), Slowed(clock)], clock=clock, sleep=clock.sleep)
    clock.busy = [0]
    rows, _ = sampler.subscribe()
    sampler.tick(clock.now, with_slow=False)
    assert list(rows) == [(clock.now, MISSING, 1)]
    assert sampler.stats().errors == 1


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
    while (sampler.stats().samples < 200 or not sampler.stats().cpu_share) and time.monotonic() < deadline:
        time.sleep(0.01)
    sampler.stop()
    sampler.stop()
    stats = sampler.stats()
    assert stats.samples >= 200
    assert closed.is_set()
    assert 0 < stats.cpu_share < 1
    assert sampler.stats().samples == stats.samples


@given(
    capacity=st.integers(2, 12),
    reads=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 15)), max_size=20),
)
def test_each_subscriber_gets_each_row_once_or_the_newest_of_them(capacity: int, reads: list[tuple[int, int]]) -> None:
    sampler = Sampler([Given(*range(1000))], capacity=capacity)
    rows, _ = sampler.subscribe()
    written, expected = 0, []
    for sampled, taken in reads:
        for _ in range(sampled):
            sampler.tick(written, with_slow=False)
            expected = [*expected, (written, written)][-capacity:]
            written += 1
        assert [rows.popleft() for _ in range(min(taken, len(rows)))] == expected[:taken]
        expected = expected[taken:]
    assert list(rows) == expected
    later, _ = sampler.subscribe()
    assert not later


def test_a_reader_beside_the_writer_sees_all_rows_in_order() -> None:
    sampler = Sampler([Given(*range(20_000))], capacity=20_000)
    rows, _ = sampler.subscribe()
    writer = threading.Thread(target=lambda: [sampler.tick(n, with_slow=False) for n in range(20_000)])
    writer.start()
    seen = []
    while writer.is_alive() or rows:
        while rows:
            seen.append(rows.popleft())
    assert seen == [(n, n) for n in range(20_000)]
