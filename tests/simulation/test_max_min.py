"""The flow-level simulator against what can be said of it without running it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core import Job, Phase

pytest.importorskip("numba")

from cassini_core.simulation.max_min import max_min_rates
from cassini_core.simulation.measure import simulate
from cassini_core.simulation.traffic import Traffic, segments_of, traffic

CLOSE = 1e-9
VGG = [Phase(110, 87, 50)]


def on_one_link(*jobs: Job, capacity_gbps: float = 50.0) -> Traffic:
    return traffic([(job, {"l": 1.0}) for job in jobs], {"l": capacity_gbps})


@st.composite
def random_jobs(draw: st.DrawFn, job_id: str) -> Job:
    period = draw(st.integers(20, 120))
    phases = [
        Phase(draw(st.integers(0, period - 1)), draw(st.integers(0, period)), draw(st.sampled_from([0, 5, 10, 25, 40])))
        for _ in range(draw(st.integers(0, 3)))
    ]
    return Job(job_id, period, phases)


@st.composite
def networks(draw: st.DrawFn, max_jobs: int = 6) -> Traffic:
    """Jobs on up to four links, with multipliers."""
    names = [f"l{index}" for index in range(draw(st.integers(1, 4)))]
    multipliers = st.sampled_from([0.5, 1.0, 1.0, 1.0, 2.0, 3.0])
    placed = [
        (draw(random_jobs(f"j{index}")), draw(st.dictionaries(st.sampled_from(names), multipliers, min_size=1)))
        for index in range(draw(st.integers(1, max_jobs)))
    ]
    return traffic(placed, {name: draw(st.sampled_from([10.0, 25.0, 40.0, 100.0])) for name in names})


@given(random_jobs("a"))
def test_segments_are_the_demand_of_the_iteration(job: Job) -> None:
    segments = segments_of(job)
    assert sum(length for length, _ in segments) == pytest.approx(job.iteration_ms)
    assert all(length > 0 for length, _ in segments)
    assert all(one[1] != other[1] for one, other in pairwise(segments))
    now = 0.0
    for length, rate in segments:
        middle = now + length / 2
        wanted = sum(p.gbps for p in job.phases if (middle - p.start_ms) % job.iteration_ms < p.duration_ms)
        assert rate == pytest.approx(wanted)
        now += length


@given(networks(), st.data())
def test_rates_are_max_min_fair(network: Traffic, data: st.DataObject) -> None:
    """No link carries more than it can; whoever gets less than it wants has a full link where nobody is faster."""
    n_jobs = len(network.job_ids)
    want = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 7.5, 20.0, 60.0]), min_size=n_jobs, max_size=n_jobs)))
    rate = max_min_rates(network, want)
    assert (rate >= 0).all()
    assert (rate <= want).all()
    jobs = np.repeat(np.arange(n_jobs), np.diff(network.link_offset))
    load = np.bincount(network.link, network.multiplier * rate[jobs], minlength=len(network.capacity_gbps))
    assert (load <= network.capacity_gbps * (1 + CLOSE)).all()
    full = load >= network.capacity_gbps * (1 - CLOSE)
    fastest = np.zeros(len(load))
    np.maximum.at(fastest, network.link, rate[jobs])
    for job in np.flatnonzero(rate < want * (1 - CLOSE)):
        own = network.link[network.link_offset[job] : network.link_offset[job + 1]]
        assert any(full[link] and rate[job] >= fastest[link] * (1 - CLOSE) for link in own)


@given(random_jobs("a"), st.sampled_from([10.0, 30.0, 200.0]), st.floats(0, 50))
def test_a_job_alone_takes_its_solo_time(job: Job, capacity_gbps: float, start_ms: float) -> None:
    alone = on_one_link(job, capacity_gbps=capacity_gbps)
    measured = simulate(alone, np.array([start_ms]), warm_up=2, iterations=5)
    assert measured.iteration_ms == pytest.approx(alone.solo_ms())
    expected = sum(length * max(1.0, rate / capacity_gbps) for length, rate in segments_of(job))
    assert alone.solo_ms() == pytest.approx([expected])


@given(networks(), st.data(), st.booleans())
@settings(deadline=None)
def test_every_iteration_sends_its_volume(network: Traffic, data: st.DataObject, paced: bool) -> None:
    n_jobs = len(network.job_ids)
    start = np.array(data.draw(st.lists(st.floats(0, 120), min_size=n_jobs, max_size=n_jobs)))
    pace = network.solo_ms() * 1.02 if paced else None
    measured = simulate(network, start, pace_ms=pace, warm_up=2, iterations=5)
    assert measured.sent_gbit == pytest.approx(measured.completed * network.volume_gbit(), abs=1e-9)
    # Not 1.02 for paced jobs: one that came late out of the warm-up catches up.
    assert (measured.slowdown >= 1.0 - CLOSE).all()
    assert (measured.iterations >= 5).all()
    assert (measured.completed >= measured.iterations + 2).all()


@given(networks(), st.data(), st.integers(1, 1000))
@settings(deadline=None)
def test_only_differences_of_starts_matter(network: Traffic, data: st.DataObject, later_ms: int) -> None:
    n_jobs = len(network.job_ids)
    start = np.array(data.draw(st.lists(st.integers(0, 120), min_size=n_jobs, max_size=n_jobs)), dtype=np.float64)
    one, other = simulate(network, start, iterations=5), simulate(network, start + later_ms, iterations=5)
    # Ties of events are broken by rounding, and where a link is full that may count; the mean over all hardly moves.
    assert one.slowdown.mean() == pytest.approx(other.slowdown.mean(), rel=0.05)


@pytest.mark.parametrize("want", [50.0, 30.0])
def test_jobs_that_are_always_up_share_equally(want: float) -> None:
    jobs = [Job(name, period, [Phase(0, period, want)]) for name, period in (("a", 100), ("b", 100), ("c", 170))]
    measured = simulate(on_one_link(*jobs), np.array([0.0, 13.0, 40.0]))
    assert measured.slowdown == pytest.approx([3 * want / 50] * 3)


def test_a_job_that_wants_little_gets_it() -> None:
    jobs = [Job("a", 100, [Phase(0, 100, 10)]), Job("b", 100, [Phase(0, 100, 50)]), Job("c", 100, [Phase(0, 100, 50)])]
    assert simulate(on_one_link(*jobs), np.zeros(3)).slowdown == pytest.approx([1.0, 2.5, 2.5])


@pytest.mark.parametrize("pace_ms", [None, np.array([197.0, 197.0])])
@pytest.mark.parametrize(
    ("shift_ms", "slowdown"),
    [(0.0, (110 + 2 * 87) / 197), (98.5, 1.0), (87.0, 1.0), (110.0, 1.0), (30.0, 1 + 57 / 197)],
)
def test_two_jobs_in_phase_and_shifted(shift_ms: float, slowdown: float, pace_ms: np.ndarray | None) -> None:
    """In phase a 87 ms phase lasts twice as long; of a partial overlap each job loses the half of it, twice."""
    network = on_one_link(Job("a", 197, VGG), Job("b", 197, VGG))
    measured = simulate(network, np.array([0.0, shift_ms]), pace_ms=pace_ms)
    assert measured.slowdown == pytest.approx([slowdown] * 2)


def test_a_pace_keeps_jobs_apart_that_would_drift() -> None:
    """200 and 197 ms meet again and again; paced at 200 ms both stay apart and nobody waits for the other."""
    network = on_one_link(Job("a", 200, [Phase(110, 87, 50)]), Job("b", 197, VGG))
    start = np.array([0.0, 98.5])
    drifting = simulate(network, start, iterations=200)
    paced = simulate(network, start, pace_ms=np.array([200.0, 200.0]), iterations=200)
    assert paced.iteration_ms == pytest.approx([200.0, 200.0])
    assert paced.slowdown == pytest.approx([1.0, 200 / 197])
    assert drifting.slowdown.mean() > 1.02


def test_a_job_without_pace_runs_freely_beside_paced_ones() -> None:
    jobs = [Job("a", 100, [Phase(0, 20, 5)]), Job("b", 150, [Phase(0, 20, 5)])]
    measured = simulate(on_one_link(*jobs), np.zeros(2), pace_ms=np.array([np.nan, 180.0]))
    assert measured.iteration_ms == pytest.approx([100.0, 180.0])


def test_the_slowest_link_of_a_ring_governs() -> None:
    jobs = [Job(name, 100, [Phase(0, 100, 40)]) for name in "abc"]
    capacity = {"wide": 100.0, "narrow": 40.0}
    network = traffic(
        [(jobs[0], {"wide": 1.0, "narrow": 1.0}), (jobs[1], {"narrow": 1.0}), (jobs[2], {"wide": 1.0})], capacity
    )
    assert simulate(network, np.zeros(3)).slowdown == pytest.approx([2.0, 2.0, 1.0])
    assert max_min_rates(network, np.array([40.0, 40.0, 40.0])) == pytest.approx([20.0, 20.0, 40.0])


def test_a_job_with_several_flows_fills_a_link_sooner() -> None:
    jobs = [Job(name, 100, [Phase(0, 100, 40)]) for name in "ab"]
    network = traffic([(jobs[0], {"l": 3.0}), (jobs[1], {"l": 1.0})], {"l": 80.0})
    assert max_min_rates(network, np.array([40.0, 40.0])) == pytest.approx([20.0, 20.0])
    assert max_min_rates(network, np.array([40.0, 10.0])) == pytest.approx([70 / 3, 10.0])


@given(networks(3), st.data())
@settings(deadline=None, max_examples=30)
def test_it_agrees_with_stepping_through_time(network: Traffic, data: st.DataObject) -> None:
    """The same run in steps of 0.05 ms with rates from ``max_min_rates``: the same iteration times, nearly."""
    n_jobs, step = len(network.job_ids), 0.05
    start = np.array(data.draw(st.lists(st.integers(0, 60), min_size=n_jobs, max_size=n_jobs)), dtype=np.float64)
    measured = simulate(network, start, warm_up=1, iterations=3)
    segment, left, done = [-1] * n_jobs, start.tolist(), [0] * n_jobs
    ends: list[list[float]] = [[] for _ in range(n_jobs)]
    first, lengths, rates = (of.tolist() for of in (network.segment_offset, network.segment_ms, network.segment_gbps))
    goal = measured.completed.tolist()
    want, now = [0.0] * n_jobs, 0.0
    rate, changed = [0.0] * n_jobs, False
    while any(has < needs for has, needs in zip(done, goal, strict=True)):
        if changed:
            rate, changed = max_min_rates(network, np.array(want)).tolist(), False
        for job in range(n_jobs):
            left[job] -= step * (rate[job] if want[job] > 0 else 1.0)
            while left[job] <= 1e-7:
                segment[job] += 1
                if first[job] + segment[job] == first[job + 1]:
                    segment[job], done[job] = 0, done[job] + 1
                    ends[job].append(now + step)
                at = first[job] + segment[job]
                want[job], changed = rates[at], True
                left[job] = lengths[at] * (rates[at] if rates[at] > 0 else 1.0)
        now += step
    for job in range(n_jobs):
        last = measured.completed[job] - 1
        mean = (ends[job][last] - ends[job][last - measured.iterations[job]]) / measured.iterations[job]
        # One step of error for each of some ten changes of rate per iteration, and what those bring about.
        assert mean == pytest.approx(measured.iteration_ms[job], rel=0.05)
