"""The benchmark is honest: its cases are fixed, its peers solve the problem they are said to, its checks can fail."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from bench.link import cases, engine, verify
from bench.link.grid import GridError, angle_grid, tick_grid
from bench.link.peers import PEERS, Peer, available
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import Job, Phase, _reference, score_link, solve_link
from cassini_core.kernel.prepared_link import PreparedLink
from strategies import LinkCase, link_cases, shifts_ms

CLOSE = 1e-9

# Of all drawn cases but the harmonised ones, whose periods come from the package itself.
FINGERPRINT = "2f195069d4198570"


def test_cases_never_change() -> None:
    """Times of two commits can only be compared on the same links: a change here starts a new history."""
    drawn = [case for case in cases.solved_families(quick=True) if not case.family.startswith("harmonised")]
    drawn += cases.eight_jobs(1) + cases.many_jobs(9, 2) + cases.many_phases(4, 50, 1)
    drawn += cases.of_periods((255, 247, 331), 1)
    said = [
        (
            case.name,
            case.capacity_gbps,
            case.resolution_ms,
            [(j.iteration_ms, [(p.start_ms, p.duration_ms, p.gbps) for p in j.phases]) for j in case.jobs],
        )
        for case in drawn
    ]
    text = json.dumps(said)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == FINGERPRINT


def test_names_are_unique_and_a_quick_set_begins_the_full_one() -> None:
    quick, full = list(cases.solved_families(quick=True)), list(cases.solved_families(quick=False))
    assert len({case.name for case in full}) == len(full)
    names = {case.name: case for case in full}
    assert all(names[case.name] == case for case in quick)


@pytest.mark.parametrize("load", cases.LOADS)
def test_drawn_jobs_have_the_load_they_say(load: float) -> None:
    for case in cases.equal(4, 1, 10):
        if f"load {load}" in case.name:
            mean = sum(p.gbps * p.duration_ms / job.iteration_ms for job in case.jobs for p in job.phases)
            # Rates are capped at the capacity and rounded, and vary by a fifth.
            assert 0.5 * load <= mean / case.capacity_gbps <= 1.25 * load


def test_drawn_phases_do_not_overlap() -> None:
    for case in [*cases.equal(3, 3, 10, exactly=True), *cases.many_phases(2, 50, 3)]:
        for job in case.jobs:
            steps = [0] * round(job.iteration_ms)
            for phase in job.phases:
                for k in range(round(phase.duration_ms)):
                    steps[(round(phase.start_ms) + k) % len(steps)] += 1
            assert max(steps) == 1


def test_measured_periods_have_four_decimals_and_nothing_in_common() -> None:
    for case in cases.measured(3):
        assert all(round(job.iteration_ms, 4) == job.iteration_ms for job in case.jobs)
        assert len({job.iteration_ms for job in case.jobs}) == len(case.jobs)


@given(st.data(), link_cases(2, 3))
def test_the_circle_scores_as_the_reference_does(data: st.DataObject, link: LinkCase) -> None:
    shifts = data.draw(shifts_ms(link.jobs))
    expected = _reference.score(link.jobs, link.capacity_gbps, shifts, 0)
    assert verify.score_on_circle(link.jobs, link.capacity_gbps, shifts) == pytest.approx(expected, abs=CLOSE)


def test_a_circle_too_large_is_not_laid_out() -> None:
    jobs = [Job(f"j{k}", period * 1e-6, [Phase(0, 0.5, 50)]) for k, period in enumerate((1113121, 1244017, 1425829))]
    assert verify.score_on_circle(jobs, 50, {"j0": 0.0, "j1": 0.0, "j2": 0.0}) is None


@given(st.data(), link_cases(2, 3), st.sampled_from([4, 7, 12, 36]))
def test_a_grid_scores_rotations_as_the_formulation_says(data: st.DataObject, link: LinkCase, angles: int) -> None:
    """Point by point, in fractions of the circle, with nothing of the grid's own arithmetic."""
    grid = angle_grid(link.jobs, link.capacity_gbps, angles)
    rotation = [data.draw(st.integers(0, count - 1)) for count in grid.rotations]
    excess = 0
    for point in range(angles):
        total = 0
        for job, period, steps in zip(link.jobs, grid.period, rotation, strict=True):
            # Times the number of angles, so that the instant is a whole number.
            at = (point - steps) * grid.perimeter % (period * angles)
            for phase in job.phases:
                since = (at - round(phase.start_ms * 1e6) * angles) % (period * angles)
                total += round(phase.gbps * 1e6) if since < round(phase.duration_ms * 1e6) * angles else 0
        excess += max(0, total - round(link.capacity_gbps * 1e6))
    assert grid.excess(rotation) * grid.unit == excess


