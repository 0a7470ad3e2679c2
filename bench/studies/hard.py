"""Links that blow up other methods: time, and what the engine says, with the default limits."""

from __future__ import annotations

from functools import partial
from typing import Any

from bench import engine, hard_cases, timing
from bench.progress import Progress
from bench.tables import seconds, table
from bench.verify import check_answer


def run(quick: bool, progress: Progress) -> dict[str, Any]:
    """Solve each once or a few times with the default limit on nodes."""
    progress.study("hard links")
    found = []
    members = hard_cases.hard_links()
    for index, case in enumerate(members):
        progress.step(index, len(members), case.name)
        problem = engine.prepared(case)
        solve = partial(problem.solve, resolution_ms=case.resolution_ms)
        answer = solve()
        check_answer(case, problem, answer)
        (times,) = timing.in_turns([solve], rounds=1 if quick else 5, limit_s=0.2 if quick else 1.0)
        found.append(
            {
                "name": case.name,
                "resolution_ms": case.resolution_ms,
                "median_s": times.median,
                "score_lower": answer.score_lower,
                "score_upper": answer.score_upper,
                "upper_bound": answer.upper_bound,
                "stopped_by": answer.stopped_by,
                "free": int(answer.free.sum()),
            }
        )
    return {"links": found}


def tables(result: dict[str, Any]) -> str:
    """One row per link."""
    rows = [
        [
            one["name"],
            seconds(one["median_s"]),
            _interval(one["score_lower"], one["score_upper"]),
            f"{one['upper_bound']:.6f}",
            one["stopped_by"],
            str(one["free"]),
        ]
        for one in result["links"]
    ]
    head = ["link", "time", "score of the shifts", "no shifts score more than", "stopped by", "free jobs"]
    return (
        "With the default limits. Where the exact score is beyond the limits of folding, a certified interval stands "
        "for it. A free job is one whose shift cannot be held at the resolution.\n\n" + table(head, rows)
    )


def _interval(lower: float, upper: float) -> str:
    return f"{lower:.6f}" if lower == upper else f"{lower:.6f} to {upper:.6f}"
