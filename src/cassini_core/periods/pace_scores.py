"""What links score by which iteration times are chosen: many in one call of the kernel, by all threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np

from ..arrays import int64, offsets
from ..deadline import Deadline
from ..kernel.link_arrays import LinkAnswers, LinkArrays, solve_chunk
from ..kernel.prepared_link import MAX_JOBS, MAX_PHASES, MAX_RATE_SUM_KBPS, PreparedLink
from ..kernel.search_limits import SearchLimits
from ..links.solution_cache import LinkStore, PaceScore
from ..model import Job
from ..node_budget import PACE_LINK_NODES
from ..units import kbps_from_gbps
from .pace_work import PACE_EVENTS, PaceWork, links_work, search_work

__all__ = ["PaceScores", "Question"]

Question = tuple[tuple[Job, ...], float, Mapping[str, float] | None]
"""Jobs on a link ordered by id, its capacity in Gbit/s, multipliers by job id (None: all 1)."""

_PART = 4
"""Fewer links are not worth a thread of their own."""


class _Column(NamedTuple):
    """A job with its multiplier: alone on a link, the phases that has, and the sum of their rates, kbit/s."""

    job: Job
    alone: PreparedLink
    n_phases: int
    rates: int


class PaceScores:
    """Scores links whose jobs run at some iteration times, each within a limit of nodes.

    Parameters
    ----------
    resolution_ms : float
        How precisely a shift can be held, ms.
    deadline : Deadline
        Past it every call raises.
    work : PaceWork
        Counts what every score took, also if it was known.
    store : LinkStore, optional
        Scores found before, and what to add them to.
    pool : Executor, optional
        Threads that score many links.
    threads : int
        How many.
    """

    def __init__(
        self,
        resolution_ms: float,
        deadline: Deadline,
        work: PaceWork,
        store: LinkStore | None,
        pool: Executor | None,
        threads: int,
    ) -> None:
        self._resolution_ms = resolution_ms
        self._deadline = deadline
        self._work = work
        self._store = store
        self._pool = pool
        self._threads = threads
        self._ahead: dict[tuple[float, ...], PaceScore] = {}
        self._limits = SearchLimits(PACE_LINK_NODES, resolution_ms, max_events=PACE_EVENTS, with_slack=False)
        self._columns: dict[tuple[int, float], _Column] = {}  # by the job and its multiplier

    def score(
        self,
        jobs: Sequence[Job],
        capacity_gbps: float,
        multipliers: Mapping[str, float] | None,
        node_limit: int = PACE_LINK_NODES,
    ) -> float:
        """What one link scores.

        Raises
        ------
        DeadlinePassed
            There is no time.
        """
        self._deadline.check()
        usual = node_limit == PACE_LINK_NODES and len(self._ahead) > 0
        found = self._ahead.pop(_name(jobs, capacity_gbps, multipliers), None) if usual else None
        if found is None:
            found = self._found(jobs, capacity_gbps, multipliers, node_limit)
        self._work.count_search(found.work)
        return found.score

    def look_ahead(self, questions: Sequence[Question]) -> None:
        """Score links that :meth:`score` will be asked for next, within ``PACE_LINK_NODES``; counts no work.

        Raises
        ------
        DeadlinePassed
            There is no time.
        """
        self._ahead.clear()
        usual = [one for one in zip(questions, map(self._on_link, questions), strict=True) if _fits(one[1])]
        if not usual:
            return
        kept = self._kept(usual)
        known = [None] * len(usual) if self._store is None else self._store.scores.find(kept, PACE_LINK_NODES)
        self._ahead |= {_name(*one[0]): score for one, score in zip(usual, known, strict=True) if score is not None}
        unknown = [k for k, score in enumerate(known) if score is None]
        n_parts = max(1, min(self._threads, len(unknown) // _PART)) if self._pool else 1
        parts = [part for k in range(n_parts) if (part := unknown[k::n_parts])]
        arrays = [_arrays([usual[k] for k in part]) for part in parts]
        if self._pool is None or len(arrays) < 2:
            found = [self._solved(one) for one in arrays]
        else:
            found = list(self._pool.map(self._solved, arrays))
        self._deadline.check()
        for part, one, answers in zip(parts, arrays, found, strict=True):
            work = links_work(one, answers).tolist()
            columns = answers.score_lower.tolist(), answers.nodes.tolist(), work
            scores = [PaceScore(*values) for values in zip(*columns, strict=True)]
            self._ahead |= {_name(*usual[k][0]): score for k, score in zip(part, scores, strict=True)}
            if self._store is not None:
                self._store.scores.keep([kept[k] for k in part], PACE_LINK_NODES, scores)

    def _found(
        self, jobs: Sequence[Job], capacity_gbps: float, multipliers: Mapping[str, float] | None, node_limit: int
    ) -> PaceScore:
        kept: list[bytes] = []
        if self._store is not None:
            question = tuple(jobs), capacity_gbps, multipliers
            on_link = self._on_link(question)
            kept = self._kept([(question, on_link)]) if _fits(on_link) else []
            for known in self._store.scores.find(kept, node_limit):
                if known is not None:
                    return known
        link = PreparedLink.from_jobs(jobs, capacity_gbps, multipliers)
        answer = link.solve(
            resolution_ms=self._resolution_ms, node_limit=node_limit, with_slack=False, max_events=PACE_EVENTS
        )
        found = PaceScore(answer.score_lower, answer.nodes, search_work(link, answer))
        if self._store is not None:
            self._store.scores.keep(kept, node_limit, [found] * len(kept))
        return found

    def _kept(self, questions: Sequence[tuple[Question, list[_Column]]]) -> list[bytes]:
        """By what the scores of links are kept; nothing without a store."""
        return [] if self._store is None else self._store.pace_questions(_arrays(questions), self._resolution_ms)

    def _on_link(self, question: Question) -> list[_Column]:
        jobs, _, multipliers = question
        return [self._column(job, 1.0 if multipliers is None else multipliers.get(job.id, 1.0)) for job in jobs]

    def _column(self, job: Job, multiplier: float) -> _Column:
        known = self._columns.get((id(job), multiplier))
        if known is None:
            alone = PreparedLink.from_jobs((job,), 1.0, {job.id: multiplier})
            known = _Column(job, alone, len(alone.phase_rate), int(alone.phase_rate.sum()))
            self._columns[id(job), multiplier] = known
        return known

    def _solved(self, arrays: LinkArrays) -> LinkAnswers:
        return solve_chunk(arrays, self._limits, self._deadline.remaining_s())


def _fits(on_link: Sequence[_Column]) -> bool:
    """Whether the link can be scored at all; else whoever asks for it is told why."""
    return (
        len(on_link) <= MAX_JOBS
        and sum([one.rates for one in on_link]) <= MAX_RATE_SUM_KBPS
        and sum([one.n_phases for one in on_link]) <= MAX_PHASES
    )


def _arrays(questions: Sequence[tuple[Question, list[_Column]]]) -> LinkArrays:
    columns = [one for _, on_link in questions for one in on_link]
    return LinkArrays(
        job_offset=offsets(len(on_link) for _, on_link in questions),
        period=np.concatenate([one.alone.period for one in columns]),
        phase_offset=offsets(one.n_phases for one in columns),
        phase_start=np.concatenate([one.alone.phase_start for one in columns]),
        phase_length=np.concatenate([one.alone.phase_length for one in columns]),
        phase_rate=np.concatenate([one.alone.phase_rate for one in columns]),
        capacity=int64(kbps_from_gbps(question[1]) for question, _ in questions),
    )


def _name(jobs: Sequence[Job], capacity_gbps: float, multipliers: Mapping[str, float] | None) -> tuple[float, ...]:
    """Tells the questions of one look ahead apart: their jobs are there meanwhile."""
    factors = () if multipliers is None else multipliers.values()
    return capacity_gbps, *factors, *map(id, jobs)
