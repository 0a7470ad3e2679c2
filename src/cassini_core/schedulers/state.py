"""What schedulers see and what they answer: tasks that train, the state of a cluster, allocations."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..checks import identifier, items_of, number_between, whole_number
from ..errors import refusal, shown
from ..model import Job
from ..placement.cluster import Cluster, HostWorkers, Placement
from ..placement.job_request import MAX_WORKERS, JobRequest, Pattern

__all__ = [
    "Allocation",
    "ClusterState",
    "Goodput",
    "Profiles",
    "Scaling",
    "TrainingTask",
    "allocation_of",
    "check_allocation",
    "placement_of",
    "where_of",
]

Allocation = Mapping[str, Mapping[str, int]]
"""By task its workers by host. Tasks that wait are left out."""

Profiles = Callable[[int], Job]
"""A task's profile with so many workers, when no other job uses the network."""

Scaling = Literal["weak", "strong"]
"""What stays as it is when a task gets other numbers of workers: the batch of each worker, or that of all together."""


@dataclass(frozen=True, slots=True)
class Goodput:
    """What Pollux (OSDI 2021, sections 3.1 and 3.2) fits for a task: how fast it trains, and how well.

    A step of ``m`` examples on each of ``K`` GPUs, one after ``s`` accumulations, takes
    ``s * T_grad + (T_grad**gamma + T_sync**gamma)**(1 / gamma)`` with ``T_grad = alpha_grad + beta_grad * m``, and
    ``T_sync`` of 0 for one GPU, else ``alpha_sync + beta_sync * max(K - 2, 0)``, with other numbers on one node than
    on several.

    Parameters
    ----------
    alpha_grad_s, beta_grad_s : float
        Seconds, and seconds per example.
    alpha_sync_local_s, beta_sync_local_s, alpha_sync_node_s, beta_sync_node_s : float
        Seconds, and seconds per GPU beyond the second: on one node, on several.
    gamma : float
        At least 1: how far computing and sending overlap; 1 not at all.
    noise_scale : float
        Of the gradient, in examples: its variance at the initial batch size over its squared norm, times that size.
    initial_batch : int
        Examples of a step, the user's choice, at which efficiency is 1.
    max_batch : int
        Of a step, at least ``initial_batch``.
    max_batch_per_gpu : int
        What fits into a GPU's memory.
    min_batch_per_gpu : int
    accumulation : bool
        Whether gradients may be accumulated where the memory is too small for the batch.
    """

    alpha_grad_s: float
    beta_grad_s: float
    alpha_sync_local_s: float
    beta_sync_local_s: float
    alpha_sync_node_s: float
    beta_sync_node_s: float
    gamma: float
    noise_scale: float
    initial_batch: int
    max_batch: int
    max_batch_per_gpu: int
    min_batch_per_gpu: int = 1
    accumulation: bool = False

    def __post_init__(self) -> None:
        for name in ("alpha_grad_s", "beta_grad_s", "alpha_sync_local_s", "beta_sync_local_s", "alpha_sync_node_s"):
            object.__setattr__(self, name, number_between(getattr(self, name), 0.0, math.inf, "goodput", name))
        for name, least in (("beta_sync_node_s", 0.0), ("gamma", 1.0), ("noise_scale", 0.0)):
            object.__setattr__(self, name, number_between(getattr(self, name), least, math.inf, "goodput", name))
        for name in ("initial_batch", "max_batch", "max_batch_per_gpu", "min_batch_per_gpu"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name))
        if not isinstance(self.accumulation, bool):
            raise refusal("goodput", "accumulation", "true or false", shown(self.accumulation))
        if self.max_batch < self.initial_batch:
            raise refusal("goodput", "max_batch", f"at least initial_batch {self.initial_batch}", shown(self.max_batch))
        if self.max_batch_per_gpu < self.min_batch_per_gpu:
            least_batch = f"at least min_batch_per_gpu {self.min_batch_per_gpu}"
            raise refusal("goodput", "max_batch_per_gpu", least_batch, shown(self.max_batch_per_gpu))


