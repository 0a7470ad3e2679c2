"""Rankings with a deadline: how late they come, and how good they are beside a ranking that took its time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import cassini_core as cc

from .answer_check import TOLERANCE, WrongAnswerError, check

THREADS = 2


def with_deadlines(
    rank: Callable[..., cc.Ranking], problem: cc.Problem, calls: Mapping[float, int], long_s: float, node_limit: int
) -> dict[str, Any]:
    """Rank a round with each deadline so often as ``calls`` says, in turns.

    Beforehand it is ranked with ``long_s`` seconds and ``node_limit`` nodes for every link and block, and once without
    a deadline, which also warms up. The better of the two is what all others are compared with.

    Raises
    ------
    WrongAnswerError
        A score or bound contradicts another one.
    """
    default, default_s = _timed(rank, problem)
    long, took_s = _timed(rank, problem, deadline_s=long_s, node_limit=node_limit, block_node_limit=node_limit)
    references = [default, long]
    for reference in references:
        check(problem, reference)
    scores = [_best_score(one) for one in references]
    rows: dict[float, list[dict[str, Any]]] = {deadline_s: [] for deadline_s in calls}
    for turn in range(max(calls.values())):
        for deadline_s, own in rows.items():
            if turn < calls[deadline_s]:
                ranking, wall_s = _timed(rank, problem, deadline_s=deadline_s)
                check(problem, ranking)
                for reference in references:
                    check_agreement(reference, ranking)
                own.append(
                    {
                        "late_ms": (wall_s - deadline_s) * 1e3,
                        "answered": sum(one.score is not None for one in ranking.candidates),
                        "share": _best_score(ranking) / max(scores),
                    }
                )
                del ranking  # not while the next one is timed
    return {
        "default": {"score": scores[0], "wall_s": default_s, "answered": _answered(default)},
        "long": {"score": scores[1], "wall_s": took_s, "answered": _answered(long), "deadline_s": long_s},
        "node_limit": node_limit,
        "candidates": len(problem.candidates),
        "calls": [{"deadline_s": deadline_s, **one} for deadline_s, own in rows.items() for one in own],
    }


def check_agreement(one: cc.Ranking, other: cc.Ranking) -> None:
    """No candidate scores more in one ranking of a problem than the other says is possible, at the same paces.

    Raises
    ------
    WrongAnswerError
        One does.
    """
    if one.paces_ms != other.paces_ms:
        return
    theirs = {candidate.id: candidate for candidate in other.candidates}
    for mine in one.candidates:
        for reached, bounded in ((mine, theirs[mine.id]), (theirs[mine.id], mine)):
            if reached.score is not None and reached.score > bounded.upper_bound + TOLERANCE:
                raise WrongAnswerError(
                    f"{mine.id}: scores {reached.score!r} in one ranking, at most {bounded.upper_bound!r} in another"
                )


def _best_score(ranking: cc.Ranking) -> float:
    """0 where no candidate was answered."""
    return 0.0 if ranking.best is None or ranking.best.score is None else ranking.best.score


def _answered(ranking: cc.Ranking) -> int:
    return sum(one.score is not None for one in ranking.candidates)


def _timed(rank: Callable[..., cc.Ranking], problem: cc.Problem, **options: Any) -> tuple[cc.Ranking, float]:
    begin = time.perf_counter()
    ranking = rank(problem, threads=THREADS, **options)
    return ranking, time.perf_counter() - begin
