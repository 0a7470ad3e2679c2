"""From what is known of running jobs to a ranking that can be sent: headroom, one pace where times are nearly equal."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import cassini_core as cc
from cassini_core.periods.harmonize_jobs import lengthen
from cassini_core.ranking.fitting import fitted
from cassini_core.ranking.holding import HeldComponent, held_components
from cassini_core.units import ticks_from_ms

from ..control.headroom import MIN_SAMPLES, Jitter, cheapest_headroom, loss_ns, measured_jitter
from ..control.phase import late_reach_ns
from ..coordinator.renewal import MOST_LOSS
from ..schedule import MS_NS
from .meeting import that_meet
from .plan import Plan, plan

__all__ = ["Arrangement", "arrange", "with_headroom"]

LARGEST_HEADROOM = 0.4
"""A schedule's pace is at most 1.5 iteration times; one pace for several jobs, and harmonising, need some of that."""

ALIKE = 0.03
"""Jobs that meet and whose needed times differ by less than this share have one pace: headroom by itself can make
such a difference, and it costs less than to meet."""

LEAST_HOLD, MOST_PACE = 0.5, 0.002
"""Running jobs are kept where that leaves this share of their hold or more, and lengthens no pace by more than this."""

FIRST_HEADROOM = 0.01
"""Share that is added to iteration times where headroom is not known yet: to find the hold that they depend on."""

_rank = functools.partial(cc.rank, period_tolerance=MOST_LOSS)


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
    held : tuple of HeldComponent
        The components of the ranking; those with a job whose headroom was given are held whatever it costs.
    """

    uncontrolled: cc.Problem
    problem: cc.Problem
    ranking: cc.Ranking
    headroom: Mapping[str, float]
    held: tuple[HeldComponent, ...]

    def plan(self, *, epoch_ns: int, since_ns: int | None = None) -> Plan:
        """Schedules on grids that begin at ``epoch_ns``; see :func:`plan`."""
        return plan(
            self.ranking,
            self.problem,
            epoch_ns=epoch_ns,
            uncontrolled=self.uncontrolled,
            since_ns=since_ns,
            held=self.held,
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Which jobs that share links are not held, and why; and what the ranking warns of."""
        best = self.ranking.best
        ranked = () if best is None else best.warnings
        return (*self.plan(epoch_ns=0).warnings, *self.ranking.warnings, *ranked)


def arrange(
    problem: cc.Problem,
    *,
    headroom: Mapping[str, float] | None = None,
    measured: Mapping[str, Sequence[float]] | None = None,
    candidate: str | None = None,
) -> Arrangement:
    """Find how to interleave jobs that are known by their uncontrolled iteration times.

    All that has to fit together is done here: headroom for jitter, one pace for jobs whose needed times are nearly
    equal (within 3 %), the ranking of what comes out. Done apart it is easily done wrong: headroom that differs by more
    than the ranking harmonises leave all jobs free. A job is slowed by up to 10 % for the others, where that wins more
    than it costs.

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
    measured : mapping of str to sequence of float, optional
        For jobs that are not in ``headroom``: uncontrolled iteration times, ns, in the order they were measured, which
        their headroom is taken from. A job in neither has none.
    candidate : str, optional
        Which placement; by default the best of a ranking.

    Raises
    ------
    ValueError
        No such candidate, or headroom or measured times that are out of bounds.

    Notes
    -----
    Ranks four times as a rule: to choose the candidate, to find what fits only in part (some times more for those, see
    :func:`cassini_core.ranking.fitting.fitted`), to find the hold that headroom depends on, and what is sent. Where
    jobs run, all but the first once more without regard to that, and again where that is better for some of them.
    """
    given = dict(headroom or {})
    jitter = {job: _jitter(job, times) for job, times in sorted((measured or {}).items()) if job not in given}
    uncontrolled = _with_one_candidate(problem, given, candidate)
    if unknown := jitter.keys() - {job.id for job in problem.jobs}:
        raise ValueError(f"measured: expected jobs of the problem, got {min(unknown)!r}")
    running = uncontrolled.running_shifts_ms
    found = _arranged(uncontrolled, given, jitter)
    if running:
        free = _arranged(replace(uncontrolled, running_shifts_ms={}), given, jitter)
        if costs_more := _costs_more(found, free):
            stay = {job: shift for job, shift in running.items() if job not in costs_more}
            return _arranged(replace(uncontrolled, running_shifts_ms=stay), given, jitter) if stay else free
    return found


def _jitter(job: str, times_ns: Sequence[float]) -> Jitter:
    jitter = measured_jitter(times_ns) if times_ns else None
    kept = 0 if jitter is None else len(jitter.deviation_ns)
    if jitter is None or kept < MIN_SAMPLES:
        what = f"{kept} of {len(times_ns)} that are no stalls"
        raise ValueError(f"measured[{job!r}]: expected {MIN_SAMPLES} iterations or more, got {what}")
    return jitter


def _costs_more(kept: Arrangement, free: Arrangement) -> set[str]:
    """Jobs that meet where it costs one of them pace or room to be late that running jobs are kept.

    Scores, the ranking has seen to.
    """
    kept_ms, free_ms = ({job: one.hold_ms for one in of.held for job in one.jobs} for of in (kept, free))
    losing = {job for job, hold_ms in free_ms.items() if kept_ms.get(job, 0.0) < LEAST_HOLD * hold_ms}
    paces_ms = free.ranking.paces_ms
    losing |= {job for job, pace_ms in kept.ranking.paces_ms.items() if pace_ms > (1 + MOST_PACE) * paces_ms[job]}
    return {job for together in _that_meet(free.uncontrolled) if not losing.isdisjoint(together) for job in together}


