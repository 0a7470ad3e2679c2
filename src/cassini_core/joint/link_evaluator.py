"""Scores, slack and hold of links at given shifts, each computed once.

Candidates of one round differ in few links: most stand at shifts at which they were seen before.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ..arrays import Float64Array, Int64Array, Rows, cut
from ..errors import KernelError
from ..kept_property import kept_property
from ..kernel.prepared_links import PreparedLinks
from ..links.incidence import Incidence

__all__ = ["Evaluator", "Standings"]

_Key = tuple[int, bytes]
"""Link problem, and how its jobs stand to the first of them, ticks as int64."""

_Standing = tuple[float, float, int, bytes]
"""Of one link: bounds on its score, hold, and slack by crossing, ticks as int64."""


class Standings(NamedTuple):
    """Some links at given shifts.

    ``lower`` and ``upper`` are certified bounds on each link's score, ``hold`` is in ticks. ``slack`` has one entry for
    each of ``crossings``, ticks. ``other`` are the positions of the links that do not stand as expected.
    """

    lower: Float64Array
    upper: Float64Array
    hold: Int64Array
    slack: Int64Array
    crossings: Rows
    other: Int64Array


class Evaluator:
    """Evaluates links of one ranking; may be used from several threads.

    Parameters
    ----------
    links : PreparedLinks
    flat : Incidence
        Their shared links.
    nodes_of_look : float64 array
        What evaluating each problem once costs, search nodes.
    """

    def __init__(self, links: PreparedLinks, flat: Incidence, nodes_of_look: Float64Array) -> None:
        self._links = links
        self._flat = flat
        self._nodes_of_look = nodes_of_look
        self._counted = 0
        self._seen: dict[_Key, _Standing] = {}
        self._usual: tuple[Int64Array, Standings] | None = None  # relative shifts at all crossings; all links

    def expect(self, links: Int64Array, shift: Int64Array) -> Standings:
        """Most candidates will have most of ``links`` at ``shift``: to be recognised without looking each up.

        Returns what :meth:`evaluate` does.

        Raises
        ------
        KernelError
            A defect.
        """
        found = self.evaluate(links, shift)
        at = found.crossings.at
        n_links, n_crossings = len(self._flat.problem), len(self._flat.job)
        relative = np.full(n_crossings, -1, dtype=np.int64)
        relative[at] = self._flat.relative_shifts(found.crossings, shift)
        lower, upper, hold = np.zeros(n_links), np.zeros(n_links), np.zeros(n_links, dtype=np.int64)
        slack = np.zeros(n_crossings, dtype=np.int64)
        lower[links], upper[links], hold[links], slack[at] = found.lower, found.upper, found.hold, found.slack
        self._usual = relative, Standings(lower, upper, hold, slack, found.crossings, found.other)
        return found

    def evaluate(self, links: Int64Array, shift: Int64Array) -> Standings:
        """Score, slack and hold of each link; what was seen before is not computed again.

        Parameters
        ----------
        links : int64 array
            Indices of shared links.
        shift : int64 array, shape (jobs of ``flat``,)
            Ticks.

        Raises
        ------
        KernelError
            A defect.

        Notes
        -----
        O(crossings) in whole arrays; O(events log events) per job of each link that was not seen before.
        """
        crossings = self._flat.rows(links)
        relative = self._flat.relative_shifts(crossings, shift)
        n = len(links)
        if self._usual is None or n == 0:
            lower, upper, hold = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
            slack, differs = np.empty(len(relative), dtype=np.int64), np.ones(n, dtype=np.bool_)
        else:
            usual, at_usual = self._usual
            lower, upper, hold = at_usual.lower[links], at_usual.upper[links], at_usual.hold[links]
            slack = at_usual.slack[crossings.at]
            differs = ~np.logical_and.reduceat(relative == usual[crossings.at], crossings.first)
        other = np.flatnonzero(differs)
        if len(other):
            where = np.repeat(differs, crossings.size)
            # Bytes are cut and looked up faster than tuples of whole numbers.
            stands, ends = relative[where].tobytes(), np.cumsum(8 * crossings.size[other]).tolist()
            problems = self._flat.problem[links[other]].tolist()
            keys = [(k, stands[a:b]) for k, (a, b) in zip(problems, itertools.pairwise([0, *ends]), strict=True)]
            lowers, uppers, holds, slacks = zip(*self._standings(keys), strict=True)
            lower[other], upper[other], hold[other] = lowers, uppers, holds
            slack[where] = np.frombuffer(b"".join(slacks), dtype=np.int64)
        return Standings(lower, upper, hold, slack, crossings, other)

    def new_nodes(self) -> int:
        """What was evaluated since this was last asked, in search nodes; not while others evaluate.

        The same whoever evaluated what first.
        """
        new = [problem for problem, _ in itertools.islice(self._seen, self._counted, None)]
        self._counted += len(new)
        return int(self._nodes_of_look[new].sum())

    def _standings(self, keys: list[_Key]) -> list[_Standing]:
        seen = self._seen
        new = [key for key in dict.fromkeys(keys) if key not in seen]
        if new:
            seen.update(zip(new, self._computed(new), strict=True))
        return [seen[key] for key in keys]

    @kept_property
    def _period_of(self) -> list[bytes]:
        """Iteration times of the jobs of each problem."""
        return cut(self._links.arrays.period, self._links.arrays.job_offset)

    def _computed(self, keys: list[_Key]) -> list[_Standing]:
        # Each link as its key says, with jobs of its own: not turned as in the candidate that asked first, of which the
        # last digits would tell.
        period_of = self._period_of
        shift = np.frombuffer(b"".join([stands for _, stands in keys]), dtype=np.int64)
        seen = self._links.prepared().evaluate_block(
            np.frombuffer(b"".join([period_of[problem] for problem, _ in keys]), dtype=np.int64),
            np.array([problem for problem, _ in keys], dtype=np.int64),
            np.arange(len(shift), dtype=np.int64),
            shift=shift,
            options=self._links.options,
            with_slack=self._links.limits.with_slack,
            cancel=self._links.cancel,
        )
        if seen is None:
            raise KernelError("evaluate_block: canceled")
        lower, upper, slack, hold = seen
        slack = np.zeros(len(shift), dtype=np.int64) if slack is None else slack
        hold = np.zeros(len(keys), dtype=np.int64) if hold is None else hold
        slacks, ends = slack.tobytes(), itertools.accumulate([len(stands) for _, stands in keys], initial=0)
        own = [slacks[a:b] for a, b in itertools.pairwise(ends)]
        return list(zip(lower.tolist(), upper.tolist(), hold.tolist(), own, strict=True))
