"""Reading counters at a fixed rate, in a thread of its own.

Ticks lie on an absolute schedule of the monotonic clock, so they do not drift. A tick that comes too late is skipped
and counted, never made up for. Each sample carries the time at which its reading began: being late costs resolution,
not correctness.

The job matters more than its counters: where sampling takes more of a core than it may, ticks come half as often, again
and again, and as often as before once that costs little enough. Waking up alone may cost more than reading does.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .sources import Channel, Source
from .unwrap import BREAK, MISSING

__all__ = ["Row", "Sampler", "SamplerStats"]

Row = tuple[int, ...]
"""Time in ns, then one value per channel."""

INTERVAL_NS = 1_000_000
SLOW_EVERY = 100
CAPACITY = 16384
MOST = 2**63 - 1
MOST_CPU = 0.02
_LONGEST_INTERVALS = 16
_JUDGED_NS = 2_000_000_000
_LITTLE = 0.4  # of what it may take: then twice as often is still within it


@dataclass(frozen=True, slots=True)
class SamplerStats:
    """How the sampler fares since its start.

    Attributes
    ----------
    samples, missed : int
        Ticks read, and ticks skipped because the one before ended too late.
    errors : int
        Ticks in which a source raised, or gave what is no number of 64 bits, which it should not.
    worst_ns : int
        Longest time one tick's reading took, ns: how far apart the values of one sample may lie.
    cpu_share : float
        Processor time of the thread by elapsed time, 1 = one core, over the last two seconds.
    interval_ns : int
        Time between ticks now.
    """

    samples: int
    missed: int
    errors: int
    worst_ns: int
    cpu_share: float
    interval_ns: int


class Sampler:
    """Samples sources, for all who subscribe.

    Parameters
    ----------
    fast, slow : sequence of Source
        Read at every tick, and at every ``slow_every``-th. The sampler closes them when it stops.
    interval_ns : int
        From tick to tick, at least.
    most_cpu : float or None
        Share of a core that the thread may take; above it ticks come less often. None: as much as it takes.
    capacity : int
        Fast rows kept for a subscriber that does not take them; the oldest go.
    clock, sleep, cpu : callable
        ns, s, and ns of the thread's processor time; other ones in tests.
    """

    def __init__(
        self,
        fast: Sequence[Source],
        slow: Sequence[Source] = (),
        *,
        interval_ns: int = INTERVAL_NS,
        slow_every: int = SLOW_EVERY,
        capacity: int = CAPACITY,
        most_cpu: float | None = MOST_CPU,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
        cpu: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        if interval_ns < 1 or slow_every < 1:
            raise ValueError(f"sampler: expected an interval and a divisor above 0, got {interval_ns}, {slow_every}")
        self.interval_ns = interval_ns
        self.slow_interval_ns = interval_ns * slow_every
        self.fast_channels = _channels(fast)
        self.slow_channels = _channels(slow)
        self._capacities = capacity, max(2, capacity // slow_every)
        self._subscribers: list[tuple[deque[Row], deque[Row]]] = []
        self._fast, self._slow = tuple(fast), tuple(slow)
        self._most_cpu = most_cpu
        self._clock, self._sleep, self._cpu = clock, sleep, cpu
        self._now_interval_ns = interval_ns
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._samples = self._missed = self._errors = self._worst_ns = 0
        self._cpu_share = 0.0

    def subscribe(self) -> tuple[deque[Row], deque[Row]]:
        """Fast and slow rows that are read from now on, to be taken from the left by one thread."""
        fast, slow = self._capacities
        rows: tuple[deque[Row], deque[Row]] = deque(maxlen=fast), deque(maxlen=slow)
        self._subscribers.append(rows)
        return rows

    def start(self) -> None:
        """Start the thread; once only."""
        if self._thread is not None:
            raise RuntimeError("sampler: it was started before")
        self._thread = threading.Thread(target=self._run, name="counter-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread and close the sources; waits for at most a tick. Nothing happens the second time."""
        self._stopping = True
        if self._thread is not None:
            self._thread.join()
        for source in (*self._fast, *self._slow):
            source.close()

    def stats(self) -> SamplerStats:
        """From any thread; the processor time is up to two seconds old, and 0 before."""
        return SamplerStats(
            self._samples, self._missed, self._errors, self._worst_ns, self._cpu_share, self._now_interval_ns
        )

    def problems(self) -> list[str]:
        """What sources complain of now."""
        return [source.problem for source in (*self._fast, *self._slow) if source.problem]

    def _run(self) -> None:
        clock, sleep = self._clock, self._sleep
        due = slow_due = judged_ns = clock()
        judged_cpu = self._cpu()
        while not self._stopping:
            now = clock()
            if now < due:
                sleep((due - now) / 1e9)
                now = clock()
            interval = self._now_interval_ns
            late = (now - due) // interval
            if late > 0:
                self._missed += late
                due += late * interval
            with_slow = now >= slow_due
            self.tick(now, with_slow=with_slow)
            due += interval
            if with_slow:
                slow_due = max(slow_due + self.slow_interval_ns, now)
                if now - judged_ns >= _JUDGED_NS:
                    spent = self._cpu()
                    self._judge((spent - judged_cpu) / (now - judged_ns))
                    judged_ns, judged_cpu = now, spent

    def _judge(self, share: float) -> None:
        self._cpu_share = share
        if self._most_cpu is None:
            return
        if share > self._most_cpu:
            longest = _LONGEST_INTERVALS * self.interval_ns
            self._now_interval_ns = min(2 * self._now_interval_ns, longest)
        elif share < _LITTLE * self._most_cpu:
            self._now_interval_ns = max(self._now_interval_ns // 2, self.interval_ns)

    def tick(self, now_ns: int, *, with_slow: bool) -> None:
        """Read all sources once. The thread does this; whoever runs none (tests, replays) may do it instead."""
        row = (now_ns, *self._read(self._fast, now_ns))
        slow_row = (now_ns, *self._read(self._slow, now_ns)) if with_slow and self._slow else None
        for fast, slow in self._subscribers:
            fast.append(row)
            if slow_row is not None:
                slow.append(slow_row)
        self._samples += 1
        took = self._clock() - now_ns
        if took > self._worst_ns:
            self._worst_ns = took

    def _read(self, sources: Sequence[Source], now_ns: int) -> list[int]:
        values: list[int] = []
        for source in sources:
            try:
                found = source.sample(now_ns)
                if max(found) > MOST or min(found) < BREAK:
                    raise OverflowError("no counter shows that")
                values += found
            except Exception:  # One bad source must not end the others' sampling.
                self._errors += 1
                values += [MISSING] * len(source.channels)
        return values


def _channels(sources: Sequence[Source]) -> tuple[Channel, ...]:
    return tuple(channel for source in sources for channel in source.channels)
