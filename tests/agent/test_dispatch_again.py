"""Sending again what is there moves nobody; what changes moves its own component and no other."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from fake_daemons import FakeDaemons
from hypothesis import given, settings
from hypothesis import strategies as st

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.control.phase import turns, wrap
from cassini_agent.coordinator.lease import with_recent_epoch
from cassini_agent.coordinator.renewal import epoch_near
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.dispatch.difference import difference
from cassini_agent.schedule import MS_NS, SECOND_NS, Schedule

WHERE = {job: dispatch.Endpoint("http://here") for job in "abcdef"}


def burst(job: str, iteration_ms: float, start_ms: float, duration_ms: float, gbps: float = 45) -> cc.Job:
    return cc.Job(job, iteration_ms, [cc.Phase(start_ms, duration_ms, gbps)])


def pairs(*jobs: cc.Job) -> cc.Problem:
    """The first two jobs on one link, the next two on another, and so on."""
    routes = {job.id: [f"link{k // 2}"] for k, job in enumerate(jobs)}
    links = [cc.Link(name, 50) for name in sorted({route[0] for route in routes.values()})]
    return cc.Problem(jobs, links, [cc.Candidate("c", routes)])


FOUR = pairs(burst("a", 200, 0, 90), burst("b", 200, 0, 80), burst("c", 100, 0, 40), burst("d", 200, 0, 60))
PLANNED = dispatch.plan(cc.rank(FOUR), FOUR, epoch_ns=10**18)


def apply(
    daemons: FakeDaemons, problem: cc.Problem = FOUR, where: Mapping[str, dispatch.Endpoint] = WHERE, **options: float
) -> dict[str, dispatch.Acknowledgement]:
    answers = dispatch.apply(cc.rank(problem), problem, where, transport=daemons, **options)
    return {one.job: one for one in answers}


def moved(old: Schedule, new: Schedule) -> int:
    """By how much a grid point of now is elsewhere, of two grids of one pace."""
    return abs(wrap(new.epoch_ns + new.shift_ns - old.epoch_ns - old.shift_ns, new.pace_ns))


def coordinated(daemons: FakeDaemons, jobs: str, move_ns: int, turn: int, longer: int) -> None:
    """What a coordinator does: another epoch, shifts moved by whole turns, paces in the same ratio; a newer version."""
    had = [daemons.schedules[job] for job in jobs]
    ratio = [one.pace_ns // (10 * MS_NS) for one in had]
    for one, of_turn, count in zip(had, turns([each.pace_ns for each in had]), ratio, strict=True):
        shift = (one.shift_ns + turn * of_turn) % one.pace_ns
        daemons.schedules[one.job] = replace(
            one,
            version=one.version + 1,
            epoch_ns=one.epoch_ns + move_ns,
            shift_ns=shift,
            pace_ns=one.pace_ns + longer * count,
        )
        daemons.versions[one.job] = one.version + 1


@settings(max_examples=20)
@given(
    move=st.integers(-(10**9), 10**9), turn=st.integers(-3, 3), longer=st.integers(0, 10**5), times=st.integers(1, 3)
)
def test_applied_again_changes_nothing_whatever_a_coordinator_did(
    move: int, turn: int, longer: int, times: int
) -> None:
    daemons = FakeDaemons()
    first = apply(daemons)
    coordinated(daemons, "ab", move, turn, longer)
    before, requests = dict(daemons.schedules), daemons.requests.copy()
    for _ in range(times):
        again = apply(daemons)
        assert daemons.schedules == before
        assert daemons.requests == requests
        assert all(one.accepted and one.attempts == 0 for one in again.values())
        assert {job: one.schedule for job, one in again.items()} == before
    for job, one in first.items():
        now = again[job].planned
        assert one.planned is not None
        assert now is not None
        assert (now.component, now.pace_ns, now.hold_ns) == (
            one.planned.component,
            one.planned.pace_ns,
            one.planned.hold_ns,
        )


@pytest.mark.parametrize(
    "changed",
    [
        burst("a", 210, 0, 90),
        burst("a", 200, 0, 95),
        burst("a", 200, 10, 90),
    ],
    ids=["pace", "hold", "shift"],
)
def test_another_job_moves_its_own_component_and_no_other(changed: cc.Job) -> None:
    daemons = FakeDaemons()
    apply(daemons)
    before = dict(daemons.schedules)
    partner = burst("b", changed.iteration_ms, 0, 80)
    apply(daemons, pairs(changed, partner, *FOUR.jobs[2:]))
    for job in "cd":
        assert daemons.schedules[job] == before[job]
    for job in "ab":
        assert daemons.schedules[job].version > before[job].version
        assert daemons.schedules[job].component != before[job].component


def test_a_changed_component_begins_where_somebody_need_not_move() -> None:
    daemons = FakeDaemons()
    apply(daemons)
    before = dict(daemons.schedules)
    time.sleep(0.03)  # so that a fresh epoch would be another
    apply(daemons, pairs(burst("a", 200, 0, 85), *FOUR.jobs[1:]))
    assert min(moved(before[job], daemons.schedules[job]) for job in "ab") <= before["a"].dead_band_ns // 2


def test_who_joins_finds_its_place_and_the_others_keep_theirs() -> None:
    daemons = FakeDaemons()
    apply(daemons, pairs(burst("a", 200, 0, 60), burst("b", 200, 0, 60)))
    before = dict(daemons.schedules)
    three = [burst("a", 200, 0, 60), burst("b", 200, 0, 60), burst("c", 200, 0, 60)]
    routes = {job.id: ["up"] for job in three}
    apply(daemons, cc.Problem(three, [cc.Link("up", 50)], [cc.Candidate("c", routes)]))
    assert {one.component for one in daemons.schedules.values()} == {daemons.schedules["c"].component}
    assert min(moved(before[job], daemons.schedules[job]) for job in "ab") <= before["a"].dead_band_ns // 2


def test_who_is_left_alone_is_set_free_and_told_why() -> None:
    daemons = FakeDaemons()
    apply(daemons)
    left = cc.Problem([*FOUR.jobs[:1], *FOUR.jobs[2:]], FOUR.links, [cc.Candidate("c", _routes_without("b"))])
    answers = apply(daemons, left)
    assert sorted(daemons.schedules) == ["c", "d"]
    assert (answers["a"].free, answers["a"].reason) == (True, "it meets no other job on a link")
    assert (answers["b"].free, answers["b"].reason) == (True, "the placement does not have it")
    assert not any(one.attempts for one in apply(daemons, left).values())


def _routes_without(job: str) -> dict[str, list[str]]:
    return {one: list(route) for one, route in FOUR.candidates[0].routes.items() if one != job}


def test_a_job_that_lost_its_schedule_gets_it_and_its_partner_is_not_moved() -> None:
    daemons = FakeDaemons()
    apply(daemons)
    before = dict(daemons.schedules)
    del daemons.schedules["b"], daemons.versions["b"]
    time.sleep(0.03)
    apply(daemons)
    after = daemons.schedules
    assert after["b"].version == after["a"].version > before["a"].version
    assert all(moved(before[job], after[job]) <= before[job].dead_band_ns // 2 for job in "ab")
    assert (after["c"], after["d"]) == (before["c"], before["d"])


def test_a_daemon_that_is_away_moves_nobody() -> None:
    daemons = Silent("b")
    daemons.silent = ""
    apply(daemons)
    before, daemons.silent = dict(daemons.schedules), "b"
    answers = apply(daemons)
    assert daemons.schedules == before
    assert [answers[job].accepted for job in "abcd"] == [True, False, True, True]
    assert "TimeoutError" in answers["b"].reason
    assert answers["b"].schedule == before["b"]


@given(
    silent=st.sampled_from("abcd"),
    move=st.integers(-(10**9), 10**9),
    turn=st.integers(-3, 3),
    longer=st.sampled_from([0, 0, 10**5]),
    later=st.integers(0, 10**9),
)
def test_a_job_whose_daemon_is_away_stays_in_its_component(
    silent: str, move: int, turn: int, longer: int, later: int
) -> None:
    """A coordinator goes on with what is acknowledged: without the job it would move the others away from it.

    The plan may count its shifts from another epoch, by ``later``.
    """
    daemons = FakeDaemons()
    daemons.schedules = {one.job: replace(one, expires_ns=10**18 + SECOND_NS) for one in PLANNED.schedules}
    for jobs in ("ab", "cd"):
        coordinated(daemons, jobs, move, turn, longer)
    has = {job: replace(one, shift_ns=(one.shift_ns + later) % one.pace_ns) for job, one in daemons.schedules.items()}
    known: dict[str, JobStatus | str] = {
        job: JobStatus(job, "held", one.version, schedule=one) for job, one in has.items()
    }
    found = difference(PLANNED, {**known, silent: "no answer"}, version=9, now_ns=10**18, lease_ns=SECOND_NS)
    assert found.keys() == has.keys()
    assert not any(one.version for one in found.values())  # nothing is sent
    kept, really = found[silent].schedule, has[silent]
    assert kept is not None
    assert replace(kept, shift_ns=0) == replace(really, shift_ns=0)
    if not longer:  # but for whole turns, which change nothing between jobs, it is what the daemon has
        partners = [one for one in has.values() if one.component == really.component]
        of_turn = dict(zip([one.job for one in partners], turns([one.pace_ns for one in partners]), strict=True))
        assert (kept.shift_ns - really.shift_ns) % of_turn[silent] == 0


class Silent(FakeDaemons):
    """One job's daemon does not answer."""

    def __init__(self, silent: str) -> None:
        super().__init__()
        self.silent = silent

    async def look(self, endpoint: dispatch.Endpoint, jobs: list[str]) -> list[dict[str, Any]]:
        if self.silent in jobs:
            raise TimeoutError
        return await super().look(endpoint, jobs)


