"""What the links of placements score at given shifts, each link evaluated once at the shifts of its jobs.

The score of a link only depends on its *relative shifts*: those of its jobs against the first of them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array, Rows, cut, int64, offsets
from ..errors import KernelError
from ..kernel.prepared_links import PreparedLinks
from ..links.incidence import Incidence
from .kept_evaluations import Evaluated, KeptEvaluations
from .known_evaluations import Evaluations, KnownEvaluations
from .placement_loops import UNKNOWN
from .scoring import ARRAYS, Scoring

__all__ = ["Evaluator", "Judged", "LinkBounds"]


class LinkBounds(NamedTuple):
    """Certified bounds on the score of each of some links."""

    lower: Float64Array
    upper: Float64Array


class Judged(NamedTuple):
    """What a placement is worth at given shifts, ticks.

    Attributes
    ----------
    lower, upper : float64 array, shape (links,)
        Certified bounds on each link's score; ``upper`` is ``lower`` itself where every score is exact.
    jobs : int64 array
        Numbers of the jobs that share a link, ascending.
    shift, slack : int64 array, shape (jobs,)
    free : bool array, shape (jobs,)
        Whether the job's shift matters on none of its links.
    hold : int
        The least of a link.
    meets_bounds : bool
        Every link reaches its own bound.
    least_slack : float
        The least slack of a job as a share of its iteration time.
    """

    lower: Float64Array
    upper: Float64Array
    jobs: Int64Array
    shift: Int64Array
    slack: Int64Array
    free: BoolArray
    hold: int
    meets_bounds: bool
    least_slack: float


class Evaluator:
    """Evaluates links of one ranking; may be used from several threads.

    Parameters
    ----------
    links : PreparedLinks
    flat : Incidence
        Their shared links.
    evaluation_nodes : float64 array
        What evaluating each problem once costs, search nodes.
    bound : float64 array, shape (shared links,)
        Certified upper bounds.
    scoring : Scoring, optional
    kept : KeptEvaluations, optional
        Those of earlier rounds.
    """

    def __init__(
        self,
        links: PreparedLinks,
        flat: Incidence,
        evaluation_nodes: Float64Array,
        bound: Float64Array,
        scoring: Scoring = ARRAYS,
        kept: KeptEvaluations | None = None,
    ) -> None:
        self._links = links
        self._kept = kept
        self._flat = flat
        self._evaluation_nodes = evaluation_nodes
        self._bound = bound
        self._scoring = scoring
        self._counted = 0
        self._known = KnownEvaluations(scoring.table)
        self._others: dict[tuple[int, bytes], tuple[float, float, int, Int64Array]] = {}
        # Where most placements have most jobs: relative shifts by crossing, and the evaluations of the links.
        self._expected = np.full(len(flat.job), -1, dtype=np.int64)
        self._expected_number = np.full(len(flat.problem), UNKNOWN, dtype=np.int64)

    def expect(self, links: Int64Array, shift: Int64Array) -> None:
        """Evaluate ``links`` at ``shift``, where most candidates will have most of them.

        Links that are asked for at these shifts are then found without looking each up.

        Raises
        ------
        KernelError
            A defect.
        """
        number = self._numbers(links, shift)
        rows = self._flat.rows(links)
        expected, expected_number = self._expected.copy(), self._expected_number.copy()
        expected[rows.at] = self._flat.relative_shifts(rows, shift)
        expected_number[links] = number
        self._expected, self._expected_number = expected, expected_number

    def evaluate(self, links: Int64Array, shift: Int64Array) -> LinkBounds:
        """What some links score; arguments, errors and cost as :meth:`judge`."""
        number, known = self._numbers(links, shift), self._known
        return LinkBounds(known.lower[number], known.upper[number])

    def judge(self, links: Int64Array, shift: Int64Array, held: BoolArray) -> Judged:
        """What some links, at least one, score at given shifts; what was evaluated before is not computed again.

        Parameters
        ----------
        links : int64 array
            Indices of shared links.
        shift : int64 array, shape (jobs of ``flat``,)
            Ticks.
        held : bool array, shape (crossings of ``flat``,)
            Whether the job's shift matters on the link.

        Raises
        ------
        KernelError
            A defect.

        Notes
        -----
        O(crossings); O(events log events) per job of each link that was not evaluated before.
        """
        flat, number = self._flat, self._numbers(links, shift)
        known = self._known
        n_jobs = len(flat.period)
        lower = np.empty(len(links))
        job, own_shift, slack = np.empty((3, n_jobs), dtype=np.int64)
        free = np.empty(n_jobs, dtype=np.bool_)
        count, hold, certain, meets_bounds, least_slack = self._scoring.judge(
            links,
            number,
            shift,
            flat.offset,
            flat.job,
            flat.period,
            self._bound,
            held,
            known.lower,
            known.upper,
            known.hold,
            known.first,
            known.slack,
            lower,
            job,
            own_shift,
            slack,
            free,
        )
        upper = lower if certain else known.upper[number]
        arrays = job[:count], own_shift[:count], slack[:count], free[:count]
        return Judged(lower, upper, *arrays, hold, meets_bounds, least_slack)

    @property
    def count(self) -> int:
        """How many evaluations were made, or taken over."""
        return self._known.count

    def since(self, number: int) -> Evaluations:
        """All that were made after ``count`` had this value."""
        return self._known.since(number)

    def take_over(self, evaluations: Evaluations) -> None:
        """What another evaluator found for the same links is not computed again; it counts as if it was."""
        first = evaluations.first.tolist()
        keys = zip(evaluations.problem.tolist(), cut(evaluations.relative, evaluations.first), strict=True)
        rows = zip(evaluations.lower.tolist(), evaluations.upper.tolist(), evaluations.hold.tolist(), strict=True)
        for k, (key, row) in enumerate(zip(keys, rows, strict=True)):
            self._others[key] = *row, evaluations.slack[first[k] : first[k + 1]]

    def keep(self) -> None:
        """Keep all evaluations for later rounds; the last call."""
        if self._kept is not None:
            self._kept.keep(self._known)

    def new_nodes(self) -> int:
        """What evaluations since the last call cost, search nodes; not to be called while others evaluate.

        The same whoever evaluated what first.
        """
        new = self._known.problem[self._counted : self._known.count]
        self._counted += len(new)
        return int(self._evaluation_nodes[new].sum())

    def _numbers(self, links: Int64Array, shift: Int64Array) -> Int64Array:
        """The evaluation of each link, by its number in ``self._known``."""
        flat = self._flat
        number, other = np.empty((2, len(links)), dtype=np.int64)
        first = np.empty(len(links) + 1, dtype=np.int64)
        relative = np.empty(flat.count(links), dtype=np.int64)
        expected = self._expected, self._expected_number
        apart = self._scoring.stand(
            links, shift, flat.offset, flat.job, flat.period, *expected, number, other, first, relative
        )
        if apart:
            other, first = other[:apart], first[: apart + 1]
            asked = relative[: first[-1]]
            number[other] = self._known.numbers(flat.problem[links[other]], first, asked, self._computed)
        return number

    def _computed(self, problem: Int64Array, relative: Int64Array) -> Evaluated:
        if not self._others:
            return self._found(problem, relative)
        size = np.diff(self._links.arrays.job_offset)[problem]
        first = offsets(size)
        found = [self._others.get(key) for key in zip(problem.tolist(), cut(relative, first), strict=True)]
        lower, upper = np.empty((2, len(problem)))
        hold, slack = np.empty(len(problem), dtype=np.int64), np.empty(len(relative), dtype=np.int64)
        for k, one in enumerate(found):
            if one is not None:
                lower[k], upper[k], hold[k], slack[first[k] : first[k + 1]] = one
        rest = int64(k for k, one in enumerate(found) if one is None)
        if len(rest):
            at = Rows.of(first, rest).at
            lower[rest], upper[rest], hold[rest], slack[at] = self._found(problem[rest], relative[at])
        return lower, upper, hold, slack

    def _found(self, problem: Int64Array, relative: Int64Array) -> Evaluated:
        if self._kept is None:
            return self._evaluated(problem, relative)
        return self._kept.find(problem, relative, self._evaluated)

    def _evaluated(self, problem: Int64Array, relative: Int64Array) -> Evaluated:
        # Each link is evaluated at its canonical shifts: the first caller's would change the last digits.
        found = self._links.prepared().evaluate_each(
            problem,
            relative,
            self._links.options,
            with_slack=self._links.limits.with_slack,
            cancel=self._links.cancel,
        )
        if found is None:
            raise KernelError("evaluate_each: canceled")
        lower, upper, slack, hold = found
        slack = np.zeros(len(relative), dtype=np.int64) if slack is None else slack
        hold = np.zeros(len(problem), dtype=np.int64) if hold is None else hold
        return lower, upper, hold, slack