def _arranged(uncontrolled: cc.Problem, given: Mapping[str, float], jitter: Mapping[str, Jitter]) -> Arrangement:
    # Headroom comes on top: what is sent late without any has to be made up for too, and who is late has to have room.
    alone = with_headroom(uncontrolled, {})
    longer, *_ = fitted(alone, _rank(alone), _rank, uncontrolled, anyway=given)
    # Who is not longer than jobs like it starts from its own time: to be alike comes after headroom.
    jobs = tuple(
        made if made.iteration_ms > like.iteration_ms else own
        for own, like, made in zip(uncontrolled.jobs, alone.jobs, longer.jobs, strict=True)
    )
    fits = replace(uncontrolled, jobs=jobs)

    def with_shares(headroom: Mapping[str, float], anyway: Collection[str]) -> Arrangement:
        made = with_headroom(fits, headroom)
        ranking = _rank(made)
        held = held_components(ranking, made, uncontrolled, anyway=anyway)
        return Arrangement(uncontrolled, made, ranking, headroom, held)

    shares = dict(given)
    if jitter:
        # The same for all, so that no ratio changes. Whether it is worth it shows when the headroom is known.
        first = with_shares(dict.fromkeys((job.id for job in jobs), FIRST_HEADROOM) | shares, {*given, *jitter})
        shares |= _headroom_where_held(first, jitter)
    found = with_shares(shares, given)
    # Nobody whose times are known is held without headroom for them.
    while more := _headroom_where_held(found, {job: one for job, one in jitter.items() if job not in shares}):
        shares |= more
        found = with_shares(shares, given)
    return found


def _headroom_where_held(found: Arrangement, jitter: Mapping[str, Jitter]) -> dict[str, float]:
    """By how much each of these jobs jitters, and how far it may be late where it is held."""
    known_ns = {job.id: job.iteration_ms * MS_NS for job in found.uncontrolled.jobs}
    shares = {}
    for one in found.held:
        reach = late_reach_ns(ticks_from_ms(one.hold_ms))
        for job in jitter.keys() & one.jobs if one.why_not is None else ():
            loss = loss_ns(round(known_ns[job]), ticks_from_ms(one.gain_ms[job]))
            needed = cheapest_headroom(jitter[job].deviation_ns, reach, loss)
            # A profile's iteration time may be a median; what a pace has to carry is the mean.
            needs_ns = jitter[job].iteration_ns + needed.headroom_ns
            shares[job] = min(LARGEST_HEADROOM, max(0.0, needs_ns / known_ns[job] - 1))
    return shares


def with_headroom(problem: cc.Problem, headroom: Mapping[str, float]) -> cc.Problem:
    """The problem with longer iteration times, to be ranked: headroom comes first, harmonising after.

    A job that is held at exactly its uncontrolled iteration time never makes up for what jitter costs it; the headroom
    is what it makes up per iteration. Shifts have to be found on the lengthened circles: a burst late in a long
    iteration moves against the grid of a shorter one when paces change. Jobs that share links, directly or through
    others, and whose times then differ by less than 3 %, get the longest of them: a ranking would leave both free if
    their headroom differs by more than it harmonises.

    Parameters
    ----------
    problem : Problem
        Uncontrolled iteration times.
    headroom : mapping of str to float
        By what share of its iteration time each job is to be paced slower (``control.headroom``), 0 to 0.4; a job that
        is absent needs none.

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
    needed = {job.id: ticks_from_ms(job.iteration_ms * (1 + headroom.get(job.id, 0.0))) for job in problem.jobs}
    for together in _that_meet(problem):
        longest = 0
        for job_id in sorted(together, key=lambda one: (-needed[one], one)):
            if longest > (1 + ALIKE) * needed[job_id] or longest == 0:
                longest = needed[job_id]
            needed[job_id] = longest
    # The wait comes at the end of an iteration: a burst that lasts beyond the end is split there.
    return replace(problem, jobs=tuple(lengthen(job, needed[job.id]) for job in problem.jobs))


def _that_meet(problem: cc.Problem) -> list[frozenset[str]]:
    """Jobs that send and share links in some candidate, directly or through others."""
    routes: dict[str, list[str]] = {
        job.id: [] for job in problem.jobs if any(phase.gbps > 0 and phase.duration_ms > 0 for phase in job.phases)
    }
    for candidate in problem.candidates:
        for job in routes.keys() & candidate.routes.keys():
            routes[job] += [repr((candidate.id, link)) for link in candidate.routes[job]]
    return that_meet(routes)


def _with_one_candidate(problem: cc.Problem, headroom: Mapping[str, float], candidate: str | None) -> cc.Problem:
    if candidate is None and len(problem.candidates) > 1:
        best = _rank(with_headroom(problem, headroom)).best
        candidate = None if best is None else best.id
    kept = tuple(one for one in problem.candidates if candidate is None or one.id == candidate)
    if len(kept) != 1:
        raise ValueError(f"candidate: expected one of the problem, got {candidate!r}")
    return replace(problem, candidates=kept)
