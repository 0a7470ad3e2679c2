"""The schemes that are compared, by name: schedulers as they are and with Cassini."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from cassini_core.results import Ranking
from cassini_core.schedulers.augmented import PAPERS_RULE, Augmented, Decision, Plain
from cassini_core.schedulers.ideal import Ideal
from cassini_core.schedulers.in_order import FirstFit, Packed, Random
from cassini_core.schedulers.scheduler import Scheduler
from cassini_core.schedulers.state import Allocation, ClusterState
from cassini_core.schedulers.themis.themis import Themis
from cassini_core.simulation.cluster import Decider
from cassini_core.topology.model import Topology
from cassini_core.topology.routing import Router

__all__ = ["DECIDERS", "Watched", "Worn", "decider_of"]


def _pollux(seed: int, **arguments: Any) -> Scheduler:
    from cassini_core.schedulers.pollux.pollux import Pollux  # needs pymoo, which most experiments do not

    return Pollux(seed=seed, **arguments)


def _themis(seed: int, **arguments: Any) -> Scheduler:
    return Themis(seed=seed, **arguments)


def _ideal(seed: int) -> Scheduler:
    return Ideal()


_SCHEDULERS: Mapping[str, Callable[..., Scheduler]] = MappingProxyType(
    {"Themis": _themis, "Pollux": _pollux, "Random": Random, "First fit": FirstFit, "Packed": Packed, "Ideal": _ideal}
)

DECIDERS: Mapping[str, tuple[str, Mapping[str, Any] | None]] = MappingProxyType(
    {
        **{name: (name, None) for name in _SCHEDULERS},
        "Th+Cassini": ("Themis", {}),
        "Th+Cassini, paper's rule": ("Themis", PAPERS_RULE),
        "Po+Cassini": ("Pollux", {}),
        "Po+Cassini, paper's rule": ("Pollux", PAPERS_RULE),
        "Random+Cassini": ("Random", {}),
        "Random+Cassini, paper's rule": ("Random", PAPERS_RULE),
        "First fit+Cassini": ("First fit", {}),
        "Packed+Cassini": ("Packed", {}),
        "Packed+Cassini, paper's rule": ("Packed", PAPERS_RULE),
    }
)
"""By name the scheduler, and the options of the ranking: None for a scheduler as it is."""


def decider_of(
    name: str,
    topology: Topology,
    router: Router,
    seed: int,
    *,
    candidates: int = 10,
    rank: Mapping[str, Any] | None = None,
    scheduler: Mapping[str, Any] | None = None,
    worn: bool = False,
) -> Decider:
    """One of ``DECIDERS``, anew.

    Parameters
    ----------
    name : str
    topology, router
        What the simulation has.
    seed : int
        Of what the scheduler draws.
    candidates : int
    rank : mapping of str to object, optional
        Options of the ranking beside those that the name stands for.
    scheduler : mapping of str to object, optional
        Arguments of the scheduler.
    worn : bool
        Whether what is there at first lies where chance put it (:class:`Worn`).
    """
    of, options = DECIDERS[name]
    one = _SCHEDULERS[of](seed=seed, **(scheduler or {}))
    if worn and not isinstance(one, Ideal):
        one = Worn(one, seed)
    if options is None:
        return Plain(one)
    return Augmented(one, topology, candidates=candidates, router=router, **options, **(rank or {}))


class Worn:
    """A scheduler that comes to a cluster in use: what is there at first lies where chance put it.

    The paper's dynamic trace begins with tasks that are in the cluster, and does not say where. On an empty cluster
    they would be packed one after the other, as they never are where tasks of all sizes come and go.

    Parameters
    ----------
    scheduler : Scheduler
        Decides from the second time on. It is asked the first time, too, so that leases begin.
    seed : int
        Of the places.
    """

    def __init__(self, scheduler: Scheduler, seed: int) -> None:
        self._scheduler = scheduler
        self._chance: Scheduler | None = Random(seed=seed)

    @property
    def interval_s(self) -> float | None:
        """The scheduler's."""
        return self._scheduler.interval_s

    def propose(self, state: ClusterState, candidates: int) -> Sequence[Allocation]:
        """Chance's one allocation, then what the scheduler proposes."""
        proposed = self._scheduler.propose(state, candidates)
        if self._chance is None:
            return proposed
        chance, self._chance = self._chance, None
        return chance.propose(state, 1)


class Watched:
    """A decider of which is kept what it decided.

    Attributes
    ----------
    decisions : list of tuple of float and mapping of str to int
        When, s, and by task how many workers.
    rounds : list of dict
        Of each round with a ranking what there was to choose from (:func:`_round`).
    bidders : list of tuple of two ints
        Of each round of Themis how many tasks took part in the auction, and how many there were.
    """

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self.scheduler = getattr(decider, "scheduler", None)
        self.decisions: list[tuple[float, dict[str, int]]] = []
        self.rounds: list[dict[str, Any]] = []
        self.bidders: list[tuple[int, int]] = []

    @property
    def interval_s(self) -> float | None:
        """The decider's."""
        return self._decider.interval_s

    def decide(self, state: ClusterState, running_shifts_ms: Mapping[str, float] | None = None) -> Decision:
        """What the decider says."""
        decision = self._decider.decide(state, running_shifts_ms)
        workers = {task: sum(hosts.values()) for task, hosts in decision.allocation.items()}
        self.decisions.append((state.now_s, workers))
        if isinstance(self.scheduler, Themis):
            self.bidders.append((len(self.scheduler.paid), len(state.tasks)))
        if decision.ranking is not None:
            self.rounds.append(_round(decision, decision.ranking))
        return decision


def _round(decision: Decision, ranking: Ranking) -> dict[str, Any]:
    """Of a round: candidates, how many were discarded, the number and score of the one taken, what is held."""
    best = ranking.best
    scores = {one.id: one.score for one in ranking}
    return {
        "candidates": len(ranking),
        "discarded": sum(one.status == "discarded" for one in ranking),
        "taken": None if best is None else int(best.id.removeprefix("c")),
        "score": None if best is None else best.score,
        "first": scores.get("c0"),
        "statuses": sorted({one.status for one in ranking}),
        "worth_holding": sum(len(one.jobs) for one in decision.held if one.why_not is None),
        "jobs": len(decision.allocation),
    }
