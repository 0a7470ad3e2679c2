"""Random jobs as a byte counter sees them, with what disturbs a real recording. Nothing here comes from the importer.

A job is a list of pauses and bursts. It is played, iteration by iteration, to a total of bytes over time; a sampler
reads that total. What was true is kept beside what was read.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["DISTURBANCES", "REFUSED", "Played", "Truth", "play"]

FloatArray = npt.NDArray[np.float64]

BYTES_PER_MS = 125_000.0  # of 1 Gbit/s
MISSING, BREAK = -1, -2


@dataclass(frozen=True)
class Truth:
    """The job that was played.

    Attributes
    ----------
    iteration_ms : float
        Mean length of the iterations that were played, ms.
    error_ms : float
        Standard error of that mean, ms.
    bursts : list of (start, duration, rate)
        ms and Gbit/s, in the mean iteration.
    """

    iteration_ms: float
    error_ms: float
    bursts: list[tuple[float, float, float]]

    @property
    def mean_gbps(self) -> float:
        """Bytes by time, Gbit/s."""
        return sum(length * gbps for _, length, gbps in self.bursts) / self.iteration_ms


@dataclass(frozen=True)
class Played:
    """A recording of one counter, and the job in it; None where the only right answer is a refusal."""

    times_ns: list[int]
    values: list[int]
    interval_ns: int
    truth: Truth | None


@dataclass(frozen=True)
class _Job:
    """Pauses, each before its burst, and bursts, ms; rates, Gbit/s."""

    pauses: FloatArray
    lengths: FloatArray
    gbps: FloatArray

    @property
    def iteration_ms(self) -> float:
        return float(self.pauses.sum() + self.lengths.sum())

    def scaled(self, factor: float) -> _Job:
        """Pauses longer, so that the iteration takes ``factor`` times as long; bursts as they are."""
        more = (factor - 1) * self.iteration_ms / self.pauses.sum()
        return _Job(self.pauses * (1 + more), self.lengths, self.gbps)


def _random_job(rng: np.random.Generator, least_ms: float = 30.0, most_ms: float = 3000.0) -> _Job:
    """One to four bursts in 30 ms to 3 s, 10 to 90 % of the time; none, and no pause, is shorter than 2 ms."""
    while True:
        iteration = math.exp(rng.uniform(math.log(least_ms), math.log(most_ms)))
        iteration = float(round(iteration)) if rng.random() < 0.5 else iteration
        count = int(rng.integers(1, 5))
        duty = rng.uniform(0.1, 0.9)
        lengths = rng.dirichlet(np.full(count, 2.0)) * duty * iteration
        pauses = rng.dirichlet(np.full(count, 2.0)) * (1 - duty) * iteration
        if min(lengths.min(), pauses.min()) >= 2.0:
            return _Job(pauses, lengths, rng.uniform(10.0, 100.0, count))


def _duration_ms(rng: np.random.Generator, iteration_ms: float) -> float:
    return max(rng.uniform(12, 40) * iteration_ms, 4000.0)


def _run(
    job: _Job, duration_ms: float, pauses_of: Callable[[int, float], FloatArray] | None = None
) -> tuple[FloatArray, FloatArray, Truth]:
    """Edges, ms, and bytes up to them; ``pauses_of`` an iteration by its number and the time."""
    now, times, totals, total, whole, rows = 0.0, [0.0], [0.0], 0.0, 0, []
    while now < duration_ms:
        pauses = pauses_of(whole, now) if pauses_of else job.pauses
        for pause, length, gbps in zip(pauses, job.lengths, job.gbps, strict=True):
            now += float(pause)
            times.append(now)
            totals.append(total)
            now += float(length)
            total += float(length * gbps) * BYTES_PER_MS
            times.append(now)
            totals.append(total)
        whole += 1
        rows.append(pauses)
    mean = np.mean(rows, axis=0)
    starts = np.cumsum(mean) + np.concatenate([[0.0], np.cumsum(job.lengths)[:-1]])
    bursts = [(float(s), float(n), float(g)) for s, n, g in zip(starts, job.lengths, job.gbps, strict=True)]
    lengths = np.sum(rows, axis=1)
    return np.array(times), np.array(totals), Truth(now / whole, float(np.std(lengths)) / math.sqrt(whole), bursts)


def _read(
    rng: np.random.Generator,
    times: FloatArray,
    totals: FloatArray,
    truth: Truth | None,
    *,
    step_ms: float = 1.0,
    refresh_ms: float = 0.0,
    missing: float = 0.0,
) -> Played:
    """What a sampler reads of it, late by up to 5 % of a step, from a counter that may be refreshed less often."""
    due = np.arange(0.0, times[-1], step_ms)
    due = due[rng.random(len(due)) >= missing]
    at = due + rng.uniform(0, 0.05 * step_ms, len(due))
    seen = at
    if refresh_ms:
        begin = rng.uniform(0, refresh_ms)
        seen = np.maximum(np.floor((at - begin) / refresh_ms) * refresh_ms + begin, 0.0)
    values = np.floor(np.interp(seen, times, totals)).astype(np.int64)
    return Played((at * 1e6).astype(np.int64).tolist(), values.tolist(), int(step_ms * 1e6), truth)


def _jittered(rng: np.random.Generator, job: _Job, share: float) -> Callable[[int, float], FloatArray]:
    """Iterations whose length varies by a standard deviation of ``share``: before the first burst, or in all pauses."""
    spread = share * job.iteration_ms
    if rng.random() < 0.5:
        weights = np.zeros(len(job.pauses))
        weights[int(np.argmax(job.pauses))] = 1.0
    else:
        weights = np.sqrt(job.pauses / job.pauses.sum())

    def pauses_of(_: int, __: float) -> FloatArray:
        noise = rng.normal(0, spread, len(job.pauses)) * weights
        return np.maximum(job.pauses + noise, 0.2 * job.pauses)

    return pauses_of


def _undisturbed(rng: np.random.Generator) -> Played:
    job = _random_job(rng)
    return _read(rng, *_run(job, _duration_ms(rng, job.iteration_ms)))


def _with_jitter(share: float) -> Callable[[np.random.Generator], Played]:
    def played(rng: np.random.Generator) -> Played:
        job = _random_job(rng)
        return _read(rng, *_run(job, _duration_ms(rng, job.iteration_ms), _jittered(rng, job, share)))

    return played


def _gaps(rng: np.random.Generator) -> Played:
    """One sample in twenty is missing; some stretches of up to 0.3 s, too, and one reset of the counter."""
    job = _random_job(rng)
    duration = _duration_ms(rng, job.iteration_ms)
    played = _read(rng, *_run(job, duration, _jittered(rng, job, 0.01)), missing=0.05)
    values = np.array(played.values)
    # No more of the time than a tenth: whoever cannot see most iterations cannot say much of them.
    for _ in range(int(rng.integers(1, 4))):
        length = rng.uniform(0.02, min(0.3, duration / 30_000))
        begin = int(rng.uniform(0.1, 0.9) * len(values))
        values[begin : begin + int(1000 * length)] = MISSING
    values[int(rng.uniform(0.2, 0.8) * len(values))] = BREAK
    return Played(played.times_ns, values.tolist(), played.interval_ns, played.truth)


def _staircase(rng: np.random.Generator) -> Played:
    """A counter that is refreshed every 2 to 20 ms, twelve times in an iteration at least."""
    refresh = float(rng.choice([2.0, 5.0, 10.0, 20.0]))
    job = _random_job(rng, least_ms=max(30.0, 12 * refresh))
    run = _run(job, _duration_ms(rng, job.iteration_ms), _jittered(rng, job, float(rng.choice([0.0, 0.01]))))
    return _read(rng, *run, refresh_ms=refresh)


def _coarse_staircase(rng: np.random.Generator) -> Played:
    """Refreshed less than three times in an iteration: nobody can see the job."""
    job = _random_job(rng, most_ms=300.0)
    times, totals, _ = _run(job, _duration_ms(rng, job.iteration_ms))
    return _read(rng, times, totals, None, refresh_ms=job.iteration_ms * rng.uniform(0.4, 2.0))


def _drift(rng: np.random.Generator) -> Played:
    """The pace changes slowly, by up to 2 %."""
    job = _random_job(rng)
    duration, share = _duration_ms(rng, job.iteration_ms), rng.uniform(-0.02, 0.02)
    jittered = _jittered(rng, job, 0.003)

    def pauses_of(number: int, now: float) -> FloatArray:
        slower = share * (now / duration) * job.iteration_ms * job.pauses / job.pauses.sum()
        return np.maximum(jittered(number, now) + slower, 0.2 * job.pauses)

    return _read(rng, *_run(job, duration, pauses_of))


def _accumulation(rng: np.random.Generator) -> Played:
    """Two to eight micro-steps with a small burst each, then a large one."""
    steps = int(rng.integers(2, 9))
    micro = rng.uniform(30.0, 200.0)
    small, large = micro * rng.uniform(0.06, 0.2), micro * rng.uniform(0.4, 1.5)
    lengths = np.array([*np.full(steps, small), large])
    pauses = np.array([*np.full(steps, micro - small), micro * rng.uniform(0.6, 1.0)])
    gbps = np.full(steps + 1, rng.uniform(20.0, 100.0))
    job = _Job(pauses, lengths, gbps)
    share = float(rng.choice([0.0, 0.01, 0.03]))
    return _read(rng, *_run(job, _duration_ms(rng, job.iteration_ms), _jittered(rng, job, share)))


def _held(rng: np.random.Generator) -> Played:
    """Held on a grid: each iteration begins at a whole multiple of the pace, whatever it takes to compute."""
    job = _random_job(rng)
    pace = float(math.ceil(job.iteration_ms * rng.uniform(1.005, 1.03)))
    job = job.scaled(pace / job.iteration_ms)
    share = float(rng.choice([0.0, 0.002]))
    slack = np.zeros(len(job.pauses))
    late = 0.0

    def pauses_of(_: int, __: float) -> FloatArray:
        nonlocal late
        before, late = late, abs(rng.normal(0, share)) * pace
        slack[0] = late - before
        return np.maximum(job.pauses + slack, 0.1)

    return _read(rng, *_run(job, rng.choice([1.0, 1.5]) * _duration_ms(rng, pace), pauses_of))


def _two_rhythms(rng: np.random.Generator) -> Played:
    """Two jobs of different pace on one port; the smaller one carries a fifth of the bytes at least."""
    while True:
        one = _random_job(rng)
        two = _random_job(rng, 0.25 * one.iteration_ms, 4 * one.iteration_ms)
        ratio = two.iteration_ms / one.iteration_ms
        bytes_ = [float(job.lengths @ job.gbps) / job.iteration_ms for job in (one, two)]
        # Where they meet again after a few iterations, both together do have one period.
        apart = min(abs(ratio * q / p - 1) for p in range(1, 7) for q in range(1, 7)) > 0.02
        if apart and min(bytes_) >= 0.2 * sum(bytes_):
            break
    duration = _duration_ms(rng, max(one.iteration_ms, two.iteration_ms))
    first, second = (_run(job, duration, _jittered(rng, job, 0.005)) for job in (one, two))
    times = np.union1d(first[0], second[0])
    times = times[times <= duration]
    totals = np.interp(times, first[0], first[1]) + np.interp(times, second[0], second[1])
    return _read(rng, times, totals, None)


def _period_change(rng: np.random.Generator) -> Played:
    """From some point between a third and two thirds on each iteration takes a tenth to three fifths longer."""
    job = _random_job(rng)
    slower = job.scaled(rng.uniform(1.1, 1.6))
    duration = 1.5 * _duration_ms(rng, slower.iteration_ms)
    change = duration * rng.uniform(0.35, 0.65)
    jitter, slower_jitter = _jittered(rng, job, 0.005), _jittered(rng, slower, 0.005)
    before = _run(job, change, jitter)
    after = _run(slower, duration - change, slower_jitter)
    times = np.concatenate([before[0], before[0][-1] + after[0][1:]])
    totals = np.concatenate([before[1], before[1][-1] + after[1][1:]])
    return _read(rng, times, totals, after[2])


def _kernel_network(jitter: float) -> Callable[[np.random.Generator], Played]:
    """TCP on a shaped link, sampled every 4 ms: inside a burst the sender stops and goes, and chatters in the pause."""

    def played(rng: np.random.Generator) -> Played:
        iteration, duty = rng.uniform(200.0, 1000.0), rng.uniform(0.25, 0.6)
        gbps, step = rng.uniform(0.2, 1.0), 4.0
        burst = duty * iteration
        volume = burst * gbps
        whole = round(rng.uniform(40.0, 140.0))
        rates, starts, now, carry = [], [], 0.0, 0.0
        for _ in range(whole):
            starts.append(now)
            pause = (iteration - burst) * max(0.3, 1 + rng.normal(0, jitter))
            carry += pause
            quiet = int(carry // step)
            carry -= quiet * step
            rates += (gbps * rng.binomial(1, 0.05, quiet) * rng.exponential(0.03, quiet)).tolist()
            left, state, sent = volume * (1 + abs(rng.normal(0, 0.01))), 1.0, 0
            while left > 0:
                # A slow state (windows, losses, who waits for whom) times what one sample happens to see of it.
                state = 0.6 * state + 0.4 * float(rng.gamma(2.0, 0.5))
                rate = min(gbps * state * float(rng.gamma(1.5, 1 / 1.5)), left / step)
                rates.append(rate)
                left -= rate * step
                sent += 1
            now += (quiet + sent) * step
        edges = np.arange(len(rates) + 1) * step
        totals = np.concatenate([[0.0], np.cumsum(np.array(rates) * step * BYTES_PER_MS)])
        length = now / whole
        sends = length - (iteration - burst)
        mean = float(totals[-1]) / BYTES_PER_MS / now
        error = float(np.std(np.diff([*starts, now]))) / math.sqrt(whole)
        truth = Truth(length, error, [(length - sends, sends, mean * length / sends)])
        return _read(rng, edges, totals, truth, step_ms=step)

    return played


def _nothing(rng: np.random.Generator) -> Played:
    """No traffic, even traffic, or traffic without rhythm: white, bursts at random times, a random walk."""
    steps, kind = int(rng.integers(4000, 20_000)), int(rng.integers(0, 5))
    if kind == 0:
        rates = np.zeros(steps)
    elif kind == 1:
        rates = rng.uniform(1, 50) * (1 + rng.normal(0, 0.02, steps))
    elif kind == 2:
        rates = rng.exponential(10.0, steps)
    elif kind == 3:
        spans = rng.exponential(rng.uniform(10, 300), 2 * steps)
        edges = np.cumsum(spans)
        rates = 50.0 * (np.searchsorted(edges, np.arange(steps)) % 2)
    else:
        slow = np.cumsum(rng.normal(0, 1, steps))
        rates = np.abs(slow - np.mean(slow)) * rng.exponential(1.0, steps)
    totals = np.concatenate([[0.0], np.cumsum(np.maximum(rates, 0.0) * BYTES_PER_MS)])
    return _read(rng, np.arange(steps + 1.0), totals, None)


DISTURBANCES: dict[str, Callable[[np.random.Generator], Played]] = {
    "none": _undisturbed,
    "jitter 1 %": _with_jitter(0.01),
    "jitter 3 %": _with_jitter(0.03),
    "jitter 5 %": _with_jitter(0.05),
    "gaps": _gaps,
    "staircase": _staircase,
    "drift": _drift,
    "accumulation": _accumulation,
    "held on a grid": _held,
    "kernel network": _kernel_network(0.0),
    "kernel network, jitter 3 %": _kernel_network(0.03),
    "period change": _period_change,
    "two rhythms": _two_rhythms,
    "refreshed too rarely": _coarse_staircase,
    "no rhythm": _nothing,
}
"""By name: plays a random job so disturbed."""

REFUSED = ("two rhythms", "refreshed too rarely", "no rhythm")
"""Where there is no period to be found: a refusal is the only right answer."""


def play(disturbance: str, seed: int) -> Played:
    """A random job, disturbed; the same for the same seed."""
    return DISTURBANCES[disturbance](np.random.default_rng([list(DISTURBANCES).index(disturbance), seed]))
