"""Finish-time fairness: how much longer a task takes in the shared cluster than in a part of its own.

Themis, section 3: ``rho = T_shared / T_ideal``. ``T_ideal`` is the time that the task takes in an exclusive ``1/N`` of
the cluster, ``N`` being how many tasks there are on average while it is in the cluster; ``T_shared`` is the time since
it arrived and what it takes from now on if it keeps the GPUs in question. At most 1 is what it could claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum

from ...iteration_steps import iteration_steps
from ...placement.cluster import Cluster, HostWorkers
from ..state import ClusterState, TrainingTask

__all__ = ["Contention", "Fairness", "Level", "level_of"]

_SILENCE_GBPS = 1e-6
"""Phases that end leave the rounding error of their sum."""

_LEAST = 1e-12
"""A task that is all but done has a rho of about 0, which has no logarithm."""


class Level(IntEnum):
    """How far apart the workers of a task are."""

    MACHINE = 0
    RACK = 1
    ACROSS = 2


def level_of(cluster: Cluster, where: HostWorkers) -> Level:
    """How far apart workers are."""
    if len(where) <= 1:
        return Level.MACHINE
    return Level.RACK if len({int(cluster.leaf[host]) for host, _ in where}) == 1 else Level.ACROSS


class Contention:
    """How many tasks there were, on average over the time since each arrived."""

    def __init__(self) -> None:
        self._sum: dict[str, float] = {}
        self._then_s = 0.0
        self._count = 0

    def update(self, state: ClusterState) -> dict[str, float]:
        """By task, at least 1. Between two calls as many tasks are taken to be there as at the earlier one."""
        found = {}
        for task in state.tasks:
            if task.id in self._sum:
                self._sum[task.id] += self._count * (state.now_s - self._then_s)
            else:
                self._sum[task.id] = len(state.tasks) * max(0.0, state.now_s - task.arrival_s)
            elapsed_s = state.now_s - task.arrival_s
            found[task.id] = max(1.0, self._sum[task.id] / elapsed_s) if elapsed_s > 0 else float(len(state.tasks))
        self._sum = {task.id: self._sum[task.id] for task in state.tasks}
        self._then_s, self._count = state.now_s, len(state.tasks)
        return found


class Fairness:
    """The rho of each task with whatever workers, at one time.

    Parameters
    ----------
    state : ClusterState
    contention : mapping of str to float
        By task how many there were on average.
    lease_s : float
        For how long a task that gets nothing now has to wait, s.
    oversubscription : float
        Above racks, at least 1. Workers across racks send as if all hosts of their racks sent at once: what they send
        at their NIC's rate takes so many times as long. (Themis measures a slowdown per model and level.)
    """

    def __init__(
        self, state: ClusterState, contention: Mapping[str, float], lease_s: float, oversubscription: float
    ) -> None:
        self._now_s = state.now_s
        self._gpus = int(state.cluster.gpus.sum())
        self._contention = contention
        self._lease_s = lease_s
        self._oversubscription = oversubscription
        self._known: dict[tuple[str, int], tuple[float, float]] = {}

    def ideal_s(self, task: TrainingTask) -> float:
        """What the task takes in its part of the cluster; where that is too small for it, it has it by turns."""
        share = self._gpus / self._contention[task.id] / task.gpus_per_worker
        rate, _ = self._rate(task, task.requested_workers)
        return task.iterations / rate * max(1.0, task.requested_workers / share)

    def slowdown(self, task: TrainingTask, workers: int, level: Level) -> float:
        """By how much iterations are longer than when alone on the network, at least 1."""
        _, up = self._rate(task, workers)
        return 1.0 + up * (self._oversubscription - 1.0) if level is Level.ACROSS else 1.0

    def rho(self, task: TrainingTask, workers: int, level: Level) -> float:
        """With so many workers, above 0; with none as :meth:`rho_of_nothing`."""
        if not workers:
            return self.rho_of_nothing(task)
        return self._of(task, self._left_s(task, workers, level))

    def rho_of_nothing(self, task: TrainingTask) -> float:
        """Of a task that waits for a lease's time, and then runs on what serves it least.

        Themis leaves it unbounded. A product of valuations can tell jobs apart only where none is 0; so it is worse
        than all that the task could bid, and finite.
        """
        counts = {task.min_workers, task.requested_workers, task.max_workers}
        return self._of(task, self._lease_s + max(self._left_s(task, count, Level.ACROSS) for count in counts))

    def _left_s(self, task: TrainingTask, workers: int, level: Level) -> float:
        rate, _ = self._rate(task, workers)
        return task.left_iterations / rate * self.slowdown(task, workers, level)

    def _of(self, task: TrainingTask, left_s: float) -> float:
        return max(_LEAST, (max(0.0, self._now_s - task.arrival_s) + left_s) / self.ideal_s(task))

    def _rate(self, task: TrainingTask, workers: int) -> tuple[float, float]:
        """Iterations per second, and for which part of an iteration it sends; both when alone."""
        key = task.id, workers
        if key not in self._known:
            job = task.profiles(workers)
            phases = ((phase.start_ms, phase.duration_ms, phase.gbps) for phase in job.phases)
            steps = iteration_steps(job.iteration_ms, phases)
            self._known[key] = task.rate(workers), _sending(steps) / job.iteration_ms
        return self._known[key]


def _sending(steps: Iterable[tuple[float, float, float]]) -> float:
    """For how long something is sent, ms."""
    return sum(end - start for start, end, gbps in steps if gbps > _SILENCE_GBPS)
