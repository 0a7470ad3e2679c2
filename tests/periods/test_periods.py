"""F6: which iteration times become which, and that nothing else about a job changes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from cassini_core import _reference as ref
from cassini_core.deadline import Deadline
from cassini_core.errors import InputError
from cassini_core.kernel.demand import Demand
from cassini_core.links.one_link import solve_link
from cassini_core.model import Candidate, Job, Link, Phase, Problem
from cassini_core.periods import cluster_pacing as pacing
from cassini_core.periods import harmonize_jobs as periods
from cassini_core.periods import pace_choices as assignments
from cassini_core.periods.cluster_pacing import pace_problem, paced_problem
from cassini_core.periods.harmonize_jobs import harmonize, lengthen
from cassini_core.units import ticks_from_ms
from strategies import jobs as any_job
from strategies import link_cases, loop_problems


def half_up(job_id: str, iteration_ms: float, share: float = 0.45, gbps: float = 50.0) -> Job:
    """One full-rate phase, Up for a share of the iteration."""
    return Job(job_id, iteration_ms, (Phase(0.0, share * iteration_ms, gbps),))


def agreement(jobs: Sequence[Job]) -> float:
    """A cheap score in ``[0, 1]``: how much of the shorter period two jobs have in common, over all pairs."""
    ticks = [ticks_from_ms(job.iteration_ms) for job in jobs]
    shares = [math.gcd(a, b) / min(a, b) for k, a in enumerate(ticks) for b in ticks[:k]]
    return math.fsum(shares) / max(1, len(shares))


def ticks(jobs: Sequence[Job]) -> dict[str, int]:
    return {job.id: ticks_from_ms(job.iteration_ms) for job in jobs}


@st.composite
def noisy_jobs(draw: st.DrawFn, max_jobs: int = 4) -> list[Job]:
    """Jobs whose iteration times nearly divide: a few units each, up to 2 % short; from some ticks to 0.6 s."""
    unit = draw(st.sampled_from([12, 60, 20_000_000, 33_400_000, 100_000_000]))
    n = draw(st.integers(1, max_jobs))
    found = []
    for job_id in draw(st.permutations([f"j{k}" for k in range(n)])):
        short = draw(st.one_of(st.just(0), st.integers(0, 200)))
        period = unit * draw(st.integers(1, 6)) * (10_000 - short) // 10_000
        start, length = draw(st.integers(0, period - 1)), draw(st.integers(1, period))
        gbps = draw(st.sampled_from([20.0, 50.0]))
        found.append(Job(job_id, period / 1e6, (Phase(start / 1e6, length / 1e6, gbps),)))
    return found


tolerances = st.sampled_from([0.0, 0.001, 0.01, 0.03, 0.25])


# The definition.


Score = Callable[[Sequence[Job]], float]


Paces = tuple[tuple[str, int], ...]


def options_by_definition(natural: dict[str, int], tolerance: float) -> dict[Paces, tuple[int, str, str]]:
    """All assignments of F6, word by word, with the smallest q, anchor and job left out that lead there."""
    options: dict[Paces, tuple[int, str, str]] = {tuple(sorted(natural.items())): (0, "", "")}

    def allowed(job_id: str, pace: int) -> bool:
        return Fraction(pace) <= (1 + Fraction(tolerance)) * natural[job_id]

    for anchor in natural:
        for q in range(1, 17):
            base = math.ceil(Fraction(natural[anchor], q))
            if not allowed(anchor, q * base):
                continue
            whole = {}
            for job_id, period in natural.items():
                pace = q * base if job_id == anchor else math.ceil(Fraction(period, base)) * base
                whole[job_id] = pace if allowed(job_id, pace) else period
            for left_out in ("", *natural):
                paces = whole if not left_out else whole | {left_out: natural[left_out]}
                key = tuple(sorted(paces.items()))
                options[key] = min(options.get(key, (q, anchor, left_out)), (q, anchor, left_out))
    return options


def by_definition(jobs: Sequence[Job], tolerance: float, score: Score) -> dict[str, int]:
    """F6 word by word, for a few jobs."""
    natural = ticks(jobs)
    options = options_by_definition(natural, tolerance)
    by_id = {job.id: job for job in jobs}
    worth = {}
    for key in options:
        lengthening = sum(Fraction(pace, natural[job_id]) - 1 for job_id, pace in key) / len(natural)
        worth[key] = score([lengthen(by_id[job_id], pace) for job_id, pace in key]) - float(lengthening)
    best = max(worth.values())
    chosen = min(
        (key for key in options if worth[key] >= best - 1e-9),
        key=lambda key: (
            sum(pace != natural[job_id] for job_id, pace in key),
            max(Fraction(pace, natural[job_id]) for job_id, pace in key),
            options[key],
        ),
    )
    return dict(chosen)


# 2 x 17 ticks are too long for the anchor of 33 ticks, so the other job must not become 19 x 17.
@example([half_up("a", 33e-6), half_up("b", 322e-6)], 0.03)
@given(noisy_jobs(), tolerances)
def test_assignments_are_those_of_the_definition(jobs: list[Job], tolerance: float) -> None:
    natural = dict(sorted(ticks(jobs).items()))
    ids = [*natural, ""]  # -1 stands for none
    found = {
        tuple(zip(natural, item.paces.tolist(), strict=True)): (item.q, ids[item.anchor], ids[item.left_out])
        for item in assignments._assignments(assignments.Times.of(list(natural.values()), tolerance))
    }
    assert found == options_by_definition(natural, tolerance)


@given(noisy_jobs(), tolerances)
def test_choice_is_the_definition(jobs: list[Job], tolerance: float) -> None:
    assert ticks(harmonize(jobs, tolerance, score=agreement).jobs) == by_definition(jobs, tolerance, agreement)


@settings(max_examples=4 * settings.default.max_examples)
@given(noisy_jobs(), tolerances, st.integers(1, 9), st.integers(0, 99), st.booleans())
def test_choice_is_the_definition_for_any_score(
    jobs: list[Job], tolerance: float, levels: int, salt: int, ties: bool
) -> None:
    natural = ticks(jobs)

    def arbitrary(of: Sequence[Job]) -> float:
        paces = ticks(of)
        level = zlib.crc32(repr((salt, sorted(paces.items()))).encode()) % levels / max(1, levels - 1)
        # With the lengthening given back, what is on the same level is equally good.
        returned = sum(Fraction(pace, natural[job_id]) - 1 for job_id, pace in paces.items()) / len(paces)
        return 0.75 * level + float(returned) if ties else level

    assert ticks(harmonize(jobs, tolerance, score=arbitrary).jobs) == by_definition(jobs, tolerance, arbitrary)


def test_tolerance_is_compared_exactly() -> None:
    # The double 0.03 is a little less than 3 %, the double 0.01 a little more than 1 %.
    below = harmonize([half_up("a", 100), half_up("b", 103)], 0.03, score=agreement)
    assert [job.iteration_ms for job in below] == [100, 103]
    above = harmonize([half_up("a", 100), half_up("b", 101)], 0.01, score=agreement)
    assert [job.iteration_ms for job in above] == [101, 101]
    beyond = harmonize([half_up("a", 100), half_up("b", 101.000001)], 0.01, score=agreement)
    assert beyond.jobs[0].iteration_ms < 101


EXAMPLES = [
    ([254.7, 255.2], [255.2, 255.2]),
    ([200.3, 401.1], [200.55, 401.1]),
    ([150, 151, 302], [151, 151, 302]),
    ([100, 133, 201], [100.5, 134, 201]),
]


@pytest.mark.parametrize(("before", "after"), EXAMPLES)
def test_examples_of_the_design(before: list[float], after: list[float]) -> None:
    jobs = [half_up(f"j{k}", period) for k, period in enumerate(before)]
    found = harmonize(jobs, 0.01)
    assert [job.iteration_ms for job in found] == after
    assert found.score == pytest.approx(ref.best_score(found.jobs, 50.0), abs=1e-9)
    lengthening = [b / a - 1 for a, b in zip(before, after, strict=True)]
    assert list(found.lengthening.values()) == pytest.approx(lengthening, abs=1e-12)


@pytest.mark.parametrize(("before", "after"), EXAMPLES[:2])
def test_examples_with_the_reference_as_score(before: list[float], after: list[float]) -> None:
    jobs = [half_up(f"j{k}", period) for k, period in enumerate(before)]
    found = harmonize(jobs, 0.01, score=lambda of: ref.best_score(of, 50.0))
    assert [job.iteration_ms for job in found] == after


def test_copies_of_one_profiled_job_get_a_common_pace() -> None:
    phases = (Phase(10.1234, 80.4321, 40.0), Phase(150.5, 30.25, 45.0))
    copies = [Job("a", 222.3841, phases), Job("b", 224.6079, phases)]
    found = harmonize(copies)
    assert [job.iteration_ms for job in found] == [224.6079, 224.6079]
    solution = solve_link(found.jobs, 50.0)
    assert solution.free_jobs == ()
    assert solution.shifts_ms["a"] != solution.shifts_ms["b"]
    assert solution.hold_ms > 1
    apart = solve_link(copies, 50.0)
    assert set(apart.free_jobs) == {"a", "b"}
    assert apart.score < solution.score - 0.05


# What always holds.


@given(noisy_jobs(), tolerances)
def test_never_shortens_and_never_beyond_tolerance(jobs: list[Job], tolerance: float) -> None:
    found = harmonize(jobs, tolerance, score=agreement)
    assert [job.id for job in found] == [job.id for job in jobs]
    for before, after in zip(jobs, found, strict=True):
        old, new = ticks_from_ms(before.iteration_ms), ticks_from_ms(after.iteration_ms)
        assert old <= new <= (1 + Fraction(tolerance)) * old
        assert found.lengthening[before.id] == pytest.approx(new / old - 1, abs=1e-15)
        assert after is before or new > old


@given(noisy_jobs(), tolerances, st.randoms(use_true_random=False))
def test_order_of_jobs_changes_nothing(jobs: list[Job], tolerance: float, random: object) -> None:
    shuffled = list(jobs)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    first, second = harmonize(jobs, tolerance, score=agreement), harmonize(shuffled, tolerance, score=agreement)
    assert first.score == second.score
    assert {job.id: job for job in first} == {job.id: job for job in second}


@given(noisy_jobs())
def test_zero_tolerance_changes_nothing(jobs: list[Job]) -> None:
    assert harmonize(jobs, 0.0, score=agreement).jobs == tuple(jobs)


@given(noisy_jobs(), st.sampled_from([0.01, 0.25]))
def test_equal_periods_stay(jobs: list[Job], tolerance: float) -> None:
    period = max(job.iteration_ms for job in jobs)
    equal = [replace(job, iteration_ms=period) for job in jobs]
    assert harmonize(equal, tolerance, score=agreement).jobs == tuple(equal)


def worth(jobs: Sequence[Job], before: Sequence[Job]) -> float:
    lengthening = [new / old - 1 for new, old in zip(ticks(jobs).values(), ticks(before).values(), strict=True)]
    return agreement(sorted(jobs, key=lambda job: job.id)) - math.fsum(lengthening) / len(lengthening)


@given(noisy_jobs(), tolerances)
def test_again_changes_something_only_for_the_better(jobs: list[Job], tolerance: float) -> None:
    once = harmonize(jobs, tolerance, score=agreement).jobs
    assert worth(once, jobs) >= worth(jobs, jobs) - 2e-9
    twice = harmonize(once, tolerance, score=agreement).jobs
    # The second time tolerances count from the lengthened times, so more may come in reach.
    assert twice == once or worth(twice, once) > worth(once, once) + 0.9e-9


@given(link_cases(2, 3, max_phases=2), st.integers(0, 100))
def test_the_kernels_choice_is_worth_what_the_reference_says(case: object, short: int) -> None:
    jobs, capacity = case  # type: ignore[misc]
    first = next((job for job in jobs if job.phases), None)
    if first is not None:
        # The others' times no longer fit: a phase may now end beyond the end of the iteration, so drop the last unit.
        shorter = round(first.iteration_ms * (1 - short / 10_000), 4)
        kept = tuple(phase for phase in first.phases if phase.start_ms < shorter and phase.duration_ms <= shorter)
        jobs = [Job(first.id, shorter, kept) if job is first else job for job in jobs]
    found = harmonize(jobs, 0.02, capacity_gbps=capacity)
    assert found.score == pytest.approx(ref.best_score(found.jobs, capacity), abs=1e-9)
    assert found.score >= ref.best_score(jobs, capacity) - 1e-9


@given(st.integers(2, 40).flatmap(any_job), st.integers(1, 30_000_000))
def test_lengthening_keeps_the_demand_and_adds_down_at_the_end(job: Job, more: int) -> None:
    (before,) = ref.waves_from_jobs([job])
    pace = before.period + more
    (after,) = ref.waves_from_jobs([lengthen(job, pace)])
    assert after.period == pace
    ends = [ticks_from_ms(phase.start_ms) % before.period + ticks_from_ms(phase.duration_ms) for phase in job.phases]
    assume(before.period + 1 not in ends)  # what seems to end later by rounding alone is not split
    edges = {0, before.period - 1, *ref.jumps(before), *ref.jumps(after)}
    for time in sorted({edge + step for edge in edges for step in (-1, 0, 1)} | {before.period, pace - 1}):
        if 0 <= time < before.period:
            assert ref.level_at(after, time) == ref.level_at(before, time)
        elif before.period <= time < pace:
            assert ref.level_at(after, time) == 0


def test_lengthening_by_hand() -> None:
    wrapping = Job("a", 10, (Phase(8, 5, 40), Phase(2, 8, 1), Phase(0, 10, 7), Phase(3, 10, 5)))
    assert lengthen(wrapping, 12_000_000) == Job(
        "a", 12, (Phase(0, 3, 40), Phase(8, 2, 40), Phase(2, 8, 1), Phase(0, 10, 7), Phase(0, 3, 5), Phase(3, 7, 5))
    )
    assert lengthen(wrapping, 10_000_000) is wrapping
    with pytest.raises(InputError, match="at least 10000000 ticks, got 9999999"):
        lengthen(wrapping, 9_999_999)


@given(st.floats(0.1, 199.0), st.floats(0.0001, 1.0), st.integers(1, 10**7))
def test_a_phase_that_ends_with_its_iteration_stays_whole_however_its_times_are_rounded(
    iteration_ms: float, share: float, more: int
) -> None:
    """Start, duration and iteration time are rounded each for itself: their sum may miss the end by a tick."""
    duration_ms = share * iteration_ms
    job = Job("a", iteration_ms, (Phase(iteration_ms - duration_ms, duration_ms, 40),))
    period = round(iteration_ms * 1e6)
    phases = lengthen(job, period + more).phases
    assert len(phases) == 1
    assert round(phases[0].duration_ms * 1e6) == round(duration_ms * 1e6)


def test_a_tick_at_the_beginning_does_not_take_half_of_the_hold() -> None:
    """Where two jobs have room for more than they send, a tick of a burst behind it would part the room in two."""
    holds = []
    for start_ms, duration_ms in ((110.0, 87.0), (110.0000004, 87.0000006)):  # rounded 1 ns beyond 197 ms
        jobs = [lengthen(Job(name, 197.0, (Phase(start_ms, duration_ms, 40),)), 220_000_000) for name in "ab"]
        holds.append(solve_link(jobs, 40.0).hold_ms)
    assert holds[1] == pytest.approx(holds[0], abs=0.001)
    assert holds[0] > 12


def test_a_start_that_rounds_to_the_end_is_the_beginning() -> None:
    job = Job("a", 10.0, (Phase(9.9999999, 2.0, 40),))
    assert lengthen(job, 11_000_000) == Job("a", 11, (Phase(0, 2, 40),))


# Scores: which, and how many.


@given(noisy_jobs(), tolerances)
def test_no_assignment_is_scored_twice(jobs: list[Job], tolerance: float) -> None:
    asked: list[tuple[int, ...]] = []

    def score(of: Sequence[Job]) -> float:
        assert [job.id for job in of] == sorted(job.id for job in jobs)
        asked.append(tuple(ticks(of).values()))
        return agreement(of)

    harmonize(jobs, tolerance, score=score)
    assert len(asked) == len(set(asked))
    assert asked[0] == tuple(ticks(sorted(jobs, key=lambda job: job.id)).values())


def test_many_jobs_are_scored_a_bounded_number_of_times() -> None:
    jobs = [half_up(f"j{k:02}", 200 + 0.0371 * k * k) for k in range(40)]
    asked = []

    def score(of: Sequence[Job]) -> float:
        asked.append(tuple(ticks(of).values()))
        return agreement(of)

    found = harmonize(jobs, 0.01, score=score)
    assert 10 < len(asked) <= max(16, periods.SCORES_OF_MANY // 40**2)
    # The first looked at after nothing brings the most pairs together: all that reach the 8th longest.
    assert len(set(ticks(found.jobs).values())) < 35
    assert found.score > agreement(jobs) + 0.01


@given(st.integers(2, 40).flatmap(any_job))
def test_default_capacity_is_the_peak(job: Job) -> None:
    (wave,) = ref.waves_from_jobs([job])
    assert Demand.of(job).peak() == max(level for _, level in ref.demand_steps(*wave))


def test_default_capacity_lets_each_job_fit_alone() -> None:
    # 20 + 30 overlap in both: the two interleave on 50 Gbit/s only.
    jobs = [Job(f"j{k}", period, (Phase(0, 40, 20), Phase(10, 20, 30))) for k, period in enumerate((99.7, 100.1))]
    found = harmonize(jobs)
    assert [job.iteration_ms for job in found] == [100.1, 100.1]
    assert found.score == 1.0
    assert harmonize(jobs, capacity_gbps=25).score < 1.0


def test_silent_jobs_take_no_part() -> None:
    silent = [Job("s", 99.9, ()), Job("z", 99.8, (Phase(0, 0, 50), Phase(0, 5, 0)))]
    loud = [half_up("a", 99.5), half_up("b", 100.0)]
    found = harmonize([*silent, *loud])
    assert found.jobs[:2] == tuple(silent)
    assert ticks(found.jobs[2:]) == {"a": 100_000_000, "b": 100_000_000}
    assert found.lengthening["s"] == 0
    assert harmonize(silent).jobs == tuple(silent)
    assert harmonize([]).jobs == ()


def test_the_longest_iteration_time_is_not_passed() -> None:
    longest = 2**40 / 1e6
    jobs = [half_up("a", longest - 5), half_up("b", longest)]
    assert [job.iteration_ms for job in harmonize(jobs)] == [longest, longest]
    alone = [half_up("a", longest), half_up("b", longest / 3.001)]
    assert all(job.iteration_ms <= longest for job in harmonize(alone, 0.01))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"jobs": [half_up("a", 10), half_up("a", 11)]}, r"jobs\[1\].id: expected an id of its own, got 'a' again"),
        ({"jobs": ["a"]}, r"jobs\[0\]: expected a Job, got"),
        ({"tolerance": -0.01}, "tolerance: expected a finite number of at least 0, got -0.01"),
        ({"tolerance": math.nan}, "tolerance"),
        ({"tolerance": math.inf}, "tolerance"),
        ({"tolerance": "0.01"}, "tolerance"),
        ({"tolerance": True}, "tolerance"),
        ({"tolerance": None}, "tolerance"),
        ({"capacity_gbps": 0}, "capacity_gbps"),
        ({"capacity_gbps": math.nan}, "capacity_gbps"),
        ({"capacity_gbps": 50, "score": agreement}, "^capacity_gbps: expected capacity_gbps or score, got both"),
        ({"score": 3}, "^score: expected None or a callable, got 3"),
        *(({"score": lambda _, given=given: given}, r"^score\(\): expected a") for given in ("x", None, math.nan, [])),
    ],
)
def test_wrong_arguments(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        harmonize(**({"jobs": [half_up("a", 10), half_up("b", 11)]} | arguments))  # type: ignore[arg-type]


# All links of a problem together.


def link_agreement(jobs: Sequence[Job], capacity_gbps: float, multipliers: object) -> float:
    assert [job.id for job in jobs] == sorted(job.id for job in jobs)
    return agreement(jobs)


def paces_of(
    jobs: Sequence[Job],
    links: Sequence[tuple[float, Mapping[str, float]]],
    tolerance: float,
    score: pacing.LinkScore | None = None,
) -> dict[str, int]:
    """Paces of jobs on links that are given by capacity and multipliers; by default as the kernel scores them."""
    routes: dict[str, dict[str, float]] = {job.id: {} for job in jobs}
    for k, (_, multipliers) in enumerate(links):
        for job_id, multiplier in multipliers.items():
            routes[job_id][f"l{k}"] = multiplier
    capacities = tuple(Link(f"l{k}", gbps) for k, (gbps, _) in enumerate(links))
    problem = Problem(tuple(jobs), capacities, (Candidate("c", routes),))
    if score is not None:
        return ticks(pace_problem(problem, tolerance, score).jobs)
    paced = paced_problem(problem, tolerance, 0.5, Deadline(None))
    assert paced is not None
    return ticks(paced.jobs)


@given(noisy_jobs(), tolerances)
def test_one_link_is_harmonised_like_that_link(jobs: list[Job], tolerance: float) -> None:
    links = [(50.0, {job.id: 1.0 for job in jobs})] * 3
    expected = ticks(harmonize(jobs, tolerance, score=agreement).jobs)
    with mock.patch.multiple(pacing, MAX_TURNS=10**30, MAX_WORK=10**40, MAX_BASES=1):
        assert paces_of(jobs, links, tolerance, link_agreement) == expected


@given(loop_problems(max_candidates=3), st.integers(0, 150), st.randoms(use_true_random=False))
def test_paces_of_a_problem(problem: Problem, short: int, random: object) -> None:
    jobs = tuple(
        Job(job.id, round(job.iteration_ms * (1 - short * (k % 3) / 30_000), 4), (Phase(0, 1, 50),) * bool(job.phases))
        for k, job in enumerate(problem.jobs)
    )
    problem = replace(problem, jobs=jobs)
    paced = pace_problem(problem, 0.01, link_agreement)
    assert [job.id for job in paced.jobs] == [job.id for job in jobs]
    for before, after in zip(jobs, paced.jobs, strict=True):
        old, new = ticks([before])[before.id], ticks([after])[after.id]
        assert old <= new <= (1 + Fraction(0.01)) * old
    assert (paced is problem) == (paced.jobs == problem.jobs)
    # Order of jobs, links and candidates does not matter.
    shuffled = [list(part) for part in (problem.jobs, problem.links, problem.candidates)]
    for part in shuffled:
        random.shuffle(part)  # type: ignore[attr-defined]
    again = pace_problem(Problem(*map(tuple, shuffled)), 0.01, link_agreement)  # type: ignore[arg-type]
    assert ticks(again.jobs) == ticks(paced.jobs)
    assert pace_problem(problem, 0.0, link_agreement) is problem


def placed(*routes: dict[str, list[str]], jobs: Sequence[Job]) -> Problem:
    links = sorted({link for one in routes for route in one.values() for link in route})
    candidates = tuple(Candidate(f"c{k}", one) for k, one in enumerate(routes))  # type: ignore[arg-type]
    return Problem(tuple(jobs), tuple(Link(link, 50.0) for link in links), candidates)


def test_only_jobs_that_meet_somewhere_get_a_common_pace() -> None:
    jobs = [half_up("a", 99.5), half_up("b", 100), half_up("c", 99.9), half_up("d", 99.8)]
    # a and b meet in the second candidate only; c is alone on its links, d is placed without network.
    problem = placed(
        {"a": ["x"], "b": ["y"], "c": ["z"], "d": []}, {"a": ["x"], "b": ["x"], "c": ["z"], "d": []}, jobs=jobs
    )
    paced = paced_problem(problem, 0.01, 0.5, Deadline(None))
    assert paced is not None
    assert [job.iteration_ms for job in paced.jobs] == [100, 100, 99.9, 99.8]
    assert paced == Problem(paced.jobs, problem.links, problem.candidates)
    assert [job.iteration_ms for job in problem.jobs] == [99.5, 100, 99.9, 99.8]


def test_every_family_of_iteration_times_gets_its_pace() -> None:
    periods_ms = {"a1": 222.3841, "a2": 222.9107, "b1": 78.1143, "b2": 78.2019, "v1": 255.0, "v2": 255.0}
    jobs = [half_up(job_id, period) for job_id, period in periods_ms.items()]
    pairs = [("a1", "a2"), ("b1", "b2"), ("v1", "v2"), ("a1", "b1"), ("b2", "v1")]
    links = [(50.0, {one: 1.0, other: 1.0}) for one, other in pairs]
    a, b, v = 222_910_700, 78_201_900, 255_000_000
    assert paces_of(jobs, links, 0.003) == {"a1": a, "a2": a, "b1": b, "b2": b, "v1": v, "v2": v}
    # No single base reaches both pairs.
    with mock.patch.object(pacing, "MAX_BASES", 1):
        once = paces_of(jobs, links, 0.003)
    assert (once["a1"] == once["a2"]) != (once["b1"] == once["b2"])


def test_a_multiplier_counts() -> None:
    jobs = [half_up("a", 99.5, gbps=20), half_up("b", 100, gbps=20)]
    assert paces_of(jobs, [(50.0, {"a": 1.0, "b": 1.0})], 0.01)["a"] == 99_500_000  # fits whatever the phase
    assert paces_of(jobs, [(50.0, {"a": 2.0, "b": 1.0})], 0.01)["a"] == 100_000_000
    assert paces_of(jobs, [(50.0, {"a": 2.0, "b": 1e-9})], 0.01)["a"] == 99_500_000  # b has no demand there


def test_hundreds_of_jobs_take_bounded_work() -> None:
    n = 300
    jobs = [half_up(f"j{k:03}", 90 + 10 * (k % 7) + 0.0137 * (k * k % 61)) for k in range(n)]
    links = [
        (50.0, {f"j{other % n:03}": 1.0 for other in (k, k * step + 1, k + 7 * step, k + 5)[: 2 + step % 3]})
        for k in range(n)
        for step in range(1, 30)
    ]
    asked = 0

    def link_score(of: Sequence[Job], capacity_gbps: float, multipliers: object) -> float:
        nonlocal asked
        asked += 1
        assert pacing._turns(list(ticks(of).values())) <= pacing.MAX_TURNS
        return agreement(of)

    paces = paces_of(jobs, links, 0.01, link_score)
    assert asked <= pacing.MAX_WORK / 2 + 2 * pacing.MAX_LINKS
    assert len(set(paces.values())) < len(set(ticks(jobs).values())) - 50
