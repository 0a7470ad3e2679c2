"""The study of control as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median

from .scenario import Outcome

__all__ = ["tables"]

_HEAD = """# Control: does interleaving hold, and what does it cost?

Simulated: jobs on one link, fluid fair sharing; agents, daemons and coordinator are the product's own, over its sockets
and requests. A request, its answer and a job's report take 5 ms each; jobs report five times a second, the coordinator
looks once a second, and both at once where there is news. Jobs are of 110 ms compute and 87 ms communication unless it
says otherwise; jitter is that of the compute phase. A fluid link has no noise of its own and no queues, so these
figures say what the control does, not what a network does. Several ranks are four unless it says otherwise: each comes
to an iteration 0.05 ms (exponential) after the collective has ended, rank 0 waits, and the job sends when the last has
computed, as it does alone. `make bench-control`; {spent}.

*Slower*: mean iteration time against the job alone, mean over runs (the worst job of all runs). *p99*: of the iteration
time, median over runs and jobs. *Waited*: share of time spent waiting. *Adjustments*: per minute and job after the
first, mean (worst). *Held*: share of the iterations in which the agent calls itself held.
"""


def tables(results: Mapping[str, Sequence[Sequence[Outcome]]], machine: Mapping[str, str], spent: str) -> str:
    lines = [_HEAD.format(spent=spent)]
    for name, group in results.items():
        lines += [
            f"## {name}",
            "",
            "| scenario | rule | pace ms | hold ms | slower | p99 ms | waited | adjustments | held |",
            "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(_row(runs) for runs in group),
            "",
        ]
    lines += ["## What the scheduler was told (first run)", ""]
    for group in results.values():
        for runs in group:
            if runs[0].events:
                lines += [f"- {runs[0].scenario} ({runs[0].rule})", *(f"  - {told}" for told in runs[0].events[:8])]
    lines += ["", "## Machine", "", *(f"- {key}: {value}" for key, value in machine.items()), ""]
    return "\n".join(lines)


def _row(runs: Sequence[Outcome]) -> str:
    slower = [value for run in runs for value in run.slower]
    adjusted = [value for run in runs for value in run.adjustments_per_minute]
    paces = " / ".join(f"{pace:.1f}" for pace in dict.fromkeys(round(p, 1) for p in runs[0].pace_ms))
    return (
        f"| {runs[0].scenario} | {runs[0].rule} | {paces} | {runs[0].hold_ms:.1f} "
        f"| {fmean(slower):+.2%} ({max(slower):+.2%}) | {median(v for r in runs for v in r.p99_ms):.0f} "
        f"| {fmean(v for r in runs for v in r.delay_share):.2%} | {fmean(adjusted):.2f} ({max(adjusted):.2f}) "
        f"| {fmean(v for r in runs for v in r.held_share):.1%} |"
    )
