"""The rounds that rankings are measured with are fixed, hold what they say, and never break a cluster's rules."""

from __future__ import annotations

import hashlib
import random
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cassini_core import Candidate, Problem, load_problem, rank
from cassini_core.links.shared_links import LinkCatalog
from cassini_core.problem_file import problem_to_json

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.append(ROOT)

from bench.ranking import kinds, rounds  # noqa: E402
from bench.ranking.census import census, largest_block  # noqa: E402
from bench.ranking.cluster import Cluster, NoRoomError  # noqa: E402
from bench.ranking.fabric import Fabric  # noqa: E402
from bench.ranking.replay import replay  # noqa: E402
from bench.ranking.rounds import Settings  # noqa: E402

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


def test_the_census_agrees_with_counting_by_hand() -> None:
    problem = rounds.generate(SMALL)
    found = census(problem)
    carried = [Counter(link for route in c.routes.values() for link in route) for c in problem.candidates]
    n = len(problem.candidates)
    assert found.routed_jobs == 30
    assert found.used_links == pytest.approx(sum(map(len, carried)) / n)
    by_jobs = Counter(count for links in carried for count in links.values())
    assert found.links_by_jobs == pytest.approx({jobs: by_jobs[jobs] / n for jobs in sorted(by_jobs) if jobs > 1})
    assert found.shared_links == pytest.approx(sum(found.links_by_jobs.values()))
    assert sum(jobs * links for jobs, links in found.links_by_jobs.items()) + by_jobs[1] / n == pytest.approx(
        sum(sum(links.values()) for links in carried) / n
    )
    assert found.asked == round(found.shared_links * n)
    # A problem is known by the kinds and sizes of its jobs, so there are at most as many as multisets of demands.
    demands = {job.id: (job.iteration_ms, job.phases) for job in problem.jobs}
    members = set()
    for candidate in problem.candidates:
        on_link: dict[str, list[str]] = {}
        for job, route in candidate.routes.items():
            for link in route:
                on_link.setdefault(link, []).append(job)
        members |= {tuple(sorted(repr(demands[job]) for job in jobs)) for jobs in on_link.values() if len(jobs) > 1}
    assert found.link_problems == len(members)


@pytest.mark.parametrize(
    ("routes", "block"),
    [
        ({"a": ["l0"], "b": ["l0", "l1"], "c": ["l1"]}, (0, 0)),  # a tree
        ({"a": ["l0", "l1"], "b": ["l0", "l1"]}, (0, 0)),  # one link, merged
        ({"a": ["l0", "l2"], "b": ["l0", "l1"], "c": ["l1", "l2"]}, (3, 3)),
        # Two triangles that hang together at one job are two blocks; a shared link would make them one.
        (
            {"a": ["l0", "l2"], "b": ["l0", "l1"], "c": ["l1", "l2", "l3", "l5"], "d": ["l3", "l4"], "e": ["l4", "l5"]},
            (3, 3),
        ),
        ({"a": ["l0", "l2"], "b": ["l0", "l1"], "c": ["l1", "l2"], "d": ["l1", "l3"], "e": ["l2", "l3"]}, (5, 4)),
    ],
)
def test_blocks_are_split_at_jobs_only(routes: dict[str, list[str]], block: tuple[int, int]) -> None:
    whole = rounds.generate(SMALL)
    names = dict(zip("abcde", [job.id for job in whole.jobs], strict=False))
    links = {f"l{index}": link.id for index, link in enumerate(whole.links)}
    candidate = Candidate("c", {names[job]: [links[link] for link in route] for job, route in routes.items()})
    catalog = LinkCatalog(Problem(whole.jobs, whole.links, [candidate]))
    assert largest_block(catalog.placements()[0]) == block


def test_the_default_round_is_the_one_that_was_asked_for() -> None:
    found = census(rounds.generate(Settings(candidates=5)))
    assert 300 <= found.routed_jobs <= 360
    assert 780 <= found.used_links <= 880
    assert 450 <= found.shared_links <= 550
    assert 0.45 <= found.links_by_jobs[2] / found.shared_links <= 0.6
    assert 0.1 <= sum(v for jobs, v in found.links_by_jobs.items() if jobs >= 4) / found.shared_links <= 0.25
    assert found.block_jobs >= 0.95 * found.routed_jobs


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


def test_the_command_prints_the_census_and_writes_the_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--racks", "12", "--gpus-per-rack", "32", "--uplinks", "4", "--jobs", "90", "--moves", "6"]
    file = tmp_path / "round.json"
    assert rounds.main([*asked, "--candidates", "20", "--perturbation", "0", "--seed", "0", "--write", str(file)]) == 0
    assert load_problem(file) == rounds.generate(SMALL)
    assert "| jobs that cross a link | 30.0 |" in capsys.readouterr().out
    assert rounds.main([*asked, "--jobs", "900"]) == 2
    assert "racks with" in capsys.readouterr().err


def test_a_copy_of_a_cluster_is_a_copy() -> None:
    cluster = rounds.current_placement(SMALL)
    before = cluster.candidate("c")
    other: Cluster = cluster.copy()
    other.move_parts(random.Random("x"), 20)
    other.remove(next(iter(other.jobs)))
    assert cluster.candidate("c") == before != other.candidate("c")
