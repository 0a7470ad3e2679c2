"""What holds of all candidate placements: room, workers, who stays, what is written and routed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import InputError, Job, Phase, rank
from cassini_core.placement import place as place_module
from cassini_core.placement.job_request import Hybrid, JobRequest, flows_of
from cassini_core.placement.place import Placements, place
from cassini_core.problem_file import problem_from_json, problem_to_json
from cassini_core.topology.generated import leaf_spine, paper_testbed, paper_two_gpus
from cassini_core.topology.model import Cable, Host, Switch, Topology
from cassini_core.topology.overlay import with_capacities
from cassini_core.topology.routing import Router, in_order_of_placement
from placing import rounds
from topologies import fabrics

BURST = [Phase(141, 114, 45)]
Round = tuple[Topology, list[JobRequest]]


def request(name: str, workers: int, hosts: dict[str, int] | None = None, gpus: int = 1) -> JobRequest:
    return JobRequest(Job(name, 255, BURST), workers, gpus, hosts=hosts)


def made(case: Round, seed: int = 0, move_running: bool = False, candidates: int = 8) -> Placements:
    return place(case[0], case[1], candidates=candidates, seed=seed, move_running=move_running)


@given(rounds(), st.booleans())
def test_no_host_has_more_jobs_than_gpus_and_each_placed_job_has_its_workers(case: Round, move: bool) -> None:
    network, requests = case
    by_id = {one.job.id: one for one in requests}
    answer = made(case, move_running=move)
    for candidate, placed in zip(answer.problem.candidates, answer.placed, strict=True):
        used: Counter[str] = Counter()
        for job, hosts in candidate.hosts.items():
            assert sum(hosts.values()) == by_id[job].workers
            for host, count in hosts.items():
                used[host] += count * by_id[job].gpus_per_worker
        assert all(used[host.id] <= (host.gpus or 0) for host in network.hosts)
        assert candidate.id == placed.id
        assert candidate.hosts.keys() == candidate.routes.keys() == by_id.keys() - set(placed.left_out)
        ran = {job for job, one in by_id.items() if one.hosts is not None and candidate.hosts[job] != one.hosts}
        assert ran == set(placed.moved)
        assert move or not ran
        assert f"-moves-{len(ran)}" in candidate.id or not ran


@given(rounds(), st.booleans(), st.integers(0, 3))
def test_the_same_seed_gives_the_same_bytes_and_they_are_read_back(case: Round, move: bool, seed: int) -> None:
    answer = made(case, seed, move)
    written = problem_to_json(answer.problem, differences=True)
    assert problem_from_json(written) == answer.problem
    assert problem_to_json(made(case, seed, move).problem, differences=True) == written


@given(rounds(), st.sampled_from(["spread", "hash"]))
def test_routes_are_those_of_the_workers_in_order_of_placement(case: Round, ecmp: str) -> None:
    network, requests = case
    router = Router(network, ecmp=ecmp)  # type: ignore[arg-type]
    by_id = {one.job.id: one for one in requests}
    answer = place(network, requests, candidates=5, ecmp=ecmp)  # type: ignore[arg-type]
    used = set()
    for candidate in answer.problem.candidates:
        for job, hosts in candidate.hosts.items():
            workers = in_order_of_placement(network, [host for host, count in hosts.items() for _ in range(count)])
            flows = flows_of(by_id[job].pattern, by_id[job].workers)
            assert candidate.routes[job] == (router.route(workers, flows) if len(hosts) > 1 else {})
            used |= candidate.routes[job].keys()
    assert {link.id for link in answer.problem.links} == used


@given(rounds(), st.booleans())
def test_candidates_differ_and_the_first_leaves_all_that_run_where_they_are(case: Round, move: bool) -> None:
    _, requests = case
    answer = made(case, move_running=move)
    first, *others = answer.problem.candidates
    for one in requests:
        if one.hosts is not None:
            assert first.hosts[one.job.id] == one.hosts
    assert all(one.routes != first.routes for one in others)
    assert len({frozenset((j, frozenset(r.items())) for j, r in c.routes.items()) for c in (first, *others)}) == len(
        answer.problem.candidates
    )
    assert 1 <= len(answer.problem.candidates) <= 8


def test_equal_jobs_that_change_places_make_no_other_candidate() -> None:
    """Nor do hosts that nobody shares: two jobs of equal demand on two racks of four are placed in few ways."""
    network = with_capacities(leaf_spine(2, 1, 4))
    answer = place(network, [request("a", 4), request("b", 4)], gpus_per_host=1)
    # Each on a rack of its own; or three, two or one of its workers on the rack of the other, as rings cross racks.
    assert len(answer.problem.candidates) <= 4
    ranking = rank(answer.problem, exhaustive=True)
    assert len({one.id for one in ranking.candidates}) == len(answer.problem.candidates)


def test_jobs_without_room_are_left_out_and_later_ones_take_it() -> None:
    answer = place(paper_two_gpus(), [request("a", 5), request("b", 8), request("c", 7)], candidates=3)
    assert all(one.left_out == ("b",) for one in answer.placed)
    assert (answer.gpus, answer.running_gpus, answer.waiting_gpus) == (12, 0, 20)


def test_where_all_run_there_is_one_candidate_unless_they_may_move() -> None:
    jobs = [request("a", 2, {"server1": 1, "server5": 1}), request("b", 2, {"server2": 1, "server6": 1})]
    assert [one.id for one in place(paper_testbed(), jobs).placed] == ["running"]
    moved = place(paper_testbed(), jobs, move_running=True)
    assert [one.id for one in moved.placed][:2] == ["running", "swap-1-moves-1"]
    scores = {one.id: one.score for one in rank(moved.problem, exhaustive=True).candidates}
    assert max(scores.values()) == 1.0  # type: ignore[type-var]


def test_a_job_is_not_placed_where_no_path_leads() -> None:
    parts = Topology(
        [Host(name, 2) for name in "abcde"],
        [Switch("s", 1), Switch("t", 1)],
        [Cable(host, "s") for host in "ab"] + [Cable(host, "t") for host in "cd"],
    )
    answer = place(with_capacities(parts), [request("big", 5), request("four", 4), request("two", 2)], candidates=30)
    for candidate in answer.problem.candidates:
        assert "big" not in candidate.hosts
        assert set(candidate.hosts["four"]) in ({"a", "b"}, {"c", "d"})


@given(fabrics(), st.lists(st.integers(1, 6), min_size=1, max_size=4), st.sampled_from(["spread", "hash"]))
def test_networks_of_any_kind_have_paths_for_all_that_is_placed(
    network: Topology, workers: list[int], ecmp: str
) -> None:
    """Several parts, rails in different networks, storage, cables between equals, hosts without any cable."""
    jobs = [request(f"j{index}", count) for index, count in enumerate(workers)]
    made = place(with_capacities(network), jobs, gpus_per_host=2, candidates=6, ecmp=ecmp)  # type: ignore[arg-type]
    assert made.placed


def test_large_work_is_cut_short_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [request(f"j{k}", 5) for k in range(3)]
    assert not place(paper_testbed(), jobs).cut_short
    monkeypatch.setattr(place_module, "MAX_WORK", 5_000)
    cut = place(paper_testbed(), jobs)
    assert cut.cut_short
    assert 1 <= len(cut.placed) < 64
    monkeypatch.setattr(place_module, "MAX_SEARCHES", 3 * 24 - 1)
    with pytest.raises(InputError, match="at most 71 pairs of a job that waits and a host, got 3 jobs and 24 hosts"):
        place(paper_testbed(), jobs)


def test_jobs_that_cross_no_link_are_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each placement looks at every job: thousands on one host each took a minute beside the work that was counted."""
    network = with_capacities(leaf_spine(2, 1, 2))
    run = [request(f"r{k}", 1, {"h1-1": 1}) for k in range(1_000)]
    jobs = [*run, request("a", 3), request("b", 3)]
    assert not place(network, jobs, gpus_per_host=1_100).cut_short
    monkeypatch.setattr(place_module, "MAX_WORK", 1_000 * 200 * 5)
    assert place(network, jobs, gpus_per_host=1_100).cut_short