def test_the_same_grids_last_longer_when_half_of_their_time_is_over() -> None:
    daemons = FakeDaemons()
    apply(daemons, lease_s=3600)
    before = dict(daemons.schedules)
    apply(daemons, lease_s=7000)
    assert daemons.schedules == before
    apply(daemons, lease_s=8000)
    for job, old in before.items():
        new = daemons.schedules[job]
        assert new.version > old.version
        assert new.expires_ns > old.expires_ns
        assert moved(old, new) == 0


def test_what_ran_out_long_ago_goes_on_on_its_grid() -> None:
    """The scheduler was away for a day: no daemon takes an epoch of then."""
    daemons = FakeDaemons()
    apply(daemons)
    for job, one in daemons.schedules.items():
        daemons.schedules[job] = replace(
            one, epoch_ns=one.epoch_ns - 90_000 * SECOND_NS, expires_ns=one.expires_ns - 90_000 * SECOND_NS
        )
    before = dict(daemons.schedules)
    apply(daemons)
    for job, old in before.items():
        daemons.schedules[job].check_near(time.time_ns())
        assert moved(old, daemons.schedules[job]) == 0


@pytest.mark.parametrize("version", [2**53, 2**53 + 1, 10**30])
def test_a_daemon_that_knows_no_newer_version_costs_its_own_component_alone(version: int) -> None:
    daemons = FakeDaemons(versions={"a": version})
    answers = apply(daemons)
    assert not answers["a"].accepted
    assert answers["c"].accepted
    assert answers["d"].accepted


