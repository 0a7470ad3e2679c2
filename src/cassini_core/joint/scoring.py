"""How the links of placements are scored: by compiled loops where a round is large, in whole arrays elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..compiled import compiled
from . import placement_arrays, placement_loops

__all__ = ["ARRAYS", "Scoring", "Table", "scoring_of"]

MANY_CROSSINGS = 2**20
"""Jobs on shared links, over all candidates, from which loops are compiled: some hundreds of candidates of a cluster of
a thousand jobs. Loading compiled loops takes some tenths of a second, which fewer do not win back."""

FEW_CROSSINGS = 2**12
"""So few are scored in whole arrays, also where compiled loops are there."""


class Table(NamedTuple):
    """Compiled loops over a hash table of evaluations; see :mod:`cassini_core.joint.placement_loops`."""

    find: Callable[..., tuple[int, int]]
    look: Callable[..., int]
    add: Callable[..., int]
    hash_again: Callable[..., None]


class Scoring(NamedTuple):
    """``stand``, ``judge``, ``differ`` and ``per_job`` of :mod:`cassini_core.joint.placement_loops`, and compiled ones
    of the rest, or None.
    """

    stand: Callable[..., int]
    judge: Callable[..., tuple[int, int, bool, bool, float]]
    differ: Callable[..., tuple[int, int, int, int]]
    per_job: Callable[..., float]
    table: Table | None


ARRAYS = Scoring(
    placement_arrays.stand, placement_arrays.judge, placement_arrays.differ, placement_arrays.per_job, None
)


def scoring_of(n_crossings: int, *, in_hurry: bool) -> Scoring:
    """The fastest way to score placements.

    Parameters
    ----------
    n_crossings : int
        Jobs on shared links, over all candidates.
    in_hurry : bool
        Loops are not compiled now, only used if somebody did before.
    """
    if n_crossings < FEW_CROSSINGS:
        return ARRAYS
    loops = compiled(placement_loops.LOOPS, wait=not in_hurry and n_crossings >= MANY_CROSSINGS)
    if loops is None:
        return ARRAYS
    stand, find, look, add, hash_again, judge, differ, per_job = loops
    return Scoring(stand, judge, differ, per_job, Table(find, look, add, hash_again))
