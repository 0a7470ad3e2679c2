"""What the README shows is what comes out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cassini_core.cli import main
from cassini_core.problem_file import problem_from_json

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block_after(mark: str, language: str) -> str:
    """The first fenced block of a language after some words."""
    found = re.compile(rf"```{language}\n(.*?)```", re.DOTALL).search(README, README.index(mark))
    assert found is not None
    return found[1]


def test_the_first_screen_runs_and_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block_after("# Cassini core", "python"), "README.md", "exec"), {})
    assert capsys.readouterr().out == block_after("import cassini_core", "text")


def test_the_ranking_shown_is_the_ranking_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    found = re.search(r"`cassini-core (rank tests/[^`]+)`:", README)
    assert found is not None
    assert main(found[1].split()) == 0
    assert capsys.readouterr().out == block_after(found[0], "text")


def test_the_problem_file_shown_is_one() -> None:
    problem = problem_from_json(block_after("## Problem file", "json").encode())
    assert [candidate.id for candidate in problem.candidates] == ["c0"]


def test_links_lead_somewhere() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), target


def test_the_study_shown_is_the_study_made() -> None:
    """Every number of the table stands in the report of the study, in its row of the way the README names."""

    def rows(text: str) -> dict[str, list[str]]:
        cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
        return {first: rest for first, *rest in cells}

    report = (ROOT / "bench/results/ranking-prediction.md").read_text(encoding="utf-8")
    made = rows(report.split("## Run with shifts, paced +1.0%")[1].partition("\n## ")[0])
    shown = rows(README.split("### Why not the mean over links")[1].partition("\n## ")[0])
    assert {"per_job", "mean", "min", "p10"} < shown.keys()
    for score in shown.keys() - {"score", "---"}:
        spearman, _kendall, _over_mean, *regret = made[score]
        assert shown[score] == [spearman, *regret]
