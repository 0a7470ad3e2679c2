"""One candidate at a time: which links are shared, what merges, which shifts come out, and that they hold."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import strategies
from cassini_core import Candidate, Job, Link, Phase, Problem, _reference, rank
from cassini_core.arrays import Float64Array
from cassini_core.choices import Loops
from cassini_core.deadline import Deadline
from cassini_core.joint.joint_shifts import merge_links
from cassini_core.joint.loop_policy import answer_placement
from cassini_core.joint.placement_solution import PlacementAnswer
from cassini_core.joint.round import Round
from cassini_core.kernel.prepared_link import DEFAULT_RESOLUTION_MS, DEFAULT_SLACK_TOLERANCE
from cassini_core.kernel.prepared_links import PreparedLinks
from cassini_core.kernel.search_limits import SearchLimits
from cassini_core.links.batch_solver import BatchSolver
from cassini_core.links.placement import Placement, SharedLink
from cassini_core.links.shared_links import LinkCatalog
from cassini_core.node_budget import DEFAULT_NODE_LIMIT
from cassini_core.ranking.aggregate import aggregate_named
from cassini_core.ranking.ranked_candidate import CandidateMaker
from cassini_core.units import ms_from_ticks, ticks_from_ms


def looked_at(
    problem: Problem, *, node_limit: int | None = DEFAULT_NODE_LIMIT, slack_tolerance: float = DEFAULT_SLACK_TOLERANCE
) -> tuple[list[Placement], Round]:
    """The placements of a problem and the answers of their links."""
    catalog = LinkCatalog(problem)
    placements = catalog.placements()
    limits = SearchLimits(node_limit, DEFAULT_RESOLUTION_MS, slack_tolerance)
    links = PreparedLinks(catalog.problems, limits, Deadline(None))
    solved = BatchSolver(links, threads=2, deadline=Deadline(None), progress=lambda done: None).solve()
    return placements, Round(catalog.incidence, solved, links)


class Answer(NamedTuple):
    """A :class:`PlacementAnswer`, what belongs to jobs by their ids."""

    placement: Placement
    status: str
    bounds: Float64Array
    scores: Float64Array | None
    shift: dict[str, int]
    slack: dict[str, int]
    free_jobs: tuple[str, ...]
    hold: int | None
    warnings: tuple[str, ...]


def named(answer: PlacementAnswer, context: Round) -> Answer:
    shift: dict[str, int] = {}
    slack: dict[str, int] = {}
    free: tuple[str, ...] = ()
    found = answer.found
    if found is not None:
        names = context.flat.name[found.jobs]
        shift, slack = (dict(zip(names, ticks.tolist(), strict=True)) for ticks in (found.shift, found.slack))
        free = tuple(names[found.free].tolist())
    warnings = (*answer.placement.warnings, *answer.warnings)
    scores = None if found is None else found.scores
    return Answer(answer.placement, answer.status, answer.bounds, scores, shift, slack, free, answer.hold, warnings)


def answer_of(placement: Placement, context: Round, loops: Loops) -> Answer:
    return named(answer_placement(placement, context, loops), context)


def answered(problem: Problem, loops: Loops = "merge") -> Answer:
    """The answer for the first candidate."""
    placements, context = looked_at(problem)
    return answer_of(placements[0], context, loops)


def one_candidate(jobs: list[Job], links: list[Link], routes: dict[str, object]) -> Problem:
    return Problem(tuple(jobs), tuple(links), (Candidate("c", routes),))  # type: ignore[arg-type]


def up(job_id: str, period: float, start: float, duration: float, gbps: float) -> Job:
    return Job(job_id, period, [Phase(start, duration, gbps)])


def waves_on(problem: Problem, link: SharedLink) -> list[_reference.Wave]:
    """The jobs of a shared link as the reference takes them, in the order of the link's problem."""
    jobs = {job.id: job for job in problem.jobs}
    routes = problem.candidates[0].routes
    return [_reference.waves_from_jobs([jobs[job]], {job: routes[job][link.id]})[0] for job in link.jobs]


# Theorem 1


