"""A scheduler with Cassini: of the allocations that it finds equally good, the one whose jobs interleave best.

The paper's section 4.2 in three steps: the scheduler proposes up to ``N`` allocations (step 1), they are ranked and
the best is chosen with its time-shifts (step 2), and what comes back tells the agents how to start (step 3).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from ..checks import whole_number
from ..errors import refusal, shown
from ..model import Candidate, Problem
from ..placement.job_request import JobRequest
from ..placement.worker_routes import WorkerRoutes
from ..ranking.fitting import fitted
from ..ranking.holding import HeldComponent
from ..ranking.ranker import Ranker
from ..results import Ranking
from ..topology.model import Topology
from ..topology.routing import Router
from .ideal import Ideal
from .scheduler import Scheduler
from .state import Allocation, ClusterState, check_allocation, where_of

__all__ = ["PAPERS_RULE", "Augmented", "Decision", "Plain"]

PAPERS_RULE: Mapping[str, Any] = MappingProxyType({"loops": "discard", "aggregate": "mean", "period_tolerance": 0.0})
"""Options of a ranking as the paper has it: candidates with loops are discarded, and the mean over links decides."""

PAPERS_CANDIDATES = 10
"""Section 5.1: up to 10 placement candidates."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done.

    Attributes
    ----------
    allocation : Allocation
        By task its workers by host; tasks that are left out wait.
    shifts_ms : mapping of str to float
        Tasks that share links, and by how much their iterations start after an instant that is the same for all, ms.
    paces_ms : mapping of str to float
        Tasks that must be paced, and the iteration time that they are to hold, ms.
    slack_ms : mapping of str to float
        Of the tasks whose shift matters, by how much each alone may move before links are shared worse, ms.
    held : tuple of HeldComponent
        The same tasks, by which hang together: how far all of them may move, what interleaving saves each, and why some
        had better run free all the same.
    ranking : Ranking or None
        Of the candidates, named ``c0`` and so on in the order in which they were proposed; None where there was
        nothing to rank. Its ``best`` is None where the paper's rule discarded all of them: then the first is taken,
        without shifts.
    """

    allocation: Allocation
    shifts_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    paces_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    slack_ms: Mapping[str, float] = field(default_factory=dict, hash=False)
    held: tuple[HeldComponent, ...] = ()
    ranking: Ranking | None = None


class Plain:
    """A scheduler as it is: its first proposal, no shifts."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler

    @property
    def interval_s(self) -> float | None:
        """The scheduler's."""
        return self.scheduler.interval_s

    def decide(self, state: ClusterState, running_shifts_ms: Mapping[str, float] | None = None) -> Decision:
        """What the scheduler would do. ``running_shifts_ms`` is not looked at."""
        (first, *_) = self.scheduler.propose(state, 1)
        if not isinstance(self.scheduler, Ideal):
            check_allocation(state, first)
        return Decision(first)


