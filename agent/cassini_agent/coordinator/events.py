"""What the coordinator tells the scheduler."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Event",
    "IterationChanged",
    "NotWorth",
    "PacesChanged",
    "RatioBroken",
    "Reanchored",
    "Unreachable",
    "Unsteady",
]


@dataclass(frozen=True, slots=True)
class Reanchored:
    """The epoch of a component moved; ``wait_ns`` is what all its jobs together wait for it."""

    component: str
    epoch_shift_ns: int
    wait_ns: int


@dataclass(frozen=True, slots=True)
class IterationChanged:
    """A job's natural iteration time is another: it is worth ranking again."""

    component: str
    job: str
    iteration_ns: int
    was_ns: int


@dataclass(frozen=True, slots=True)
class PacesChanged:
    """A component has other paces, in the same ratio; by job, ns."""

    component: str
    pace_ns: dict[str, int]


@dataclass(frozen=True, slots=True)
class RatioBroken:
    """The iteration times no longer fit the ratio of the paces: these jobs would be slowed too much. Rank again."""

    component: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotWorth:
    """Pacing costs more per iteration than interleaving wins, weighted by job; the component was set free."""

    component: str
    cost_ns: float
    gain_ns: float


@dataclass(frozen=True, slots=True)
class Unsteady:
    """A component had to be re-anchored again and again; the next attempt waits so long."""

    component: str
    pause_ns: int


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A daemon did not answer, or answered nonsense."""

    host: str
    reason: str


Event = Reanchored | IterationChanged | PacesChanged | RatioBroken | NotWorth | Unsteady | Unreachable
