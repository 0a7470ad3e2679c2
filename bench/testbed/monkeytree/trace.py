"""Arrivals: a Poisson process whose load is that of the published traces, drawn anew from their distribution."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from .jobs import KINDS, Kind

__all__ = ["Arrival", "trace"]

LEAST, MOST = 100, 1000
"""Iterations of a job, uniformly drawn."""


@dataclass(frozen=True, slots=True)
class Arrival:
    """A job that comes."""

    id: str
    at_ms: float
    kind: Kind
    gpus: int
    iterations: int


def trace(seed: int, jobs: int, *, load: float = 1.0, gpus: int = 1024, kinds: Sequence[Kind] = KINDS) -> list[Arrival]:
    """So many arrivals.

    Parameters
    ----------
    seed, jobs : int
    load : float
        What is asked for of all GPUs when no network slows anything down; bubbles of pipelines are not counted, as in
        the published traces.
    gpus : int
        Of the cluster.
    kinds : sequence of Kind
    """
    drawn = random.Random(f"monkeytree {seed}")
    weights = [kind.weight for kind in kinds]
    asked = [sum(size * kind.busy_ms(size) for size in kind.gpus) / len(kind.gpus) for kind in kinds]
    mean = sum(w * a for w, a in zip(weights, asked, strict=True)) / sum(weights) * (LEAST + MOST) / 2
    found, at_ms = [], 0.0
    for number in range(jobs):
        (kind,) = drawn.choices(kinds, weights)
        found.append(Arrival(f"{number}", at_ms, kind, drawn.choice(kind.gpus), drawn.randint(LEAST, MOST)))
        at_ms += drawn.expovariate(load * gpus / mean)
    return found
