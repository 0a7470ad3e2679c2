"""Jitter of the compute phase: factors around 1 with a given relative standard deviation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

__all__ = ["KINDS", "factors"]

_AUTOCORRELATION = 0.5
_LOGNORMAL_SIGMA = 0.5  # skewness 1.75
_CHUNK = 1024


def factors(kind: str, share: float, seed: int) -> Iterator[float]:
    """Endless factors of mean 1 and standard deviation ``share``; of a ``kind`` of ``KINDS``."""
    rng = np.random.default_rng(seed)
    draw = KINDS[kind]
    state = 0.0
    while True:
        unit, state = draw(rng, state)
        yield from np.maximum(0.05, 1.0 + share * unit).tolist()


_Drawn = tuple[np.ndarray, float]


def _normal(rng: np.random.Generator, state: float) -> _Drawn:
    return rng.standard_normal(_CHUNK), state


def _exponential(rng: np.random.Generator, state: float) -> _Drawn:
    return rng.exponential(size=_CHUNK) - 1.0, state


def _lognormal(rng: np.random.Generator, state: float) -> _Drawn:
    variance = _LOGNORMAL_SIGMA**2
    spread = math.sqrt((math.exp(variance) - 1) * math.exp(variance))
    return (rng.lognormal(0.0, _LOGNORMAL_SIGMA, _CHUNK) - math.exp(variance / 2)) / spread, state


def _autocorrelated(rng: np.random.Generator, state: float) -> _Drawn:
    drawn = np.empty(_CHUNK)
    for i, fresh in enumerate(rng.standard_normal(_CHUNK)):
        state = _AUTOCORRELATION * state + math.sqrt(1 - _AUTOCORRELATION**2) * fresh
        drawn[i] = state
    return drawn, state


KINDS: dict[str, Callable[[np.random.Generator, float], _Drawn]] = {
    "normal": _normal,
    "exponential": _exponential,
    "lognormal": _lognormal,
    "autocorrelated": _autocorrelated,
}
