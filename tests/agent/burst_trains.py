"""Traffic of jobs that is known to the nanosecond, and what a counter shows of it that is read at any times."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from cassini_agent.counters.starts import Heard

MS = 1_000_000
BEGIN = 1_000 * MS


@dataclass
class Train:
    """A job: when its iterations begin, and (begin, end) of what it sends in each."""

    starts: list[int] = field(default_factory=list)
    sent: list[list[tuple[int, int]]] = field(default_factory=list)

    def told(self, until: int, *, hook: bool, late_ns: int = 0) -> Heard:
        """What it has reported by then; communication reported ``late_ns`` before it begins."""
        many = sum(bursts[-1][1] < until - 500 * MS for bursts in self.sent)
        reports = [bursts[0][0] - late_ns for bursts in self.sent[:many]] if hook else []
        return Heard(self.starts[:many], reports)


def train(
    rng: random.Random,
    count: int,
    period_ms: float,
    bursts_ms: Sequence[tuple[float, float]],
    jitter: float = 0.0,
    begin: int = BEGIN,
) -> Train:
    """A job with bursts at (offset, length) in each iteration; jitter is that of the computation before each."""
    made = Train()
    now = float(begin)
    for _ in range(count):
        made.starts.append(round(now))
        sent, at, before = [], now, 0.0
        for offset, length in bursts_ms:
            at += (offset - before) * MS * max(0.3, 1 + rng.gauss(0, jitter))
            sent.append((round(at), round(at + length * MS)))
            at, before = at + length * MS, offset + length
        made.sent.append(sent)
        now = at + (period_ms - before) * MS * max(0.3, 1 + rng.gauss(0, jitter))
    return made


def counted(
    trains: Sequence[Train],
    interval: Callable[[int], int],
    rng: random.Random,
    *,
    gbps: float = 0.8,
    refresh: Callable[[], int] | None = None,
) -> list[tuple[int, int]]:
    """(ns, bytes) at readings that lie ``interval(now)`` apart, somewhat late; with ``refresh``, as the
    counter was when it was last refreshed, so many ns after the time before.
    """
    edges = sorted(
        edge for one in trains for sent in one.sent for b, e in sent for edge in ((b, gbps / 8), (e, -gbps / 8))
    )
    end = max(one.starts[-1] for one in trains)
    rows: list[tuple[int, int]] = []
    now, total, rate, since, at = 0, 0.0, 0.0, 0, 0
    shown, due = 0, 0
    while now < end:
        now += interval(now) + rng.randrange(200_000)
        while at < len(edges) and edges[at][0] <= now:
            total += rate * (edges[at][0] - since)
            since, rate = edges[at][0], rate + edges[at][1]
            at += 1
        total += rate * (now - since)
        since = now
        if refresh is None or now >= due:
            shown = int(total)
            due = now + (refresh() if refresh else 0)
        rows.append((now, shown))
    return rows
