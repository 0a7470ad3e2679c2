"""From what is known of running jobs to a ranking that can be sent: headroom, one pace where times are nearly equal."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import cassini_core as cc
from cassini_core.periods.harmonize_jobs import lengthen
from cassini_core.ranking.fitting import fitted
from cassini_core.units import ticks_from_ms

from ..control.headroom import MIN_SAMPLES, Jitter, cheapest_headroom, loss_ns, measured_jitter
from ..control.phase import late_reach_ns
from ..coordinator.renewal import MOST_LOSS
from ..schedule import MS_NS, Schedule
from .meeting import that_meet
from .plan import Plan, holds_ns, plan

__all__ = ["ALIKE", "Arrangement", "UncontrolledTimes", "arrange", "with_headroom"]

LARGEST_HEADROOM = 0.4
"""A schedule's pace is at most 1.5 iteration times; one pace for several jobs, and harmonising, need some of that."""

ALIKE = 0.03
"""Jobs that meet and whose needed times differ by less than this share have one pace: headroom by itself can make
such a difference, and it costs less than to meet."""

LEAST_HOLD, MOST_PACE = 0.5, 0.002
"""Running jobs are kept where that leaves this share of their hold or more, and lengthens no pace by more than this."""

FIRST_HEADROOM = 0.01
"""Share that is added to iteration times where headroom is not known yet: to find the hold that they depend on."""


@dataclass(frozen=True, slots=True)
class UncontrolledTimes:
    """Measured uncontrolled iteration times of a job, which its headroom is taken from.

    Attributes
    ----------
    times_ns : sequence of float
        In the order they were measured; or quantiles at even distances, the least and the greatest among them.
    are_quantiles : bool
        Then their order says nothing.
    """

    times_ns: Sequence[float]
    are_quantiles: bool = False