@given(strategies.tree_problems(max_jobs=7), st.sampled_from(["merge", "discard"]))
def test_theorem_1_each_link_scores_its_own_optimum_at_the_final_shifts(problem: Problem, loops: Loops) -> None:
    placements, context = looked_at(problem)
    answer = answer_of(placements[0], context, loops)
    assert answer.status == ("tree" if placements[0].shared else "alone")
    for link, score in zip(placements[0].shared, [] if answer.scores is None else answer.scores.tolist(), strict=True):
        waves = waves_on(problem, link)
        capacity = round(link.capacity_gbps * 1e6)
        free = _reference.free_waves(waves, ticks_from_ms(DEFAULT_RESOLUTION_MS))
        assert context.solved.optimal[link.problem]
        at_final = _reference.mean_excess(waves, capacity, [answer.shift[job] for job in link.jobs], free)
        assert score == pytest.approx(float(1 - at_final / capacity), abs=1e-9)
        assert score == pytest.approx(context.solved.score_lower[link.problem], abs=1e-9)
        best = _reference.optimum(waves, capacity, free)
        assert score == pytest.approx(float(1 - best.mean_excess / capacity), abs=1e-9)


@given(strategies.tree_problems(max_jobs=7), st.sampled_from(["merge", "discard"]))
def test_theorem_1_pairs_keep_their_relative_shift_modulo_gcd(problem: Problem, loops: Loops) -> None:
    placements, context = looked_at(problem)
    shift = answer_of(placements[0], context, loops).shift
    for link in placements[0].shared:
        assert context.solved.answered[link.problem]
        own = slice(*context.solved.job_offset[link.problem : link.problem + 2].tolist())
        own_shift, free = context.solved.shift[own].tolist(), context.solved.free[own].tolist()
        position = {job: index for index, job in enumerate(link.jobs) if loops == "discard" or not free[index]}
        for n, m in itertools.combinations(position, 2):
            wanted = own_shift[position[n]] - own_shift[position[m]]
            common = math.gcd(context.period[n], context.period[m])
            assert (shift[n] - shift[m] - wanted) % common == 0, (link.id, n, m)


@given(strategies.tree_problems(max_jobs=6))
def test_shifts_lie_in_their_iteration_and_only_jobs_that_share_get_one(problem: Problem) -> None:
    placements, context = looked_at(problem)
    answer = answer_of(placements[0], context, "merge")
    sharing = sorted({job for link in placements[0].shared for job in link.jobs})
    assert list(answer.shift) == list(answer.slack) == sharing
    assert all(0 <= ticks < context.period[job] for job, ticks in answer.shift.items())


# Slack and hold


@given(strategies.tree_problems(max_jobs=5), st.integers(0, 2**32 - 1))
def test_slack_and_hold_are_true_at_the_returned_shifts(problem: Problem, seed: int) -> None:
    answer = answered(problem)
    rng = np.random.default_rng(seed)
    least = {job: Fraction(ticks_from_ms(_job(problem, job).iteration_ms), 2) for job in answer.shift}
    for link in answer.placement.shared:
        waves, capacity = waves_on(problem, link), round(link.capacity_gbps * 1e6)
        free = _reference.free_waves(waves, ticks_from_ms(DEFAULT_RESOLUTION_MS))
        at = [answer.shift[job] for job in link.jobs]
        for place, job in enumerate(link.jobs):
            allowed = _reference.slack(waves, capacity, at, place, DEFAULT_SLACK_TOLERANCE, free)
            least[job] = min(least[job], allowed)
        assert answer.hold is not None
        drop = _reference.drop_within(waves, capacity, at, answer.hold, 50, rng, free)
        assert drop <= DEFAULT_SLACK_TOLERANCE + 1e-9
    for job, ticks in answer.slack.items():
        # The largest whole tick that keeps the promise; a rounding error may cost one tick, never grant one.
        assert least[job] - 2 <= ticks <= least[job] + Fraction(1, 1000), job


def test_hold_is_the_least_of_all_links_and_slack_that_of_the_job() -> None:
    # Of 100 ms, a and b leave 60 empty, b and c 20: between them there is 30 and 10 ms on either side.
    jobs = [up("a", 100, 0, 20, 50), up("b", 100, 0, 20, 50), up("c", 100, 0, 60, 50)]
    problem = one_candidate(jobs, [Link("x", 50), Link("y", 50)], {"a": ["x"], "b": ["x", "y"], "c": ["y"]})
    placements, context = looked_at(problem, slack_tolerance=0.0)
    answer = answer_of(placements[0], context, "merge")
    assert {job: ms_from_ticks(ticks) for job, ticks in answer.slack.items()} == {"a": 30.0, "b": 10.0, "c": 10.0}
    assert answer.hold is not None
    assert ms_from_ticks(answer.hold) == 5.0


