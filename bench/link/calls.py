"""What a call costs beside the search: Python's share, scoring, slack and hold; and batches of different links."""

from __future__ import annotations

import statistics
from functools import partial
from typing import Any

from bench.link import cases, engine
from bench.measuring import timing
from bench.measuring.progress import Progress
from bench.measuring.tables import seconds, table
from cassini_core import Job
from cassini_core.kernel.prepared_link import PreparedLink


def run(quick: bool, progress: Progress) -> dict[str, Any]:
    """Time the calls of small links in turns."""
    progress.study("calls")
    rounds = 5 if quick else 25
    idle = PreparedLink.from_jobs([Job("idle", 255.0)], 50.0)
    rows: dict[str, list[timing.Call]] = {"`PreparedLink.solve`, a link without demand: the call alone": [idle.solve]}
    for n_jobs in (2, 3):
        rows |= _rows(n_jobs, 1 if quick else 5)
    flat = [call for calls in rows.values() for call in calls]
    timed = iter(timing.in_turns(flat, rounds, limit_s=0.2))
    medians = {what: statistics.median(next(timed).median for _ in calls) for what, calls in rows.items()}
    shares = {n: _slack_share(medians, n) for n in (2, 3)}
    return {"calls": medians | _batches(rounds), "slack_share": shares}


def _said(n_jobs: int) -> str:
    return f"{n_jobs} jobs, 1 phase each"


def _rows(n_jobs: int, per_load: int) -> dict[str, list[timing.Call]]:
    said = _said(n_jobs)
    members = cases.equal(n_jobs, 1, per_load)
    problems = [engine.prepared(case) for case in members]
    shifts = [problem.solve().shift for problem in problems]
    pairs = list(zip(problems, shifts, strict=True))
    return {
        f"`PreparedLink.solve`, {said}": [problem.solve for problem in problems],
        f"`evaluate` without slack, {said}": [partial(p.evaluate, s, with_slack=False) for p, s in pairs],
        f"`evaluate` with slack and hold, {said}": [partial(p.evaluate, s) for p, s in pairs],
        f"`PreparedLink.from_jobs`, {said}": [partial(engine.prepared, case) for case in members],
        f"`solve_link`, {said}": [partial(engine.whole_call, case, None) for case in members],
    }


def _batches(rounds: int) -> dict[str, float]:
    """Seconds per link of batch calls with 60 different links."""
    calls = {n: engine.BatchCall(cases.equal(n, 1, 20)) for n in (2, 3, 4)}
    for call in calls.values():
        call.checked_answers()
    timed = timing.in_turns(list(calls.values()), rounds, limit_s=0.5)
    return {
        f"per link of a batch of {len(call.members)} different links, {_said(n)}": times.median / len(call.members)
        for (n, call), times in zip(calls.items(), timed, strict=True)
    }


def _slack_share(medians: dict[str, float], n_jobs: int) -> float:
    said = _said(n_jobs)
    slack = medians[f"`evaluate` with slack and hold, {said}"] - medians[f"`evaluate` without slack, {said}"]
    return slack / medians[f"`PreparedLink.solve`, {said}"]


def tables(result: dict[str, Any]) -> str:
    """One row per call."""
    shares = ", ".join(f"{share:.0%} for {n} jobs" for n, share in result["slack_share"].items())
    return (
        "Median over small links, Python's part included. The first row is what any call costs before there is "
        "anything to search. The last rows are means over links, as a batch has no other. Slack and hold of given "
        f"shifts, as a share of the whole solve: {shares}.\n\n"
        + table(["call", "median"], [[what, seconds(value)] for what, value in result["calls"].items()])
    )
