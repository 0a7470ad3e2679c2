"""Themis over many rounds: leases, capacity, equal fairness of candidates, work that is conserved."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core.placement.cluster import Cluster
from cassini_core.schedulers.state import Allocation, ClusterState, check_allocation, placement_of, where_of
from cassini_core.schedulers.themis.fairness import Contention, Fairness, Level, level_of
from cassini_core.schedulers.themis.places import Places
from cassini_core.schedulers.themis.themis import Themis
from cassini_core.topology.model import Cable, Host, Switch, Topology
from training_tasks import network, plain, states, task

OVERSUBSCRIPTION = 2.0


def rho(state: ClusterState, allocation: Allocation, name: str, contention: float, lease_s: float) -> float:
    """As the paper has it, of a task that sends half of its time if it has several workers."""
    one = state.by_id[name]
    hosts = allocation.get(name, {})
    workers = sum(hosts.values())
    share = state.cluster.gpus.sum() / contention / one.gpus_per_worker
    ideal_s = one.iterations / one.rate(one.requested_workers) * max(1.0, one.requested_workers / share)
    elapsed_s = state.now_s - one.arrival_s

    def left_s(count: int, across: bool) -> float:
        up = 0.5 if count > 1 else 0.0
        return one.left_iterations / one.rate(count) * (1.0 + up * (OVERSUBSCRIPTION - 1.0) * across)

    if workers:
        across = level_of(state.cluster, where_of(state.cluster, hosts)) is Level.ACROSS
        return (elapsed_s + left_s(workers, across)) / ideal_s
    bounds = (one.min_workers, one.requested_workers, one.max_workers)
    return (elapsed_s + lease_s + max(left_s(count, True) for count in bounds)) / ideal_s


@given(states(), st.integers(1, 8), st.booleans(), st.integers(0, 3))
def test_candidates_fit_are_equally_fair_and_leave_no_gpu_that_is_of_use(
    state: ClusterState, most: int, moves: bool, seed: int
) -> None:
    themis = Themis(moves=moves, seed=seed)
    proposed = themis.propose(state, most)
    assert 1 <= len(proposed) <= most
    contention = Contention().update(state)
    for allocation in proposed:
        check_allocation(state, allocation)
        found = {one.id: rho(state, allocation, one.id, contention[one.id], 600.0) for one in state.tasks}
        assert found == pytest.approx(themis.rhos)
        placement = placement_of(state, allocation)
        for number, one in enumerate(state.tasks):
            has = sum(allocation.get(one.id, {}).values())
            more = 1 if has else one.min_workers
            assert has + more > one.max_workers or placement.room(number).sum() < more
    assert all(0.0 < part <= 1.0 for part in themis.paid.values())


@given(states(), st.integers(0, 3))
def test_the_first_is_the_same_however_many_are_asked_for(state: ClusterState, seed: int) -> None:
    first = plain(Themis(seed=seed).propose(state, 1)[0])
    assert first == plain(Themis(seed=seed).propose(state, 10)[0])
    assert first == plain(Themis(moves=True, seed=seed).propose(state, 10)[0])


@settings(max_examples=30)
@given(states(), st.randoms(use_true_random=False), st.sampled_from([300.0, 600.0, 1500.0]))
def test_what_is_leased_stays_until_the_lease_is_over(state: ClusterState, rng: random.Random, lease_s: float) -> None:
    themis = Themis(lease_s=lease_s)
    state = replace(state, running={})
    granted: list[tuple[float, str, str]] = []
    for _ in range(6):
        allocation = rng.choice(themis.propose(state, 4))
        held = [(task_id, host) for task_id, hosts in allocation.items() for host, n in hosts.items() for _ in range(n)]
        kept = [one for one in granted if one[0] > state.now_s and one[1] in state.by_id]
        for _, task_id, host in kept:
            assert (task_id, host) in held
            held.remove((task_id, host))
        granted = kept + [(state.now_s + lease_s, task_id, host) for task_id, host in held]
        tasks = [one for one in state.tasks if rng.random() < 0.9]
        running = {one.id: allocation[one.id] for one in tasks if one.id in allocation}
        state = ClusterState(state.cluster, state.now_s + rng.choice([10.0, 310.0, 600.0]), tasks, running)


def test_it_wants_to_be_asked_when_the_next_lease_is_over() -> None:
    """Leases that were granted at different times are over at different times, and stay apart."""
    themis, cluster = Themis(lease_s=600.0), network(1, 4, 1)
    tasks = [task("a", 2), task("b", 2, arrival_s=250.1)]
    running: dict[str, dict[str, int]] = {}
    now_s, asked, expires_s = 0.0, [], {"a": 0.0, "b": 250.1}
    for _ in range(8):
        there = [one for one in tasks if one.arrival_s <= now_s]
        (allocation,) = themis.propose(ClusterState(cluster, now_s, there, running), 1)
        running = {name: dict(hosts) for name, hosts in allocation.items()}
        asked.append(now_s)
        # Whose lease is over has a new one; the other one's is looked at no sooner than it is over.
        over = [name for name, at_s in expires_s.items() if at_s == pytest.approx(now_s)]
        assert len(over) == 1
        expires_s[over[0]] = now_s + 600.0
        assert themis.interval_s is not None
        now_s += themis.interval_s if len(asked) > 1 else 250.1
    assert asked == pytest.approx([0.0, 250.1, 600.0, 850.1, 1200.0, 1450.1, 1800.0, 2050.1])


def test_a_task_that_wins_what_it_gave_up_stays_where_it_is() -> None:
    cluster = network(3, 4, 1)
    running = {"a": {"h1-1": 1, "h2-2": 1, "h3-3": 1}, "b": {"h1-2": 1, "h2-3": 1}}
    state = ClusterState(cluster, 600.0, [task("a", 3), task("b", 2), task("c", 7)], running)
    for allocation in Themis().propose(state, 10):
        assert {name: allocation[name] for name in running} == running
    first, *others = Themis(moves=True).propose(state, 10)
    assert {name: first[name] for name in running} == running
    assert any(allocation["a"] != running["a"] for allocation in others)
    assert any(allocation["b"] != running["b"] for allocation in others)


def test_a_task_whose_lease_is_not_over_never_moves() -> None:
    themis, cluster = Themis(moves=True), network(3, 4, 1)
    tasks = [task("a", 3), task("b", 2)]
    (first,) = themis.propose(ClusterState(cluster, 0.0, tasks), 1)
    for now_s, may in ((300.0, False), (700.0, True)):
        proposed = themis.propose(ClusterState(cluster, now_s, [*tasks, task("c", 4)], first), 10)
        assert (len({tuple(sorted(one["a"])) for one in proposed}) > 1) == may


def test_candidates_differ_in_who_gives_to_whom_and_in_which_workers_are_given() -> None:
    """The paper's example: two tasks win two workers each, one loses one worker and another three."""
    cluster = network(4, 4, 1)
    hosts = list(cluster.hosts)
    elastic = {"min_workers": 1, "max_workers": 16}
    tasks = [task(name, 4, iterations=1e6, **elastic) for name in ("k1", "k2")]
    tasks += [task(name, 4, min_workers=4, max_workers=4) for name in ("j1", "j2")]
    running = {"k1": dict.fromkeys(hosts[:8], 1), "k2": dict.fromkeys(hosts[8:], 1)}
    state = ClusterState(cluster, 600.0, tasks, running)
    themis = Themis(fairness=0.0)
    proposed = themis.propose(state, 10)
    counts = [{name: sum(one.values()) for name, one in allocation.items()} for allocation in proposed]
    assert all(one == counts[0] for one in counts)
    assert counts[0]["k1"] < 8
    assert len({tuple(sorted(one["k1"])) for one in proposed}) > 1
    assert len({(tuple(sorted(one["j1"])), tuple(sorted(one["j2"]))) for one in proposed}) > 1


