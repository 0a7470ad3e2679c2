"""Ideal: every task alone on the cluster, so that none waits and none meets another (the paper's upper bound)."""

from __future__ import annotations

from ..errors import refusal, shown
from ..placement.packed import packed
from .state import Allocation, ClusterState

__all__ = ["Ideal"]


class Ideal:
    """Packs each task as if it were alone.

    What it proposes may use a GPU several times: a simulator that knows ``Ideal`` runs each task on a network of its
    own. :class:`cassini_core.schedulers.augmented.Augmented` does not take it.
    """

    interval_s: float | None = None

    def propose(self, state: ClusterState, candidates: int) -> list[Allocation]:
        """One allocation, with all tasks, each packed on the empty cluster.

        Raises
        ------
        InputError
            A task is too large for the cluster.
        """
        allocation = {}
        for task in state.tasks:
            where = packed(state.cluster, state.cluster.gpus // task.gpus_per_worker, task.requested_workers)
            if where is None:
                raise refusal("", f"task {shown(task.id)}", "workers that the cluster has room for", "too many")
            allocation[task.id] = {state.cluster.hosts[host]: workers for host, workers in where}
        return [allocation]