NETWORK = with_capacities(leaf_spine(2, 1, 2))

REFUSED = {
    "no job": (paper_testbed(), [], {}, "jobs: expected at least one"),
    "twins": (paper_testbed(), [request("a", 1), request("a", 1)], {}, "jobs[1].id: expected an id of its own"),
    "GPUs not known": (NETWORK, [request("a", 1)], {}, "host 'h1-1' gpus: expected how many GPUs"),
    "capacity not known": (leaf_spine(2, 1, 2), [request("a", 1)], {"gpus_per_host": 1}, "expected a capacity"),
    "unknown host": (
        paper_testbed(),
        [request("a", 1, {"x": 1})],
        {},
        "jobs['a'].hosts: expected hosts of the network",
    ),
    "too many": (
        paper_two_gpus(),
        [request("a", 2, {"server1": 2}), request("b", 1, {"server1": 1})],
        {},
        "jobs on host 'server1': expected no more than its 2 GPUs, got 3 of 'a', 'b'",
    ),
    "candidates": (paper_testbed(), [request("a", 1)], {"candidates": 0}, "candidates: expected a whole number from 1"),
    "seed": (paper_testbed(), [request("a", 1)], {"seed": -1}, "seed: expected a whole number from 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused(name: str) -> None:
    network, requests, options, said = REFUSED[name]
    with pytest.raises(InputError) as refused:
        place(network, requests, **options)  # type: ignore[arg-type]
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"workers": 0}, "workers: expected a whole number from 1 to 100000, got 0"),
        ({"gpus_per_worker": 1.5}, "gpus_per_worker: expected"),
        ({"pattern": "star"}, "pattern: expected one of ring, tree, all_to_all, pipeline, or hybrid, got 'star'"),
        (
            {"workers": 6, "pattern": Hybrid(2, 2, 1, (("data", 1), ("tensor", 1)))},
            "expected data * tensor * pipeline of 6",
        ),
        ({"workers": 8000, "pattern": "all_to_all"}, "flows"),
        ({"hosts": {"a": 1}}, "hosts: expected 4 workers, those of the job, got 1"),
        ({"hosts": {"a": 0, "b": 4}}, "hosts['a']: expected a whole number"),
    ],
)
def test_wrong_requests_are_refused(wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InputError) as refused:
        JobRequest(Job("a", 10, []), **{"workers": 4, **wrong})  # type: ignore[arg-type]
    assert said in str(refused.value)


def test_a_hybrid_needs_a_share_for_each_kind_of_groups() -> None:
    assert Hybrid(2, 1, 2, {"pipeline": 1, "data": 3}).shares == (("data", 3.0), ("pipeline", 1.0))  # type: ignore[arg-type]
    with pytest.raises(InputError, match="shares: expected one of each of"):
        Hybrid(2, 1, 2, (("data", 1.0),))