@dataclass(frozen=True, slots=True)
class Arrangement:
    """How the jobs of one placement are to be interleaved: made by :func:`arrange`, sent by ``dispatch.apply``.

    Attributes
    ----------
    uncontrolled : Problem
        Uncontrolled iteration times, and the one candidate that was arranged.
    problem : Problem
        The same with headroom, and with longer paces where jobs fit only in part: what was ranked.
    ranking : Ranking
        Of ``problem``.
    headroom : mapping of str to float
        By what share of its iteration time each job is paced slower for its own sake; jobs without are absent.
    anyway : frozenset of str
        Jobs whose headroom was given: they are held whatever it costs.
    """

    uncontrolled: cc.Problem
    problem: cc.Problem
    ranking: cc.Ranking
    headroom: Mapping[str, float]
    anyway: frozenset[str]

    def plan(self, *, epoch_ns: int, version: int, lease_ns: int, since_ns: int | None = None) -> Plan:
        """Schedules on grids that begin at ``epoch_ns``; see :func:`plan`."""
        return plan(
            self.ranking,
            self.problem,
            epoch_ns=epoch_ns,
            version=version,
            lease_ns=lease_ns,
            uncontrolled=self.uncontrolled,
            since_ns=since_ns,
            anyway=self.anyway,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which jobs that share links are not held, and why; and what the ranking warns of."""
        best = self.ranking.best
        ranked = () if best is None else best.warnings
        return (*self.plan(epoch_ns=0, version=1, lease_ns=1).warnings, *self.ranking.warnings, *ranked)


def arrange(
    problem: cc.Problem,
    *,
    headroom: Mapping[str, float] | None = None,
    measured: Mapping[str, UncontrolledTimes] | None = None,
    alike: float = ALIKE,
    most_loss: float = MOST_LOSS,
    candidate: str | None = None,
) -> Arrangement:
    """Find how to interleave jobs that are known by their uncontrolled iteration times.

    All that has to fit together is done here: headroom for jitter, one pace for jobs whose needed times are nearly
    equal, the ranking of what comes out. Done apart it is easily done wrong: headroom that differs by more than the
    ranking harmonises leave all jobs free.

    Parameters
    ----------
    problem : Problem
        Jobs with uncontrolled iteration times. Those that it says are running keep their shifts where that costs little
        (``dispatch.Running``): little of the score (``rank``), no job more than 0.2 % of its pace, and no component
        more than half of the hold that it would have else: who is late by more than that has to wait again and again.
        Jobs that meet are kept or moved together, whatever becomes of others.
    headroom : mapping of str to float, optional
        By what share of its iteration time each job is to be paced slower, 0 to 0.4. Whoever it names is held at that,
        with all whom it meets, whatever that wins and costs.
    measured : mapping of str to UncontrolledTimes, optional
        For jobs that are not in ``headroom``: their headroom is taken from these times. A job in neither has none.
    alike : float
        Jobs of a component whose needed times differ by less than this share get the longest of them as their one
        pace, whatever that wins.
    most_loss : float
        By so much at most a job is slowed for the others, where that wins more than it costs: the ranking's
        ``period_tolerance``.
    candidate : str, optional
        Which placement; by default the best of a ranking.

    Raises
    ------
    ValueError
        No such candidate, or headroom or measured times that are out of bounds.

    Notes
    -----
    Ranks four times at most: to choose the candidate, to find what fits only in part (some times more for those, see
    :func:`cassini_core.ranking.fitting.fitted`), to find the hold that headroom depends on, and what is sent. Where
    jobs run, all but the first once more without regard to that, and again where that is better for some of them.
    """
    uncontrolled = _with_one_candidate(problem, headroom or {}, alike, most_loss, candidate)

    def where_run(running_shifts_ms: Mapping[str, float]) -> Arrangement:
        told = cc.Problem(uncontrolled.jobs, uncontrolled.links, uncontrolled.candidates, running_shifts_ms)
        return _arranged(told, headroom, measured, alike, most_loss)

    found = where_run(uncontrolled.running_shifts_ms)
    if uncontrolled.running_shifts_ms:
        free = where_run({})
        if costs_more := _costs_more(found, free):
            stay = {job: shift for job, shift in uncontrolled.running_shifts_ms.items() if job not in costs_more}
            return where_run(stay) if stay else free
    return found


def _costs_more(kept: Arrangement, free: Arrangement) -> set[str]:
    """Jobs that meet where it costs one of them pace or room to be late that running jobs are kept.

    Scores, the ranking has seen to.
    """
    kept_ns, free_ns = holds_ns(kept.ranking, kept.problem), holds_ns(free.ranking, free.problem)
    losing = {job for job, hold_ns in free_ns.items() if kept_ns.get(job, 0) < LEAST_HOLD * hold_ns}
    paces_ms = free.ranking.paces_ms
    losing |= {job for job, pace_ms in kept.ranking.paces_ms.items() if pace_ms > (1 + MOST_PACE) * paces_ms[job]}
    return {job for together in _that_meet(free.uncontrolled) if not losing.isdisjoint(together) for job in together}


def _arranged(
    uncontrolled: cc.Problem,
    headroom: Mapping[str, float] | None,
    measured: Mapping[str, UncontrolledTimes] | None,
    alike: float,
    most_loss: float,
) -> Arrangement:
    shares = dict(headroom or {})
    rank = functools.partial(cc.rank, period_tolerance=most_loss)
    # Headroom comes on top: what is sent late without any has to be made up for too, and who is late has to have room.
    alone = with_headroom(uncontrolled, {}, alike=alike)
    longer, _ = fitted(alone, rank(alone), rank, uncontrolled, anyway=shares)
    # Who is not longer than jobs like it starts from its own time: to be alike comes after headroom.
    own = {job.id: job for job in uncontrolled.jobs}
    jobs = [
        made if made.iteration_ms > job.iteration_ms else own[job.id]
        for made, job in zip(longer.jobs, alone.jobs, strict=True)
    ]
    fits = cc.Problem(jobs, uncontrolled.links, uncontrolled.candidates, uncontrolled.running_shifts_ms)
    if wanted := {job: times for job, times in (measured or {}).items() if job not in shares}:
        shares |= _headroom_from(uncontrolled, fits, wanted, shares, alike, most_loss)
    longer = with_headroom(fits, shares, alike=alike)
    return Arrangement(uncontrolled, longer, rank(longer), shares, frozenset(headroom or {}))


def with_headroom(problem: cc.Problem, headroom: Mapping[str, float], *, alike: float = ALIKE) -> cc.Problem:
    """The problem with longer iteration times, to be ranked: headroom comes first, harmonising after.

    A job that is held at exactly its uncontrolled iteration time never makes up for what jitter costs it; the headroom
    is what it makes up per iteration. Shifts have to be found on the lengthened circles: a burst late in a long
    iteration moves against the grid of a shorter one when paces change.

    Parameters
    ----------
    problem : Problem
        Uncontrolled iteration times.
    headroom : mapping of str to float
        By what share of its iteration time each job is to be paced slower (``control.headroom``), 0 to 0.4; a job that
        is absent needs none.
    alike : float
        Jobs that share links, directly or through others, and whose times then differ by less than this share, get the
        longest of them: a ranking would leave both free if their headroom differs by more than it harmonises.

    Raises
    ------
    ValueError
        Headroom out of bounds, or of a job that is not there.
    """
    unknown = headroom.keys() - {job.id for job in problem.jobs}
    if unknown:
        raise ValueError(f"headroom: expected jobs of the problem, got {min(unknown)!r}")
    for job_id, share in headroom.items():
        if not 0 <= share <= LARGEST_HEADROOM:
            raise ValueError(f"headroom[{job_id!r}]: expected 0 to {LARGEST_HEADROOM}, got {share!r}")
    if not 0 <= alike < 0.1:
        raise ValueError(f"alike: expected a share of 0 to 0.1, got {alike!r}")
    needed = {job.id: ticks_from_ms(job.iteration_ms * (1 + headroom.get(job.id, 0.0))) for job in problem.jobs}
    for together in _that_meet(problem):
        longest = 0
        for job_id in sorted(together, key=lambda one: (-needed[one], one)):
            if longest > (1 + alike) * needed[job_id] or longest == 0:
                longest = needed[job_id]
            needed[job_id] = longest
    # The wait comes at the end of an iteration: a burst that lasts beyond the end is split there.
    jobs = [lengthen(job, needed[job.id]) for job in problem.jobs]
    return cc.Problem(jobs, problem.links, problem.candidates, problem.running_shifts_ms)


def _that_meet(problem: cc.Problem) -> list[frozenset[str]]:
    """Jobs that send and share links in some candidate, directly or through others."""
    routes: dict[str, list[tuple[str, str]]] = {
        job.id: [] for job in problem.jobs if any(phase.gbps > 0 and phase.duration_ms > 0 for phase in job.phases)
    }
    for candidate in problem.candidates:
        for job in routes.keys() & candidate.routes.keys():
            routes[job] += [(candidate.id, link) for link in candidate.routes[job]]
    return that_meet(routes)


def _with_one_candidate(
    problem: cc.Problem, headroom: Mapping[str, float], alike: float, most_loss: float, candidate: str | None
) -> cc.Problem:
    if candidate is None and len(problem.candidates) > 1:
        best = cc.rank(with_headroom(problem, headroom, alike=alike), period_tolerance=most_loss).best
        candidate = None if best is None else best.id
    kept = [one for one in problem.candidates if candidate is None or one.id == candidate]
    if len(kept) != 1:
        raise ValueError(f"candidate: expected one of the problem, got {candidate!r}")
    return cc.Problem(problem.jobs, problem.links, kept, problem.running_shifts_ms)


def _headroom_from(
    uncontrolled: cc.Problem,
    fits: cc.Problem,
    measured: Mapping[str, UncontrolledTimes],
    headroom: Mapping[str, float],
    alike: float,
    most_loss: float,
) -> dict[str, float]:
    """Headroom by how much each job jitters, and how far it may be late where the ranking of ``fits`` puts it."""
    longer = with_headroom(fits, {**dict.fromkeys(measured, FIRST_HEADROOM), **headroom}, alike=alike)
    ranking = cc.rank(longer, period_tolerance=most_loss)
    # Whether that is worth it shows when the headroom is known.
    first = plan(ranking, longer, epoch_ns=0, version=1, lease_ns=1, uncontrolled=uncontrolled, anyway=measured)
    held = {one.job: one for one in first.schedules}
    iteration_ms = {job.id: job.iteration_ms for job in uncontrolled.jobs}
    found = {}
    for job, times in sorted(measured.items()):
        if job not in iteration_ms:
            raise ValueError(f"measured: expected jobs of the problem, got {job!r}")
        jitter = measured_jitter(times.times_ns) if times.times_ns else None
        kept = 0 if jitter is None else len(jitter.deviation_ns)
        if jitter is None or kept < MIN_SAMPLES:
            what = f"{kept} of {len(times.times_ns)} that are no stalls"
            raise ValueError(f"measured[{job!r}]: expected {MIN_SAMPLES} iterations or more, got {what}")
        if job in held:
            found[job] = _headroom(jitter, times.are_quantiles, held[job], iteration_ms[job] * MS_NS)
    return found


def _headroom(jitter: Jitter, quantiles: bool, held: Schedule, iteration_ns: float) -> float:
    loss = loss_ns(held.iteration_ns, held.gain_ns)
    reach = late_reach_ns(held.hold_ns)
    headroom = cheapest_headroom(jitter.deviation_ns, reach, loss, quantiles=quantiles)
    # A profile's iteration time may be a median; what a pace has to carry is the mean.
    return min(LARGEST_HEADROOM, max(0.0, (jitter.iteration_ns + headroom.headroom_ns) / iteration_ns - 1))