@dataclass(frozen=True, slots=True)
class TrainingTask:
    """A training job as a scheduler knows it: what it asked for, how far it is, how it behaves with other workers.

    Parameters
    ----------
    id : str
    arrival_s : float
        When it came into the cluster, s.
    iterations : float
        To train, counted in iterations of ``requested_workers``; above 0.
    profiles : callable of int to Job
        Its profile with so many workers, from ``min_workers`` to ``max_workers``, when no other job uses the network.
        Called often: keep what it computes. The job's id does not matter.
    requested_workers : int
        What its user asked for.
    min_workers, max_workers : int, optional
        Between which a scheduler may choose, if it does; both are ``requested_workers`` if left out.
    gpus_per_worker : int
        All on one host.
    pattern : Pattern, or a callable of int to Pattern
        Who of so many workers sends to whom.
    scaling : {"weak", "strong"}
        With ``weak`` each worker keeps its batch: an iteration of ``w`` workers trains ``w / requested_workers`` of
        an iteration of the requested ones. With ``strong`` it trains one, however many there are.
    goodput : Goodput, optional
        What Pollux needs.
    done_iterations : float
        Trained so far, counted as ``iterations``.
    restarts : int
        How often it was moved or given other workers since it first ran.

    Raises
    ------
    InputError
        A field is wrong.
    """

    id: str
    arrival_s: float
    iterations: float
    profiles: Profiles
    requested_workers: int
    min_workers: int = 0
    max_workers: int = 0
    gpus_per_worker: int = 1
    pattern: Pattern | Callable[[int], Pattern] = "ring"
    scaling: Scaling = "weak"
    goodput: Goodput | None = None
    done_iterations: float = 0.0
    restarts: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", identifier(self.id, "task", "id"))
        subject = f"task {shown(self.id)}"
        for name in ("arrival_s", "iterations", "done_iterations"):
            object.__setattr__(self, name, number_between(getattr(self, name), 0.0, math.inf, subject, name))
        if not self.iterations:
            raise refusal(subject, "iterations", "more than 0", "0.0")
        if not callable(self.profiles):
            raise refusal(subject, "profiles", "a callable of the number of workers", shown(self.profiles))
        for name in ("requested_workers", "min_workers", "max_workers", "gpus_per_worker"):
            value = getattr(self, name) or (self.requested_workers if name in ("min_workers", "max_workers") else 0)
            object.__setattr__(self, name, whole_number(value, name, most=MAX_WORKERS))
        if not self.min_workers <= self.requested_workers <= self.max_workers:
            expected = f"from min_workers {self.min_workers} to max_workers {self.max_workers}"
            raise refusal(subject, "requested_workers", expected, shown(self.requested_workers))
        if self.scaling not in get_args(Scaling):
            raise refusal(subject, "scaling", "weak or strong", shown(self.scaling))

    @property
    def left_iterations(self) -> float:
        """To train yet, at least 0, counted as ``iterations``."""
        return max(0.0, self.iterations - self.done_iterations)

    def profile(self, workers: int) -> Job:
        """Its profile with so many workers, under its own id."""
        job = self.profiles(workers)
        return job if job.id == self.id else replace(job, id=self.id)

    def trained_by(self, workers: int) -> float:
        """Of an iteration of the requested workers, how much one of so many workers trains."""
        return workers / self.requested_workers if self.scaling == "weak" else 1.0

    def rate(self, workers: int) -> float:
        """Iterations of the requested workers that so many train per second, alone on the network; 0 for none."""
        return 1000.0 * self.trained_by(workers) / self.profiles(workers).iteration_ms if workers else 0.0

    def request(self, hosts: Mapping[str, int]) -> JobRequest:
        """The task at a place, as what routes are computed for."""
        workers = sum(hosts.values())
        pattern = self.pattern(workers) if callable(self.pattern) else self.pattern
        return JobRequest(self.profile(workers), workers, self.gpus_per_worker, pattern, hosts)


