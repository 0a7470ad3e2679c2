"""The assignments of F6: every way it allows to give jobs a common base, and the choice among them.

An *assignment* gives every job a pace ``T'_j >= T_j``, in whole ticks. F6 defines a finite set of assignments and an
objective. This module makes the set, the most promising first, and picks the best; the caller says what an assignment
is worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..arrays import BoolArray, Int64Array
from ..units import MAX_TICKS, SCORE_TOLERANCE

__all__ = ["FEW_JOBS", "MAX_ASSIGNMENTS", "Assignment", "Times", "choose"]

Meeting = BoolArray | tuple[Int64Array, Int64Array]

MAX_Q = 16
"""An anchor's iteration time is divided by 1 to this many (F6)."""

FEW_JOBS = 8
"""Up to so many jobs every assignment of F6 is tried."""

MAX_ASSIGNMENTS = FEW_JOBS * MAX_Q * (1 + FEW_JOBS) + 1
"""Most assignments tried, 1153: all that 8 jobs can have (anchor, q, the one left out or none; nothing)."""

MAX_ANCHORS = 256
"""Most anchors tried: with more jobs, those whose iteration time most others can reach."""

MAX_CELLS = 2**22
"""Most paces in all assignments together: from a thousand jobs on fewer anchors are tried, from four thousand on fewer
assignments."""

MAX_PAIR_CHECKS = 2**28
"""Most pairs of jobs that meet, over all assignments together: where more meet fewer anchors are tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Paces in ticks, shape (n,), which jobs are multiples of the base, and where it comes from (q = 0: nothing)."""

    paces: Int64Array
    on_base: BoolArray
    q: int = 0
    anchor: int = -1
    left_out: int = -1

    def source(self) -> tuple[int, int, int]:
        """Smallest q, then ids: of two ways to the same paces, and of two equally good ones, the lesser wins."""
        return self.q, self.anchor, self.left_out


@dataclass(frozen=True, slots=True, eq=False)
class Times:
    """Iteration times of n jobs ordered by id, ticks: natural ones, those held now, and the longest allowed.

    Only ``active`` jobs may change. ``meet`` says which pairs share a link: a matrix of shape (n, n), or the numbers of
    the one and of the other job of each pair, each pair once; None: all.
    """

    natural: Int64Array
    current: Int64Array
    longest: Int64Array
    active: BoolArray
    meet: Meeting | None = None

    @classmethod
    def of(cls, natural: Sequence[int], tolerance: float, meet: Meeting | None = None) -> Times:
        """Nothing changed yet; each may grow to ``(1 + tolerance) T_j``."""
        # Exact for the float that was given: no product is rounded.
        longest = [min(int((1 + Fraction(tolerance)) * period), MAX_TICKS) for period in natural]
        ticks = np.array(natural, dtype=np.int64)
        return cls(ticks, ticks, np.array(longest, dtype=np.int64), np.ones(len(natural), dtype=np.bool_), meet)

    def lengthening(self, paces: Int64Array) -> float:
        """``mean_j(T'_j / T_j - 1)``."""
        return float(np.mean((paces - self.natural) / self.natural)) if len(paces) else 0.0

    def most_lengthened(self, paces: Int64Array) -> Fraction:
        """``max_j(T'_j / T_j)``, exactly."""
        ratios = paces / self.natural
        near = np.flatnonzero(ratios >= ratios.max(initial=1.0) * (1 - 1e-14))  # off by less than two roundings
        return max((Fraction(int(paces[k]), int(self.natural[k])) for k in near.tolist()), default=Fraction(1))


