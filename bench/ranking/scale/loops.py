"""The cyclic instances of ``tests/data/loops.json``: what is reached and proven around loops, and how fast."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import cassini_core as cc
from bench.measuring.timing import in_turns
from cassini_core.problem_file import problem_from_json

from .answer_check import TOLERANCE, WrongAnswerError, check

FILE = Path(__file__).parents[3] / "tests" / "data" / "loops.json"
WAYS: dict[str, dict[str, Any]] = {"default": {}, "no limit": {"node_limit": None, "block_node_limit": None}}
LIMIT_S = 10.0
THREADS = 2


def loops(runs: int) -> list[dict[str, Any]]:
    """One row per instance.

    Raises
    ------
    WrongAnswerError
        A score is above the bound of the instance, or one with limits above one without.
    """
    return [_row(one, runs) for one in json.loads(FILE.read_text(encoding="utf-8"))["instances"]]


def _row(one: dict[str, Any], runs: int) -> dict[str, Any]:
    problem = problem_from_json(json.dumps(one["problem"]).encode())
    jobs = {job for route in problem.candidates[0].routes.values() for job in route}
    row = {key: one[key] for key in ("name", "bound", "reached_by_local_search")}
    row |= {"jobs": len(problem.jobs), "links": len(jobs)}
    answers: dict[str, cc.Ranking] = {}
    times = in_turns([partial(_answer, problem, name, answers) for name in WAYS], runs, LIMIT_S)
    for (name, ranking), timed in zip(answers.items(), times, strict=True):
        check(problem, ranking, "mean")
        (found,) = ranking.candidates
        if found.score is None or found.score > one["bound"] + TOLERANCE:
            raise WrongAnswerError(f"{one['name']}, {name}: scores {found.score!r}, expected at most {one['bound']!r}")
        row[name] = {
            "score": found.score,
            "upper_bound": found.upper_bound,
            "optimal": found.optimal,
            "status": found.status,
            "median_s": timed.median,
        }
    limited, free = row["default"], row["no limit"]
    if limited["score"] > free["upper_bound"] + TOLERANCE or free["score"] > limited["upper_bound"] + TOLERANCE:
        raise WrongAnswerError(f"{one['name']}: the answers with and without limits contradict each other")
    return row


def _answer(problem: cc.Problem, name: str, answers: dict[str, cc.Ranking]) -> None:
    """Rank in one of the ways; every answer must be that of the first time."""
    # The bounds of the file are means over the links, at the iteration times that stand there.
    ranking = cc.rank(problem, aggregate="mean", period_tolerance=0.0, threads=THREADS, **WAYS[name])
    if answers.setdefault(name, ranking) != ranking:
        raise WrongAnswerError(f"{name}: another answer than the first time")