@given(st.data(), link_cases(2, 3))
def test_on_whole_ticks_the_grid_scores_what_the_shifts_score(data: st.DataObject, link: LinkCase) -> None:
    grid = tick_grid(link.jobs, link.capacity_gbps)
    rotation = [data.draw(st.integers(0, count - 1)) for count in grid.rotations]
    shifts = grid.shifts_ms(rotation)
    expected = score_link(link.jobs, link.capacity_gbps, shifts, resolution_ms=0)
    assert grid.score(grid.excess(rotation)) == pytest.approx(expected, abs=CLOSE)


def test_a_grid_that_cannot_be_laid_out_is_refused() -> None:
    with pytest.raises(GridError, match="not multiples"):
        tick_grid([Job("a", 10.5)], 50)
    with pytest.raises(GridError, match="20,848,035 points"):
        tick_grid([Job("a", 255), Job("b", 247), Job("c", 331)], 50)


@pytest.fixture(params=PEERS, ids=lambda peer: peer.name)
def peer(request: pytest.FixtureRequest) -> Peer:
    chosen: Peer = request.param
    if chosen not in available():
        pytest.skip(f"{chosen.needs} is not installed")
    return chosen


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("index", range(5))
def test_peers_find_the_optimum_of_their_grid(peer: Peer, index: int) -> None:
    """The same optimum as the engine's search on 24 angles and, on whole ms, as its exact one."""
    equal = [cases.equal(3, 3, 1)[1], cases.equal(2, 3, 1)[2], cases.copies(3, 2)[1]]
    case = [*equal, cases.mixed(2, 1)[0], cases.mixed(3, 1)[1]][index]
    grid = angle_grid(case.jobs, case.capacity_gbps, 24)
    own = PreparedLink.from_jobs(case.jobs, case.capacity_gbps).solve(method="angles", angles=24, node_limit=None)
    answer = peer.solve()(grid, 20.0)
    assert answer.grid_score <= own.claimed_score + CLOSE
    assert answer.proved_optimal == peer.proves
    if peer.proves:
        assert answer.grid_score == pytest.approx(own.claimed_score, abs=CLOSE)
        assert answer.claimed_score == pytest.approx(answer.grid_score, abs=1e-6)
    exact = solve_link(case.jobs, case.capacity_gbps, node_limit=None)
    assert verify.true_score(case, answer.shifts_ms) <= exact.score + CLOSE


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_peers_find_a_perfect_interleaving_on_whole_ms(peer: Peer) -> None:
    jobs = (Job("a", 40, [Phase(3, 20, 50)]), Job("b", 40, [Phase(9, 20, 50)]))
    answer = peer.solve()(tick_grid(jobs, 50), 20.0)
    # One of 40 delays is perfect; a hundred random ones may miss it by a little.
    least = 1.0 if peer.module != "random_delays" else 0.9
    assert score_link(jobs, 50, answer.shifts_ms) >= least
    assert answer.grid_score == pytest.approx(score_link(jobs, 50, answer.shifts_ms), abs=CLOSE)


@pytest.mark.parametrize("module", ["numpy_enumeration", "numba_enumeration"])
def test_an_enumeration_cut_short_proves_nothing(module: str) -> None:
    peer = next(peer for peer in PEERS if peer.module == module)
    if peer not in available():
        pytest.skip(f"{peer.needs} is not installed")
    case = cases.equal(5, 3, 1)[1]
    answer = peer.solve()(angle_grid(case.jobs, case.capacity_gbps), 0.01)
    assert not answer.proved_optimal


def test_a_wrong_answer_is_noticed() -> None:
    call = engine.BatchCall([cases.equal(3, 3, 1)[1]])
    (answer,), (case,), (problem,) = call.checked_answers(), call.members, call.problems
    for change, said in (
        ({"score_lower": answer.score_lower - 1e-6}, "score of the shifts"),
        ({"upper_bound": answer.score_lower - 1e-6}, "above its bound"),
    ):
        with pytest.raises(verify.WrongAnswer, match=said):
            verify.check_answer(case, problem, replace(answer, **change))
    with pytest.raises(verify.WrongAnswer, match="optimum"):
        verify.check_answer(replace(case, optimal_score=answer.score_lower + 1e-6), problem, answer)


def test_a_batch_answers_as_single_calls_do() -> None:
    members = [*cases.equal(2, 3, 1), *cases.mixed(3, 1), *cases.equal(4, 1, 1)]
    for case, answer in zip(members, engine.BatchCall(members).checked_answers(), strict=True):
        single = engine.PreparedCall(case).checked_answer()
        assert (answer.shift.tolist(), answer.score_lower) == (single.shift.tolist(), single.score_lower)