class Augmented:
    """A scheduler with Cassini.

    Parameters
    ----------
    scheduler : Scheduler
    topology : Topology
        With capacities.
    candidates : int
        At most so many are asked for: by default 10, as in the paper.
    router : Router, optional
        Of the topology; by default traffic is spread over equal paths.
    rank_options
        As for :func:`cassini_core.rank`; ``**PAPERS_RULE`` for what the paper does.

    Raises
    ------
    InputError
        The scheduler cannot be augmented, or a number is wrong.

    Notes
    -----
    What was found for earlier rounds is kept (:class:`cassini_core.Ranker`), and so are routes.

    Examples
    --------
    >>> import cassini_core as cc
    >>> from cassini_core.placement.cluster import Cluster
    >>> from cassini_core.schedulers.augmented import Augmented
    >>> from cassini_core.schedulers.in_order import Random
    >>> from cassini_core.schedulers.state import ClusterState, TrainingTask
    >>> from cassini_core.topology.generated import paper_testbed
    >>> burst = cc.Job("vgg16", iteration_ms=255, phases=[cc.Phase(start_ms=141, duration_ms=114, gbps=45)])
    >>> network = paper_testbed()
    >>> tasks = [TrainingTask(name, 0.0, 500, lambda workers: burst, 8) for name in "abc"]
    >>> decision = Augmented(Random(), network).decide(ClusterState(Cluster(network), 0.0, tasks))
    >>> sorted(decision.allocation), len(decision.ranking.candidates)
    (['a', 'b', 'c'], 10)
    """

    def __init__(
        self,
        scheduler: Scheduler,
        topology: Topology,
        *,
        candidates: int = PAPERS_CANDIDATES,
        router: Router | None = None,
        **rank_options: Any,
    ) -> None:
        if isinstance(scheduler, Ideal):
            raise refusal("", "scheduler", "one whose tasks share a cluster", shown(scheduler))
        self.scheduler = scheduler
        self._candidates = whole_number(candidates, "candidates")
        self._links = topology.links()
        self._routes = WorkerRoutes(router if router is not None else Router(topology))
        self._options = rank_options
        self._ranker = Ranker()

    @property
    def interval_s(self) -> float | None:
        """The scheduler's."""
        return self.scheduler.interval_s

    def decide(self, state: ClusterState, running_shifts_ms: Mapping[str, float] | None = None) -> Decision:
        """Ask the scheduler, rank, and take the best.

        Parameters
        ----------
        state : ClusterState
        running_shifts_ms : mapping of str to float, optional
            Where the running tasks are held now, ms. Those that stay as they are keep their shifts where that costs
            little (``running_tolerance`` of the ranking); tasks that are moved may be shifted freely.

        Raises
        ------
        InputError
            The scheduler proposed nothing, or what cannot be.
        """
        allocations = list(self.scheduler.propose(state, self._candidates))
        if not allocations:
            raise refusal("", "scheduler", "at least one allocation", "none")
        for allocation in allocations:
            check_allocation(state, allocation)
        if not any(allocations):
            return Decision(allocations[0])
        jobs = _Jobs(state, running_shifts_ms or {})
        named = [{jobs.name_of(task, hosts): hosts for task, hosts in one.items()} for one in allocations]
        problem = self._problem(state, jobs, named)
        ranking = self._ranker.rank(problem, **self._options)
        if ranking.best is None:
            # The paper's rule discards all, and the scheduler goes on as it would without Cassini.
            return Decision(allocations[0], ranking=ranking)
        chosen = int(ranking.best.id.removeprefix("c"))
        _, paced, components = fitted(problem, ranking, partial(self._ranker.rank, **self._options))
        held = tuple(jobs.tasks_of(one) for one in components)
        best = paced.best or ranking.best
        shifts_ms = {jobs.task_of[job]: shift for job, shift in best.shifts_ms.items()}
        placed = {job: pace for job, pace in paced.paces_ms.items() if job in named[chosen]}
        paces_ms = {jobs.task_of[job]: pace for job, pace in placed.items()}
        free = set(best.free_jobs)
        slack_ms = {jobs.task_of[job]: slack for job, slack in best.slack_ms.items() if job not in free}
        return Decision(allocations[chosen], shifts_ms, paces_ms, slack_ms, held, ranking)

    def _problem(self, state: ClusterState, jobs: _Jobs, allocations: Sequence[Allocation]) -> Problem:
        """The allocations, by names of jobs, as candidates."""
        candidates = []
        for number, allocation in enumerate(allocations):
            routes = {
                job: self._routes.of(state.cluster, jobs.requests[job].pattern, where_of(state.cluster, hosts))
                for job, hosts in allocation.items()
            }
            candidates.append(Candidate(f"c{number}", routes, allocation))
        used = {link for one in candidates for route in one.routes.values() for link in route}
        links = [link for link in self._links if link.id in used]
        return Problem([one.job for one in jobs.requests.values()], links, candidates, jobs.running_shifts_ms)


class _Jobs:
    """The tasks as jobs of a ranking.

    A task is another job with another number of workers, as its profile is another; and it is another one where it
    stays as it runs, as there its shift is that of a running job, and where it starts anew.
    """

    def __init__(self, state: ClusterState, running_shifts_ms: Mapping[str, float]) -> None:
        self._state = state
        self._tasks = state.by_id
        self._shifts_ms = running_shifts_ms
        self._names: dict[tuple[str, int, bool], str] = {}
        self.requests: dict[str, JobRequest] = {}
        self.task_of: dict[str, str] = {}
        self.running_shifts_ms: dict[str, float] = {}

    def name_of(self, task: str, hosts: Mapping[str, int]) -> str:
        """The id of the job that a task is at a place; by its own id first."""
        stays = hosts == self._state.running.get(task)
        key = task, sum(hosts.values()), stays
        if key not in self._names:
            name = task
            while name in self.requests or (name != task and name in self._tasks):
                name += "'"
            self._names[key] = name
            self.task_of[name] = task
            request = self._tasks[task].request(hosts)
            self.requests[name] = replace(request, job=replace(request.job, id=name), hosts=None)
            if stays and task in self._shifts_ms:
                self.running_shifts_ms[name] = self._shifts_ms[task]
        return self._names[key]

    def tasks_of(self, component: HeldComponent) -> HeldComponent:
        """A component by ids of tasks."""
        gain_ms = {self.task_of[job]: gain for job, gain in component.gain_ms.items()}
        return replace(component, jobs=tuple(self.task_of[job] for job in component.jobs), gain_ms=gain_ms)
