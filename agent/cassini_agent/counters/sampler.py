"""Reading counters at a fixed rate, in a thread of its own.

Ticks lie on an absolute schedule of the monotonic clock, so they do not drift. A tick that comes too late is skipped
and counted, never made up for. Each sample carries the time at which its reading began: being late costs resolution,
not correctness.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .ring import Ring
from .sources import Channel, Source
from .unwrap import MISSING

__all__ = ["Sampler", "SamplerStats"]

INTERVAL_NS = 1_000_000
SLOW_EVERY = 100
CAPACITY = 16384


@dataclass(frozen=True, slots=True)
class SamplerStats:
    """How the sampler fares since its start.

    Attributes
    ----------
    samples, missed : int
        Ticks read, and ticks skipped because the one before ended too late.
    errors : int
        Ticks in which a source raised, which it should not.
    worst_ns : int
        Longest time one tick's reading took, ns: how far apart the values of one sample may lie.
    cpu_share : float
        Processor time of the thread by elapsed time, 1 = one core.
    """

    samples: int
    missed: int
    errors: int
    worst_ns: int
    cpu_share: float


class Sampler:
    """Samples sources into two rings.

    Parameters
    ----------
    fast, slow : sequence of Source
        Read at every tick, and at every ``slow_every``-th. The sampler closes them when it stops.
    interval_ns : int
        From tick to tick.
    capacity : int
        Rows kept of the fast ring.
    clock, sleep : callable
        ns and s; other ones in tests.
    """

    def __init__(
        self,
        fast: Sequence[Source],
        slow: Sequence[Source] = (),
        *,
        interval_ns: int = INTERVAL_NS,
        slow_every: int = SLOW_EVERY,
        capacity: int = CAPACITY,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if interval_ns < 1 or slow_every < 1:
            raise ValueError(f"sampler: expected an interval and a divisor above 0, got {interval_ns}, {slow_every}")
        self.interval_ns = interval_ns
        self.slow_interval_ns = interval_ns * slow_every
        self.fast_channels = _channels(fast)
        self.slow_channels = _channels(slow)
        self.fast_ring = Ring(capacity, len(self.fast_channels))
        self.slow_ring = Ring(max(2, capacity // slow_every), len(self.slow_channels))
        self._fast, self._slow = tuple(fast), tuple(slow)
        self._slow_every = slow_every
        self._clock, self._sleep = clock, sleep
        self._thread: threading.Thread | None = None
        self._stopping = False
        self._samples = self._missed = self._errors = self._worst_ns = 0
        self._started_ns = self._cpu_ns = self._cpu_at_ns = 0

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
        """From any thread; the processor time is up to ``slow_every`` ticks old."""
        elapsed = self._cpu_at_ns - self._started_ns
        return SamplerStats(
            self._samples, self._missed, self._errors, self._worst_ns, self._cpu_ns / elapsed if elapsed > 0 else 0.0
        )

    def problems(self) -> list[str]:
        """What sources complain of now."""
        return [source.problem for source in (*self._fast, *self._slow) if source.problem]

    def _run(self) -> None:
        clock, sleep, interval = self._clock, self._sleep, self.interval_ns
        self._started_ns = due = clock()
        self._cpu_at_ns = due
        cpu_start = time.thread_time_ns()
        until_slow = 0
        while not self._stopping:
            now = clock()
            if now < due:
                sleep((due - now) / 1e9)
                now = clock()
            late = (now - due) // interval
            if late > 0:
                self._missed += late
                due += late * interval
                until_slow -= late
            self.tick(now, with_slow=until_slow <= 0)
            if until_slow <= 0:
                until_slow = self._slow_every
                self._cpu_ns, self._cpu_at_ns = time.thread_time_ns() - cpu_start, now
            until_slow -= 1
            due += interval

    def tick(self, now_ns: int, *, with_slow: bool) -> None:
        """Read all sources once. The thread does this; whoever runs none (tests, replays) may do it instead."""
        self.fast_ring.append(now_ns, self._read(self._fast, now_ns))
        if with_slow and self._slow:
            self.slow_ring.append(now_ns, self._read(self._slow, now_ns))
        self._samples += 1
        took = self._clock() - now_ns
        if took > self._worst_ns:
            self._worst_ns = took

    def _read(self, sources: Sequence[Source], now_ns: int) -> list[int]:
        values: list[int] = []
        for source in sources:
            try:
                values += source.sample(now_ns)
            except Exception:  # One bad source must not end the others' sampling.
                self._errors += 1
                values += [MISSING] * len(source.channels)
        return values


def _channels(sources: Sequence[Source]) -> tuple[Channel, ...]:
    return tuple(channel for source in sources for channel in source.channels)
