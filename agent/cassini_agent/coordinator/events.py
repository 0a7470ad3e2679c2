"""What the coordinator tells the scheduler: of a component, of one of its jobs, of a host, or of itself."""

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
    "PacesChanged",
    "RatioBroken",
    "Reachable",
    "Refused",
    "Rephased",
    "Settled",
    "Superseded",
    "Unreachable",
    "Unsteady",
]


class Event:
    """Anything that is told."""


@dataclass(frozen=True)
class _OfComponent(Event):
    component: str


@dataclass(frozen=True)
class _OfJob(_OfComponent):
    job: str


@dataclass(frozen=True)
class _OfJobAndWhy(_OfJob):
    reason: str


@dataclass(frozen=True)
class Rephased(_OfComponent):
    """The epoch of a component moved; ``wait_ns`` is what all its jobs together should wait for it."""

    epoch_shift_ns: int
    wait_ns: int


@dataclass(frozen=True)
class Settled(_OfComponent):
    """All jobs are held on what ``Rephased`` told of, so long after its first attempt."""

    after_ns: int


@dataclass(frozen=True)
class Unsteady(_OfComponent):
    """A component had to be re-phased so often that it costs too much; the next attempt waits about so long."""

    pause_ns: int


@dataclass(frozen=True)
class IterationChanged(_OfJob):
    """A job's uncontrolled iteration time is another: it is worth ranking again."""

    iteration_ns: int
    was_ns: int


@dataclass(frozen=True)
class PacesChanged(_OfComponent):
    """A component has other paces, in the same ratio; by job, ns."""

    pace_ns: dict[str, int]


@dataclass(frozen=True)
class RatioBroken(_OfComponent):
    """The iteration times no longer fit the ratio of the paces: these jobs would be slowed too much. Rank again."""

    jobs: tuple[str, ...]


class MemberFreed(_OfJobAndWhy):
    """A job runs free: the others would lose too much by waiting for it, or it has followed no grid for long.

    Rank again: another ratio of the paces, or another placement, may suit it.
    """


class MemberMissing(_OfJobAndWhy):
    """Nothing is heard of a job: its daemon does not answer, it is not connected, or silent. It keeps its grid."""


class MemberBack(_OfJob):
    """A job that was missing is heard of again."""


class MemberLeft(_OfJobAndWhy):
    """A job has been missing for long, or is gone: the others go on without it, and its schedule is withdrawn."""


class Dissolved(_OfJob):
    """Of a component no two jobs are left: this last one was set free."""


class Contradicted(_OfJobAndWhy):
    """The counters show the bursts of a job elsewhere than it says, by more than the hold: its profile is wrong.

    Nobody is moved on the strength of what it reports. Profile it again.
    """


@dataclass(frozen=True)
class Adopted(_OfComponent):
    """The daemons have other schedules of this component, as after a restart of the coordinator: these are kept.

    If it comes again and again, two coordinators keep this component.
    """

    version: int


@dataclass(frozen=True)
class Superseded(_OfComponent):
    """The daemons of these jobs have other commands that are not of this component: it was let go of.

    Its other jobs are set free after a minute, unless they have newer schedules by then or are kept otherwise.
    """

    jobs: tuple[str, ...]


class Refused(_OfJobAndWhy):
    """A daemon does not take what it was sent for this job; told once for each version."""


@dataclass(frozen=True)
class Failed(Event):
    """A decision about a component, or something else, failed through a fault of ours; it is tried again.

    ``coordinating`` tells so too when the coordinator itself has ended: then nobody keeps the jobs together any more.
    """

    what: str
    error: str
    count: int


@dataclass(frozen=True)
class Unreachable(Event):
    """A daemon does not answer, or answers nonsense; told once."""

    host: str
    reason: str


@dataclass(frozen=True)
class Reachable(Event):
    """A daemon that was unreachable answers again."""

    host: str
