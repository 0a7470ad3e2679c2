"""The slow, obvious specification: every job is laid out on the LCM circle and looked at.

Nothing here folds, prunes or is clever. Times are whole ticks, rates whole kbit/s, results are exact
(:class:`~fractions.Fraction`). A demand is constant on ``[n, n + 1)`` for every whole tick ``n``, because
its edges are whole ticks. The LCM circle is kept as the union of edges, sorted; what needs more than
``MAX_EVENTS`` of them is refused with a ValueError. :func:`mean_excess_by_sampling` looks at every tick
instead and exists to check the former. The fast kernel is tested against this module; nothing else uses it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .model import Candidate, Job, Problem
from .units import kbps_from_gbps, ticks_from_ms

IntArray = npt.NDArray[np.int64]

MAX_EVENTS = 1_000_000
"""Most edges on one LCM circle: some 50 MB and a second."""

MAX_VERTICES = 1_000_000
"""Most placements :func:`optimum`, :func:`optimum_on_grid` and :func:`angles` try."""

MAX_LEVELS = 100_000
"""Most distinct sums of the demands of free jobs."""

_INT64_ROOM = 2**62


class Wave(NamedTuple):
    """A job as integers: ``period`` in ticks, ``phases`` as (start ticks, length ticks, rate kbit/s)."""

    period: int
    phases: tuple[tuple[int, int, int], ...]


class Optimum(NamedTuple):
    """Least mean excess, kbit/s, shifts in ticks that reach it, and how many placements were tried."""

    mean_excess: Fraction
    shifts: tuple[int, ...]
    tried: int


class Angles(NamedTuple):
    """What the paper's method claims: score, rotations in steps of ``2 pi / |A|``, shifts in ticks."""

    claimed_score: Fraction
    rotations: tuple[int, ...]
    shifts: tuple[int, ...]


# One job on its own circle.


def level_at(wave: Wave, time: int) -> int:
    """Demand ``b_j(time)``, kbit/s. Phases are half-open, may wrap, and add up where they overlap."""
    return sum(rate for start, length, rate in wave.phases if (time - start) % wave.period < length)


def jumps(wave: Wave) -> dict[int, int]:
    """Edges of a job: tick in ``[0, period)`` to the net jump of its demand there, kbit/s, never 0."""
    net: dict[int, int] = {}
    for start, length, rate in wave.phases:
        for time, change in ((start, rate), (start + length, -rate)):
            net[time % wave.period] = net.get(time % wave.period, 0) + change
    return {time: net[time] for time in sorted(net) if net[time]}


