"""Scores, slack and hold of links at given shifts, each computed once.

Candidates of one round differ in few links, so most links are asked for at shifts at which they were evaluated before.
The score of a link only depends on its *relative shifts*: those of its jobs against the first of them.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ..arrays import Float64Array, Int64Array, Rows, cut, int64, offsets
from ..errors import KernelError
from ..kernel.prepared_links import PreparedLinks
from ..links.incidence import Incidence

__all__ = ["Evaluator", "LinkEvaluations"]

_Key = tuple[int, bytes]
"""A link problem and the relative shifts of its jobs, ticks as int64."""

_Found = tuple[float, float, int, bytes]
"""What a key leads to: the lower and the upper bound of the score, the hold, and each job's slack, ticks as int64."""


class LinkEvaluations(NamedTuple):
    """What some links score at given shifts.

    ``lower`` and ``upper`` are certified bounds on each link's score, ``hold`` is in ticks. ``slack`` has one entry for
    each of ``crossings``, ticks.
    """

    lower: Float64Array
    upper: Float64Array
    hold: Int64Array
    slack: Int64Array
    crossings: Rows


class Evaluator:
    """Evaluates links of one ranking; may be used from several threads.

    Parameters
    ----------
    links : PreparedLinks
    flat : Incidence
        Their shared links.
    evaluation_nodes : float64 array
        What evaluating each problem once costs, search nodes.
    """

    def __init__(self, links: PreparedLinks, flat: Incidence, evaluation_nodes: Float64Array) -> None:
        self._links = links
        self._flat = flat
        self._evaluation_nodes = evaluation_nodes
        self._counted = 0
        self._known: dict[_Key, _Found] = {}
        self._expected: tuple[Int64Array, LinkEvaluations] | None = None  # relative shifts at all crossings; all links

    def expect(self, links: Int64Array, shift: Int64Array) -> None:
        """Evaluate ``links`` at ``shift``, where most candidates will have most of them.

        Links that are asked for at these shifts are then found without looking each up.

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
        self._expected = relative, LinkEvaluations(lower, upper, hold, slack, found.crossings)

    def evaluate(self, links: Int64Array, shift: Int64Array) -> LinkEvaluations:
        """Score, slack and hold of each link; what was evaluated before is not computed again.

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
        O(crossings) in whole arrays; O(events log events) per job of each link that was not evaluated before.
        """
        crossings = self._flat.rows(links)
        relative = self._flat.relative_shifts(crossings, shift)
        n = len(links)
        if self._expected is None or n == 0:
            lower, upper, hold = np.empty(n), np.empty(n), np.empty(n, dtype=np.int64)
            slack, differs = np.empty(len(relative), dtype=np.int64), np.ones(n, dtype=np.bool_)
        else:
            expected, found = self._expected
            lower, upper, hold = found.lower[links], found.upper[links], found.hold[links]
            slack = found.slack[crossings.at]
            differs = ~np.logical_and.reduceat(relative == expected[crossings.at], crossings.first)
        other = np.flatnonzero(differs)
        if len(other):
            where = np.repeat(differs, crossings.size)
            keys = list(
                zip(
                    self._flat.problem[links[other]].tolist(),
                    cut(relative[where], offsets(crossings.size[other])),
                    strict=True,
                )
            )
            lowers, uppers, holds, slacks = zip(*self._look_up(keys), strict=True)
            lower[other], upper[other], hold[other] = lowers, uppers, holds
            slack[where] = np.frombuffer(b"".join(slacks), dtype=np.int64)
        return LinkEvaluations(lower, upper, hold, slack, crossings)

    def new_nodes(self) -> int:
        """What evaluations since the last call cost, search nodes; not to be called while others evaluate.

        The same whoever evaluated what first.
        """
        new = [problem for problem, _ in itertools.islice(self._known, self._counted, None)]
        self._counted += len(new)
        return int(self._evaluation_nodes[new].sum())

    def _look_up(self, keys: list[_Key]) -> list[_Found]:
        known = self._known
        new = [key for key in dict.fromkeys(keys) if key not in known]
        if new:
            known.update(zip(new, self._computed(new), strict=True))
        return [known[key] for key in keys]

    def _computed(self, keys: list[_Key]) -> list[_Found]:
        arrays = self._links.arrays
        problems = int64(problem for problem, _ in keys)
        jobs = Rows.of(arrays.job_offset, problems)
        # Each link is evaluated at the key's canonical shifts: the first caller's would change the last digits.
        found = self._links.prepared().evaluate_block(
            arrays.period[jobs.at],
            problems,
            np.arange(len(jobs.at)),
            shift=np.frombuffer(b"".join([relative for _, relative in keys]), dtype=np.int64),
            options=self._links.options,
            with_slack=self._links.limits.with_slack,
            cancel=self._links.cancel,
        )
        if found is None:
            raise KernelError("evaluate_block: canceled")
        lower, upper, slack, hold = found
        slack = np.zeros(len(jobs.at), dtype=np.int64) if slack is None else slack
        hold = np.zeros(len(keys), dtype=np.int64) if hold is None else hold
        return list(zip(lower.tolist(), upper.tolist(), hold.tolist(), cut(slack, offsets(jobs.size)), strict=True))
