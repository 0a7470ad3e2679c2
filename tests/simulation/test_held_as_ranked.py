"""From a ranking to the network: jobs whose links score 1 and that are held at their shifts never meet."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cassini_core as cc

pytest.importorskip("numba")

from cassini_core.ranking.holding import held_components
from cassini_core.simulation.holding import AgentHold, Grid
from cassini_core.simulation.network import NetworkSimulation

LINKS = ("x", "y", "z")

LONGER = 1.002
"""Paces have a margin, by which late jobs come back."""


@st.composite
def placements(draw: st.DrawFn) -> cc.Problem:
    """Two to four jobs with one or two bursts, whose periods divide, on up to three links with multipliers."""
    jobs, routes = [], {}
    for number in range(draw(st.integers(2, 4))):
        period = draw(st.sampled_from([100, 200, 400]))
        bursts = draw(st.integers(1, 2))
        phases = [
            cc.Phase(
                draw(st.integers(0, period - 1)), draw(st.integers(5, period // 5)), draw(st.sampled_from([30, 50]))
            )
            for _ in range(bursts)
        ]
        if any(period - phase.start_ms < phase.duration_ms for phase in phases) or _overlap(phases):
            phases = phases[:1]
        jobs.append(cc.Job(f"j{number}", period, phases))
        routes[f"j{number}"] = draw(
            st.dictionaries(st.sampled_from(LINKS), st.sampled_from([0.5, 1.0]), min_size=1, max_size=3)
        )
    return cc.Problem(jobs, [cc.Link(link, 50) for link in LINKS], [cc.Candidate("c", routes)])


def _overlap(phases: list[cc.Phase]) -> bool:
    in_order = sorted(phases, key=lambda one: one.start_ms)
    return any(one.start_ms + one.duration_ms >= other.start_ms for one, other in pairwise(in_order))


BACK_TO_BACK = cc.Problem(
    [
        cc.Job("j0", 200, [cc.Phase(17, 11, 50)]),
        cc.Job("j1", 100, [cc.Phase(0, 10, 30), cc.Phase(11, 5, 50)]),
        cc.Job("j2", 400, [cc.Phase(79, 11, 50)]),
    ],
    [cc.Link(link, 50) for link in LINKS],
    [cc.Candidate("c", {"j0": {"x": 1.0}, "j1": {"x": 0.5}, "j2": {"x": 1.0}})],
)


@given(placements(), st.booleans(), st.integers(0, 2**32))
@example(BACK_TO_BACK, False, 0)
@settings(deadline=None, max_examples=20)
def test_jobs_that_are_held_at_compatible_shifts_are_as_fast_as_alone(
    problem: cc.Problem, agent: bool, seed: int
) -> None:
    ranking = cc.rank(problem)
    best = ranking.best
    assert best is not None
    if best.score != 1.0:
        return
    jobs = {job.id: job for job in problem.jobs}
    routes = problem.candidates[0].routes
    simulation = NetworkSimulation(dict.fromkeys(LINKS, 50.0))
    late = np.random.default_rng(seed)
    together = {job: one for one in held_components(ranking, problem) for job in one.jobs}
    for name, job in jobs.items():
        hold: Grid | AgentHold | None = None
        if (
            name in together
            and together[name].hold_ms > 1.0
            and together[name].gain_ms[name] > 0.005 * job.iteration_ms
        ):
            hold = grid = Grid(best.shifts_ms[name] * LONGER, ranking.paces_ms[name] * LONGER)
            if agent:
                one = together[name]
                hold = AgentHold(grid, job.iteration_ms, one.hold_ms, best.slack_ms[name], one.gain_ms[name])
        elif name in together:
            return  # no room for what the margin turns, or it costs what is won
        simulation.add(job, routes[name], start_ms=late.uniform(0, job.iteration_ms), hold=hold)
    simulation.run(40_000.0)
    for name, found in simulation.take_iterations().items():
        expected = ranking.paces_ms[name] * LONGER if name in together else jobs[name].iteration_ms
        if agent:
            assert found.length_ms[-20:].mean() == pytest.approx(expected, rel=1e-3), name
        else:
            # Bursts that stand back to back overlap by what the margin adds between the two starts, in turn.
            turned_ms = (LONGER - 1) * max(ranking.paces_ms.values())
            assert found.length_ms[-10:] == pytest.approx(np.full(10, expected), abs=0.05 + turned_ms), name
            assert found.length_ms[-16:].mean() == pytest.approx(expected, abs=0.05), name
