"""Searches too long to finish: the certified gap after 10 ms, 50 ms, 100 ms and 1 s."""

from __future__ import annotations

import statistics
import time
from typing import Any

from bench.link import cases, engine
from bench.measuring.progress import Progress
from bench.measuring.tables import score, seconds, table

from .verify import check_answer

DEADLINES_S = (0.01, 0.05, 0.1, 1.0)


def run(quick: bool, progress: Progress) -> dict[str, Any]:
    """Solve each case once per deadline."""
    progress.study("anytime answers")
    found = []
    members = _members(quick)
    for index, case in enumerate(members):
        progress.step(index, len(members), case.family)
        problem = engine.prepared(case)
        for deadline_s in DEADLINES_S[: 3 if quick else 4]:
            start = time.perf_counter()
            answer = engine.solve(case, problem, deadline_s)
            took = time.perf_counter() - start
            check_answer(case, problem, answer)
            found.append(
                {
                    "name": case.name,
                    "family": case.family,
                    "deadline_s": deadline_s,
                    "took_s": took,
                    "score": answer.score_lower,
                    "gap": answer.upper_bound - answer.score_lower,
                    "proved": answer.optimal,
                }
            )
    return {"answers": found}


def _members(quick: bool) -> list[cases.Case]:
    members = cases.eight_jobs(1 if quick else 2)
    for n_jobs in cases.MANY_JOBS[:: 3 if quick else 1]:
        members += cases.many_jobs(n_jobs, 1 if quick else 3)
    for phases in (12, 25, 50)[:: 2 if quick else 1]:
        members += cases.many_phases(4, phases, 1 if quick else 3)
    return members


def tables(result: dict[str, Any]) -> str:
    """One row per family, one column per deadline."""
    grouped: dict[str, dict[float, list[dict[str, Any]]]] = {}
    for one in result["answers"]:
        grouped.setdefault(one["family"], {}).setdefault(one["deadline_s"], []).append(one)
    deadlines = sorted({one["deadline_s"] for one in result["answers"]})
    rows = []
    for family, by_deadline in grouped.items():
        gaps = [[one["gap"] for one in by_deadline[deadline]] for deadline in deadlines]
        last = by_deadline[deadlines[-1]]
        rows.append(
            [family, str(len(last))]
            + [f"{score(statistics.median(each))} ({score(max(each))})" for each in gaps]
            + [_gained(by_deadline[deadlines[0]], last), f"{sum(one['proved'] for one in last)} of {len(last)}"]
            + [_latest(by_deadline)]
        )
    gaps_said = [f"gap after {deadline * 1e3:g} ms" for deadline in deadlines]
    head = ["family", "instances", *gaps_said, "score gained", "proved", "latest by"]
    return (
        "Upper bound less score, both certified: median, and the largest in brackets. *Score gained*: most that "
        "a score rose from the first deadline to the last; the rest of what a gap shrinks by is the bound's. *Latest "
        "by*: how long after its deadline an answer came at the most.\n\n" + table(head, rows)
    )


def _gained(first: list[dict[str, Any]], last: list[dict[str, Any]]) -> str:
    return score(max(after["score"] - before["score"] for before, after in zip(first, last, strict=True)))


def _latest(by_deadline: dict[float, list[dict[str, Any]]]) -> str:
    return seconds(
        max(0.0, *(one["took_s"] - one["deadline_s"] for answers in by_deadline.values() for one in answers))
    )