@pytest.mark.parametrize("n_jobs", [3, 4, 5])
def test_gaps_of_bursts_side_by_side_are_nearly_equal_around_a_loop(n_jobs: int) -> None:
    jobs = [up(f"{i}", 200, 0, 20, 50) for i in range(n_jobs)]
    routes = {job.id: ["x", "y"] if job.id in ("0", "1") else ["x"] for job in jobs}
    ranking = rank(one_candidate(jobs, [Link("x", 50), Link("y", 50)], routes), slack_tolerance=0.0)
    gap_ms = (200 - 20 * n_jobs) / n_jobs
    assert ranking.candidates[0].hold_ms == pytest.approx(gap_ms / 2, rel=0.02)


def _job(problem: Problem, job_id: str) -> Job:
    return next(job for job in problem.jobs if job.id == job_id)


# What is shared


def test_a_job_without_demand_on_a_link_does_not_make_it_shared() -> None:
    silent = Job("silent", 100, [Phase(0, 0, 50), Phase(10, 20, 0)])
    faint = up("faint", 100, 0, 50, 1e-3)
    loud = up("loud", 100, 0, 50, 40)
    links = [Link("x", 50)]
    assert answered(one_candidate([silent, loud], links, {"silent": ["x"], "loud": ["x"]})).status == "alone"
    # 1 Mbit/s times 1e-4 is less than half a kbit/s: nothing is left of it.
    assert answered(one_candidate([faint, loud], links, {"faint": {"x": 1e-4}, "loud": ["x"]})).status == "alone"
    assert answered(one_candidate([faint, loud], links, {"faint": {"x": 1.0}, "loud": ["x"]})).status == "tree"


def test_one_job_alone_above_a_capacity_is_a_warning_and_a_narrow_link() -> None:
    # Two overlapping phases of 30 make 60 in the middle; the second wraps.
    heavy = Job("heavy", 100, [Phase(0, 30, 30), Phase(90, 30, 30)])
    answer = answered(one_candidate([heavy], [Link("x", 50)], {"heavy": ["x"]}))
    assert answer.status == "alone"
    assert answer.scores is not None
    assert answer.scores.tolist() == []
    # 10 of 60 Gbit/s find no room, 20 of 100 ms long.
    (narrow,) = answer.placement.narrow_links
    assert (narrow.id, narrow.job, narrow.score, narrow.excess_gbps) == ("x", "heavy", 1 - 2 / 50, 2.0)
    assert (answer.placement.narrow.job.tolist(), answer.placement.narrow.score.tolist()) == ([0], [narrow.score])
    assert answer.warnings == ("link 'x': job 'heavy' alone needs 60 of 50 Gbit/s",)
    wide = answered(one_candidate([heavy], [Link("x", 60)], {"heavy": ["x"]}))
    assert (wide.warnings, wide.placement.narrow_links) == ((), ())
    assert answered(one_candidate([heavy], [Link("x", 60)], {"heavy": {"x": 2.0}})).warnings != ()


def test_phases_that_touch_do_not_add_up() -> None:
    steps = Job("steps", 100, [Phase(0, 50, 30), Phase(50, 50, 40)])
    assert answered(one_candidate([steps], [Link("x", 40)], {"steps": ["x"]})).warnings == ()


def test_multiplier_scales_the_demand_of_one_job_on_one_link() -> None:
    jobs = [up("a", 100, 0, 50, 25), up("b", 100, 0, 100, 25)]
    links = [Link("x", 50), Link("y", 50)]
    answer = answered(one_candidate(jobs, links, {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 1.0, "y": 1.0}}), "merge")
    # x: 25 + 25 fits. y: 50 + 25 is 25 too much for half of the time.
    assert answer.scores == pytest.approx((1.0, 0.75))


# Merging


def test_links_with_equal_demand_per_capacity_merge_and_keep_their_number() -> None:
    jobs = [up("a", 100, 0, 50, 40), up("b", 100, 0, 50, 30)]
    links = [Link("up", 50), Link("down", 50), Link("double", 100), Link("half", 25), Link("other", 60)]
    routes = {job: {"up": 1.0, "down": 1.0, "double": 2.0, "half": 0.5, "other": 1.0} for job in ("a", "b")}
    placements, _ = looked_at(one_candidate(jobs, links, routes))
    assert [[link.id for link in group] for group in merge_links(placements[0].shared)] == [
        ["double", "down", "half", "up"],
        ["other"],
    ]


def test_the_same_problem_of_other_jobs_does_not_merge() -> None:
    jobs = [up(job, 100, 0, 50, 40) for job in "abc"]
    routes = {"a": ["x", "y"], "b": ["x"], "c": ["y"]}
    placements, context = looked_at(one_candidate(jobs, [Link("x", 50), Link("y", 50)], routes))
    assert len(context.solved) == 1
    assert len(merge_links(placements[0].shared)) == 2


