"""Rankings round after round: what was found for an earlier round is not looked for again."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any

from ..checks import whole_number
from ..choices import AggregateName, Loops, Order
from ..deadline import Deadline
from ..kernel.prepared_link import DEFAULT_RESOLUTION_MS, DEFAULT_SLACK_TOLERANCE
from ..model import Problem
from ..node_budget import AUTO, NodeLimit
from ..results import Ranking
from . import rank_problem as ranking
from .aggregate import DEFAULT_AGGREGATE
from .options import DEFAULT_RUNNING_TOLERANCE, Progress, checked_options
from .store import CacheInfo, Store

__all__ = ["Ranker"]


class Ranker:
    """Ranks one round after another: :meth:`rank` gives what :func:`cassini_core.rank` gives, sooner.

    From one scheduling round to the next most links carry the same jobs. What is found is kept by all that decides it,
    so names play no part: answers of link problems (what the jobs ask for and when, and the capacity), and the scores
    of links by which iteration times are chosen; searches of joint shifts; and what links score at the shifts of
    candidates, of the last two rounds.

    Parameters
    ----------
    max_links : int
        Answers of link problems that are kept at most, as many scores, as many evaluations, and as many kilobytes of
        joint searches; those that no ranking asked for longest go first. An answer takes some 0.7 kB, a score 0.5 kB
        and an evaluation 0.3 kB: by default some 250 MB when all are full. A round with more evaluations leaves none.

    Raises
    ------
    InputError
        ``max_links`` is not a whole number of at least 1.

    Notes
    -----
    May be used from several threads at once; no ranking waits for another to solve anything. A forked child has what
    was kept until then. A pickled Ranker, or a copy, has kept nothing.

    Examples
    --------
    >>> import cassini_core as cc
    >>> jobs = [cc.Job(name, 40, [cc.Phase(0, 20, 50)]) for name in "ab"]
    >>> candidate = cc.Candidate("c", {"a": ["up"], "b": ["up"]})
    >>> problem = cc.Problem(jobs, [cc.Link("up", 50)], [candidate])
    >>> ranker = cc.Ranker()
    >>> ranker.rank(problem) == ranker.rank(problem) == cc.rank(problem)
    True
    >>> ranker.cache_info().hits
    1
    """

    def __init__(self, *, max_links: int = 100_000) -> None:
        self._max_links = whole_number(max_links, "max_links")
        self._store = Store(self._max_links)

    def rank(
        self,
        problem: Problem,
        *,
        loops: Loops = "joint",
        aggregate: AggregateName = DEFAULT_AGGREGATE,
        order: Order = "jobs_placed",
        top: int = 1,
        exhaustive: bool = False,
        period_tolerance: float = 0.01,
        threads: int | None = None,
        deadline_s: float | None = None,
        node_limit: NodeLimit = AUTO,
        block_node_limit: NodeLimit = AUTO,
        resolution_ms: float = DEFAULT_RESOLUTION_MS,
        slack_tolerance: float = DEFAULT_SLACK_TOLERANCE,
        executor: Executor | None = None,
        progress: Progress | None = None,
        running_shifts_ms: Mapping[str, float] | None = None,
        running_tolerance: float = DEFAULT_RUNNING_TOLERANCE,
    ) -> Ranking:
        """As :func:`cassini_core.rank`: same arguments, same answer, same errors.

        Notes
        -----
        An answer that took fewer search nodes than it might serves for every limit above what it took; one that was
        cut short serves for its limit alone. With a deadline, what comes back in the last 50 ms of the time that
        links have may have been cut by it and is not kept, nor are joint searches that end after it. Joint searches
        that an executor makes are not kept.
        """
        options = checked_options(
            problem,
            loops=loops,
            aggregate=aggregate,
            order=order,
            top=top,
            exhaustive=exhaustive,
            period_tolerance=period_tolerance,
            threads=threads,
            deadline_s=deadline_s,
            node_limit=node_limit,
            block_node_limit=block_node_limit,
            resolution_ms=resolution_ms,
            slack_tolerance=slack_tolerance,
            executor=executor,
            progress=progress,
            running_shifts_ms=running_shifts_ms,
            running_tolerance=running_tolerance,
        )
        return ranking.rank_checked(problem, options, Deadline(options.deadline_s), self._store)

    def cache_info(self) -> CacheInfo:
        """What was known and what was not, and how much is kept: of link problems (``hits``, ``misses``, ``size``,
        ``max_links``), and of ``searches`` and ``evaluations`` the same, with ``most``.
        """
        return self._store.info()

    def clear(self) -> None:
        """Forget everything, and count from 0."""
        self._store.clear()

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(Ranker, max_links=self._max_links), ()

    def __repr__(self) -> str:
        return f"Ranker(max_links={self._max_links})"
