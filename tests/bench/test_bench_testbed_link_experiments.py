"""The experiments on one link: quick runs give rows and a picture, and what is reckoned from given figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.testbed.experiment import Settings
from bench.testbed.experiments import angles, partial, patterns, snapshots, two_jobs
from bench.testbed.snapshots import SNAPSHOTS


@pytest.mark.slow
@pytest.mark.parametrize("experiment", [angles, partial, patterns, snapshots, two_jobs])
def test_a_quick_run_is_told_and_drawn(experiment, tmp_path: Path) -> None:
    settings = Settings(seeds=1, folder=tmp_path / "kept", processes=1, quick=True)
    data = json.loads(json.dumps(experiment.run(settings)))
    found = experiment.rows(data)
    assert len({row.what for row in found}) == len(found)
    assert all(row.ours and "nan" not in row.ours for row in found)
    experiment.plot(data, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def test_what_angles_win_is_reckoned_from_random_phases() -> None:
    links = [
        {"at_random": 0.5, "exact": {"score": 1.0}, "5": {"score": 0.995}},
        {"at_random": 0.5, "exact": {"score": 0.75}, "5": {"score": 0.5}},
    ]
    assert angles._won(links, "5") == pytest.approx(0.495 / 0.75)
    assert angles._near(links, "5") == 0.5


def test_scores_of_the_snapshots_are_told_for_all_iteration_times() -> None:
    found = snapshots._scores(SNAPSHOTS[1])
    assert found["parts"]["score"] == found["equal"]["score"] == 1.0
    assert found["own"]["score"] < 0.8
    assert sorted(found["own"]["free"]) == ["VGG16", "WideResNet101"]
    assert found["parts"]["shifts_ms"]["WideResNet101"] == 0


def test_the_papers_shift_is_half_an_iteration_at_the_batch_that_is_said_to_have_it() -> None:
    alone = two_jobs._alone(two_jobs.AT_THE_PAPERS_SHIFT)
    assert alone["iteration_ms"] / 2 == pytest.approx(120, abs=2)
    assert alone["score"] == 1.0
