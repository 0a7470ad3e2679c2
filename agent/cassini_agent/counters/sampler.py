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

from .sources import Channel, Source
from .unwrap import MISSING

__all__ = ["Row", "Sampler"]

Row = tuple[int, ...]
"""Time in ns, then one value per channel."""

INTERVAL_NS = 1_000_000
ROWS_KEPT = 16384
MOST_CPU = 0.02
_SECOND_NS = 1_000_000_000
_LITTLE = 0.4  # of what it may take: then twice as often is still within it


class Sampler:
    """Samples sources, for one who takes the rows.

    Parameters
    ----------
    fast, slow : sequence of Source
        Read at every tick, and once a second. The sampler closes them when it stops.
    interval_ns : int
        From tick to tick, at least.
    most_cpu : float or None
        Share of a core that the thread may take; above it ticks come less often. None: as much as it takes.
    clock, sleep, cpu : callable
        ns, s, and ns of the thread's processor time; other ones in tests.

    Attributes
    ----------
    channels, slow_channels : tuple of Channel
    rows : deque of Row
        What was read at each tick, to be taken from the left by one thread; the oldest go where nobody takes them.
    slow : list of int
        The newest values of the slow channels.
    samples, missed : int
        Ticks read, and ticks skipped because the one before ended too late.
    errors : int
        Readings in which a source raised, which it should not.
    worst_ns : int
        Longest time one tick's reading took, ns: how far apart the values of one sample may lie.
    cpu_share : float
        Processor time of the thread by elapsed time, 1 = one core, over the last second; 0 before.
    interval_ns, now_interval_ns : int
        Time between ticks as wished, and as it is now.
    """

    def __init__(
        self,
        fast: Sequence[Source],
        slow: Sequence[Source] = (),
        *,
        interval_ns: int = INTERVAL_NS,
        most_cpu: float | None = MOST_CPU,
        clock: Callable[[], int] = time.monotonic_ns,
        sleep: Callable[[float], None] = time.sleep,
        cpu: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        if interval_ns < 1:
            raise ValueError(f"sampler: expected an interval above 0, got {interval_ns}")
        self.interval_ns = self.now_interval_ns = interval_ns
        self.channels = _channels(fast)
        self.slow_channels = _channels(slow)
        self.rows: deque[Row] = deque(maxlen=ROWS_KEPT)
        self.slow = [MISSING] * len(self.slow_channels)
        self.samples = self.missed = self.errors = self.worst_ns = 0
        self.cpu_share = 0.0
        self._fast_sources, self._slow_sources = tuple(fast), tuple(slow)
        self._most_cpu = most_cpu
        self._clock, self._sleep, self._cpu = clock, sleep, cpu
        self._thread: threading.Thread | None = None
        self._stopping = False

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
        for source in (*self._fast_sources, *self._slow_sources):
            source.close()

    def problems(self) -> list[str]:
        """What sources complain of now."""
        return [source.problem for source in (*self._fast_sources, *self._slow_sources) if source.problem]

    def tick(self, now_ns: int) -> None:
        """Read the fast sources once. The thread does this; whoever runs none (tests, replays) may do it instead."""
        self.rows.append((now_ns, *self._read(self._fast_sources, now_ns)))
        self.samples += 1
        self.worst_ns = max(self.worst_ns, self._clock() - now_ns)

    def slow_tick(self, now_ns: int) -> None:
        """Read the slow sources once."""
        self.slow = self._read(self._slow_sources, now_ns)

    def _run(self) -> None:
        clock = self._clock
        due = judged_ns = clock()
        judged_cpu = self._cpu()
        self.slow_tick(due)
        while not self._stopping:
            now = clock()
            if now < due:
                self._sleep((due - now) / 1e9)
                now = clock()
            interval = self.now_interval_ns
            late = max(0, now - due) // interval
            self.missed += late
            due += (late + 1) * interval
            self.tick(now)
            if now - judged_ns >= _SECOND_NS:
                self.slow_tick(now)
                spent = self._cpu()
                self._judge((spent - judged_cpu) / (now - judged_ns))
                judged_ns, judged_cpu = now, spent

    def _judge(self, share: float) -> None:
        self.cpu_share = share
        if self._most_cpu is None:
            return
        if share > self._most_cpu:
            self.now_interval_ns *= 2
        elif share < _LITTLE * self._most_cpu:
            self.now_interval_ns = max(self.now_interval_ns // 2, self.interval_ns)

    def _read(self, sources: Sequence[Source], now_ns: int) -> list[int]:
        values: list[int] = []
        for source in sources:
            try:
                values += source.sample(now_ns)
            except Exception:  # One bad source must not end the others' sampling.
                self.errors += 1
                values += [MISSING] * len(source.channels)
        return values


def _channels(sources: Sequence[Source]) -> tuple[Channel, ...]:
    return tuple(channel for source in sources for channel in source.channels)
