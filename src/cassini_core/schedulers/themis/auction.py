"""One auction of released GPUs: bids, winners, hidden payments, and what is left.

Themis, section 3.3, after the partial allocation mechanism of Cole, Gkatzelis and Goel (EC 2013). Valuations are
``1 / rho``. What maximises their product is found exactly, by dynamic programming over the number of GPUs. Of what it
wins there, bidder ``i`` is given the part ``c_i``: the product of the valuations of all others, over what that product
were had ``i`` not taken part. So it pays in GPUs for what it takes from others, and gains nothing by lying.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...arrays import Float64Array

__all__ = ["Bid", "payments", "rounded", "winners"]

_TIE = 1e-12
"""Of logarithms of valuations: of equals the one that takes fewer GPUs."""


@dataclass(frozen=True, slots=True)
class Bid:
    """What a task's rho would be with so many workers won, the best over where they could be.

    Parameters
    ----------
    task : str
    gpus_per_worker : int
    rhos : mapping of int to float
        By number of workers; 0 must be there. Other numbers are not of use to it.
    """

    task: str
    gpus_per_worker: int
    rhos: Mapping[int, float]


def winners(bids: Sequence[Bid], gpus: int) -> list[int]:
    """Workers for each bid, so that the product of ``1 / rho`` is largest, with at most ``gpus`` GPUs.

    O(numbers that are bid * gpus).
    """
    best = np.zeros(gpus + 1)
    chosen = []
    for bid in bids:
        best, choice = _with(best, bid)
        chosen.append(choice)
    left, won = gpus, []
    for bid, choice in zip(reversed(bids), reversed(chosen), strict=True):
        won.append(int(choice[left]))
        left -= won[-1] * bid.gpus_per_worker
    return won[::-1]


def payments(bids: Sequence[Bid], gpus: int, won: Sequence[int]) -> list[float]:
    """The part of what it won that each bidder keeps, above 0, at most 1. O(bids * numbers that are bid * gpus)."""
    values = [-math.log(bid.rhos[workers]) for bid, workers in zip(bids, won, strict=True)]
    found = []
    for index in range(len(bids)):
        best = np.zeros(gpus + 1)
        for other, bid in enumerate(bids):
            if other != index:
                best, _ = _with(best, bid)
        others = math.fsum(value for other, value in enumerate(values) if other != index)
        found.append(min(1.0, math.exp(others - float(best[gpus]))))
    return found


def rounded(bid: Bid, won: int, part: float, rng: random.Random) -> int:
    """A number of workers that is of use to the bidder, drawn so that on average it is ``part * won``."""
    target = part * won
    of_use = sorted(count for count in bid.rhos if count <= won)
    below = max(count for count in of_use if count <= target)
    above = min((count for count in of_use if count > target), default=won)
    return above if above > below and rng.random() * (above - below) < target - below else below


def _with(best: Float64Array, bid: Bid) -> tuple[Float64Array, Float64Array]:
    """The best sums of logarithms with one more bidder, by GPUs, and how many workers it gets in each."""
    total = best - math.log(bid.rhos[0])
    choice = np.zeros(len(best))
    for workers in sorted(bid.rhos):
        taken = workers * bid.gpus_per_worker
        if workers and taken < len(best):
            with_them = best[: len(best) - taken] - math.log(bid.rhos[workers])
            better = with_them > total[taken:] + _TIE
            total[taken:][better] = with_them[better]
            choice[taken:][better] = workers
    return total, choice
