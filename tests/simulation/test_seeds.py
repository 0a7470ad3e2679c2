"""Many seeds: each runs once, whatever was interrupted, and other experiments' records are not taken for these."""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cassini_core as cc
from training_tasks import racks_of, task

pytest.importorskip("numba")

from cassini_core.schedulers.augmented import Plain
from cassini_core.schedulers.in_order import Random
from cassini_core.simulation.cluster import simulate_cluster
from cassini_core.simulation.seeds import Experiment, record_of, run_experiments, run_seeds
from cassini_core.simulation.side_by_side import report_share


def cube(seed: int) -> dict[str, Any]:
    return {"cube": seed**3}


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    ran: list[int] = []
    told: list[tuple[int, int]] = []

    def work(seed: int) -> dict[str, Any]:
        ran.append(seed)
        if seed == 5:
            raise KeyboardInterrupt
        return cube(seed)

    experiment = {"load": 0.8, "names": ("a", "b")}
    with pytest.raises(KeyboardInterrupt):
        run_seeds(work, [3, 4, 5, 6], tmp_path, experiment, processes=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["seed-3.json", "seed-4.json"]
    found = run_seeds(cube, [6, 5, 4, 3], tmp_path, experiment, processes=1, progress=lambda *each: told.append(each))
    assert found == {seed: cube(seed) for seed in (6, 5, 4, 3)}
    assert list(found) == [6, 5, 4, 3]
    assert told == [(3, 4), (4, 4)]
    assert run_seeds(work, [3, 4, 6], tmp_path, experiment, processes=1) == {seed: cube(seed) for seed in (3, 4, 6)}
    assert ran == [3, 4, 5]


def test_records_of_other_experiments_and_other_files_are_refused(tmp_path: Path) -> None:
    run_seeds(cube, [1], tmp_path, {"load": 0.8}, processes=1)
    for other, said in (
        ({"load": 0.9}, r"experiment\.load: expected 0\.9, got 0\.8: it is of another experiment"),
        ({"load": 0.8, "jitter": 1}, r"experiment\.jitter: expected 1, got nothing"),
        ({}, r"experiment\.load: expected nothing, got 0\.8"),
    ):
        with pytest.raises(cc.InputError, match=rf"seed-1\.json {said}"):
            run_seeds(cube, [1], tmp_path, other, processes=1)
    for text in ("", "[]", "{}", '{"experiment": {"load": 0.8}}'):
        (tmp_path / "seed-1.json").write_text(text)
        with pytest.raises(cc.InputError, match=r"seed-1\.json"):
            run_seeds(cube, [1], tmp_path, {"load": 0.8}, processes=1)


def test_experiments_run_side_by_side_and_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    run_seeds(cube, [2], tmp_path / "cube", {}, processes=1)
    ran: list[tuple[str, int]] = []

    def work(name: str, seed: int) -> dict[str, Any]:
        ran.append((name, seed))
        return {name: seed}

    told: list[tuple[int, int]] = []
    experiments = [Experiment(partial(work, "cube"), tmp_path / "cube", {}), Experiment(partial(work, "b"), None, {})]
    found = run_experiments(experiments, [1, 2], processes=1, progress=lambda *each: told.append(each))
    assert found == [{1: {"cube": 1}, 2: cube(2)}, {1: {"b": 1}, 2: {"b": 2}}]
    assert ran == [("cube", 1), ("b", 1), ("b", 2)]
    assert told == [(2, 4), (3, 4), (4, 4)]
    assert [path.name for path in tmp_path.iterdir()] == ["cube"]


def halves(seed: int) -> dict[str, Any]:
    report_share(0.5)
    time.sleep(1.2)
    report_share(7.0)
    return {}


@pytest.mark.slow
def test_other_processes_say_how_far_they_are(tmp_path: Path) -> None:
    told: list[float] = []
    run_experiments([Experiment(halves, tmp_path, {})], [1, 2], processes=2, progress=lambda done, _: told.append(done))
    assert told == sorted(told)
    assert {0.5, 1.0} & set(told)
    assert told[-1] == 2.0
    report_share(0.1)  # nobody listens


@pytest.mark.slow
def test_processes_give_the_same(tmp_path: Path) -> None:
    seeds = range(4)
    one, several = (run_seeds(cube, seeds, tmp_path / str(count), {}, processes=count) for count in (1, 2))
    assert one == several


def fails_at_once(seed: int, folder: Path) -> dict[str, Any]:
    (folder / f"ran-{seed}").touch()
    if seed == 0:
        raise ValueError("no")
    time.sleep(0.1)
    return {}


@pytest.mark.slow
def test_what_has_not_begun_is_not_run_once_a_seed_has_failed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no"):
        run_seeds(partial(fails_at_once, folder=tmp_path), range(40), tmp_path, {}, processes=2)
    assert len(list(tmp_path.glob("ran-*"))) < 20


def test_a_record_says_what_the_result_does() -> None:
    tasks = [task("a", 3, iterations=20), task("b", 4, arrival_s=1.0, iterations=5), task("c", 9)]
    result = simulate_cluster(Plain(Random()), racks_of(2, 2), tasks, gpus_per_host=1)
    record = json.loads(json.dumps(record_of(result)))
    for one, found in zip(result.tasks, record["tasks"], strict=True):
        assert found["id"] == one.id
        assert found["iterations"] == len(one.iterations.start_ms)
        if found["iterations"]:
            assert found["mean_ms"] == pytest.approx(np.mean(one.iterations.length_ms))
            assert found["p50_ms"] <= found["p90_ms"] <= found["p99_ms"]
            assert found["end_s"] == one.end_s
        else:
            assert found["end_s"] is None
            assert "mean_ms" not in found
    assert [found["iterations"] for found in record["tasks"]] == [20, 0, 5]
