"""The rounds that rankings are measured with are fixed, hold what they say, and never break a cluster's rules."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from bench.ranking import kinds, rounds
from bench.ranking.cluster import Cluster, NoRoomError
from bench.ranking.fabric import Fabric
from bench.ranking.replay import replay
from bench.ranking.rounds import Settings
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core import load_problem, rank
from cassini_core.problem_file import problem_to_json

SMALL = Settings(racks=12, gpus_per_rack=32, uplinks=4, jobs=90, candidates=20, moves=6)

# Of the problem file of SMALL: timings of two commits can only be compared on the same rounds.
FINGERPRINT = "f43acb3709f9b9d3"


def test_rounds_never_change() -> None:
    assert hashlib.sha256(problem_to_json(rounds.generate(SMALL))).hexdigest()[:16] == FINGERPRINT


def test_the_seed_matters_and_fewer_candidates_are_the_beginning_of_more() -> None:
    whole = rounds.generate(SMALL)
    assert rounds.generate(replace(SMALL, candidates=7)).candidates == whole.candidates[:7]
    assert rounds.generate(replace(SMALL, seed=1)).candidates != whole.candidates
    assert rounds.generate(replace(SMALL, perturbation=0.01)).candidates == whole.candidates


fabrics = st.builds(
    Fabric,
    racks=st.integers(2, 9),
    gpus_per_rack=st.integers(1, 64),
    uplinks=st.integers(1, 8),
    gbps=st.just(400.0),
)


@given(st.data(), fabrics)
def test_a_ring_crosses_an_uplink_and_a_downlink_of_each_of_its_racks(data: st.DataObject, fabric: Fabric) -> None:
    racks = data.draw(st.lists(st.integers(0, fabric.racks - 1), min_size=1, max_size=4, unique=True))
    route = fabric.ring_route(data.draw(st.text()), racks)
    assert set(route) <= {link.id for link in fabric.links()}
    expected = [f"rack{rack:03d}-{way}" for rack in racks for way in ("up", "down")] if len(racks) > 1 else []
    assert sorted(link.rstrip("0123456789") for link in route) == sorted(expected)
    # A flow keeps its spine from the uplink to the downlink.
    assert [link[-1] for link in route[::2]] == [link[-1] for link in route[1::2]]


def test_ecmp_spreads_flows_evenly_and_moving_one_rack_leaves_the_other_flows_where_they_are() -> None:
    fabric = Fabric(racks=64, gpus_per_rack=8, uplinks=8, gbps=400.0)
    spines = Counter(fabric.ring_route(f"job{index}", (index % 60, 63))[0][-1] for index in range(8000))
    assert len(spines) == 8
    assert all(850 <= count <= 1150 for count in spines.values())  # five standard deviations
    before, after = fabric.ring_route("a", (1, 2, 3, 4)), fabric.ring_route("a", (1, 2, 3, 9))
    assert before[:4] == after[:4]
    assert before[4:] != after[4:]


small_settings = st.builds(
    Settings,
    seed=st.integers(0, 1000),
    racks=st.integers(5, 9),
    gpus_per_rack=st.just(32),
    uplinks=st.integers(1, 4),
    jobs=st.integers(6, 25),
    candidates=st.integers(1, 4),
    moves=st.integers(0, 5),
    perturbation=st.sampled_from([0.0, 0.01]),
    perturb_jobs=st.booleans(),
)


@given(small_settings)
@settings(max_examples=40, deadline=None)
def test_a_round_is_what_its_settings_say(given_settings: Settings) -> None:
    problem = rounds.generate(given_settings)
    assert len(problem.jobs) == given_settings.jobs
    assert len(problem.candidates) == given_settings.candidates
    assert len(problem.links) == 2 * given_settings.racks * given_settings.uplinks
    spanning = int(given_settings.jobs / 3 + 1e-9)
    for candidate in problem.candidates:
        assert candidate.routes.keys() == {job.id for job in problem.jobs}
        racks = [len(route) / 2 for route in candidate.routes.values() if route]
        assert len(racks) == spanning
        assert all(2 <= count <= 4 and count == int(count) for count in racks)
    for job in problem.jobs:
        up = sum(phase.duration_ms for phase in job.phases) / job.iteration_ms
        assert 0.19 <= up <= 0.51  # a phase lasts whole ms
        assert 1 <= len(job.phases) <= 3
        assert all(100 <= phase.gbps <= 400 for phase in job.phases)
        off = min(abs(job.iteration_ms / period - 1) for period in kinds.ROUND_MS)
        assert off <= given_settings.perturbation + 1e-9


@given(small_settings)
@settings(max_examples=40, deadline=None)
def test_gpus_are_neither_lost_nor_given_twice(given_settings: Settings) -> None:
    cluster = rounds.current_placement(given_settings)
    before = cluster.copy()
    cluster.move_parts(random.Random("moves"), given_settings.moves)
    for one in (before, cluster):
        used = Counter(rack for job in one.jobs.values() for rack in job.racks for _ in range(job.gpus))
        assert one.free_gpus() == [32 - used[rack] for rack in range(given_settings.racks)]
        assert min(one.free_gpus()) >= 0
        assert all(len(set(job.racks)) == len(job.racks) for job in one.jobs.values())
    pairs = [(before.jobs[job], cluster.jobs[job]) for job in before.jobs]
    moved = sum(old != new for one, other in pairs for old, new in zip(one.racks, other.racks, strict=True))
    assert moved <= given_settings.moves


def test_too_many_jobs_and_moves_without_room_are_refused() -> None:
    with pytest.raises(NoRoomError, match="racks with"):
        rounds.generate(replace(SMALL, jobs=900))
    with pytest.raises(NoRoomError, match="parts were to be moved"):
        rounds.generate(replace(SMALL, racks=2, jobs=9))  # every such job is in both racks
    for wrong in ({"racks": 1}, {"jobs": 0}, {"spanning": 1.5}, {"perturbation": -0.1}, {"uplinks": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            rounds.generate(replace(SMALL, **wrong))  # type: ignore[arg-type]


def test_the_default_round_is_the_one_that_was_asked_for() -> None:
    """As many jobs on the network, and as many on one link, as ``bench/results/answered.md`` says."""
    problem = rounds.generate(Settings(candidates=5))
    for candidate in problem.candidates:
        jobs_on = Counter(link for route in candidate.routes.values() for link in route)
        links_with = Counter(jobs_on.values())
        shared = sum(count for jobs, count in links_with.items() if jobs > 1)
        assert 300 <= sum(map(bool, candidate.routes.values())) <= 360
        assert 780 <= len(jobs_on) <= 880
        assert 450 <= shared <= 550
        assert 0.45 <= links_with[2] / shared <= 0.6
        assert 0.1 <= sum(count for jobs, count in links_with.items() if jobs >= 4) / shared <= 0.25


def test_replayed_rounds_change_as_many_jobs_as_they_say() -> None:
    before: dict[str, dict[str, object]] | None = None
    seen: set[str] = set()
    problems = list(replay(replace(SMALL, candidates=1, moves=0), rounds=12, changed=0.1))
    assert problems == list(replay(replace(SMALL, candidates=1, moves=0), rounds=12, changed=0.1))
    assert problems[0] == rounds.generate(replace(SMALL, candidates=1, moves=0))
    for problem in problems:
        now = {job: dict(route) for job, route in problem.candidates[0].routes.items()}
        assert len(now) == SMALL.jobs
        assert sum(map(bool, now.values())) == 30
        if before is not None:
            arrived, left = now.keys() - before.keys(), before.keys() - now.keys()
            moved = [job for job in now.keys() & before.keys() if now[job] != before[job]]
            assert len(arrived) == len(left) == 3
            assert len(moved) <= 3
            assert not arrived & seen
        seen |= now.keys()
        before = now


def test_a_job_that_stays_is_the_same_job_in_all_rounds() -> None:
    first, *_, last = replay(replace(SMALL, candidates=1, perturbation=0.01, perturb_jobs=True), rounds=5)
    now = {job.id: job for job in last.jobs}
    stayed = [job for job in first.jobs if job.id in now]
    assert len(stayed) > SMALL.jobs / 2
    assert all(now[job.id] == job for job in stayed)


def test_perturbed_rounds_are_harmonised_by_the_ranking() -> None:
    problem = rounds.generate(replace(SMALL, candidates=1, perturbation=0.004))
    paces = rank(problem, loops="discard", threads=1, node_limit=200).paces_ms
    longer = {job.id: paces[job.id] / job.iteration_ms - 1 for job in problem.jobs}
    assert max(longer.values()) > 0
    assert all(0 <= one <= 0.01 + 1e-9 for one in longer.values())


def test_the_command_writes_the_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--racks", "12", "--gpus-per-rack", "32", "--uplinks", "4", "--jobs", "90", "--moves", "6"]
    file = tmp_path / "round.json"
    assert rounds.main([*asked, "--candidates", "20", "--seed", "0", str(file)]) == 0
    assert load_problem(file) == rounds.generate(SMALL)
    assert rounds.main([*asked, "--jobs", "900", str(file)]) == 2
    assert "racks with" in capsys.readouterr().err


def test_a_copy_of_a_cluster_is_a_copy() -> None:
    cluster = rounds.current_placement(SMALL)
    before = cluster.candidate("c")
    other: Cluster = cluster.copy()
    other.move_parts(random.Random("x"), 20)
    other.remove(next(iter(other.jobs)))
    assert cluster.candidate("c") == before != other.candidate("c")
