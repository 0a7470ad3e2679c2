"""Kinds of training job: what one iteration looks like."""

from __future__ import annotations

import random
from collections.abc import Sequence

from bench.measuring import draw
from cassini_core import Job, Phase

ROUND_MS = (150, 200, 240, 300, 400, 600)
"""Iteration times whose LCM is 1.2 s."""

N_KINDS = 12
LEAST_GBPS, MOST_GBPS, STEP_GBPS = 200, 400, 20
FULL_RATE_GPUS = 4
"""A part with fewer GPUs has fewer network cards and asks for half of the rate."""


def job_kinds(seed: str, periods_ms: Sequence[int] = ROUND_MS, count: int = N_KINDS) -> list[Job]:
    """Kinds with one to three phases of 200 to 400 Gbit/s, Up for 20 to 50 % of the iteration, in whole ms.

    Iteration times take turns among ``periods_ms``; the rest is drawn. A kind is a job named after it.
    """
    return [
        _kind(random.Random(f"{seed}, kind {index}"), index, periods_ms[index % len(periods_ms)])
        for index in range(count)
    ]


def _kind(rng: random.Random, index: int, iteration_ms: int) -> Job:
    phases = 1 + draw.below(rng, 3)
    up_ms = draw.between(rng, 0.2, 0.5) * iteration_ms
    lengths = [max(1, round(up_ms * share)) for share in draw.shares(rng, phases)]
    begins = draw.starts(rng, iteration_ms, lengths)
    steps = (MOST_GBPS - LEAST_GBPS) // STEP_GBPS + 1
    return Job(
        f"kind{index:02d}",
        iteration_ms,
        [
            Phase(begin, length, LEAST_GBPS + STEP_GBPS * draw.below(rng, steps))
            for begin, length in zip(begins, lengths, strict=True)
        ],
    )


def job_of(kind: Job, job_id: str, gpus: int) -> Job:
    """A job of this kind whose parts have ``gpus`` GPUs each."""
    if gpus >= FULL_RATE_GPUS:
        return Job(job_id, kind.iteration_ms, kind.phases)
    return Job(job_id, kind.iteration_ms, [Phase(p.start_ms, p.duration_ms, p.gbps / 2) for p in kind.phases])


def perturbed(rng: random.Random, kind: Job, most: float) -> Job:
    """The same kind, all of its times stretched by one factor within ``1 .. 1 + most``.

    Longer only, as stalls make it; to 0.1 µs, which is more precise than anyone measures.
    """
    factor = 1.0 + most * rng.random()
    return Job(
        kind.id,
        round(kind.iteration_ms * factor, 4),
        [Phase(round(p.start_ms * factor, 4), round(p.duration_ms * factor, 4), p.gbps) for p in kind.phases],
    )
