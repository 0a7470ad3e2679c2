"""Random jobs of a given load, the same on every machine and for every version of NumPy.

Only ``random.Random(str)`` and its ``random()`` are used: their sequence is promised never to change.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from cassini_core import Job, Phase

CAPACITY_GBPS = 50.0


def below(rng: random.Random, n: int) -> int:
    """A whole number in ``[0, n)``."""
    return int(rng.random() * n)


def between(rng: random.Random, low: float, high: float) -> float:
    """A number in ``[low, high)``."""
    return low + (high - low) * rng.random()


def pick(rng: random.Random, items: Sequence[int]) -> int:
    """One of ``items``."""
    return items[below(rng, len(items))]


def shares(rng: random.Random, n: int) -> list[float]:
    """``n`` positive shares of 1, none more than three times another."""
    weights = [between(rng, 0.5, 1.5) for _ in range(n)]
    return [weight / sum(weights) for weight in weights]


def starts(rng: random.Random, steps: int, lengths: Sequence[int]) -> list[int]:
    """Starts of phases that follow one another round the circle without overlap, in steps.

    The Down time is cut at random points, one gap per phase; a gap can be empty.
    """
    down = steps - sum(lengths)
    cuts = sorted(below(rng, down + 1) for _ in lengths)
    first = below(rng, steps)
    before = [sum(lengths[:k]) for k in range(len(lengths))]
    return [(first + cut + done) % steps for cut, done in zip(cuts, before, strict=True)]


def job(
    rng: random.Random, job_id: str, iteration_ms: float, mean_gbps: float, phases: int, *, step_ms: float = 1.0
) -> Job:
    """A job of ``phases`` equally long phases, Up for 20 to 60 % of the iteration.

    Parameters
    ----------
    rng : random.Random
    job_id : str
    iteration_ms : float
        A multiple of ``step_ms``.
    mean_gbps : float
        Mean demand over the iteration, Gbit/s. A rate is capped at ``CAPACITY_GBPS``: the demand can be less.
    phases : int
        At least 1.
    step_ms : float
        All times are multiples of it, ms.
    """
    steps = round(iteration_ms / step_ms)
    length = max(1, round(between(rng, 0.2, 0.6) * steps / phases))
    mean_rate = mean_gbps * steps / (length * phases)
    rates = [min(CAPACITY_GBPS, round(mean_rate * between(rng, 0.8, 1.2), 1)) for _ in range(phases)]
    begins = starts(rng, steps, [length] * phases)
    return Job(job_id, iteration_ms, [_phase(b, length, rate, step_ms) for b, rate in zip(begins, rates, strict=True)])


def training_job(rng: random.Random, job_id: str, iteration_ms: int, mean_gbps: float, phases: int) -> Job:
    """A job as hybrid-parallel training of a large language model makes it: phases of differing length and rate."""
    up = between(rng, 0.4, 0.6) * iteration_ms
    lengths = [max(1, round(up * share)) for share in shares(rng, phases)]
    weights = [between(rng, 0.3, 1.0) for _ in lengths]
    scale = mean_gbps * iteration_ms / sum(w * length for w, length in zip(weights, lengths, strict=True))
    rates = [min(CAPACITY_GBPS, round(weight * scale, 1)) for weight in weights]
    begins = starts(rng, iteration_ms, lengths)
    return Job(job_id, iteration_ms, [_phase(b, n, r, 1.0) for b, n, r in zip(begins, lengths, rates, strict=True)])


def jobs_of_load(
    rng: random.Random, periods_ms: Sequence[float], load: float, phases: Sequence[int], *, step_ms: float = 1.0
) -> tuple[Job, ...]:
    """Jobs ``j0``, ``j1``, ... whose mean demands sum to ``load`` times ``CAPACITY_GBPS``, or less where capped."""
    return tuple(
        job(rng, f"j{k}", period, load * CAPACITY_GBPS * share, count, step_ms=step_ms)
        for k, (period, share, count) in enumerate(zip(periods_ms, shares(rng, len(periods_ms)), phases, strict=True))
    )


def _phase(start: int, length: int, rate: float, step_ms: float) -> Phase:
    # Rounding to the tick keeps 0.1 ms + 0.2 ms a whole number of steps.
    return Phase(round(start * step_ms, 6), round(length * step_ms, 6), rate)
