"""Jobs on one link: what is known without a simulation comes out of it."""

from __future__ import annotations

import pytest
from bench.testbed.one_link import arranged, run_beside

import cassini_core as cc


def pair(iteration_ms: float = 300.0, gbps: float = 50.0) -> list[cc.Job]:
    return [cc.Job(name, iteration_ms, [cc.Phase(iteration_ms - 120, 120, gbps)]) for name in "ab"]


def test_in_phase_two_jobs_take_twice_as_long_to_send() -> None:
    found = run_beside(
        pair(), "none", capacity_gbps=50.0, jitter_share=0.0, seed=0, seconds=20, warm_s=2, phases_ms={"a": 0, "b": 0}
    )
    for one in found.values():
        assert one.communication_ms.mean() == pytest.approx(240)
        assert one.iteration_ms.mean() == pytest.approx(420)


@pytest.mark.parametrize("holding", ["agent", "paper's rule"])
def test_held_they_send_as_if_alone_and_hardly_adjust(holding: str) -> None:
    found = run_beside(pair(), holding, capacity_gbps=50.0, jitter_share=0.01, seed=1, seconds=90)
    for one in found.values():
        assert one.communication_ms.mean() == pytest.approx(120, rel=0.001)
        assert one.iteration_ms.mean() < 306
        assert one.adjusted_per_minute == 0


def test_at_random_phases_the_mean_lies_between() -> None:
    means = [
        run_beside(pair(), "none", capacity_gbps=50.0, jitter_share=0.01, seed=seed, seconds=30, warm_s=2)["a"]
        for seed in range(8)
    ]
    mean = sum(one.communication_ms.mean() for one in means) / len(means)
    assert 125 < mean < 235


def test_jobs_without_a_common_time_are_not_held() -> None:
    other = cc.Job("c", 266.3, [cc.Phase(100, 120, 50)])
    plan = arranged([pair()[0], other], 50.0, 0.01, 0)
    assert not plan.schedules
    assert set(plan.free) == {"a", "c"}


def test_longer_paces_are_longer() -> None:
    (before, after) = (arranged(pair(), 50.0, 0.01, 0, longer).schedules[0].pace_ns for longer in (1.0, 1.1))
    assert after / before == pytest.approx(1.1, rel=0.01)


def test_loads_are_what_is_sent() -> None:
    found = run_beside(pair(), "none", capacity_gbps=50.0, jitter_share=0.0, seed=0, seconds=30, warm_s=2)
    for one in found.values():
        changes, gbps = one.loads.at_ms, one.loads.gbps
        sent = sum((end - begin) * rate for begin, end, rate in zip(changes, changes[1:], gbps, strict=False))
        assert sent == pytest.approx(120 * 50 * len(one.iteration_ms), rel=0.2)
