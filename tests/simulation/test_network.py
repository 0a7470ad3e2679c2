"""The network's simulator against an obvious one, and against what must hold of any."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core import InputError, Job, Phase

pytest.importorskip("numba")

from simulation.flow_oracle import OracleJob, iterations

from cassini_core.simulation.holding import AgentHold, Grid
from cassini_core.simulation.jitter import factors
from cassini_core.simulation.network import NetworkSimulation
from cassini_core.simulation.traffic import segments_of

LINKS = ("l0", "l1", "l2")
VGG = [Phase(110, 87, 50)]


@st.composite
def jobs(draw: st.DrawFn, job_id: str) -> Job:
    period = draw(st.integers(20, 120))
    phases = [
        Phase(draw(st.integers(0, period - 1)), draw(st.integers(1, period)), draw(st.sampled_from([5, 10, 25, 40])))
        for _ in range(draw(st.integers(0, 3)))
    ]
    return Job(job_id, period + draw(st.sampled_from([0.0, 0.37])), phases)


@st.composite
def scenarios(
    draw: st.DrawFn,
) -> tuple[dict[str, float], list[tuple[Job, dict[str, float], float, Grid | None, list[float]]]]:
    capacity = {link: draw(st.sampled_from([10.0, 25.0, 41.3, 100.0])) for link in LINKS}
    placed = []
    for number in range(draw(st.integers(1, 5))):
        job = draw(jobs(f"j{number}"))
        route = draw(st.dictionaries(st.sampled_from(LINKS), st.sampled_from([0.5, 1.0, 1.3, 2.0])))
        # Odd starts: events of two jobs at one time may be taken in any order.
        start = draw(st.integers(0, 100)) + 0.0137 * (number + 1)
        grid = Grid(draw(st.floats(0, 100)), job.iteration_ms * draw(st.sampled_from([1.0, 1.03, 1.4])))
        jitter = [1.0] * 64
        if draw(st.booleans()):
            jitter = [draw(st.sampled_from([0.9, 1.0, 1.013, 1.2])) for _ in range(64)]
        placed.append((job, route, start, grid if draw(st.booleans()) else None, jitter))
    return capacity, placed


def simulation_of(
    capacity: dict[str, float],
    placed: Sequence[tuple[Job, dict[str, float], float, Grid | None, list[float]]],
    watched: Sequence[str] = (),
) -> NetworkSimulation:
    simulation = NetworkSimulation(capacity, watched=watched)
    for job, route, start, grid, jitter in placed:
        simulation.add(job, route, start_ms=start, hold=grid, factors=itertools.chain(jitter, itertools.repeat(1.0)))
    return simulation


@given(scenarios())
@settings(deadline=None, max_examples=60)
def test_iterations_are_those_of_the_oracle(scenario) -> None:
    capacity, placed = scenario
    simulation = simulation_of(capacity, placed)
    simulation.run(1000.0)
    found = simulation.take_iterations()
    oracle = [
        OracleJob(
            segments_of(job),
            route,
            start,
            grid.at_ms if grid else 0.0,
            grid.pace_ms if grid else None,
            [*jitter, *[1.0] * 100],
        )
        for job, route, start, grid, jitter in placed
    ]
    for (job, *_), expected in zip(placed, iterations(oracle, capacity, 1000.0), strict=True):
        got = list(zip(found[job.id].start_ms, found[job.id].end_ms, strict=True)) if job.id in found else []
        # What ends at the very end may be seen or not.
        assert abs(len(got) - len(expected)) <= 1
        for one, other in zip(got, expected, strict=False):
            assert one == pytest.approx(other, abs=1e-6), job.id


@given(scenarios(), st.lists(st.floats(1, 999), max_size=4))
@settings(deadline=None, max_examples=30)
def test_runs_in_pieces_are_runs_at_once(scenario, stops) -> None:
    """To the last bit where nothing changes in between, and nearly where the arrays are made anew."""
    capacity, placed = scenario
    whole, pieces, rebuilt = (simulation_of(capacity, placed, LINKS) for _ in range(3))
    whole.run(1000.0)
    for stop in [*sorted(stops), 1000.0]:
        pieces.run(stop)
        rebuilt.run(stop)
        rebuilt.completed()
    expected, same, near = (each.take_iterations() for each in (whole, pieces, rebuilt))
    for job_id, one in expected.items():
        assert (one.end_ms == same[job_id].end_ms).all()
        assert (one.start_ms == same[job_id].start_ms).all()
        count = min(len(one.end_ms), len(near[job_id].end_ms))
        assert near[job_id].end_ms[:count] == pytest.approx(one.end_ms[:count], abs=1e-6)


@given(scenarios())
@settings(deadline=None, max_examples=30)
def test_what_was_asked_is_sent_and_links_carry_it(scenario) -> None:
    capacity, placed = scenario
    simulation = simulation_of(capacity, placed, LINKS)
    simulation.run(1000.0)
    completed, sent = simulation.completed(), simulation.sent_mbit()
    for job, *_ in placed:
        assert sent[job.id] == pytest.approx(
            completed[job.id] * sum(ms * gbps for ms, gbps in segments_of(job)), abs=1e-6
        )
    for link, load in simulation.take_loads().items():
        assert (load.gbps <= capacity[link] * (1 + 1e-6)).all()
        assert (np.diff(load.at_ms) > 0).all()
        crossing = [(job, route[link]) for job, route, *_ in placed if link in route]
        carried = load.mean_gbps(np.array([0.0, 1000.0]))[0] * 1000.0
        whole = sum(sent[job.id] * multiplier for job, multiplier in crossing)
        under_way = sum(multiplier * sum(ms * gbps for ms, gbps in segments_of(job)) for job, multiplier in crossing)
        assert whole * (1 - 1e-6) - 1e-3 <= carried <= whole + under_way + 1e-3


@given(jobs("a"), st.sampled_from([10.0, 25.0, 60.0]), st.floats(1, 3))
@settings(deadline=None, max_examples=30)
def test_a_job_alone_is_never_slower_with_more_capacity(job: Job, capacity: float, factor: float) -> None:
    lengths = []
    for each in (capacity, capacity * factor):
        simulation = NetworkSimulation({"l": each})
        simulation.add(job, {"l": 1.0})
        simulation.run(1000.0)
        lengths.append(simulation.take_iterations()["a"].length_ms.mean())
    assert lengths[1] <= lengths[0] * (1 + 1e-9)


@given(st.data(), st.integers(2, 5))
@settings(deadline=None, max_examples=30)
def test_a_bottleneck_that_always_sends_is_never_slower_without_one_of_its_jobs(
    data: st.DataObject, count: int
) -> None:
    """On one link, jobs that never compute: of periodic jobs this does not hold, as phases move."""
    wants = [data.draw(st.sampled_from([5.0, 20.0, 45.0])) for _ in range(count)]
    means = []
    for numbers in (range(count), range(count - 1)):
        simulation = NetworkSimulation({"l": 50.0})
        for number in numbers:
            simulation.add(Job(f"j{number}", 50 + number, [Phase(0, 50 + number, wants[number])]), {"l": 1.0})
        simulation.run(3000.0)
        means.append({job: one.length_ms.mean() for job, one in simulation.take_iterations().items()})
    for job, mean in means[1].items():
        assert mean <= means[0][job] * (1 + 1e-9)


def test_without_a_job_another_can_be_slower() -> None:
    """What one might expect, and what does not hold: ``c`` delays ``a``, which then does not meet ``b``."""
    lengths = []
    for with_c in (True, False):
        simulation = NetworkSimulation({"ab": 50.0, "ac": 50.0})
        simulation.add(Job("a", 100, [Phase(50, 50, 50)]), {"ab": 1.0, "ac": 1.0})
        simulation.add(Job("b", 100, [Phase(0, 50, 50)]), {"ab": 1.0}, start_ms=150.0)
        if with_c:
            simulation.add(Job("c", 1000, [Phase(0, 50, 50)]), {"ac": 1.0}, start_ms=50.0)
        simulation.run(500.0)
        lengths.append(simulation.take_iterations()["b"].length_ms[0])
    assert lengths == pytest.approx([100.0, 150.0])


@pytest.mark.parametrize("agent", [False, True])
def test_a_pair_with_jitter_is_held_apart(agent: bool) -> None:
    means = {}
    for held in (False, True):
        simulation = NetworkSimulation({"up": 50.0})
        for number, name in enumerate("ab"):
            grid = Grid(98.5 * number, 201.0)
            hold = AgentHold(grid, 197.0, 8.0, 8.0) if agent else grid
            drawn = factors("normal", 0.03, number)
            start = 98.5 * number
            simulation.add(Job(name, 197, VGG), {"up": 1.0}, start_ms=start, hold=hold if held else None, factors=drawn)
        simulation.run(60_000.0)
        means[held] = np.mean([one.length_ms.mean() for one in simulation.take_iterations().values()])
    assert means[False] > 215
    assert means[True] < 202


@pytest.mark.parametrize("agent", [False, True])
def test_jobs_that_cannot_be_interleaved_do_not_wait_for_what_never_comes(agent: bool) -> None:
    """Three jobs that each send half of the time: held they lose no more than some waits, where the link stands idle.

    Waiting for the next point whenever one is late, each iteration would take two paces.
    """
    means = {}
    for held in (False, True):
        simulation = NetworkSimulation({"up": 50.0})
        for number, name in enumerate("abc"):
            grid = Grid(66.0 * number, 202.0, 10.0)
            hold = AgentHold(grid, 200.0, 2.0, 2.0, gain_ms=20.0) if agent else grid
            job = Job(name, 200, [Phase(100, 100, 50)])
            simulation.add(job, {"up": 1.0}, start_ms=66.0 * number, hold=hold if held else None)
        simulation.run(120_000.0)
        means[held] = np.mean([one.length_ms.mean() for one in simulation.take_iterations().values()])
    assert means[False] == pytest.approx(300.0, rel=0.01)
    assert means[True] < 1.15 * means[False]


@pytest.mark.parametrize("agent", [False, True])
def test_other_shifts_are_taken_on_the_way(agent: bool) -> None:
    def hold(at_ms: float) -> Grid | AgentHold:
        return AgentHold(Grid(at_ms, 200.0), 197.0, 8.0, 8.0) if agent else Grid(at_ms, 200.0, 10.0, 0.1)

    simulation = NetworkSimulation({"up": 50.0})
    for name in "ab":
        simulation.add(Job(name, 197, VGG), {"up": 1.0}, hold=hold(0.0))
    simulation.run(5_000.0)
    before = simulation.take_iterations()
    simulation.hold("b", hold(98.5))
    simulation.run(20_000.0)
    after = simulation.take_iterations()
    assert before["a"].length_ms.mean() > 270
    assert after["a"].length_ms[-20:] == pytest.approx([200.0] * 20, abs=0.1)
    # The two are half a pace apart, whatever the controllers' dead band leaves.
    apart = (after["b"].start_ms[-1] - after["a"].start_ms[-1]) % 200.0
    assert 85 < apart < 115


def test_jobs_come_move_end_and_go() -> None:
    simulation = NetworkSimulation({"l": 50.0, "m": 50.0})
    always = [Phase(0, 100, 50)]
    simulation.add(Job("a", 100, always), {"l": 1.0})
    simulation.add(Job("b", 100, always), {"l": 1.0}, start_ms=100.0, iterations=3)
    assert simulation.run(300.0) is None  # a: 100 ms alone, then half the rate
    simulation.move("b", {"m": 1.0})  # in the middle: half of the first iteration was sent, none of it is lost
    assert simulation.run(10_000.0) == "b"
    assert simulation.now_ms == pytest.approx(300 + 200)
    assert simulation.jobs == ("a",)
    simulation.run(1_000.0)
    simulation.remove("a")
    found = simulation.take_iterations()
    assert found["b"].length_ms == pytest.approx([200.0, 100.0, 100.0])
    assert found["a"].length_ms == pytest.approx([100.0, 200.0, *[100.0] * 7])
    simulation.run(2_000.0)
    assert simulation.take_iterations() == {}
    with pytest.raises(InputError):
        simulation.remove("a")


def test_a_job_without_network_computes() -> None:
    simulation = NetworkSimulation({})
    simulation.add(Job("a", 100, [Phase(0, 30, 50)]), {})
    simulation.run(1000.0)
    assert simulation.take_iterations()["a"].length_ms == pytest.approx([100.0] * 10)


@pytest.mark.parametrize(
    ("route", "options"),
    [
        ({"x": 1.0}, {}),
        ({"l": 0.0}, {}),
        ({"l": 1.0}, {"start_ms": -1.0}),
        ({"l": 1.0}, {"start_ms": float("nan")}),
        ({"l": 1.0}, {"iterations": 0}),
    ],
)
def test_wrong_arguments_are_refused(route: dict[str, float], options: dict[str, float]) -> None:
    simulation = NetworkSimulation({"l": 50.0})
    with pytest.raises(InputError):
        simulation.add(Job("a", 100, VGG[:0]), route, **options)  # type: ignore[arg-type]
    assert simulation.jobs == ()
    with pytest.raises(InputError):
        NetworkSimulation({"l": 50.0}, watched=["x"])


def test_factors_that_end_are_refused() -> None:
    simulation = NetworkSimulation({"l": 50.0})
    simulation.add(Job("a", 100, []), {"l": 1.0}, factors=iter([1.0, 1.1]))
    with pytest.raises(InputError):
        simulation.run(1000.0)
