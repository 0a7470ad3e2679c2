"""Schedulers by name."""

from __future__ import annotations

import sys
from typing import get_args

import pytest

import cassini_core as cc
from cassini_core.placement.cluster import Cluster
from cassini_core.schedulers.in_order import Random
from cassini_core.schedulers.named import SchedulerName, scheduler_named
from cassini_core.schedulers.state import ClusterState, check_allocation
from training_tasks import racks_of, task


@pytest.mark.parametrize("name", get_args(SchedulerName))
def test_each_name_is_a_scheduler_that_proposes(name: SchedulerName) -> None:
    if name == "pollux":
        pytest.importorskip("pymoo")
    state = ClusterState(Cluster(racks_of(2, 2), 1), 0.0, [task("a", 2)])
    (allocation, *_) = scheduler_named(name, 3).propose(state, 1)
    check_allocation(state, allocation)
    assert set(allocation) == {"a"}


def test_the_seed_is_the_schedulers() -> None:
    state = ClusterState(Cluster(racks_of(3, 4), 1), 0.0, [task("a", 2), task("b", 3)])
    for seed in range(5):
        assert scheduler_named("random", seed).propose(state, 3) == Random(seed).propose(state, 3)


def test_what_is_not_there_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        cc.InputError, match="scheduler: expected one of first-fit, packed, random, themis, pollux, ide"
    ):
        scheduler_named("slurm")  # type: ignore[arg-type]
    for module in [one for one in sys.modules if one.startswith(("pymoo", "cassini_core.schedulers.pollux"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pymoo", None)
    with pytest.raises(cc.InputError, match=r"scheduler pollux: expected pymoo to be installed, got none; pip install"):
        scheduler_named("pollux")
