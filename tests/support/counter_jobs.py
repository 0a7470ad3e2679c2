"""Synthetic jobs as a counter sees them: raw readings of a port while a known job runs, made into a recording."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from bench.profiles.recordings import Truth, play

from cassini_agent.counters.recorder import Group, end_line, header_line, sample_line
from cassini_agent.counters.sources import Channel
from cassini_agent.counters.unwrap import MISSING, Unwrapper
from cassini_core import Job

BYTES_PER_MS = 125_000.0  # of 1 Gbit/s
MS = 1_000_000


@dataclass(frozen=True)
class Disturbance:
    """What stands between a job and its counter.

    Times and rates are shares of the iteration and of the job's highest rate, where not said otherwise.
    """

    jitter: float = 0.0  # standard deviation of the pause before an iteration
    lateness_ms: float = 0.05  # of samples, at most
    missing: float = 0.0  # probability that a sample is not there
    background: float = 0.0  # rate that flows all the time
    spikes: float = 0.0  # bursts of others per iteration, 3 ms at full rate
    wrap: bool = False  # a 32-bit counter of 4-byte words that goes round
    start: int = 0  # raw value before the first sample


@dataclass(frozen=True)
class Readings:
    """Rows of (time in ns, raw reading or MISSING), and when each iteration began, ns."""

    rows: list[tuple[int, int]]
    starts: list[float]


def read_job(job: Job, iterations: int, disturbance: Disturbance, seed: int = 0) -> Readings:
    """The readings of one counter while ``job`` runs so many iterations."""
    rng = random.Random(seed)
    peak = max(phase.gbps for phase in job.phases)
    starts, intervals, now = [], [], 3.7
    for _ in range(iterations):
        now += abs(rng.gauss(0, disturbance.jitter)) * job.iteration_ms if disturbance.jitter else 0.0
        starts.append(now)
        intervals += [(now + p.start_ms, now + p.start_ms + p.duration_ms, p.gbps) for p in job.phases]
        if rng.random() < disturbance.spikes:
            begin = now + rng.uniform(0, job.iteration_ms)
            intervals.append((begin, begin + 3.0, peak))
        now += job.iteration_ms
    times, at = [], 0.0
    while at < now:
        if rng.random() >= disturbance.missing or not times:
            times.append(at + rng.uniform(0, disturbance.lateness_ms))
        at += 1.0
    total = _bytes(np.array(times), intervals) + disturbance.background * peak * BYTES_PER_MS * np.array(times)
    words = (total / 4).astype(np.int64) + disturbance.start
    if disturbance.wrap:
        words %= 1 << 32
    return Readings(
        [(10**15 + round(t * MS), int(w)) for t, w in zip(times, words, strict=True)],
        [10**15 + start * MS for start in starts],
    )


def write_recording(path: Path, rows: Sequence[tuple[int, int]], width: int | None = None) -> None:
    """Unwrap raw readings of ``port_xmit_data``, and record them beside a silent direction."""
    unwrapper = Unwrapper(4, wide=width == 64, per_second=100e9 / 8)
    seen = [(t, MISSING if raw == MISSING else unwrapper.advance(raw, t), 0) for t, raw in rows]
    group = Group(MS, (Channel("mlx5_0/1", "tx_bytes", "bytes"), Channel("mlx5_0/1", "rx_bytes", "bytes")))
    lines = [sample_line(0, seen[i : i + 1000]) for i in range(0, len(seen), 1000)]
    path.write_bytes(header_line([group], {"host": "test"}) + b"".join(lines) + end_line("stopped"))


def write_played(path: Path, disturbance: str, seed: int) -> Truth | None:
    """Record a random job of the recovery study, as on a kernel's network; the job, if there is one to find."""
    played = play(disturbance, seed)
    group = Group(played.interval_ns, (Channel("eth0", "tx_bytes", "bytes"), Channel("eth0", "rx_bytes", "bytes")))
    rows = [(t, sent, 0) for t, sent in zip(played.times_ns, played.values, strict=True)]
    lines = [sample_line(0, rows[i : i + 1000]) for i in range(0, len(rows), 1000)]
    path.write_bytes(header_line([group], {"host": "test"}) + b"".join(lines) + end_line("stopped"))
    return played.truth


def _bytes(times: np.ndarray, intervals: Sequence[tuple[float, float, float]]) -> np.ndarray:
    edges = sorted({edge for begin, end, _ in intervals for edge in (begin, end)})
    rates = np.zeros(len(edges))
    for begin, end, gbps in intervals:
        rates[edges.index(begin) : edges.index(end)] += gbps * BYTES_PER_MS
    points = np.concatenate([[0.0], np.cumsum(rates[:-1] * np.diff(edges))])
    return np.interp(times, edges, points)