def test_a_rack_is_worth_more_than_hosts_across_racks() -> None:
    state = ClusterState(network(2, 2, 1), 600.0, [task("a", 2)])
    fairness = Fairness(state, {"a": 1.0}, 600.0, OVERSUBSCRIPTION)
    near, far = (fairness.rho(state.tasks[0], 2, level) for level in (Level.RACK, Level.ACROSS))
    assert far == pytest.approx(near + 100.0 / 200.0)
    (allocation,) = Themis().propose(state, 1)
    assert len(np.unique([state.cluster.leaf[state.cluster.number[host]] for host in allocation["a"]])) == 1


def test_contention_is_averaged_over_the_time_since_arrival() -> None:
    cluster, contention = network(1, 1, 1), Contention()
    a, b = task("a", 1), task("b", 1, arrival_s=100.0)
    assert contention.update(ClusterState(cluster, 0.0, [a])) == {"a": 1.0}
    assert contention.update(ClusterState(cluster, 100.0, [a, b])) == {"a": 1.0, "b": 2.0}
    assert contention.update(ClusterState(cluster, 400.0, [a, b])) == {"a": 1.75, "b": 2.0}


def test_the_tasks_that_are_farthest_from_fair_take_part() -> None:
    tasks = [task(f"t{n}", 1, arrival_s=100.0 * n, iterations=100) for n in range(10)]
    themis = Themis()
    themis.propose(ClusterState(network(1, 2, 1), 1000.0, tasks), 1)
    assert themis.paid.keys() == {"t0", "t1"}


