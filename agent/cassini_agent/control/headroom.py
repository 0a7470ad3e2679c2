"""How far above its uncontrolled iteration time a job must be paced so that its lateness stays within a hold.

A paced job's lateness obeys ``L' = max(0, L + J - m)``, ``J`` the jitter of an iteration and ``m`` the headroom of the
pace. By Lundberg's inequality ``P(L > x) <= exp(-theta x)`` for every ``theta`` with ``E exp(theta (J - m)) <= 1``. So
with ``theta = ln(1/p) / x`` the headroom ``m = ln(E exp(theta J)) / theta`` promises ``P(L > x) <= p``. For Gaussian
jitter that is ``sigma^2 ln(1/p) / (2 x)``. No distribution is assumed: the mean is taken over the jitter that was
measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import fmean, median

from .pattern import pattern, swing

__all__ = ["Headroom", "Jitter", "cheapest_headroom", "headroom", "loss_ns", "measured_jitter"]

STALL_SPREADS = 12.0
"""Beyond the median by so many spreads an iteration is a stall, not jitter: no headroom is meant for it. An exponential
jitter comes this far once in 3000 iterations."""

NORMAL_MAD = 1.4826
"""Standard deviation of a normal distribution in units of its median absolute deviation."""

MIN_SAMPLES = 16
"""Of fewer iterations nothing is said."""

LOST_ITERATIONS = 4
"""From a start that is too late until the coordinator has everybody in their places: some two seconds, of which a part
is lost; and not every late start is followed by more."""

UNKNOWN_GAIN = 10
"""A gain that is not known is taken to be this part of an iteration."""


@dataclass(frozen=True, slots=True)
class Jitter:
    """Deviations of uncontrolled iteration times from their mean, in the order they were measured.

    Attributes
    ----------
    iteration_ns : float
        Mean uncontrolled iteration time without stalls: what a pace has to carry.
    deviation_ns : tuple of float
        Uncontrolled times minus that, stalls left out.
    stalls : int
        Iterations left out.
    """

    iteration_ns: float
    deviation_ns: tuple[float, ...]
    stalls: int


@dataclass(frozen=True, slots=True)
class Headroom:
    """Headroom and what it promises.

    Attributes
    ----------
    headroom_ns : float
        To add to the mean uncontrolled iteration time.
    block : int
        Iterations over which jitter adds up the worst; 1 if it is independent.
    exponent : float
        ``theta``, per ns: the tail of the lateness falls as ``exp(-theta x)``.
    probability : float
        Bound on the probability that a start is late beyond the hold.
    """

    headroom_ns: float
    block: int
    exponent: float
    probability: float


def measured_jitter(natural_ns: Sequence[float]) -> Jitter:
    """Split uncontrolled iteration times into their mean, jitter and stalls.

    Raises
    ------
    ValueError
        No times.
    """
    if not natural_ns:
        raise ValueError("measured_jitter: expected iteration times, got none")
    middle = median(natural_ns)
    # A spread of zero (all times equal) makes no stall of the first nanosecond.
    spread = max(NORMAL_MAD * median(abs(t - middle) for t in natural_ns), 1e-4 * middle)
    kept = [t for t in natural_ns if t - middle <= STALL_SPREADS * spread]
    mean = fmean(kept)
    return Jitter(mean, tuple(t - mean for t in kept), len(natural_ns) - len(kept))


def headroom(deviation_ns: Sequence[float], hold_ns: float, probability: float) -> Headroom:
    """The headroom that keeps lateness within ``hold_ns`` but for a share ``probability`` of all starts.

    Parameters
    ----------
    deviation_ns : sequence of float
        Jitter in the order it was measured, mean 0; at least 16 iterations, better some hundred.
    hold_ns : float
        How late a start may be, greater than 0.
    probability : float
        In (0, 1).

    Raises
    ------
    ValueError
        An argument out of bounds.

    Notes
    -----
    Correlated jitter adds up over several iterations: the exponent is taken over sums of 1, 2, 4, ... iterations too,
    and the largest counts. Nothing is added for what a short profile does not show: headroom costs time in each
    iteration, and a start that is late costs little since it is put right at once. O(n log n).
    """
    if len(deviation_ns) < MIN_SAMPLES:
        raise ValueError(f"headroom: expected at least {MIN_SAMPLES} iterations, got {len(deviation_ns)}")
    if not (hold_ns > 0 and 0 < probability < 1):
        raise ValueError(f"headroom: expected hold_ns > 0 and a probability in (0, 1), got {hold_ns}, {probability}")
    theta = math.log(1 / probability) / hold_ns
    return Headroom(*_needed(deviation_ns, theta), theta, probability)


def cheapest_headroom(deviation_ns: Sequence[float], hold_ns: float, loss_ns: float) -> Headroom:
    """The headroom with the least total cost per iteration: itself, and what is lost by starts that are too late.

    Jobs that meet on a link hold each other up, so both get later: a start beyond the hold is more than the overlap it
    makes. ``loss_ns`` is what it costs until the jobs are apart again. Probabilities from 1/4 to 1/10000 are tried.

    Of iterations that differ in turn only the rest is jitter; what is late in turn takes a part of the hold.
    """
    in_turn = pattern(list(enumerate(map(round, deviation_ns))))
    if in_turn and (left_ns := hold_ns - swing(in_turn)) > 0:
        deviation_ns = [each - in_turn[i % len(in_turn)] for i, each in enumerate(deviation_ns)]
        hold_ns = left_ns
    found = [headroom(deviation_ns, hold_ns, math.exp(-step / 2)) for step in range(3, 19)]
    return min(found, key=lambda each: each.headroom_ns + each.probability * loss_ns)


def loss_ns(iteration_ns: int, gain_ns: int) -> int:
    """What a start beyond the reach costs: the gain of so many iterations, until all are back in their places."""
    return LOST_ITERATIONS * (gain_ns or iteration_ns // UNKNOWN_GAIN)


def _needed(deviation_ns: Sequence[float], theta: float) -> tuple[float, int]:
    """Largest headroom for an exponent over sums of 1, 2, 4, ... iterations, and over how many."""
    before = [0.0, *accumulate(deviation_ns)]
    best, best_block, block = _rate(deviation_ns, theta, 1), 1, 2
    while len(deviation_ns) // block >= MIN_SAMPLES:
        sums = [end - begin for begin, end in zip(before, before[block:], strict=False)]
        found = _rate(sums, theta, block)
        if found > best:
            best, best_block = found, block
        block *= 2
    return max(best, 0.0), best_block


def _rate(sums: Sequence[float], theta: float, block: int) -> float:
    """``ln(E exp(theta S)) / (theta block)``; taken about the largest ``S``, so that nothing overflows."""
    largest = max(sums)
    return (largest + math.log(fmean([math.exp(theta * (s - largest)) for s in sums])) / theta) / block
