"""What of a ranking is worth holding: holds by component, gains by job, and reasons to let jobs run free."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core.ranking.holding import held_components


def ranked(
    jobs: Sequence[cc.Job], routes: dict[str, list[str]], capacity_gbps: float = 50.0
) -> tuple[cc.Ranking, cc.Problem]:
    links = [cc.Link(link, capacity_gbps) for link in sorted({link for route in routes.values() for link in route})]
    problem = cc.Problem(jobs, links, [cc.Candidate("c", routes)])
    return cc.rank(problem), problem


def sends(name: str, up_ms: float, period_ms: float = 200.0) -> cc.Job:
    return cc.Job(name, period_ms, [cc.Phase(period_ms - up_ms, up_ms, 50)])


def test_a_component_has_its_own_hold() -> None:
    """Two tight jobs on one link, two loose ones on another: the tight ones do not narrow the loose ones."""
    jobs = [sends("a", 98), sends("b", 98), sends("c", 50), sends("d", 50)]
    ranking, problem = ranked(jobs, {"a": ["x"], "b": ["x"], "c": ["y"], "d": ["y"]})
    tight, loose = held_components(ranking, problem)
    assert (tight.jobs, loose.jobs) == (("a", "b"), ("c", "d"))
    for one, members in ((tight, jobs[:2]), (loose, jobs[2:])):
        assert one.hold_ms == pytest.approx(cc.solve_link(members, 50).hold_ms)
        assert one.why_not is None
    assert ranking.best is not None
    assert ranking.best.hold_ms == pytest.approx(tight.hold_ms)
    assert loose.hold_ms > 10 * tight.hold_ms


@given(st.integers(10, 95), st.integers(10, 95))
def test_the_gain_of_a_pair_is_what_it_loses_at_random_phases(up_a: int, up_b: int) -> None:
    """Two bursts at the link's full rate that fit side by side: the mean overlap is the product of their shares."""
    ranking, problem = ranked([sends("a", up_a), sends("b", up_b)], {"a": ["x"], "b": ["x"]})
    (found,) = held_components(ranking, problem)
    for gain in found.gain_ms.values():
        assert gain == pytest.approx(200 * (up_a / 200) * (up_b / 200), abs=1e-5)


def test_where_nothing_is_won_or_nothing_can_be_held_jobs_run_free() -> None:
    both_fit = [cc.Job(name, 200, [cc.Phase(0, 100, 20)]) for name in "ab"]
    always = [cc.Job("a", 200, [cc.Phase(0, 200, 50)]), sends("b", 50)]
    for jobs in (both_fit, always):
        ranking, problem = ranked(jobs, {"a": ["x"], "b": ["x"]})
        assert all(one.why_not is not None for one in held_components(ranking, problem))


def test_nothing_is_held_where_no_candidate_is_the_best() -> None:
    jobs = [sends("a", 60), sends("b", 60)]
    links = [cc.Link("x", 50), cc.Link("y", 50)]
    problem = cc.Problem(jobs, links, [cc.Candidate("c", {"a": ["x", "y"], "b": ["x", "y"]})])
    ranking = cc.rank(problem, loops="discard")
    assert ranking.best is None
    assert held_components(ranking, problem) == ()
