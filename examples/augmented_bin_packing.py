"""A bin-packing scheduler that asks Cassini: what it takes to augment a scheduler of one's own.

The scheduler packs tasks, largest first, each on the racks with the least room that is enough (best fit). Racks of
equal room are equal to it. That it may take them in any order is all that it says to Cassini: ``propose``.
"""

from __future__ import annotations

import random

import cassini_core as cc
from cassini_core.placement.cluster import Cluster
from cassini_core.schedulers.augmented import Augmented, Plain
from cassini_core.schedulers.state import Allocation, ClusterState, TrainingTask
from cassini_core.topology.generated import paper_testbed


def best_fit(tasks: list[TrainingTask], racks: list[list[str]]) -> Allocation:
    """The scheduler that is there already: hosts of one GPU, rack by rack."""
    free = [list(rack) for rack in racks]
    allocation = {}
    for task in sorted(tasks, key=lambda task: -task.requested_workers):
        left = task.requested_workers
        if left > sum(map(len, free)):
            continue
        hosts: dict[str, int] = {}
        while left:
            fitting = [rack for rack in free if len(rack) >= left]
            rack = min(fitting, key=len) if fitting else max(free, key=len)
            taken, rack[:] = rack[:left], rack[left:]
            hosts.update(dict.fromkeys(taken, 1))
            left -= len(taken)
        allocation[task.id] = hosts
    return allocation


class BinPacking:
    """The same as a scheduler that Cassini can augment."""

    interval_s = None

    def propose(self, state: ClusterState, candidates: int) -> list[Allocation]:
        """First what best fit does; then what it does with the racks, and tasks of one size, in other orders."""
        racks = [list(state.cluster.hosts[start:end]) for start, end in zip(*state.cluster.tiers[1], strict=True)]
        tasks, found = list(state.tasks), []
        rng = random.Random(0)
        for _ in range(20 * candidates):
            allocation = best_fit(tasks, racks)
            if allocation not in found:
                found.append(allocation)
            if len(found) == candidates:
                break
            rng.shuffle(racks)
            rng.shuffle(tasks)
        return found


def main() -> None:
    """Four tasks on the paper's testbed, without and with Cassini."""
    network = paper_testbed()
    half = cc.Job("half", 200, [cc.Phase(100, 100, 45)])
    two_thirds = cc.Job("two_thirds", 300, [cc.Phase(100, 200, 40)])
    sizes = {"a": (half, 5), "b": (two_thirds, 6), "c": (two_thirds, 5), "d": (two_thirds, 5)}
    tasks = [TrainingTask(name, 0.0, 500, lambda _, job=job: job, size) for name, (job, size) in sizes.items()]
    state = ClusterState(Cluster(network), 0.0, tasks)
    plain, decision = Plain(BinPacking()).decide(state), Augmented(BinPacking(), network).decide(state)
    assert decision.ranking is not None
    assert decision.ranking.best is not None
    for task in sizes:
        print(f"{task}: {' '.join(plain.allocation[task])}  ->  {' '.join(decision.allocation[task])}")
    print(f"score {decision.ranking['c0'].score:.4f} -> {decision.ranking.best.score:.4f}")
    print("shifts", {task: round(shift, 1) for task, shift in decision.shifts_ms.items()}, "ms")


if __name__ == "__main__":
    main()
