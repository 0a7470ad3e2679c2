"""The example problem shows what its README says it shows."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import cassini_core as cc
from cassini_core.problem_file import load_job

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def problem() -> cc.Problem:
    return cc.load_problem(EXAMPLES / "three-racks.json")


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_three_racks", EXAMPLES / "make_three_racks.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_committed_problem_is_what_the_script_makes(problem: cc.Problem, generator: ModuleType) -> None:
    assert generator.make_problem() == problem


def test_ranking_is_the_one_in_the_readme(problem: cc.Problem) -> None:
    ranking = cc.rank(problem)
    assert [(c.id, c.status, c.score and round(c.score, 4), round(c.upper_bound, 4)) for c in ranking.candidates] == [
        ("beside-its-twin", "tree", 0.9941, 0.9941),
        ("two-pairs-of-twins", "tree", 0.9895, 0.9895),
        ("packed", "tree", 0.9888, 0.9888),
        ("triangle", "joint", 0.9414, 0.9895),
        ("crossed", "tree", 0.9379, 0.9379),
        ("one-plane", "consistent", 0.8659, 0.8659),
    ]
    assert ranking.best_proven
    readme = (EXAMPLES / "README.md").read_text()
    for place, candidate in enumerate(ranking.candidates, start=1):
        score = "-" if candidate.score is None else f"{candidate.score:.4f}"
        assert any(line.split()[:3] == [str(place), candidate.id, score] for line in readme.splitlines())


def test_the_papers_mean_orders_them_as_the_readme_says(problem: cc.Problem) -> None:
    ranking = cc.rank(problem, aggregate="mean")
    assert [(c.id, c.score and round(c.score, 4), c.optimal) for c in ranking.candidates] == [
        ("beside-its-twin", 0.9932, True),
        ("two-pairs-of-twins", 0.9816, True),
        ("packed", 0.9753, True),
        ("triangle", 0.9516, True),
        ("crossed", 0.8914, True),
        ("one-plane", 0.7984, True),
    ]
    excess = {c.id: round(c.total_excess_gbps or 0.0, 1) for c in ranking.candidates}
    assert (excess["two-pairs-of-twins"], excess["packed"]) == (7.3, 2.5)


def test_the_winner_interleaves_its_twins_at_one_pace(problem: cc.Problem) -> None:
    ranking = cc.rank(problem)
    assert ranking.best is not None
    assert ranking.paces_ms["vgg16-a"] == ranking.paces_ms["vgg16-b"]
    scores = {link.id: link.score for link in ranking.best.links}
    assert [scores[link] for link in ("S2-up1", "S4-down1", "S4-up1", "S2-down1")] == [1.0] * 4


def test_the_papers_rule_leaves_only_the_packed_placement(problem: cc.Problem) -> None:
    ranking = cc.rank(problem, loops="discard")
    assert [c.id for c in ranking.candidates if c.score is not None] == ["packed"]


def test_without_pacing_the_packed_placement_wins(problem: cc.Problem) -> None:
    best = cc.rank(problem, period_tolerance=0).best
    assert best is not None
    assert best.id == "packed"


@pytest.mark.parametrize("name", ["resnet50", "recommender"])
def test_profiles_load_and_name_their_source(name: str) -> None:
    path = EXAMPLES / "profiles" / f"{name}.json"
    assert load_job(path).id == name
    text = path.read_text()
    assert "f4d0062c" in text
    assert "MIT" in text


def test_profiles_are_those_of_the_cut_traces(data_dir: Path, generator: ModuleType) -> None:
    from cassini_core.profiles.kineto import profile_kineto

    for name, file, gbps in (("resnet50", "allreduce_3steps.json", None), ("recommender", "rank3_of_8.json.gz", 40.0)):
        made = profile_kineto(data_dir / "kineto" / file, job_id=name, gbps=gbps)
        assert made.job == load_job(EXAMPLES / "profiles" / f"{name}.json")
        assert generator.TRACES[name][2] == gbps


@pytest.mark.parametrize(
    ("network", "pairs", "hosts"),
    [
        ("tests/data/topology/slurm-tree.conf", 4, "srv1101"),
        pytest.param("tests/data/topology/lingjun-topo.csv", 42, "G6/P10", marks=pytest.mark.slow),
    ],
)
def test_a_pipe_leads_from_traces_and_a_network_to_a_page(network: str, pairs: int, hosts: str, tmp_path: Path) -> None:
    command = tmp_path / "bin" / "cassini-core"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cassini_core "$@"\n')
    command.chmod(0o755)
    environment = {**os.environ, "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}"}
    arguments = [network, str(pairs), str(tmp_path / "out")]
    done = subprocess.run(
        ["sh", EXAMPLES / "from_traces.sh", *arguments], env=environment, capture_output=True, text=True, check=True
    )
    page = (tmp_path / "out" / "report.html").read_text()
    assert f" {2 * pairs} jobs for " in done.stderr
    assert "no room" not in done.stderr
    assert hosts in page
    for n in range(1, pairs + 1):
        assert re.search(rf"\brecommender-{n}\b", page)
        assert re.search(rf"\bresnet50-{n}\b", page)
