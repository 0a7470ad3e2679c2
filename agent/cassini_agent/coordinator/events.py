"""What the coordinator tells the scheduler."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "Adopted",
    "Contradicted",
    "Dissolved",
    "Event",
    "Failed",
    "IterationChanged",
    "MemberBack",
    "MemberFreed",
    "MemberLeft",
    "MemberMissing",
    "MemberMoved",
    "MemberUnlocked",
    "OverBudget",
    "PacesChanged",
    "RatioBroken",
    "Reachable",
    "Refused",
    "Rephased",
    "Settled",
    "Stopped",
    "Superseded",
    "Unreachable",
    "Unsteady",
]


@dataclass(frozen=True, slots=True)
class Rephased:
    """The epoch of a component moved; ``wait_ns`` is what all its jobs together should wait for it."""

    component: str
    epoch_shift_ns: int
    wait_ns: int


@dataclass(frozen=True, slots=True)
class Settled:
    """All jobs are held on what ``Rephased`` told of, so long after; ``waited_ns`` is what they waited meanwhile."""

    component: str
    waited_ns: int
    after_ns: int


@dataclass(frozen=True, slots=True)
class IterationChanged:
    """A job's uncontrolled iteration time is another: it is worth ranking again."""

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
class MemberFreed:
    """A job runs free, as the others would lose this share of their time, more than they may, if they waited for it.

    Rank again: another ratio of the paces, or another placement, may suit it.
    """

    component: str
    job: str
    loss: float


@dataclass(frozen=True, slots=True)
class MemberUnlocked:
    """A job runs free, as it stalls or pauses too often to follow a grid: the others paced themselves for nothing."""

    component: str
    job: str


@dataclass(frozen=True, slots=True)
class OverBudget:
    """Pacing costs more per iteration than interleaving wins, weighted by job; the component was set free."""

    component: str
    cost_ns: float
    gain_ns: float


@dataclass(frozen=True, slots=True)
class Unsteady:
    """A component had to be re-phased so often that it costs too much; the next attempt waits about so long."""

    component: str
    pause_ns: int


@dataclass(frozen=True, slots=True)
class MemberMissing:
    """Nothing is heard of a job: its daemon does not answer, it is not connected, or silent. It keeps its grid."""

    component: str
    job: str
    why: str


@dataclass(frozen=True, slots=True)
class MemberBack:
    """A job that was missing is heard of again."""

    component: str
    job: str


@dataclass(frozen=True, slots=True)
class MemberMoved:
    """The rank 0 of a job has turned up on another host; it gets its schedule there."""

    component: str
    job: str
    host: str
    was: str


@dataclass(frozen=True, slots=True)
class Contradicted:
    """The counters show the bursts of a job elsewhere than it says, by more than the hold: its profile is wrong.

    Nobody is moved on the strength of what it reports. Profile it again.
    """

    component: str
    job: str
    reason: str


@dataclass(frozen=True, slots=True)
class MemberLeft:
    """A job has been missing for long, or is gone: the others go on without it, and its schedule is withdrawn."""

    component: str
    job: str
    why: str


@dataclass(frozen=True, slots=True)
class Dissolved:
    """Of a component no two jobs are left: the last one was set free."""

    component: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Adopted:
    """The daemons have other schedules of this component, as after a restart of the coordinator: these are kept.

    If it comes again and again, two coordinators keep this component.
    """

    component: str
    version: int


@dataclass(frozen=True, slots=True)
class Superseded:
    """The daemons of these jobs have other commands that are not of this component: it was let go of.

    Its other jobs are set free after a minute, unless they have newer schedules by then or are kept otherwise.
    """

    component: str
    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """A daemon does not take what it was sent for this job; told once for each version."""

    component: str
    job: str
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A decision about a component, or something else, failed through a fault of ours; it is tried again."""

    what: str
    error: str
    count: int


@dataclass(frozen=True, slots=True)
class Stopped:
    """The coordinator itself has ended, through a fault of ours: nobody keeps the jobs together any more."""

    error: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A daemon does not answer, or answers nonsense; told once."""

    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reachable:
    """A daemon that was unreachable answers again."""

    host: str


Event = (
    Rephased
    | Settled
    | IterationChanged
    | PacesChanged
    | RatioBroken
    | MemberFreed
    | MemberUnlocked
    | OverBudget
    | Unsteady
    | MemberMissing
    | MemberBack
    | MemberMoved
    | MemberLeft
    | Contradicted
    | Dissolved
    | Adopted
    | Superseded
    | Refused
    | Failed
    | Stopped
    | Unreachable
    | Reachable
)