def demand_steps(period: int, phases: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Step function of one job on its own circle: (time, level) with times ascending from 0, ticks and kbit/s.

    Raises ValueError unless ``period >= 1``, ``0 <= length <= period`` and ``rate >= 0``.
    """
    if period < 1 or any(not 0 <= length <= period or rate < 0 for _, length, rate in phases):
        raise ValueError(f"expected period >= 1, 0 <= length <= period, rate >= 0; got {period}, {phases}")
    wave = Wave(period, tuple(phases))
    return [(time, level_at(wave, time)) for time in sorted({0, *jumps(wave)})]


# Excess on the LCM circle.


def mean_excess(waves: Sequence[Wave], capacity: int, shifts: Sequence[int], free: Collection[int] = ()) -> Fraction:
    """Mean of ``(sum_j b_j(t - s_j) - C)+`` over the LCM circle, kbit/s; one row of :func:`mean_excess_many`."""
    return mean_excess_many(waves, capacity, [shifts], free)[0]


def mean_excess_many(
    waves: Sequence[Wave], capacity: int, shifts: Sequence[Sequence[int]], free: Collection[int] = ()
) -> list[Fraction]:
    """Mean excess, kbit/s, exact, for each row of ``shifts``, shape (m, n): ticks, any integers.

    Jobs whose indices are in ``free`` are scored as independent uniform phases (F1b): the mean is then also
    over one independent, uniform position per free job, and the circle is the LCM of the others' periods.
    Raises ValueError beyond ``MAX_EVENTS`` edges or ``MAX_LEVELS`` sums. O(m E log E) for E edges.
    """
    held = [j for j in range(len(waves)) if j not in free]
    circle = [waves[j] for j in held]
    perimeter = math.lcm(*(wave.period for wave in circle if jumps(wave)))  # a constant has any period
    rows = np.array([[row[j] % waves[j].period for j in held] for row in shifts], dtype=np.int64)
    rows = rows.reshape(len(shifts), len(held))
    means = [Fraction(0)] * len(shifts)
    for level, chance in _sum_of_independent([waves[j] for j in sorted(free)]).items():
        for row, total in enumerate(_excess_integrals(circle, perimeter, capacity - level, rows)):
            means[row] += chance * Fraction(total, perimeter)
    return means


def _sum_of_independent(waves: Sequence[Wave]) -> dict[int, Fraction]:
    """Distribution of the summed demand of jobs at independent uniform positions: level to probability."""
    total = {0: Fraction(1)}
    for wave in waves:
        steps = demand_steps(*wave)
        ends = [time for time, _ in steps[1:]] + [wave.period]
        following: dict[int, Fraction] = {}
        for (time, level), end in zip(steps, ends, strict=True):
            for other, chance in total.items():
                share = chance * Fraction(end - time, wave.period)
                following[other + level] = following.get(other + level, Fraction(0)) + share
        if len(following) > MAX_LEVELS:
            raise ValueError(f"free jobs: expected at most {MAX_LEVELS} sums of demands, got {len(following)}")
        total = following
    return total


def _excess_integrals(waves: Sequence[Wave], perimeter: int, capacity: int, shifts: IntArray) -> Iterator[int]:
    """Excess summed over the circle, kbit/s x ticks, one per row of ``shifts`` (m, n)."""
    n_events = sum(len(jumps(wave)) * (perimeter // wave.period) for wave in waves if jumps(wave))
    rates = sum(rate for wave in waves for _, _, rate in wave.phases) + abs(capacity)
    if n_events > MAX_EVENTS or max(perimeter, rates) >= _INT64_ROOM:
        raise ValueError(f"LCM circle: expected at most {MAX_EVENTS} edges, got {n_events} on {perimeter} ticks")
    chunk = max(1, 2_000_000 // max(1, n_events))
    for first in range(0, len(shifts), chunk):
        rows = shifts[first : first + chunk]
        levels, lengths = _lay_out(waves, perimeter, rows)
        over = np.maximum(levels - capacity, 0)
        if int(over.max(initial=0)) * perimeter >= _INT64_ROOM:
            yield from (over.astype(object) * lengths.astype(object)).sum(axis=1)
        else:
            yield from (over * lengths).sum(axis=1).tolist()


def _lay_out(waves: Sequence[Wave], perimeter: int, shifts: IntArray) -> tuple[IntArray, IntArray]:
    """Total demand on the LCM circle: levels and lengths of its pieces, each of shape (m, edges + 1)."""
    n_rows = len(shifts)
    # Demand just before time 0, then one jump after the other.
    start = np.zeros((n_rows, 1), dtype=np.int64)
    times, changes = [np.empty((n_rows, 0), dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for j, wave in enumerate(waves):
        for phase_start, length, rate in wave.phases:
            start += rate * ((-1 - shifts[:, [j]] - phase_start) % wave.period < length)
        if not (edges := jumps(wave)):
            continue
        turns = range(0, perimeter, wave.period)
        on_circle = np.array([turn + edge for turn in turns for edge in edges], dtype=np.int64)
        times.append((on_circle + shifts[:, [j]]) % perimeter)
        changes.append(np.tile(np.array(list(edges.values()), dtype=np.int64), len(turns)))
    at = np.concatenate(times, axis=1)
    order = np.argsort(at, axis=1, kind="stable")
    at = np.take_along_axis(at, order, axis=1)
    levels = np.concatenate([start, start + np.cumsum(np.concatenate(changes)[order], axis=1)], axis=1)
    zero, end = np.zeros((n_rows, 1), dtype=np.int64), np.full((n_rows, 1), perimeter, dtype=np.int64)
    return levels, np.diff(np.concatenate([zero, at, end], axis=1), axis=1)


def mean_excess_by_sampling(
    waves: Sequence[Wave], capacity: int, shifts: Sequence[int], free: Collection[int] = ()
) -> Fraction:
    """The same as :func:`mean_excess` by looking at every tick of a tiny circle and every position of free jobs."""
    held = [j for j in range(len(waves)) if j not in free]
    perimeter = math.lcm(*(waves[j].period for j in held))
    total, looks = 0, 0
    for time in range(perimeter):
        fixed = sum(level_at(waves[j], time - shifts[j]) for j in held)
        for positions in itertools.product(*(range(waves[j].period) for j in sorted(free))):
            loose = sum(level_at(waves[j], at) for j, at in zip(sorted(free), positions, strict=True))
            total += max(0, fixed + loose - capacity)
            looks += 1
    return Fraction(total, looks)


# Free jobs (F1b).


def free_jobs(periods: Sequence[int], resolution_ticks: int) -> set[int]:
    """Indices of jobs whose shift cannot be held: F1b to the letter.

    In each pass every job not yet free with ``R_j <= 2 * resolution`` is marked, all at once, where ``R_j``
    is the LCM of ``gcd(T_j, T_k)`` over the other jobs not yet free, and ``T_j`` for the only one left.
    Passes repeat until none marks a job. A resolution of 0 marks nothing, because ``R_j >= 1``.
    """
    free: set[int] = set()
    while True:
        left = [j for j in range(len(periods)) if j not in free]
        marked = set()
        for j in left:
            common = [math.gcd(periods[j], periods[k]) for k in left if k != j]
            repeat = math.lcm(*common) if common else periods[j]
            if repeat <= 2 * resolution_ticks:
                marked.add(j)
        if not marked:
            return free
        free |= marked


def free_waves(waves: Sequence[Wave], resolution_ticks: int) -> set[int]:
    """:func:`free_jobs` of the jobs that are on the link; one without any demand is not, and never free."""
    loud = [j for j, wave in enumerate(waves) if any(length and rate for _, length, rate in wave.phases)]
    return {loud[j] for j in free_jobs([waves[j].period for j in loud], resolution_ticks)}


# Optima.


def optimum(
    waves: Sequence[Wave], capacity: int, free: Collection[int] = (), *, opposite_only: bool = False
) -> Optimum:
    """Least mean excess in continuous time, by trying every vertex (F2); meant for 2 to 4 jobs.

    A vertex connects all jobs that have edges and are not free: jobs join one after the other, in every
    order, each with one of its edges on an edge of a job that stands already, modulo the gcd of their
    periods, so at every position that agrees with it. The first job stands at 0, as a common rotation
    changes nothing. With ``opposite_only`` a rising edge meets falling edges only, and the other way round.
    Raises ValueError beyond ``MAX_VERTICES`` placements.
    """
    movable = [j for j in range(len(waves)) if j not in free and jumps(waves[j])]
    start = tuple(0 if j not in movable[1:] else None for j in range(len(waves)))
    placements: set[tuple[int | None, ...]] = {start}
    for _ in movable[1:]:
        placements = {
            (*placed[:k], shift, *placed[k + 1 :])
            for placed in placements
            for k, i in itertools.permutations(movable, 2)
            if placed[k] is None and (fixed := placed[i]) is not None
            for shift in _alignments(waves[i], fixed, waves[k], opposite_only)
        }
        if len(placements) > MAX_VERTICES:
            raise ValueError(f"optimum: expected at most {MAX_VERTICES} placements")
    rows = sorted(tuple(shift or 0 for shift in placed) for placed in placements)
    means = mean_excess_many(waves, capacity, rows, free)
    best = min(range(len(rows)), key=means.__getitem__)
    return Optimum(means[best], rows[best], len(rows))


def _alignments(fixed: Wave, shift: int, moving: Wave, opposite_only: bool) -> set[int]:
    """Shifts of ``moving`` in ``[0, period)`` that put an edge of it on an edge of ``fixed`` somewhere."""
    common = math.gcd(fixed.period, moving.period)
    return {
        (shift + there - here + lift) % moving.period
        for there, there_jump in jumps(fixed).items()
        for here, here_jump in jumps(moving).items()
        if not opposite_only or there_jump * here_jump < 0
        for lift in range(0, moving.period, common)
    }


def optimum_on_grid(waves: Sequence[Wave], capacity: int, step_ticks: int = 1) -> Optimum:
    """Least mean excess over all shifts that are multiples of ``step_ticks``, by looking at every tick.

    The first job stands at 0. Full enumeration over tiny periods; it exists to check :func:`optimum`.
    """
    perimeter = math.lcm(*(wave.period for wave in waves))
    demand = [np.array([level_at(wave, time) for time in range(perimeter)]) for wave in waves]
    choices = [range(1), *(range(0, wave.period, step_ticks) for wave in waves[1:])]
    excess = {
        shifts: int(np.maximum(sum(map(np.roll, demand, shifts)) - capacity, 0).sum())
        for shifts in itertools.product(*choices)
    }
    best = min(excess, key=excess.__getitem__)
    return Optimum(Fraction(excess[best], perimeter), best, len(excess))


def angles(waves: Sequence[Wave], capacity: int, n_angles: int) -> Angles:
    """The paper's formulation to the letter (Equations 1 to 5), every rotation of every job tried.

    Demand is sampled at the times ``k p / |A|``, ``k = 0 .. |A| - 1``, of the circle of perimeter ``p``, the
    LCM of the periods. Job ``j`` repeats ``r_j = p / T_j`` times and turns by ``0 .. ceil(|A| / r_j) - 1``
    steps. Among equals the lexicographically first rotations win. A shift is ``d_j p / |A|`` rounded half to
    even, modulo ``T_j``. Raises ValueError beyond ``MAX_VERTICES`` rotations.
    """
    perimeter = math.lcm(*(wave.period for wave in waves))
    times = [k * perimeter // n_angles for k in range(n_angles)]  # the demand is constant on [n, n + 1)
    counts = [-(-n_angles * wave.period // perimeter) for wave in waves]
    if math.prod(counts) > MAX_VERTICES:
        raise ValueError(f"angles: expected at most {MAX_VERTICES} rotations, got {math.prod(counts)}")
    samples = [np.array([level_at(wave, time) for time in times]) for wave in waves]
    last = np.stack([np.roll(samples[-1], turn) for turn in range(counts[-1])])
    best, rotations = n_angles * sum(int(sample.max()) for sample in samples) + 1, (0,) * len(waves)
    for turns in itertools.product(*map(range, counts[:-1])):
        excess = np.maximum(sum(map(np.roll, samples, turns)) + last - capacity, 0).sum(axis=1)
        turn = int(np.argmin(excess))  # the first of equals
        if excess[turn] < best:
            best, rotations = int(excess[turn]), (*turns, turn)
    steps = [round(Fraction(turn * perimeter, n_angles)) for turn in rotations]
    shifts = tuple(step % wave.period for step, wave in zip(steps, waves, strict=True))
    return Angles(1 - Fraction(best, n_angles * capacity), rotations, shifts)


# Slack and hold (F5).


def slack(
    waves: Sequence[Wave],
    capacity: int,
    shifts: Sequence[int],
    j: int,
    tolerance: float | Fraction,
    free: Collection[int] = (),
) -> Fraction:
    """How far job ``j`` may move alone, ticks, exact.

    The largest ``x <= T_j / 2`` such that no move of ``j`` in ``[-x, x]`` lowers the score by more than
    ``tolerance``. Between neighbouring kinks (an edge of ``j`` on an edge of another job, modulo the gcd of
    their periods) the mean excess is linear in the move. All kinks are evaluated.
    """
    half = Fraction(waves[j].period, 2)
    allowed = mean_excess(waves, capacity, shifts, free) + Fraction(tolerance) * capacity
    reach = half
    if j in free:
        return reach
    for direction in (1, -1):
        moves = sorted(_kinks(waves, shifts, j, direction, free))
        rows = [[shift + direction * move * (k == j) for k, shift in enumerate(shifts)] for move in moves]
        means = mean_excess_many(waves, capacity, rows, free)
        for k in range(1, len(moves)):
            if means[k] > allowed:
                rise = (means[k] - means[k - 1]) / (moves[k] - moves[k - 1])
                reach = min(reach, moves[k - 1] + (allowed - means[k - 1]) / rise)
                break
    return reach


def _kinks(waves: Sequence[Wave], shifts: Sequence[int], j: int, direction: int, free: Collection[int]) -> set[int]:
    """Moves from 0 to a period of job ``j`` in one direction at which an edge of it meets another job's edge."""
    period = waves[j].period
    moves = {0, period}
    for i, wave in enumerate(waves):
        if i == j or i in free:
            continue
        common = math.gcd(wave.period, period)
        for there in jumps(wave):
            for here in jumps(waves[j]):
                first = direction * (there + shifts[i] - here - shifts[j]) % common
                moves.update(range(first, period, common))
    return moves


def drop_within(
    waves: Sequence[Wave],
    capacity: int,
    shifts: Sequence[int],
    rho: int,
    samples: int,
    rng: np.random.Generator,
    free: Collection[int] = (),
) -> Fraction:
    """Largest drop of the score seen when all jobs move at once within ``[-rho, rho]`` ticks.

    Looks at corners (all of them for up to 8 jobs), at moves of -rho, 0 or rho, and at random ones. It can
    refute a hold, never prove one.
    """
    n = len(waves)
    moves = [np.array(list(itertools.product((-rho, rho), repeat=n)))] if n <= 8 else []
    moves.append(rng.choice((-rho, 0, rho), size=(samples, n)))
    moves.append(rng.integers(-rho, rho, size=(samples, n), endpoint=True))
    rows = (np.concatenate(moves).astype(np.int64) + np.array(shifts, dtype=np.int64)).tolist()
    worst = max(mean_excess_many(waves, capacity, rows, free))
    return max(Fraction(0), worst - mean_excess(waves, capacity, shifts, free)) / capacity


# On the public types: ms and Gbit/s.


def waves_from_jobs(jobs: Sequence[Job], multipliers: Mapping[str, float] | None = None) -> list[Wave]:
    """Jobs as integers: times rounded to ticks, rates scaled by the job's multiplier and rounded to kbit/s."""
    waves = []
    for job in jobs:
        factor = (multipliers or {}).get(job.id, 1.0)
        phases = (
            (ticks_from_ms(phase.start_ms), ticks_from_ms(phase.duration_ms), kbps_from_gbps(phase.gbps * factor))
            for phase in job.phases
        )
        waves.append(Wave(ticks_from_ms(job.iteration_ms), tuple(phases)))
    return waves


def score(
    jobs: Sequence[Job],
    capacity_gbps: float,
    shifts_ms: Mapping[str, float],
    resolution_ms: float = 0.5,
    multipliers: Mapping[str, float] | None = None,
) -> float:
    """``1 - mean(excess) / C`` of jobs on a link at given shifts.

    ``shifts_ms`` must name every job whose demand has edges and that is not free (F1b at ``resolution_ms``):
    KeyError otherwise. The others' shifts change nothing.
    """
    waves, capacity = waves_from_jobs(jobs, multipliers), kbps_from_gbps(capacity_gbps)
    free = free_waves(waves, ticks_from_ms(resolution_ms))
    held = [bool(jumps(wave)) and j not in free for j, wave in enumerate(waves)]
    shifts = [ticks_from_ms(shifts_ms[job.id]) if held[j] else 0 for j, job in enumerate(jobs)]
    return float(1 - mean_excess(waves, capacity, shifts, free) / capacity)


def best_score(
    jobs: Sequence[Job],
    capacity_gbps: float,
    resolution_ms: float = 0.5,
    multipliers: Mapping[str, float] | None = None,
) -> float:
    """Score of :func:`optimum` for a few jobs on one link, free jobs (F1b) as in :func:`score`."""
    waves, capacity = waves_from_jobs(jobs, multipliers), kbps_from_gbps(capacity_gbps)
    found = optimum(waves, capacity, free_waves(waves, ticks_from_ms(resolution_ms)))
    return float(1 - found.mean_excess / capacity)


# Candidates: on the public types too.


def link_loads(problem: Problem, candidate: Candidate) -> dict[str, dict[str, float]]:
    """Link id to job id to multiplier: the jobs with demand on every link that some such job crosses."""
    jobs = {job.id: job for job in problem.jobs}
    loads: dict[str, dict[str, float]] = {}
    for job, route in candidate.routes.items():
        for link, multiplier in route.items():
            (wave,) = waves_from_jobs([jobs[job]], {job: multiplier})
            if any(length and rate for _, length, rate in wave.phases):
                loads.setdefault(link, {})[job] = multiplier
    return loads


def link_scores(
    problem: Problem, candidate: Candidate, shifts_ms: Mapping[str, float] | None, resolution_ms: float = 0.5
) -> dict[str, float]:
    """Score of every link of :func:`link_loads` at given shifts, 0 where absent; with None each link's own best."""
    jobs = {job.id: job for job in problem.jobs}
    gbps = {link.id: link.capacity_gbps for link in problem.links}
    scores = {}
    for link, load in link_loads(problem, candidate).items():
        on_it = [jobs[job] for job in load]
        if shifts_ms is None:
            scores[link] = best_score(on_it, gbps[link], resolution_ms, load)
        else:
            given = {job: shifts_ms.get(job, 0.0) for job in load}
            scores[link] = score(on_it, gbps[link], given, resolution_ms, load)
    return scores


def aggregated(
    aggregate: str, scores: Mapping[str, float], on_link: Mapping[str, Collection[str]], placed: int
) -> float:
    """One score from those of some links, by name: ``mean``, ``min``, ``per_job`` or a percentile such as ``p10``.

    ``on_link`` are the ids of the jobs on each link; the candidate places ``placed`` jobs. 1 without links.
    """
    if not scores:
        return 1.0
    if aggregate == "per_job":
        crossing = {job for link in scores for job in on_link[link]}
        worst = [min(value for link, value in scores.items() if job in on_link[link]) for job in crossing]
        return (math.fsum(min(1.0, value) for value in worst) + placed - len(crossing)) / placed
    values = sorted(scores.values())
    if aggregate == "mean":
        return math.fsum(values) / len(values)
    if aggregate == "min":
        return values[0]
    place = float(aggregate[1:]) / 100 * (len(values) - 1)
    low = math.floor(place)
    return values[low] + (place - low) * (values[min(low + 1, len(values) - 1)] - values[low])


def candidate_score(
    problem: Problem,
    candidate: Candidate,
    shifts_ms: Mapping[str, float] | None,
    aggregate: str = "per_job",
    resolution_ms: float = 0.5,
) -> float:
    """Score of a candidate at given shifts; with None an upper bound, where each link has its own best shifts.

    Links with one job count where that lowers the score: the least over all sets of them, every set tried.
    """
    scores = link_scores(problem, candidate, shifts_ms, resolution_ms)
    on_link = link_loads(problem, candidate)
    shared = {link: value for link, value in scores.items() if len(on_link[link]) > 1}
    single = [link for link, value in scores.items() if len(on_link[link]) == 1 and value < 1]
    return min(
        aggregated(aggregate, shared | {link: scores[link] for link in some}, on_link, len(candidate.routes))
        for size in range(len(single) + 1)
        for some in itertools.combinations(single, size)
    )
