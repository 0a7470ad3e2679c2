"""The words of the problem as frozen types: phases, jobs, links, candidates, problems.

Everything is checked when it is made, so that no later layer has to ask again. Times are milliseconds,
bandwidths Gbit/s, both as floats; what the kernel computes with are their integer images (``units``).
The types of the answers are in ``results``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from .candidate import Candidate, packed, unpacked
from .checks import first_repeated, identifier, items_of, number_between
from .errors import refusal, shown
from .formats import counted
from .moved_mapping import NotSeenBefore
from .units import KBPS_PER_GBPS, MAX_RATE_KBPS, MAX_TICKS, TICKS_PER_MS

__all__ = [
    "Candidate",
    "Job",
    "Link",
    "Phase",
    "Problem",
    "ProblemBuilder",
]

_MIN_ITERATION_MS = 1 / TICKS_PER_MS
_MAX_ITERATION_MS = MAX_TICKS / TICKS_PER_MS
_MIN_CAPACITY_GBPS = 1 / KBPS_PER_GBPS
_MAX_GBPS = MAX_RATE_KBPS / KBPS_PER_GBPS


@dataclass(frozen=True, slots=True)
class Phase:
    """An Up interval of an iteration with a constant bandwidth demand.

    Parameters
    ----------
    start_ms : float
        Start within the iteration, ms, ``0 <= start_ms < iteration_ms``. The phase may wrap past the
        end of the iteration.
    duration_ms : float
        ms, ``0 <= duration_ms <= iteration_ms``. A phase of zero length is allowed and has no effect.
    gbps : float
        Gbit/s, at least 0, at most 1.0995e6 (2**40 kbit/s).

    Raises
    ------
    InputError
        A field is not a finite number or out of its range.
    """

    start_ms: float
    duration_ms: float
    gbps: float

    def __post_init__(self) -> None:
        for name, most in (("start_ms", _MAX_ITERATION_MS), ("duration_ms", _MAX_ITERATION_MS), ("gbps", _MAX_GBPS)):
            value = getattr(self, name)
            # The usual case first: files hold millions of phases.
            if type(value) is not float or not 0.0 < value <= most:
                object.__setattr__(self, name, number_between(value, 0.0, most, "phase", name))


@dataclass(frozen=True, slots=True)
class Job:
    """A periodic training job: one iteration and the phases in which it uses the network.

    Parameters
    ----------
    id : str
        Non-empty.
    iteration_ms : float
        Iteration time ``T_j``, ms, from 1e-6 (one tick) to 2**40 ticks (about 1.1e6 ms).
    phases : iterable of Phase
        Phases may wrap past the end of the iteration; overlapping phases add up. May be empty.

    Raises
    ------
    InputError
        A field is wrong, or a phase does not fit its iteration.
    """

    id: str
    iteration_ms: float
    phases: tuple[Phase, ...] = ()

    if TYPE_CHECKING:  # what may be given is wider than what is kept

        def __init__(self, id: str, iteration_ms: float, phases: Iterable[Phase] = ()) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", identifier(self.id, "job", "id"))
        subject = f"job {shown(self.id)}"
        most = number_between(self.iteration_ms, _MIN_ITERATION_MS, _MAX_ITERATION_MS, subject, "iteration_ms")
        phases: tuple[Phase, ...] = items_of(self.phases, Phase, subject, "phases")
        for index, phase in enumerate(phases):
            if phase.start_ms >= most:
                place = f"phases[{index}].start_ms"
                raise refusal(subject, place, f"less than iteration_ms {most!r}", shown(phase.start_ms))
            if phase.duration_ms > most:
                place = f"phases[{index}].duration_ms"
                raise refusal(subject, place, f"at most iteration_ms {most!r}", shown(phase.duration_ms))
        object.__setattr__(self, "iteration_ms", most)
        object.__setattr__(self, "phases", phases)

    def _repr_html_(self) -> str:
        from .notebook import job_html  # only a notebook needs it

        phases = [(phase.start_ms, phase.duration_ms, phase.gbps) for phase in self.phases]
        return job_html(self.id, self.iteration_ms, phases)


@dataclass(frozen=True, slots=True)
class Link:
    """A network link.

    Parameters
    ----------
    id : str
        Non-empty.
    capacity_gbps : float
        Capacity ``C``, Gbit/s, from 1e-6 (1 kbit/s) to 1.0995e6.

    Raises
    ------
    InputError
        A field is wrong.
    """

    id: str
    capacity_gbps: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", identifier(self.id, "link", "id"))
        capacity = checked_capacity_gbps(self.capacity_gbps, f"link {shown(self.id)}", "capacity_gbps")
        object.__setattr__(self, "capacity_gbps", capacity)


def checked_capacity_gbps(value: Any, subject: str, place: str) -> float:
    """A capacity as a float, Gbit/s, or an InputError that names the subject and the place in it."""
    return number_between(value, _MIN_CAPACITY_GBPS, _MAX_GBPS, subject, place)


def capacity_of(link: Link | float) -> float:
    """The capacity of a link, or the capacity that was given in its place, Gbit/s; not checked."""
    return link.capacity_gbps if isinstance(link, Link) else link


@dataclass(frozen=True, slots=True, repr=False)
class Problem:
    """A scheduling round: jobs, links, the candidate placements to rank, and where running jobs stand.

    Parameters
    ----------
    jobs : iterable of Job
    links : iterable of Link
    candidates : iterable of Candidate
    running_shifts_ms : mapping of str to float, optional
        Job id to the time-shift at which the job runs now, ms, from 0 to 2**40 ticks: by how much its iterations start
        after an instant that is the same for all jobs, taken modulo the pace. Jobs that do not run yet are left out.
        Kept as a read-only mapping.

    Raises
    ------
    InputError
        Duplicate ids, a route that names an unknown job or link, a multiplier that takes a job's demand beyond the
        largest bandwidth, 2**40 kbit/s, or a shift of an unknown job, or one that is out of bounds.

    Examples
    --------
    >>> import cassini_core as cc
    >>> jobs = [cc.Job(name, 40, [cc.Phase(0, 20, 50)]) for name in "ab"]
    >>> links = [cc.Link("up1", 50), cc.Link("up2", 50)]
    >>> together = cc.Candidate("together", {"a": ["up1"], "b": ["up1"]})
    >>> cc.Problem(jobs, links, [together, cc.Candidate.moved("apart", together, {"b": ["up2"]})])
    <Problem: 2 jobs, 2 links, 2 candidates>
    """

    jobs: tuple[Job, ...]
    links: tuple[Link, ...]
    candidates: tuple[Candidate, ...]
    running_shifts_ms: Mapping[str, float] = field(default_factory=dict, hash=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            jobs: Iterable[Job],
            links: Iterable[Link],
            candidates: Iterable[Candidate],
            running_shifts_ms: Mapping[str, float] = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        for name, kind in (("jobs", Job), ("links", Link), ("candidates", Candidate)):
            object.__setattr__(self, name, _different(getattr(self, name), kind, "problem", name))
        peaks = {job.id: _peak_gbps(job) for job in self.jobs}
        links = {link.id for link in self.links}
        not_checked = NotSeenBefore[Mapping[str, float]]()
        for index, candidate in enumerate(self.candidates):
            for job, route in not_checked.items(candidate.routes):
                peak = peaks.get(job, math.inf)
                if not route and peak < math.inf:
                    continue
                # There can be millions of links: what is wrong is only looked for once something is.
                if max(route.values(), default=1.0) * peak > _MAX_GBPS or not route.keys() <= links:
                    _check_route("problem", f"candidates[{index}].routes", job, route, peak, links)
        running = checked_running_shifts_ms(self.running_shifts_ms, peaks.keys(), "problem")
        object.__setattr__(self, "running_shifts_ms", running)

    def __getstate__(self) -> tuple[Any, ...]:
        # A mappingproxy cannot be pickled, and what candidates have in common is to be there once.
        return self.jobs, self.links, packed(self.candidates), dict(self.running_shifts_ms)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        jobs, links, candidates, running = state[0], state[1], unpacked(state[2]), state[3]
        given = {"jobs": jobs, "links": links, "candidates": candidates, "running_shifts_ms": MappingProxyType(running)}
        for name, value in given.items():  # checked before
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        jobs, links = counted(len(self.jobs), "job"), counted(len(self.links), "link")
        return f"<Problem: {jobs}, {links}, {counted(len(self.candidates), 'candidate')}>"


def checked_running_shifts_ms(value: Any, jobs: Set[str], subject: str = "") -> Mapping[str, float]:
    """Where jobs run, as a read-only mapping, or an InputError that names the place."""
    if not isinstance(value, Mapping):
        raise refusal(subject, "running_shifts_ms", "a mapping of job ids to ms", shown(value))
    found: dict[str, float] = {}
    for given, shift_ms in value.items():
        job = identifier(given, subject, "running_shifts_ms")
        if job not in jobs:
            raise refusal(subject, "running_shifts_ms", "ids of jobs of the problem", shown(job))
        found[job] = number_between(shift_ms, 0.0, _MAX_ITERATION_MS, subject, f"running_shifts_ms[{shown(job)}]")
    return MappingProxyType(found)


def checked_jobs(jobs: Any) -> tuple[Job, ...]:
    """The jobs that a caller gives, ids all different, or an InputError with their place in ``jobs``."""
    return _different(jobs, Job, "", "jobs")


def _different(value: Any, kind: type, subject: str, place: str) -> tuple[Any, ...]:
    items = items_of(value, kind, subject, place)
    ids = [item.id for item in items]
    if len(set(ids)) < len(ids):
        again = first_repeated(ids)
        raise refusal(subject, f"{place}[{again}].id", "an id of its own", f"{shown(ids[again])} again")
    return items


def _peak_gbps(job: Job) -> float:
    """Largest demand of one phase."""
    return max((phase.gbps for phase in job.phases), default=0.0)


def _check_route(subject: str, place: str, job: str, route: Mapping[str, float], peak: float, links: Set[str]) -> None:
    """Raise what is wrong with a route, if anything is; ``peak`` is infinite for an unknown job."""
    if peak == math.inf:
        raise refusal(subject, place, "ids of jobs of the problem", shown(job))
    place = f"{place}[{shown(job)}]"
    for link, multiplier in route.items():
        if link not in links:
            raise refusal(subject, place, "ids of links of the problem", shown(link))
        if multiplier * peak > _MAX_GBPS:
            expected = f"a multiplier that keeps the demand within {_MAX_GBPS!r} Gbit/s"
            raise refusal(subject, f"{place}[{shown(link)}]", expected, shown(multiplier))


class ProblemBuilder:
    """Puts a problem together piece by piece; a mistake is refused by the call that makes it.

    Jobs and links come before the candidates that name them. Each call returns the builder.

    Examples
    --------
    >>> import cassini_core as cc
    >>> builder = cc.ProblemBuilder()
    >>> for name in "ab":
    ...     _ = builder.add_job(cc.Job(name, 40, [cc.Phase(0, 20, 50)]))
    >>> _ = builder.add_link(cc.Link("up1", 50)).add_link(cc.Link("up2", 100))
    >>> base = cc.Candidate("c0", {"a": ["up1"], "b": ["up1"]})
    >>> _ = builder.add_candidate(base).add_candidate(cc.Candidate.moved("c1", base, {"b": ["up2"]}))
    >>> builder.build()
    <Problem: 2 jobs, 2 links, 2 candidates>
    >>> builder.add_candidate(cc.Candidate("c2", {"a": ["up3"]}))
    Traceback (most recent call last):
    ...
    cassini_core.errors.InputError: candidate 'c2' routes['a']: expected ids of links of the problem, got 'up3'
    """

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._links: dict[str, Link] = {}
        self._candidates: dict[str, Candidate] = {}
        self._not_checked = NotSeenBefore[Mapping[str, float]]()

    def add_job(self, job: Job) -> Self:
        """Add a job; InputError if its id is taken. O(1)."""
        return self._add(self._jobs, Job, job)

    def add_link(self, link: Link) -> Self:
        """Add a link; InputError if its id is taken. O(1)."""
        return self._add(self._links, Link, link)

    def add_candidate(self, candidate: Candidate) -> Self:
        """Add a candidate of jobs and links that were added before. O(its routes that no other has, see ``moved``).

        Raises
        ------
        InputError
            Its id is taken, a route names an unknown job or link, or a multiplier takes a job's demand beyond the
            largest bandwidth, 2**40 kbit/s.
        """
        if isinstance(candidate, Candidate):
            not_checked, self._not_checked = self._not_checked, NotSeenBefore()
            for job, route in not_checked.items(candidate.routes):
                peak = _peak_gbps(self._jobs[job]) if job in self._jobs else math.inf
                _check_route(f"candidate {shown(candidate.id)}", "routes", job, route, peak, self._links.keys())
            self._not_checked = not_checked  # where a route was refused, all are looked at again
        return self._add(self._candidates, Candidate, candidate)

    def build(self) -> Problem:
        """The problem of all that was added, in that order; more may be added afterwards. O(size of the problem)."""
        return Problem(self._jobs.values(), self._links.values(), self._candidates.values())

    def _add(self, kept: dict[str, Any], kind: type[Any], item: Any) -> Self:
        name = kind.__name__.lower()
        if not isinstance(item, kind):
            raise refusal("", name, f"a {kind.__name__}", shown(item))
        if item.id in kept:
            raise refusal(name, "id", "an id of its own", f"{shown(item.id)} again")
        kept[item.id] = item
        return self