def choose(
    times: Times,
    value: Callable[[Int64Array], float],
    ceiling: Callable[[Int64Array], float],
    careful: Callable[[Int64Array], float] | None = None,
    expect: Callable[[Sequence[Int64Array]], None] | None = None,
) -> tuple[Assignment, float]:
    """The assignment of the highest ``value - mean_j(T'_j / T_j - 1)``, and its value.

    Among equals (within 1e-9): fewer jobs changed, least maximum lengthening, smallest q, ids. ``ceiling`` is never
    below ``value``, and cheap: what cannot win is not valued. Where it is -inf the assignment is given up. Of many
    values that were estimated in haste the highest is likely an accident: with ``careful``, a slower ``value``, the
    winner must beat changing nothing once more. ``expect`` is told beforehand what may be valued, in this order.
    """
    best = -math.inf
    seen: list[tuple[float, float, Assignment]] = []
    assignments = _assignments(times)
    if expect is not None:
        expect([assignment.paces for assignment in assignments])
    for assignment in assignments:
        cost = times.lengthening(assignment.paces)
        # Changing nothing comes first and is always scored.
        if seen and ceiling(assignment.paces) - cost < best - 2 * SCORE_TOLERANCE:
            continue
        worth = value(assignment.paces)
        seen.append((worth - cost, worth, assignment))
        best = max(best, worth - cost)

    def preference(item: tuple[float, float, Assignment]) -> tuple[int, Fraction, tuple[int, int, int]]:
        return int((item[2].paces != times.natural).sum()), times.most_lengthened(item[2].paces), item[2].source()

    _, worth, chosen = min((item for item in seen if item[0] >= best - SCORE_TOLERANCE), key=preference)
    nothing = seen[0][2]
    if careful is None or chosen is nothing:
        return chosen, worth
    worth, stayed = careful(chosen.paces), careful(nothing.paces)
    gained = (worth - times.lengthening(chosen.paces)) - (stayed - times.lengthening(nothing.paces))
    return (chosen, worth) if gained > SCORE_TOLERANCE else (nothing, stayed)


def _assignments(times: Times) -> list[Assignment]:
    """Distinct assignments, at most ``MAX_ASSIGNMENTS``: nothing changed, whole ones, then with one job left out."""
    current = times.current
    nothing = Assignment(current, np.zeros(len(current), dtype=np.bool_))
    found = {current.tobytes(): nothing}
    anchors = _anchors(times)
    for q in range(1, MAX_Q + 1):
        for anchor in anchors:
            base = -(-int(current[anchor]) // q)
            if q * base > times.longest[anchor]:
                continue
            targets = -(-current // base) * base
            targets[anchor] = q * base
            on_base = times.active & (targets <= times.longest)
            paces = np.where(on_base, targets, current)
            found.setdefault(paces.tobytes(), Assignment(paces, on_base, q, anchor))
    most = min(MAX_ASSIGNMENTS, max(16, MAX_CELLS // max(1, len(current))))
    whole = _most_pairs_first(list(found.values())[1:], times)[: most - 1]
    kept = {item.paces.tobytes(): item for item in (nothing, *whole)}
    for item in whole:
        for job in np.flatnonzero(item.paces != current).tolist():
            if len(kept) >= most:
                return list(kept.values())
            paces, on_base = item.paces.copy(), item.on_base.copy()
            paces[job], on_base[job] = current[job], False
            less = replace(item, paces=paces, on_base=on_base, left_out=job)
            kept[paces.tobytes()] = min(kept.get(paces.tobytes(), less), less, key=Assignment.source)
    return list(kept.values())


def _anchors(times: Times) -> list[int]:
    """All active jobs; of too many, the first of each distinct iteration time, and of those the ones of most reach."""
    active = np.flatnonzero(times.active).tolist()
    n_pairs = len(times.meet[0]) if isinstance(times.meet, tuple) else 0
    most = min(
        MAX_ANCHORS, MAX_CELLS // MAX_Q // max(1, len(times.current)), MAX_PAIR_CHECKS // MAX_Q // max(1, n_pairs)
    )
    if len(active) <= most:
        return active
    first: dict[int, int] = {}
    for job in active:
        first.setdefault(int(times.current[job]), job)
    near = {t: int((times.active & (times.current <= t) & (t <= times.longest)).sum()) for t in first}
    return sorted(first[t] for t in sorted(first, key=lambda t: (-near[t], first[t]))[: max(1, most)])


def _most_pairs_first(items: list[Assignment], times: Times) -> list[Assignment]:
    """Sorted by the pairs of jobs that meet and are newly on a common base, then by least lengthening."""
    if not items:
        return items

    def pairs(members: BoolArray) -> Int64Array:
        if times.meet is None:
            count = members.sum(axis=1, dtype=np.int64)
            return np.asarray(count * (count - 1))
        if isinstance(times.meet, tuple):
            one, other = times.meet
            return np.array([2 * np.count_nonzero(row[one] & row[other]) for row in members], dtype=np.int64)
        some = members.astype(np.float32)  # whole numbers far below 2**24: exact
        return np.asarray(np.rint(((some @ times.meet.astype(np.float32)) * some).sum(axis=1)), dtype=np.int64)

    on_base = np.stack([item.on_base for item in items])
    same = np.stack([item.paces == times.current for item in items])
    gained = pairs(on_base) - pairs(on_base & same)
    cost = [times.lengthening(item.paces) for item in items]
    order = sorted(range(len(items)), key=lambda k: (-int(gained[k]), cost[k], items[k].q, items[k].anchor))
    return [items[k] for k in order]