def test_workers_of_several_gpus_find_room_where_gpus_are_scattered() -> None:
    cluster = network(2, 2, 3)
    tasks = [task("a", 4, gpus_per_worker=2, min_workers=1, max_workers=6), task("b", 3, min_workers=1, max_workers=9)]
    for seed in range(5):
        state = ClusterState(cluster, 0.0, tasks)
        for allocation in Themis(seed=seed).propose(state, 10):
            placement = placement_of(state, allocation)
            for number, one in enumerate(tasks):
                assert sum(allocation[one.id].values()) == one.max_workers or not placement.room(number).any()


def two_parts() -> Cluster:
    """Two leaf switches with a host of one GPU each under one spine, twice; no path between the two."""
    hosts, switches, cables = [], [], []
    for part in "xy":
        switches.append(Switch(f"s{part}", 2))
        for rack in "12":
            switches.append(Switch(f"l{part}{rack}", 1))
            hosts.append(Host(f"h{part}{rack}", 1))
            cables += [Cable(f"l{part}{rack}", f"s{part}"), Cable(f"h{part}{rack}", f"l{part}{rack}")]
    return Cluster(Topology(tuple(hosts), tuple(switches), tuple(cables)))


@pytest.mark.parametrize("moves", [False, True])
def test_no_candidate_has_a_task_on_hosts_without_a_path(moves: bool) -> None:
    tasks = [task(name, 2, min_workers=2, max_workers=2) for name in "ab"]
    for running in ({}, {"a": {"hx1": 1, "hx2": 1}, "b": {"hy1": 1, "hy2": 1}}):
        for seed in range(20):
            proposed = Themis(moves=moves, seed=seed).propose(ClusterState(two_parts(), 10.0, tasks, running), 10)
            assert all(len({host[1] for host in one[name]}) == 1 for one in proposed for name in "ab")


def test_gpus_apart_in_parts_are_of_no_use_to_a_task_that_needs_them_together() -> None:
    tasks = [task(name, 1, min_workers=1, max_workers=1) for name in "ab"]
    tasks.append(task("w", 2, min_workers=2, max_workers=2))
    state = ClusterState(two_parts(), 10.0, tasks, {"a": {"hx1": 1}, "b": {"hy1": 1}})
    places = Places(state, {}, moves=True)
    others = places.others(places.first([1, 1, 0], random.Random(0)), random.Random(0))
    found = [next(others) for _ in range(50)]
    assert len({str(sorted((name, *one[name]) for name in "ab")) for one in found}) > 1


def test_a_large_cluster_has_as_many_candidates_as_asked_for() -> None:
    """Where to draw all tasks anew at random hardly ever leaves all of them as far apart as they are."""
    tasks = [task(f"t{n}", 1 + n % 9, min_workers=1, max_workers=12, arrival_s=10.0 * n) for n in range(20)]
    assert len(Themis().propose(ClusterState(network(6, 4, 4), 600.0, tasks), 10)) == 10
