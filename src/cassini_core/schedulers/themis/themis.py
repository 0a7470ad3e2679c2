"""The scheduler: leases that expire, the tasks that are farthest from fair, an auction among them, and the rest."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from ...checks import number_between, whole_number
from ...placement.cluster import Placement
from ...placement.random_hosts import below
from ..distinct import distinct
from ..state import Allocation, ClusterState, allocation_of
from .auction import Bid, payments, rounded, winners
from .fairness import Contention, Fairness, level_of
from .leases import Leases
from .places import Places

__all__ = ["Themis"]


class Themis:
    """Finish-time fairness by auctions (Themis, NSDI 2020), returning placements of equal fairness.

    Parameters
    ----------
    lease_s : float
        For how long what is won may not be taken away, s; what is over is auctioned at once. The Cassini paper
        (section 5.1) sets 10 minutes.
    fairness : float
        The knob ``f``, from 0 to 1: the part ``1 - f`` of the tasks that want GPUs, those with the largest rho, take
        part in an auction; the others share what is left. 0.8 is the value that Themis was evaluated with.
    oversubscription : float
        Above racks, at least 1: what is expected of workers across racks. The paper's testbed has 2 (appendix A).
    moves : bool
        Whether candidates beside the first may move tasks whose lease is over and that win as many workers as they gave
        up. The Cassini paper says that such a task gives its servers up (section 5.1), not whether it gets them back.
        Moving costs a restart, which a ranking does not know of.
    seed : int
        Of what is drawn.

    Attributes
    ----------
    rhos : dict of str to float
        Of every task in the allocations last proposed: the same in all of them.
    paid : dict of str to float
        In the last auction: of those that took part, which part of what they won they kept.

    Notes
    -----
    A round takes O(bidders squared * workers * GPUs) for payments, and O(candidates * tasks * hosts) for candidates.
    All that is open in the paper, or otherwise here, is said where it is decided: :mod:`.fairness`, :mod:`.auction`,
    :mod:`.places`.

    Examples
    --------
    >>> import cassini_core as cc
    >>> from cassini_core.placement.cluster import Cluster
    >>> from cassini_core.schedulers.state import ClusterState, TrainingTask
    >>> from cassini_core.schedulers.themis.themis import Themis
    >>> from cassini_core.topology.generated import paper_testbed
    >>> burst = cc.Job("vgg16", iteration_ms=255, phases=[cc.Phase(start_ms=141, duration_ms=114, gbps=45)])
    >>> tasks = [TrainingTask(name, 0.0, 500, lambda workers: burst, 8, 1, 12) for name in "abc"]
    >>> proposed = Themis().propose(ClusterState(Cluster(paper_testbed()), 0.0, tasks), 10)
    >>> len(proposed), sum(sum(hosts.values()) for hosts in proposed[0].values())
    (10, 24)
    """

    def __init__(
        self,
        *,
        lease_s: float = 600.0,
        fairness: float = 0.8,
        oversubscription: float = 2.0,
        moves: bool = False,
        seed: int = 0,
    ) -> None:
        self._lease_s = number_between(lease_s, 1e-3, math.inf, "", "lease_s")
        self._fairness = number_between(fairness, 0.0, 1.0, "", "fairness")
        self._oversubscription = number_between(oversubscription, 1.0, math.inf, "", "oversubscription")
        self._moves = moves
        self._seed = seed
        self._round = 0
        self._leases = Leases(self._lease_s)
        self._contention = Contention()
        self.rhos: dict[str, float] = {}
        self.paid: dict[str, float] = {}

    @property
    def interval_s(self) -> float | None:
        """Until the next lease is over."""
        return self._leases.until_next_s

    def propose(self, state: ClusterState, candidates: int) -> list[Allocation]:
        """As of :class:`cassini_core.schedulers.scheduler.Scheduler`; all leased workers are where they were."""
        most = whole_number(candidates, "candidates")
        # Two generators: how many candidates are asked for must not change what is decided.
        self._round += 1
        rng = random.Random(f"themis {self._seed} {self._round}")
        fairness = Fairness(state, self._contention.update(state), self._lease_s, self._oversubscription)
        places = Places(state, self._leases.kept(state), moves=self._moves)
        first = places.first(self._shared_out(state, places, fairness, rng), rng)
        self.rhos = _rhos(state, fairness, first)
        self._leases.grant(state.now_s)
        drawn = places.others(first, random.Random(f"themis candidates {self._seed} {self._round}"))
        return distinct(_and_then(allocation_of(state, first), drawn), most)

    def _shared_out(self, state: ClusterState, places: Places, fairness: Fairness, rng: random.Random) -> list[int]:
        """How many workers each task is to have."""
        counts = [places.kept_workers(task) for task in range(len(state.tasks))]
        gpus = int(places.free.sum())
        wanting = [task for task, one in enumerate(state.tasks) if counts[task] < one.max_workers]
        wanting.sort(key=lambda task: (-_rho_now(state, fairness, task), task))
        taking_part = wanting[: math.ceil((1.0 - self._fairness) * len(wanting) - 1e-9) or 1]
        bids = [self._bid(state, places, fairness, task, gpus) for task in taking_part]
        won = winners(bids, gpus)
        parts = payments(bids, gpus, won)
        self.paid = {bid.task: part for bid, part in zip(bids, parts, strict=True)}
        for task, bid, workers, part in zip(taking_part, bids, won, parts, strict=True):
            given = rounded(bid, workers, part, rng)
            counts[task] += given
            gpus -= given * bid.gpus_per_worker
        # What is left goes to those that did not take part, then to those that did.
        gpus = _leftover(state, counts, gpus, wanting[len(taking_part) :], rng)
        _leftover(state, counts, gpus, taking_part, rng)
        return counts

    def _bid(self, state: ClusterState, places: Places, fairness: Fairness, task: int, gpus: int) -> Bid:
        one, kept = state.tasks[task], places.kept_workers(task)
        rhos = {}
        for workers in range(max(1, one.min_workers - kept), one.max_workers - kept + 1):
            where = places.trial(task, kept + workers) if workers * one.gpus_per_worker <= gpus else None
            if where is None:
                break
            rhos[workers] = fairness.rho(one, kept + workers, level_of(state.cluster, where))
        kept_where = places.trial(task, kept) or ()
        nothing = fairness.rho(one, kept, level_of(state.cluster, kept_where))
        return Bid(
            one.id, one.gpus_per_worker, {0: max(nothing, *rhos.values()) if not kept and rhos else nothing, **rhos}
        )


def _rho_now(state: ClusterState, fairness: Fairness, task: int) -> float:
    """Of a task if it goes on as it runs."""
    one = state.tasks[task]
    hosts = state.running.get(one.id, {})
    where = tuple(sorted((state.cluster.number[host], workers) for host, workers in hosts.items()))
    return fairness.rho(one, sum(hosts.values()), level_of(state.cluster, where))


def _rhos(state: ClusterState, fairness: Fairness, placement: Placement) -> dict[str, float]:
    found = {}
    for task, one in enumerate(state.tasks):
        where = placement.where.get(task, ())
        found[one.id] = fairness.rho(one, sum(count for _, count in where), level_of(state.cluster, where))
    return found


def _leftover(state: ClusterState, counts: list[int], gpus: int, tasks: list[int], rng: random.Random) -> int:
    """Hand GPUs out at random, a worker at a time, at first as many as a task must have; say how many are left."""
    open_to = list(tasks)
    while open_to:
        task = open_to[below(rng, len(open_to))]
        one = state.tasks[task]
        more = 1 if counts[task] else one.min_workers
        if counts[task] + more > one.max_workers or more * one.gpus_per_worker > gpus:
            open_to.remove(task)
        else:
            counts[task] += more
            gpus -= more * one.gpus_per_worker
    return gpus


def _and_then(first: Allocation, others: Iterator[Allocation]) -> Iterator[Allocation]:
    yield first
    yield from others
