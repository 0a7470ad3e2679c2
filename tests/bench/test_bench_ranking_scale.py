"""The report at cluster scale: its checks find what is wrong, and its figures are those of the ranking."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest

import cassini_core as cc
from cassini_core import Problem, Ranking

pytest.importorskip("matplotlib")

from bench.ranking.rounds import Settings, generate
from bench.ranking.scale import deadlines, report, targets, tasks
from bench.ranking.scale.answer_check import WrongAnswerError, check, digest
from bench.ranking.scale.cases import FULL, QUICK, settings_of
from bench.ranking.scale.fresh_process import ROOT, in_fresh_process, keep

TINY = Settings(racks=4, gpus_per_rack=32, uplinks=2, jobs=24, spanning=1 / 4, candidates=4, moves=3)


@pytest.fixture(scope="module")
def problem() -> Problem:
    return generate(TINY)


@pytest.fixture(scope="module")
def ranking(problem: Problem) -> Ranking:
    return cc.rank(problem)


# What is checked


@pytest.mark.parametrize("settings", [TINY, replace(TINY, perturbation=0.01), replace(TINY, spanning=0.1)])
def test_a_true_ranking_passes(settings: Settings) -> None:
    problem = generate(settings)
    check(problem, cc.rank(problem))
    check(problem, cc.rank(problem, aggregate="mean"), "mean")
    check(problem, cc.rank(problem, deadline_s=0.0))


def test_every_lie_is_found(problem: Problem, ranking: Ranking) -> None:
    best, *others = ranking.candidates
    assert best.score is not None
    assert best.score < 1 - 1e-6
    shifted = max(best.shifts_ms, key=lambda job: best.slack_ms.get(job, math.inf) < 20)
    for lie in (
        replace(best, score=best.upper_bound + 1e-6),
        replace(best, score=best.score - 1e-6),
        replace(best, links=(replace(best.links[0], score=None), *best.links[1:])),
        replace(best, shifts_ms={**best.shifts_ms, shifted: best.shifts_ms[shifted] + 40.0}),
    ):
        with pytest.raises(WrongAnswerError):
            check(problem, replace(ranking, best=lie, candidates=(lie, *others)))
    for wrong in (
        replace(ranking, candidates=(best, *others[1:])),
        replace(ranking, candidates=(*others, best)),
        replace(ranking, best=None),
        replace(ranking, best_proven=True, candidates=(best, replace(others[0], upper_bound=1.0), *others[1:])),
    ):
        with pytest.raises(WrongAnswerError):
            check(problem, wrong)


def test_rankings_that_contradict_each_other_are_found(ranking: Ranking) -> None:
    deadlines.check_agreement(ranking, ranking)
    best, *others = ranking.candidates
    assert best.score is not None
    other = replace(ranking, candidates=(replace(best, score=None, upper_bound=best.score - 1e-6), *others))
    for one, two in ((ranking, other), (other, ranking)):
        with pytest.raises(WrongAnswerError, match=best.id):
            deadlines.check_agreement(one, two)


# What is measured


def test_links_are_solved_when_progress_reaches_the_candidates(problem: Problem) -> None:
    said: list[tuple[int, int]] = []
    links = tasks.LinksSolved(len(problem.candidates))

    def progress(done: int, total: int) -> None:
        before = links.seconds
        links(done, total)
        said.append((done, total))
        assert (links.seconds > before) == (done <= links.number)

    cc.rank(problem, progress=progress)
    assert said[-1][0] > links.number > 0
    assert said[-1][1] == links.number + len(problem.candidates)


def test_a_fresh_process_finds_what_this_one_does(problem: Problem, ranking: Ranking, tmp_path: Path) -> None:
    file = keep(problem, tmp_path / "round.pickle")
    ballast = b"x" * (400 << 20)  # what this process has in use is not counted in its child
    found = in_fresh_process("size", {"file": str(file), "least_runs": 1, "most_runs": 1, "limit_s": 0.0})
    assert found["sha256"] == digest(ranking)
    assert ranking.best is not None
    assert (found["best"], found["score"]) == (ranking.best.id, ranking.best.score)
    assert found["shared_links"] * len(problem.candidates) == sum(len(one.links) for one in ranking.candidates)
    assert 0 < found["loaded_mib"] <= found["peak_mib"] < len(ballast) / 2**20


def test_a_small_problem_needs_no_numba() -> None:
    example = str(ROOT / "examples" / "three-racks.json")
    found = in_fresh_process("small", {"file": example, "warm_runs": 1})
    assert found["libraries"]["numba"] is None
    assert found["candidates"] == 6


def test_the_full_report_has_the_sizes_that_targets_are_about_and_one_density() -> None:
    assert {(1000, 1000), (100, 300)} <= set(FULL.sizes)
    assert settings_of(1000, 1000) == Settings()
    for case in FULL.cases():
        own = case.settings
        assert own.jobs / own.racks == pytest.approx(1000 / 64, rel=0.02)
    assert all(FULL.deadline_calls[deadline_s] >= 20 for deadline_s in (0.05, 0.2, 0.5, 1.0))


# What is written


@pytest.mark.slow
def test_the_quick_report_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main(["--quick", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    text = (tmp_path / "ranking-scale.md").read_text()
    found = json.loads((tmp_path / "ranking-scale.json").read_text())
    for suffix in ("md", "json", "png"):
        assert str(tmp_path / f"ranking-scale.{suffix}") in said
        assert (tmp_path / f"ranking-scale.{suffix}").stat().st_size > 0
    assert "nan" not in re.findall(r"\w+", text.lower())
    for case in QUICK.cases():
        assert f"| {case.name} |" in text
    assert len(found["loops"]) == 12
    assert len(found["deadlines"]["calls"]) == sum(QUICK.deadline_calls.values())
    for one in targets.targets(found):
        assert f"| {one.what} | {one.asked} | {one.found} | {'yes' if one.reached else '**no**'} |" in text


def test_every_task_can_be_asked_for() -> None:
    assert all(tasks.TASKS[name].__name__ == name for name in ("size", "small", "deadlines"))