def test_versions_that_a_daemon_knows_are_passed() -> None:
    """A coordinator, or a scheduler whose clock was ahead."""
    daemons = FakeDaemons(versions={"a": 2**51, "c": 2**52})
    assert all(one.accepted for one in apply(daemons).values())
    assert daemons.schedules["a"].version == daemons.schedules["b"].version == 2**51 + 1


def test_a_torn_component_is_made_one_again() -> None:
    """As where a coordinator was stopped while it sent."""
    daemons = FakeDaemons()
    apply(daemons)
    one = daemons.schedules["a"]
    daemons.schedules["a"] = replace(one, version=one.version + 1, epoch_ns=one.epoch_ns + 7 * MS_NS)
    daemons.versions["a"] = one.version + 1
    apply(daemons)
    assert daemons.schedules["a"].epoch_ns == daemons.schedules["b"].epoch_ns
    assert daemons.schedules["a"].version == daemons.schedules["b"].version > one.version + 1


# --- the hold of a component ------------------------------------------------------------------------------------------


@st.composite
def components(draw: st.DrawFn, names: str) -> cc.Problem:
    """Jobs of one iteration time on a link or two of their own."""
    iteration = draw(st.integers(100, 300))
    jobs = [
        burst(name, iteration, draw(st.integers(0, 50)), draw(st.integers(5, iteration // len(names))), 45)
        for name in names
    ]
    links = [f"{name}-{names}" for name in draw(st.sampled_from([("x",), ("x", "y")]))]
    routes = {job.id: links for job in jobs}
    return cc.Problem(jobs, [cc.Link(link, 50) for link in links], [cc.Candidate("c", routes)])


@settings(max_examples=60)
@given(one=components("ab"), other=components("cde"))
def test_the_hold_of_a_component_is_that_of_the_component_alone(one: cc.Problem, other: cc.Problem) -> None:
    routes = {**one.candidates[0].routes, **other.candidates[0].routes}
    both = cc.Problem([*one.jobs, *other.jobs], [*one.links, *other.links], [cc.Candidate("c", routes)])
    together = {each.job: each for each in planned(both).schedules}
    for alone in (one, other):
        for each in planned(alone).schedules:
            assert (together[each.job].hold_ns, together[each.job].slack_ns) == (each.hold_ns, each.slack_ns)
            assert together[each.job].component == each.component


def planned(problem: cc.Problem) -> dispatch.Plan:
    return dispatch.plan(cc.rank(problem), problem, epoch_ns=10**18)


def test_a_tight_component_does_not_narrow_a_roomy_one() -> None:
    plan = planned(
        pairs(burst("a", 200, 0, 99), burst("b", 200, 0, 99), burst("c", 200, 0, 20), burst("d", 200, 0, 20))
    )
    hold = {one.job: one.hold_ns / MS_NS for one in plan.schedules}
    assert hold["a"] == hold["b"] < 3
    assert hold["c"] == hold["d"] > 35


def test_names_say_what_is_planned_and_nothing_else() -> None:
    again = dispatch.plan(cc.rank(FOUR), FOUR, epoch_ns=1)
    assert [one.component for one in again.schedules] == [one.component for one in planned(FOUR).schedules]
    long = pairs(burst("x" * 256, 200, 0, 90), burst("y" * 256, 200, 0, 90))
    assert len({one.component for one in planned(long).schedules}) == 1


def test_an_old_epoch_is_told_in_a_newer_way() -> None:
    """What the two functions that are used for it promise."""
    one = planned(FOUR).schedules[0]
    now = one.epoch_ns + 10**15
    later = with_recent_epoch({"a": one}, now)["a"]
    assert moved(one, later) == 0
    assert now - epoch_near(now, [later]) < later.pace_ns
