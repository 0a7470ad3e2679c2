"""Schedulers without opinions: nothing that runs moves, no task waits beside room, candidates are as good."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.schedulers.ideal import Ideal
from cassini_core.schedulers.in_order import FirstFit, InOrder, Packed, Random, shape
from cassini_core.schedulers.state import ClusterState, check_allocation, placement_of, where_of
from training_tasks import network, plain, states, task

KINDS = [FirstFit, Packed, Random]


@pytest.mark.parametrize("kind", KINDS)
@given(state=states(), most=st.integers(1, 6))
def test_what_runs_stays_and_what_fits_runs(kind: type[InOrder], state: ClusterState, most: int) -> None:
    proposed = kind().propose(state, most)
    assert 1 <= len(proposed) <= most
    assert len({str(sorted((job, sorted(hosts.items())) for job, hosts in one.items())) for one in proposed}) == len(
        proposed
    )
    for allocation in proposed:
        check_allocation(state, allocation)
        assert allocation.keys() == proposed[0].keys()
        assert {name: allocation[name] for name in state.running} == plain(state.running)
        placement = placement_of(state, allocation)
        for number, one in enumerate(state.tasks):
            assert one.id in allocation or placement.room(number).sum() < one.requested_workers


@pytest.mark.parametrize("kind", KINDS)
@given(state=states())
def test_the_first_is_the_same_however_many_are_asked_for(kind: type[InOrder], state: ClusterState) -> None:
    assert kind().propose(state, 1)[0] == kind().propose(state, 10)[0]


@given(state=states())
def test_packed_places_are_as_good(state: ClusterState) -> None:
    first, *others = Packed().propose(state, 10)
    cluster = state.cluster
    shapes = {name: shape(cluster, where_of(cluster, hosts)) for name, hosts in first.items()}
    for other in others:
        assert shapes == {name: shape(cluster, where_of(cluster, hosts)) for name, hosts in other.items()}


def test_first_fit_fills_hosts_in_order() -> None:
    state = ClusterState(network(2, 2, 2), 0.0, [task("a", 3), task("b", 2)])
    assert FirstFit().propose(state, 1) == [{"a": {"h1-1": 2, "h1-2": 1}, "b": {"h1-2": 1, "h2-1": 1}}]


@given(state=states(), draw=st.randoms(use_true_random=False))
def test_other_places_of_first_fit_leave_no_gaps(state: ClusterState, draw: random.Random) -> None:
    """As first fit does from some host on: of the hosts between a task's, all have given what they had."""
    empty = placement_of(state, {})
    for number, one in enumerate(state.tasks):
        room = empty.room(number)
        where = FirstFit().other(state.cluster, room, one.requested_workers, draw)
        if where is not None:
            given_up, last = dict(where[:-1]), where[-1][0]
            taken = range(where[0][0], last)
            assert {host: int(room[host]) for host in taken if room[host]} == given_up


def test_ideal_gives_every_task_the_empty_cluster() -> None:
    state = ClusterState(network(2, 2, 2), 0.0, [task("a", 8), task("b", 8)])
    (allocation,) = Ideal().propose(state, 10)
    assert allocation["a"] == allocation["b"] == {"h1-1": 2, "h1-2": 2, "h2-1": 2, "h2-2": 2}
