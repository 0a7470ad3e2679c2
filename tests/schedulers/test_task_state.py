"""Tasks, states and allocations: what is refused, and what is the same in both notations."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from cassini_core.errors import InputError
from cassini_core.schedulers.state import ClusterState, allocation_of, check_allocation, placement_of
from training_tasks import network, plain, states, task


@given(states())
def test_an_allocation_survives_becoming_a_placement(state: ClusterState) -> None:
    placement = placement_of(state, state.running)
    assert allocation_of(state, placement) == plain(state.running)
    assert (placement.free >= 0).all()


def test_work_is_counted_in_iterations_of_the_requested_workers() -> None:
    weak, strong = task("a", 4, min_workers=1, max_workers=8), task("b", 4, scaling="strong", max_workers=8)
    assert weak.rate(4) == strong.rate(4) == 5.0
    assert weak.rate(8) == 10.0
    assert strong.rate(8) == 5.0
    assert weak.rate(0) == 0.0


@pytest.mark.parametrize(
    ("allocation", "what"),
    [
        ({"z": {"h1-1": 1}}, "ids of tasks"),
        ({"a": {"h9": 1}}, "hosts of the network"),
        ({"a": {"h1-1": 0}}, "whole number"),
        ({"a": {"h1-1": 1}}, "2 to 3 workers"),
        ({"a": {"h1-1": 2}, "b": {"h1-1": 1}}, "no more than its 2 GPUs"),
    ],
)
def test_what_cannot_be_is_refused(allocation: dict[str, dict[str, int]], what: str) -> None:
    tasks = [task("a", 2, max_workers=3), task("b", 1)]
    with pytest.raises(InputError, match=what):
        check_allocation(ClusterState(network(1, 2, 2), 0.0, tasks), allocation)


def test_tasks_are_kept_by_arrival() -> None:
    tasks = [task("a", 1, arrival_s=5.0), task("b", 1, arrival_s=1.0)]
    assert [one.id for one in ClusterState(network(1, 1, 1), 9.0, tasks).tasks] == ["b", "a"]


@pytest.mark.parametrize(
    ("field", "value"), [("iterations", 0), ("requested_workers", 0), ("max_workers", 1), ("profiles", 3), ("id", "")]
)
def test_a_wrong_task_is_refused(field: str, value: object) -> None:
    with pytest.raises(InputError):
        replace(task("a", 2), **{field: value})  # type: ignore[arg-type]
