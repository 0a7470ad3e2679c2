"""The paper's figure on angle discretisation: precision against time and against what the shifts really score."""

from __future__ import annotations

import math
import statistics
from typing import Any

from bench import cases, engine, timing
from bench.progress import Progress
from bench.tables import score, seconds, table
from bench.verify import CLOSE, WrongAnswer, true_score
from cassini_core.kernel.prepared_link import LinkAnswer
from cassini_core.units import ms_from_ticks

DEGREES = (90.0, 45.0, 30.0, 15.0, 10.0, 5.0, 3.0, 2.0, 1.0, 0.5)
QUICK_DEGREES = (90.0, 30.0, 10.0, 5.0, 2.0, 1.0)
ENOUGH = 1e-3
"""A loss of score that is not worth a finer grid."""


def run(quick: bool, progress: Progress) -> dict[str, Any]:
    """Solve each case exactly and on every grid of angles."""
    progress.study("discretisation")
    deadline_s = 0.5 if quick else 1.0
    found = []
    for family, members in _members(quick).items():
        for index, case in enumerate(members):
            progress.step(index, len(members), family)
            exact = engine.PreparedCall(case, 5.0)
            (exact_s,) = timing.in_turns([exact], 5, 0.1)
            best = exact.checked_answer()
            for degrees in QUICK_DEGREES if quick else DEGREES:
                one = _on_angles(exact, round(360 / degrees), deadline_s)
                if best.optimal and one["true"] > best.score_lower + CLOSE:
                    raise WrongAnswer(f"{case.name}: {one} beats the optimum {best.score_lower!r}")
                found.append(
                    {"family": family, "case": case.name, "degrees": degrees}
                    | {"exact_s": exact_s.median, "exact": best.score_lower, "exact_proved": best.optimal}
                    | one
                )
    return {"deadline_s": deadline_s, "runs": found}


def _members(quick: bool) -> dict[str, list[cases.Case]]:
    n = 1 if quick else 4
    held = [case for case in cases.harmonised(n) if case.family == "harmonised 3 jobs" and _all_held(case)]
    return {
        "equal 2 jobs": cases.equal(2, 3, n),
        "equal 3 jobs": cases.equal(3, 3, n),
        "equal 4 jobs": cases.equal(4, 3, max(1, n // 2)),
        "mixed 3 jobs": cases.mixed(3, n),
        "harmonised 3 jobs": held,
        "GPT-like 2 jobs, 25 phases": cases.many_phases(2, 25, 3 * n),
    }


def _all_held(case: cases.Case) -> bool:
    problem = engine.prepared(case)
    return not problem.evaluate([0] * len(problem), with_slack=False).free.any()


def _on_angles(exact: engine.PreparedCall, angles: int, deadline_s: float) -> dict[str, Any]:
    problem = exact.problem
    answers: list[LinkAnswer] = []

    def search() -> None:
        answers[:] = [engine.solve_angles(problem, angles, deadline_s)]

    (times,) = timing.in_turns([search], 3, 0.1)
    (answer,) = answers
    shifts = {job: ms_from_ticks(s) for job, s in zip(problem.job_ids, answer.shift.tolist(), strict=True)}
    return {
        "time_s": times.median,
        "complete": answer.stopped_by == "complete",
        "claimed": answer.claimed_score,
        "true": true_score(exact.case, shifts),
    }


def summary(result: dict[str, Any]) -> dict[str, dict[float, dict[str, float]]]:
    """By family and precision: median time, mean and largest loss, mean overclaim, share of instances cut short."""
    grouped: dict[str, dict[float, list[dict[str, Any]]]] = {}
    for run in result["runs"]:
        grouped.setdefault(run["family"], {}).setdefault(run["degrees"], []).append(run)
    return {
        family: {degrees: _summed(runs) for degrees, runs in by_degrees.items()}
        for family, by_degrees in grouped.items()
    }


def _summed(runs: list[dict[str, Any]]) -> dict[str, float]:
    lost = [max(0.0, run["exact"] - run["true"]) for run in runs]
    return {
        "instances": len(runs),
        "exact_s": statistics.median(run["exact_s"] for run in runs),
        "time_s": statistics.median(run["time_s"] for run in runs),
        "mean_lost": statistics.fmean(lost),
        "most_lost": max(lost),
        "enough": sum(one <= ENOUGH for one in lost) / len(runs),
        "most_overclaimed": max(run["claimed"] - run["true"] for run in runs),
        "cut_short": sum(not run["complete"] for run in runs) / len(runs),
    }


def tables(result: dict[str, Any]) -> str:
    """At 5 degrees by family, and the precision each family needs."""
    rows = []
    for family, by_degrees in summary(result).items():
        five = by_degrees[5.0]
        rows.append(
            [
                family,
                str(five["instances"]),
                seconds(five["exact_s"]),
                seconds(five["time_s"]),
                f"{five['enough']:.0%}",
                score(five["mean_lost"]),
                score(five["most_lost"]),
                score(five["most_overclaimed"]),
                *_needed(by_degrees),
            ]
        )
    head = ["family", "instances", "exact", "5°", "enough", "mean lost", "most lost", "most overclaimed"]
    return (
        '`method="angles"` at 5° beside the exact method. *Enough*: share of instances whose shifts lose at '
        f"most {ENOUGH:g} of score. *Lost*: exact optimum less the exact score of the shifts. *Overclaimed*: what the "
        "grid says less what its shifts score. *All need*: the coarsest precision from which on every instance of the "
        f"family loses at most {ENOUGH:g}, as far as the search on angles ends within {result['deadline_s']:g} s.\n\n"
        "![precision against time and score](discretisation.png)\n\n" + table([*head, "all need", "its time"], rows)
    )


def _needed(by_degrees: dict[float, dict[str, float]]) -> tuple[str, str]:
    """The coarsest precision from which on all instances are right, and how long its search takes."""
    searched = sorted(degrees for degrees, found in by_degrees.items() if found["cut_short"] == 0)
    needed = math.nan
    for degrees in searched:
        if by_degrees[degrees]["most_lost"] > ENOUGH:
            break
        needed = degrees
    if math.isnan(needed):
        return f"finer than {searched[0]:g}°", f"over {seconds(by_degrees[searched[0]]['time_s'])}"
    return f"{needed:g}°", seconds(by_degrees[needed]["time_s"])
