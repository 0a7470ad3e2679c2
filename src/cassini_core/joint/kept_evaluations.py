"""Evaluations of links in earlier rounds: the tables of the last rounds, as they were when these ended."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..arrays import Float64Array, Int64Array, Rows, int64, offsets
from ..links.solution_cache import Counting, KeptCounts
from .known_evaluations import KnownEvaluations
from .placement_loops import UNKNOWN

__all__ = ["Evaluated", "EvaluationStore", "KeptEvaluations"]

MOST_ROUNDS = 2
"""Rounds whose evaluations are kept: each question that is new looks through all of them."""

Evaluated = tuple[Float64Array, Float64Array, Int64Array, Int64Array]
"""Lower and upper bound of the score and hold of each link, slack of each of its jobs."""


class _EndedRound:
    """What is known of the links of a round, by what these ask for and how they are judged."""

    def __init__(self, link: Sequence[bytes], known: KnownEvaluations) -> None:
        self.problem = {one: number for number, one in enumerate(link)}
        self.known = known


class EvaluationStore(Counting):
    """The evaluations of the last rounds; may be used from several threads.

    Parameters
    ----------
    most : int
        How many are kept, at least 1: those of the last rounds that have no more together, nor more link problems.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._rounds: tuple[_EndedRound, ...] = ()
        super().__init__()

    @property
    def rounds(self) -> tuple[_EndedRound, ...]:
        """The last one first."""
        return self._rounds

    def add(self, ended: _EndedRound) -> None:
        """Keep what is known of a round that has ended."""
        with self._lock:
            kept, count = [], 0
            for one in (ended, *self._rounds)[:MOST_ROUNDS]:
                count += max(one.known.count, len(one.problem))
                if count > self._most:
                    break
                kept.append(one)
            self._rounds = tuple(kept)

    def info(self) -> KeptCounts:
        """The counts, and how many evaluations are kept."""
        with self._lock:
            kept = sum(one.known.count for one in self._rounds)
            return KeptCounts(self._hits, self._misses, kept, self._most)

    def clear(self) -> None:
        """Forget everything, the counts too."""
        with self._lock:
            self._rounds = ()
            self._hits = self._misses = 0


class KeptEvaluations:
    """What was evaluated in earlier rounds, seen from the link problems of one round; for several threads.

    Parameters
    ----------
    store : EvaluationStore
    link : sequence of bytes
        Of each link problem, what it asks for and how it is judged.
    job_offset : int64 array, shape (problems + 1,)
        Where the jobs of each begin.
    """

    def __init__(self, store: EvaluationStore, link: Sequence[bytes], job_offset: Int64Array) -> None:
        self._store = store
        self._link = link
        self._size = np.diff(job_offset)
        # Of each round the numbers that its problems had there.
        self._rounds = [(int64(one.problem.get(digest, UNKNOWN) for digest in link), one.known) for one in store.rounds]

    def find(
        self, problem: Int64Array, relative: Int64Array, evaluate: Callable[[Int64Array, Int64Array], Evaluated]
    ) -> Evaluated:
        """What links score at the relative shifts of their jobs; ``evaluate`` is asked for what is not known."""
        first = offsets(self._size[problem])
        lower, upper = np.empty((2, len(problem)))
        hold, slack = np.empty(len(problem), dtype=np.int64), np.empty(len(relative), dtype=np.int64)
        is_known = np.zeros(len(problem), dtype=np.bool_)
        for number_there, known in self._rounds:
            known.look(number_there[problem], first, relative, lower, upper, hold, slack, is_known)
        rest = np.flatnonzero(~is_known)
        self._store.count(hits=len(problem) - len(rest), misses=len(rest))
        if len(rest):
            at = Rows.of(first, rest).at
            lower[rest], upper[rest], hold[rest], slack[at] = evaluate(problem[rest], relative[at])
        return lower, upper, hold, slack

    def keep(self, known: KnownEvaluations) -> None:
        """Keep what is known of the round. Nobody may add anything any more."""
        self._store.add(_EndedRound(self._link, known))
