"""What all candidates of a ranking have in common: their shared links, and the answers of these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import BoolArray, Float64Array, Int64Array, Rows, int64
from ..deadline import Deadline
from ..errors import KernelError
from ..kernel.link_arrays import LinkAnswers
from ..kernel.prepared_links import BlockAnswer, PreparedLinks
from ..links.incidence import Incidence
from ..links.placement import SharedLink
from ..lockless_cached_property import lockless_cached_property
from .kept_searches import KeptSearches
from .link_evaluator import Evaluator
from .scoring import ARRAYS, Scoring

__all__ = ["Round"]


class Round:
    """The shared links of a ranking with the answers of their problems.

    Shifts are int64 arrays in ticks: element ``j`` is the shift of job number ``j`` of ``flat``.

    Parameters
    ----------
    flat : Incidence
        The shared links of all placements.
    solved : LinkAnswers
        Of their problems.
    links : PreparedLinks
        The same problems.
    evaluation_nodes : float64 array, optional
        What evaluating each problem once costs, search nodes; nothing if not given.
    scoring : Scoring, optional
    kept : KeptSearches, optional
        Searches and evaluations of earlier rounds, and what to add new ones to.

    Attributes
    ----------
    flat, solved, links, scoring, kept
        As given.
    limits : SearchLimits
        Those of ``links``.
    period : dict of str to int
        Iteration time of each job that shares a link, ticks.
    bound : float64 array, shape (shared links,)
        Certified upper bounds.
    answered : bool array, shape (shared links,)
        Whether the link has an answer.
    evaluator : Evaluator
    """

    def __init__(
        self,
        flat: Incidence,
        solved: LinkAnswers,
        links: PreparedLinks,
        evaluation_nodes: Float64Array | None = None,
        scoring: Scoring = ARRAYS,
        kept: KeptSearches | None = None,
    ) -> None:
        self.flat = flat
        self.solved = solved
        self.links = links
        self.limits = links.limits
        self.period = dict(zip(flat.jobs, flat.period.tolist(), strict=True))
        self.bound: Float64Array = solved.upper_bound[flat.problem]
        self.answered: BoolArray = solved.answered[flat.problem]
        self.scoring = scoring
        nodes = np.zeros(len(solved)) if evaluation_nodes is None else evaluation_nodes
        self.kept = kept
        evaluations = None if kept is None else kept.evaluations
        self.evaluator = Evaluator(links, flat, nodes, self.bound, scoring, evaluations)

    @lockless_cached_property
    def held(self) -> BoolArray:
        """For each crossing of ``flat``: whether the job's shift matters on the link.

        It does not where the job is free on the link (F1b). On a link without an answer every job counts as held.
        """
        return ~self.solved.free[Rows.of(self.solved.job_offset, self.flat.problem).at]

    @lockless_cached_property
    def own_shift(self) -> Int64Array:
        """For each crossing of ``flat``: the job's shift in the answer of the link alone, ``t_j^l``, ticks."""
        return self.solved.shift[Rows.of(self.solved.job_offset, self.flat.problem).at]

    def by_number(self, jobs: Int64Array, ticks: Int64Array) -> Int64Array:
        """Shifts of all jobs: ``ticks`` for those given, 0 for the others."""
        shift = np.zeros(len(self.flat.jobs), dtype=np.int64)
        shift[jobs] = ticks
        return shift

    def time_shifts(self, links: Sequence[SharedLink], *, keep_free: bool) -> dict[str, dict[str, int]]:
        """Link id to job id to the link's own time-shift, for :func:`affinity_graph`. All links have an answer.

        Jobs that are free on a link are left out there, unless ``keep_free``.
        """
        rows = self.flat.rows(int64(link.index for link in links))
        ticks = self.own_shift[rows.at].tolist()
        kept = [True] * len(ticks) if keep_free else self.held[rows.at].tolist()
        shifts = {}
        for link, begin in zip(links, rows.first.tolist(), strict=True):
            on_link = {job: ticks[k] for k, job in enumerate(link.jobs, begin) if kept[k]}
            if len(on_link) >= 2:
                shifts[link.id] = on_link
        return shifts

    def solve_block(
        self,
        links: Int64Array,
        weight: Float64Array | None = None,
        *,
        start: Int64Array | None = None,
        kept: BoolArray | None = None,
        centred: bool = True,
        node_limit: int | None,
        deadline: Deadline | None = None,
    ) -> tuple[Int64Array, BlockAnswer]:
        """Best shifts for some links together.

        Parameters
        ----------
        links : int64 array
            Indices of shared links.
        weight : float64 array, shape (links,), optional
            How often each link counts; once if not given.
        start : int64 array, shape (jobs of ``flat``,), optional
            Shifts to begin from, ticks: the score is no less than theirs. Without them the search begins from the
            links' own shifts, where all have an answer.
        kept : bool array, shape (jobs of ``flat``,), optional
            With ``start``: jobs that stay there, each against the others that do. The bound is then one for such
            shifts alone.
        centred : bool
            Move single jobs to where slack grows and no score is lost.
        node_limit : int or None
        deadline : Deadline, optional
            Instead of the ranking's.

        Returns
        -------
        jobs : int64 array
            Numbers of the jobs on the links, ascending.
        answer : BlockAnswer
            ``answer.shift`` follows ``jobs``.

        Raises
        ------
        KernelError
            A defect.
        """
        flat, rows = self.flat, self.flat.rows(links)
        jobs, member = np.unique(flat.job[rows.at], return_inverse=True)
        own_shift = self.own_shift[rows.at] if start is None and self.answered[links].all() else None
        problems, bound = flat.problem[links], self.bound[links]
        weight = np.ones(len(links)) if weight is None else weight
        start = None if start is None else start[jobs]
        stays = None if kept is None else kept[jobs].astype(np.uint8)
        in_time = self.links.deadline if deadline is None else deadline

        def search() -> BlockAnswer:
            found = self.links.prepared().solve_block(
                flat.period[jobs],
                problems,
                member,
                weight=weight,
                upper_bound=bound,
                own_shift=own_shift,
                start=start,
                kept=stays,
                centred=centred,
                options=self.links.options,
                node_limit=node_limit,
                deadline_ns=in_time.remaining_ns(),
                cancel=self.links.cancel,
            )
            if found is None:
                raise KernelError("solve_block: canceled")
            return found

        if self.kept is None:
            return jobs, search()
        given = flat.period[jobs], member, weight, bound, own_shift, start, stays
        question = self.kept.question(b"centred" if centred else b"block", *given, problems=problems)
        return jobs, self.kept.search(question, node_limit, in_time, search)
