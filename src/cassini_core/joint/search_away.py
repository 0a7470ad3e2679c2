"""Large placements searched by the workers of an executor, which keep what all placements of a round have in common.

A worker is sent the *ground* of a round once: its links, and the base placement with its shifts. Then each placement is
a few numbers there, and a few numbers back: the shifts that differ from those of the base placement, and what links
score there. Neither way has names.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Float64Array, Int64Array
from ..deadline import Deadline
from ..executor_runner import ExecutorRunner
from ..kernel.link_arrays import LinkArrays
from ..kernel.prepared_links import PreparedLinks
from ..kernel.search_limits import SearchLimits
from ..links.incidence import Incidence
from ..links.placement import Placement
from .base_search import BaseSearch, Found
from .known_evaluations import Evaluations
from .link_evaluator import Evaluator
from .round import Round
from .scoring import scoring_of

__all__ = ["Ahead", "SearchAway", "search_placements"]

KEPT = 2
"""Rounds of which a worker keeps the ground: the last ones that it was sent."""

_Question = tuple[Int64Array, Int64Array]
"""``dropped`` and ``added`` of a placement."""

_FoundAway = tuple[list[Found], Evaluations | None]
"""What was found for each placement, and evaluations that were made on the way."""

_Part = tuple[Sequence[int], int | None]
"""Placements by number, and the search nodes of each."""

Ahead = Callable[[Sequence[int], Mapping[int, Found]], Future[Any]]
"""Gets the numbers of some placements, and what was found for some or all of them; begins to answer them in a thread of
this process."""


class _Ground(NamedTuple):
    arrays: LinkArrays
    limits: SearchLimits
    flat: Incidence
    bound: Float64Array
    base_links: Int64Array
    shift: Int64Array
    n_crossings: int


class SearchAway:
    """Has the large placements of one round searched by an executor, part by part.

    Parameters
    ----------
    executor : Executor
    context : Round
    search : BaseSearch
        Of this process.
    placements : sequence of Placement
        All that there are.
    pool : ThreadPoolExecutor
    threads : int
        Of the pool.
    deadline : Deadline
    """

    def __init__(
        self,
        executor: Executor,
        context: Round,
        search: BaseSearch,
        placements: Sequence[Placement],
        *,
        pool: ThreadPoolExecutor,
        threads: int,
        deadline: Deadline,
    ) -> None:
        self._evaluator = context.evaluator
        self._placements = placements
        links, flat = context.links, context.flat
        numbers = replace(flat, jobs=list(map(str, range(len(flat.jobs)))))
        n_crossings = sum(placement.n_crossings for placement in placements)
        ground = links.arrays, links.limits, numbers, context.bound, search.base_links, search.shift, n_crossings
        self._round = uuid.uuid4().hex
        self._ground = pickle.dumps(_Ground(*ground))
        self._runner = ExecutorRunner(pool, threads, deadline, _nothing, self._call, executor)

    def run(
        self, parts: Iterable[Sequence[int]], nodes: int | None, then: Ahead, beside: Iterable[Future[Any]] = ()
    ) -> None:
        """Search each part with so many search nodes for each placement, and call ``then``, in any order.

        Waits until that has ended, and other work ``beside`` it.

        Raises
        ------
        KernelError
            A defect.

        Notes
        -----
        What the executor loses is not found: ``then`` has to search it.
        """

        def take(part: _Part, answer: _FoundAway | None) -> Future[Any]:
            found, evaluations = answer or _nothing(part)
            if evaluations is not None:
                self._evaluator.take_over(evaluations)
            return then(part[0], dict(zip(part[0], found, strict=False)))

        self._runner.run([(part, nodes) for part in parts], take, beside)

    def _call(self, part: _Part, seconds: float | None, again: bool) -> tuple[Any, ...]:
        numbers, nodes = part
        questions = [(self._placements[k].dropped, self._placements[k].added) for k in numbers]
        return search_placements, self._round, self._ground if again else None, questions, nodes, seconds


def _nothing(_: _Part) -> _FoundAway:
    return [], None


class _Worker:
    """Searches placements of one round, with what it was sent."""

    def __init__(self, ground: _Ground, *, in_hurry: bool) -> None:
        self._links = PreparedLinks(ground.arrays, ground.limits, Deadline(None))
        self._search = BaseSearch(self._links, ground.flat, ground.bound, ground.base_links, ground.shift)
        scoring = scoring_of(ground.n_crossings, in_hurry=in_hurry)
        self._evaluator = Evaluator(self._links, ground.flat, np.zeros(len(ground.arrays)), ground.bound, scoring)
        self._evaluator.expect(ground.base_links, ground.shift)

    def search(self, questions: Sequence[_Question], nodes: int | None, deadline: Deadline) -> _FoundAway:
        begin = self._evaluator.count
        found = []
        for dropped, added in questions:
            one = self._search.near(dropped, added, nodes, deadline)
            links = np.concatenate((np.delete(self._search.base_links, dropped), added))
            if len(links):
                self._evaluator.evaluate(links, self._search.whole(one))
            found.append(one)
        return found, self._evaluator.since(begin)


_kept: dict[str, _Worker] = {}


def search_placements(
    round_id: str, ground: bytes | None, questions: Sequence[_Question], nodes: int | None, seconds: float | None
) -> _FoundAway | None:
    """Runs in a worker of an executor.

    Parameters
    ----------
    round_id : str
    ground : bytes or None
        What placements of the round have in common, if it is sent along.
    questions : sequence of (int64 array, int64 array)
        ``dropped`` and ``added`` of each placement.
    nodes : int or None
        Search nodes of each.
    seconds : float or None
        What they may take together.

    Returns
    -------
    tuple or None
        None where the worker lacks the ground.
    """
    deadline = Deadline(seconds)
    worker = _kept.get(round_id)
    if worker is None and ground is not None:
        worker = _kept[round_id] = _Worker(_Ground(*pickle.loads(ground)), in_hurry=seconds is not None)
        for old in list(_kept)[:-KEPT]:
            _kept.pop(old, None)
    return None if worker is None else worker.search(questions, nodes, deadline)