def test_two_jobs_that_swap_their_demands_do_not_merge() -> None:
    jobs = [up("a", 100, 0, 50, 40), up("b", 100, 0, 50, 40)]
    routes = {"a": {"x": 1.0, "y": 0.5}, "b": {"x": 0.5, "y": 1.0}}
    placements, context = looked_at(one_candidate(jobs, [Link("x", 50), Link("y", 50)], routes))
    assert len(context.solved) == 1
    assert len(merge_links(placements[0].shared)) == 2


@given(strategies.tree_problems(max_jobs=5, multipliers=False), st.integers(1, 3))
def test_merging_never_changes_the_value(problem: Problem, copies: int) -> None:
    """Every link several times over, once with all capacities and demands doubled: scores stay, loops or not."""
    candidate = problem.candidates[0]
    links = [Link(f"{link.id}#{k}", link.capacity_gbps * (1 + k % 2)) for link in problem.links for k in range(copies)]
    routes = {
        job: {f"{link}#{k}": multiplier * (1 + k % 2) for link, multiplier in route.items() for k in range(copies)}
        for job, route in candidate.routes.items()
    }
    once, often = answered(problem), answered(Problem(problem.jobs, tuple(links), (Candidate("c", routes),)))
    assert often.status == once.status
    assert often.shift == once.shift
    assert often.slack == once.slack
    assert often.hold == once.hold
    assert often.scores is not None
    assert once.scores is not None
    assert sorted(often.scores) == pytest.approx(sorted(once.scores.tolist() * copies), abs=1e-12)


# Loops


UP_AND_DOWN = one_candidate(
    [up("a", 100, 0, 50, 50), up("b", 100, 0, 50, 50)],
    [Link("up", 50), Link("down", 50)],
    {"a": ["up", "down"], "b": ["up", "down"]},
)


def test_discard_is_the_paper_and_gives_up_an_uplink_and_a_downlink() -> None:
    answer = answered(UP_AND_DOWN, "discard")
    assert answer.status == "discarded"
    assert answer.scores is None
    assert answer.hold is None
    assert answer.shift == {}
    assert answer.bounds == pytest.approx((1.0, 1.0))


def test_merge_keeps_an_uplink_and_a_downlink() -> None:
    answer = answered(UP_AND_DOWN, "merge")
    assert answer.status == "tree"
    assert answer.shift == {"a": 0, "b": 50_000_000}
    assert answer.scores == pytest.approx((1.0, 1.0))


def _triangle(b_start: float, c_start: float) -> Problem:
    """Three jobs, three links with two jobs each, all of other capacities, so that nothing merges."""
    jobs = [up("a", 90, 0, 30, 50), up("b", 90, b_start, 30, 50), up("c", 90, c_start, 30, 50)]
    links = [Link("ab", 50), Link("bc", 51), Link("ca", 52)]
    return one_candidate(jobs, links, {"a": ["ab", "ca"], "b": ["ab", "bc"], "c": ["bc", "ca"]})


@given(st.integers(0, 89), st.integers(0, 89))
def test_a_loop_is_kept_only_if_every_link_reaches_its_bound(b_start: int, c_start: int) -> None:
    answer = answered(_triangle(b_start, c_start))
    assert answer.bounds == pytest.approx((1.0, 1.0, 1.0))
    if answer.status == "consistent":
        assert answer.scores == pytest.approx(answer.bounds, abs=1e-9)
    else:
        assert answer.status == "discarded"
        assert answer.scores is None


# Each link is best with a and b half an iteration apart, and no two links pose the same problem.
CONSISTENT = one_candidate(
    [up("a", 100, 0, 50, 50), up("b", 100, 0, 50, 50), up("hub", 100, 0, 100, 1)],
    [Link("x", 51), Link("y", 60)],
    {job: ["x", "y"] for job in ("a", "b", "hub")},
)


def test_a_loop_whose_links_agree_is_consistent() -> None:
    answer = answered(CONSISTENT)
    assert answer.status == "consistent"
    assert answer.scores == pytest.approx((1.0, 1.0))
    assert answered(CONSISTENT, "discard").status == "discarded"


def test_a_loop_whose_links_disagree_is_discarded_with_its_bounds() -> None:
    # Any two of them fit, all three together cannot.
    jobs = [up("a", 100, 0, 40, 50), up("b", 100, 0, 40, 50), up("c", 100, 0, 60, 50)]
    links = [Link("ab", 50), Link("bc", 50), Link("ac", 50)]
    answer = answered(one_candidate(jobs, links, {"a": ["ab", "ac"], "b": ["ab", "bc"], "c": ["bc", "ac"]}))
    assert answer.status == "discarded"
    assert answer.bounds == pytest.approx((1.0, 1.0, 1.0))
    assert answer.scores is None