@dataclass(frozen=True, slots=True)
class ClusterState:
    """A cluster at the time that a scheduler is asked.

    Parameters
    ----------
    cluster : Cluster
    now_s : float
    tasks : iterable of TrainingTask
        All that came and are not done, those that wait included; kept in the order of their arrival, then as given.
    running : Allocation
        Where those that run are.

    Raises
    ------
    InputError
        Two tasks of one id, or what runs is not a possible allocation (:func:`check_allocation`).
    """

    cluster: Cluster
    now_s: float
    tasks: tuple[TrainingTask, ...]
    running: Allocation = field(default_factory=dict, hash=False)

    if TYPE_CHECKING:

        def __init__(
            self, cluster: Cluster, now_s: float, tasks: Iterable[TrainingTask], running: Allocation = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "now_s", number_between(self.now_s, 0.0, math.inf, "", "now_s"))
        tasks: tuple[TrainingTask, ...] = items_of(self.tasks, TrainingTask, "", "tasks")
        if len({task.id for task in tasks}) < len(tasks):
            raise refusal("", "tasks", "ids all different", shown([task.id for task in tasks]))
        object.__setattr__(self, "tasks", tuple(sorted(tasks, key=lambda task: task.arrival_s)))
        running = {task: MappingProxyType(dict(hosts)) for task, hosts in self.running.items()}
        object.__setattr__(self, "running", MappingProxyType(running))
        check_allocation(self, self.running)

    @property
    def by_id(self) -> dict[str, TrainingTask]:
        """The tasks by id, in their order."""
        return {task.id: task for task in self.tasks}

    @property
    def waiting(self) -> tuple[TrainingTask, ...]:
        """The tasks that do not run."""
        return tuple(task for task in self.tasks if task.id not in self.running)


def check_allocation(state: ClusterState, allocation: Allocation) -> None:
    """Refuse what cannot be: an unknown task or host, workers out of a task's bounds, or a host with too few GPUs.

    Raises
    ------
    InputError
        Which, what was expected, what came.

    Notes
    -----
    O(tasks + places).
    """
    tasks, cluster = state.by_id, state.cluster
    used = [0] * len(cluster.hosts)
    for name, hosts in allocation.items():
        task = tasks.get(name)
        if task is None:
            raise refusal("", _place(name), "ids of tasks of the cluster", shown(name))
        for host, workers in hosts.items():
            if host not in cluster.number:
                raise refusal("", _place(name), "hosts of the network", shown(host))
            if not (type(workers) is int and 1 <= workers <= MAX_WORKERS):  # nearly all are; words take long
                workers = whole_number(workers, _place(name), most=MAX_WORKERS)
            used[cluster.number[host]] += workers * task.gpus_per_worker
        total = sum(hosts.values())
        if not task.min_workers <= total <= task.max_workers:
            raise refusal("", _place(name), f"{task.min_workers} to {task.max_workers} workers", str(total))
    for host, gpus, most in zip(cluster.hosts, used, cluster.gpus.tolist(), strict=True):
        if gpus > most:
            raise refusal("", f"allocation on host {shown(host)}", f"no more than its {most} GPUs", str(gpus))


def _place(task: str) -> str:
    return f"allocation[{shown(task)}]"


def where_of(cluster: Cluster, hosts: Mapping[str, int]) -> HostWorkers:
    """Workers by host as the placement package has them."""
    return tuple(sorted((cluster.number[host], int(workers)) for host, workers in hosts.items()))


def placement_of(state: ClusterState, allocation: Allocation) -> Placement:
    """An allocation as a placement of the tasks by their number, which can be changed."""
    placement = Placement(tuple(task.gpus_per_worker for task in state.tasks), state.cluster.gpus, {})
    for number, task in enumerate(state.tasks):
        if task.id in allocation:
            placement.put(number, where_of(state.cluster, allocation[task.id]))
    return placement


def allocation_of(state: ClusterState, placement: Placement) -> dict[str, dict[str, int]]:
    """A placement of the tasks by their number as an allocation, in the order of the tasks."""
    hosts: Any = state.cluster.hosts
    return {
        state.tasks[number].id: {hosts[host]: workers for host, workers in placement.where[number]}
        for number in sorted(placement.where)
    }
