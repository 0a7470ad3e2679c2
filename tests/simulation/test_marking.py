"""Marks: the fixed points against the models they come from, and what the simulator counts against a queue in steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import InputError, Job, Phase

pytest.importorskip("numba")

from cassini_core.simulation.marking import Marking, dcqcn_share, dctcp_share
from cassini_core.simulation.network import NetworkSimulation

flows = st.integers(1, 64)
capacities = st.sampled_from([1.0, 10.0, 50.0, 100.0, 400.0])


def run(starts: list[float], marking: Marking, gbps: float = 50.0, until_ms: float = 3000.0, **phase: float) -> Any:
    simulation = NetworkSimulation({"l": 50.0}, marking=marking)
    for number, start in enumerate(starts):
        simulation.add(Job(f"j{number}", 197, [Phase(110, 87, gbps)]), {"l": 1.0}, start_ms=start)
    simulation.run(until_ms)
    return simulation.take_iterations()


@given(flows, capacities)
def test_dcqcn_neither_gains_nor_loses_at_its_share(count: int, gbps: float) -> None:
    """Equations of the fluid model at rest (Zhu et al. 2016, table 1), without taking marking to be rare."""
    packets_per_ms = gbps * 1e6 / 8 / 1024
    increase, timer, counter, alpha_ms, cut_ms, fast = 0.04e6 / 8 / 1024, 0.055, 1e7 / 1024, 0.055, 0.05, 5
    rate = packets_per_ms / count

    def excess(p: float) -> float:
        """Losses over gains, less 1: it grows with p."""
        quiet = np.log1p(-p)
        a, alpha = -np.expm1(cut_ms * rate * quiet), -np.expm1(alpha_ms * rate * quiet)
        b, d = (p / np.expm1(-each * quiet) for each in (counter, timer * rate))
        c, e = b * np.exp(fast * counter * quiet), d * np.exp(fast * timer * rate * quiet)
        return float(a * a * alpha / ((b + d) * (c + e)) / (cut_ms**2 * increase * rate) - 1)

    low, high = 1e-12, 0.05
    for _ in range(200):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if excess(middle) < 0 else (low, middle)
    share = dcqcn_share(count, packets_per_ms)
    if low < 0.005:  # beyond that marks are not rare, which the formula takes for granted
        assert low / 1.5 <= share <= low * 1.5


@given(flows, st.floats(0.1, 1e4), st.floats(1, 1e4), st.floats(1, 1e4))
def test_dctcp_swings_about_its_threshold(count: int, in_flight: float, low: float, more: float) -> None:
    share = dctcp_share(count, in_flight, low, low + more)
    assert 0 < share <= 1
    window = (in_flight + low + share * more) / count
    if share < 0.999:
        assert share**2 * (1 - share / 4) == pytest.approx((2 * window + 1) / (window + 1) ** 2, rel=1e-6)


@given(st.sampled_from(["dcqcn", "dctcp"]), flows, capacities)
def test_more_flows_are_marked_more(transport: Any, count: int, gbps: float) -> None:
    marking = Marking(transport=transport)
    assert 0 < marking.share(count, gbps) <= marking.share(count + 1, gbps) <= 1


@pytest.mark.parametrize("transport", ["dcqcn", "dctcp"])
def test_only_contention_marks(transport: Any) -> None:
    marking = Marking(transport=transport)
    packets = 87 * 50 * marking.packets_per_mbit
    for starts, gbps in (([0.0], 50.0), ([0.0], 80.0), ([0.0, 98.5], 50.0), ([0.0, 0.0], 25.0)):
        marks = [one.marked.sum() for one in run(starts, marking, gbps).values()]
        # One that wants more than the link has is contention too: with itself.
        assert (max(marks) > 0) == (gbps > 50)
    together = run([0.0, 0.0], marking)
    for one in together.values():
        assert (one.marked > 0).all()
        assert (one.marked < packets).all()
        assert one.marked == pytest.approx(np.full(len(one.marked), one.marked[0]))
    partly = run([0.0, 43.5], marking)
    assert 0 < partly["j0"].marked[0] < together["j0"].marked[0]


def test_contended_time_is_marked_at_the_share_and_its_begin_by_the_queue() -> None:
    """A queue in steps of 10 ns that grows while senders do not know, then the share, as the assumption says."""
    marking = Marking(reaction_ms=0.08)
    step = 1e-5
    queue = marked = 0.0
    low, high = (cells * marking.cell_bytes * 8e-6 for cells in (marking.min_cells, marking.max_cells))
    for _ in range(round(marking.reaction_ms / step)):
        queue += (100.0 - 50.0) * step
        marked += 100.0 * step * min(1.0, max(0.0, (queue - low) / (high - low)))
    onset = marked * marking.packets_per_mbit / 2  # of each job
    steady = 87 * 50 * marking.packets_per_mbit * marking.share(2, 50.0)
    found = run([0.0, 0.0], marking)
    assert found["j0"].marked[0] == pytest.approx(onset + steady, rel=1e-3)
    assert found["j1"].marked[0] == pytest.approx(onset + steady, rel=1e-3)
    assert onset > steady * 0.1


def test_marks_do_not_depend_on_how_often_a_run_stops() -> None:
    marking = Marking()
    whole = run([0.0, 30.0, 55.0], marking)
    simulation = NetworkSimulation({"l": 50.0}, marking=marking)
    for number, start in enumerate([0.0, 30.0, 55.0]):
        simulation.add(Job(f"j{number}", 197, [Phase(110, 87, 50)]), {"l": 1.0}, start_ms=start)
    for stop in np.linspace(1.0, 3000.0, 60):
        simulation.run(float(stop))
        simulation.completed()  # takes the arrays apart
    for job, one in simulation.take_iterations().items():
        assert one.marked == pytest.approx(whole[job].marked, rel=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [
        {"transport": "x"},
        {"min_cells": 3000.0},
        {"max_cells": float("inf")},
        {"cell_bytes": 0.0},
        {"packet_bytes": float("nan")},
        {"reaction_ms": -1.0},
        {"rtt_ms": float("inf")},
        {"flows_per_job": 0},
    ],
)
def test_wrong_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Marking(**wrong)