def test_a_loop_is_not_called_consistent_while_a_bound_is_open() -> None:
    placements, context = looked_at(CONSISTENT)
    assert answer_of(placements[0], context, "merge").status == "consistent"
    context.solved.result["optimal"][0] = 0
    context.solved.result["upper_bound"][0] += 1e-6
    catalog = LinkCatalog(CONSISTENT)
    open_bound = Round(catalog.incidence, context.solved, context.links)
    answer = answer_placement(placements[0], open_bound, "merge")
    assert answer.status == "discarded"
    candidate = CandidateMaker(open_bound, catalog.shared, aggregate_named("mean")).entry(0, answer).candidate
    assert any("bound" in line for line in candidate.warnings)


# Free jobs


def _free_hub() -> Problem:
    """The hub shares only 1 ms with the others, which nobody can hold (F1b); a and b meet on two links."""
    jobs = [up("a", 254, 0, 100, 50), up("b", 254, 0, 100, 40), up("hub", 255, 0, 100, 30)]
    return one_candidate(jobs, [Link("x", 50), Link("y", 60)], {job: ["x", "y"] for job in ("a", "b", "hub")})


def test_free_jobs_put_no_loop_together() -> None:
    # b and the hub meet twice. On x the hub is free, on y both are: only a and b hold each other.
    jobs = [up("a", 254, 0, 100, 50), up("b", 254, 0, 100, 40), up("hub", 255, 0, 100, 30)]
    problem = one_candidate(jobs, [Link("x", 50), Link("y", 50)], {"a": ["x"], "b": ["x", "y"], "hub": ["x", "y"]})
    answer = answered(problem)
    assert answer.status == "tree"
    assert answer.free_jobs == ("hub",)
    assert answer.shift["hub"] == 0
    assert answer.slack["hub"] == ticks_from_ms(255) // 2
    assert answered(problem, "discard").status == "discarded"


def test_a_job_that_is_free_on_one_link_only_is_not_listed() -> None:
    jobs = [up("a", 254, 0, 100, 50), up("b", 254, 0, 100, 40), up("z", 255, 0, 100, 30)]
    problem = one_candidate(jobs, [Link("x", 50), Link("y", 50)], {"a": ["x", "y"], "b": ["x"], "z": ["y"]})
    answer = answered(problem)
    assert answer.status == "tree"
    assert answer.free_jobs == ("z",)
    assert ms_from_ticks(answer.slack["a"]) < 127


@given(st.permutations(["a", "b", "hub"]), st.permutations(["x", "y"]))
def test_order_of_jobs_and_links_changes_nothing(jobs: list[str], links: list[str]) -> None:
    first = _free_hub()
    mixed = Problem(
        tuple(_job(first, job) for job in jobs),
        tuple(next(link for link in first.links if link.id == one) for one in links),
        (Candidate("c", {job: dict.fromkeys(reversed(links), 1.0) for job in reversed(jobs)}),),
    )
    one, other = answered(first), answered(mixed)
    assert (one.status, one.shift, one.hold) == (other.status, other.shift, other.hold)
    assert np.array_equal(one.scores, other.scores)  # type: ignore[arg-type]


# One problem, one answer


@given(strategies.job_lists(2, 4), strategies.capacities(), st.randoms(use_true_random=False), st.integers(1, 3))
def test_equal_content_is_one_problem_whatever_its_names_units_and_order(
    jobs: list[Job], capacity_gbps: float, rng: random.Random, scale: int
) -> None:
    names = [f"other-{k}" for k in range(len(jobs))]
    rng.shuffle(names)
    renamed = [Job(name, job.iteration_ms, reversed(job.phases)) for name, job in zip(names, jobs, strict=True)]
    rng.shuffle(renamed)
    problem = Problem(
        (*jobs, *renamed),
        (Link("x", capacity_gbps), Link("y", capacity_gbps * scale)),
        (
            Candidate("c", {job.id: {"x": 1.0} for job in jobs}),
            Candidate("d", {job.id: {"y": float(scale)} for job in renamed}),
        ),
    )
    placements, context = looked_at(problem)
    assert len(context.solved) <= 1
    first, second = (answer_of(one, context, "merge") for one in placements)
    assert np.array_equal(first.scores, second.scores)  # type: ignore[arg-type]
    assert sorted(first.slack.values()) == sorted(second.slack.values())
