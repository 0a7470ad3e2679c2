"""The study as Markdown and JSON: targets, scenarios, and every run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.measuring import reports
from bench.measuring.tables import table

from .marker import RATE_MBIT
from .plot import draw
from .rows import Row
from .scenarios import HELD, RANDOM
from .settings import FULL, LIGHT

__all__ = ["markdown", "targets", "write"]

NAME = "netlab"

WITHIN, SLOWEST, AGAIN_S, ADJUSTMENTS, FEWER_MARKS = 0.02, 0.05, 30.0, 2.0, 30.0
"""Targets: held within so much of alone; nobody slower after a disturbance; interleaved again by then; adjustments a
minute and job; how many times fewer marks than at random starts."""

_ABOUT = """\
Network namespaces of one machine joined by veth pairs; every bottleneck is a token bucket of {rate} Mbit/s in each
direction, a host's own port is as fast, MTU 9000, one segment a packet. A job is two processes on two hosts:
compute is a timed wait ({full_ms:g} ms; {light_ms:g} ms for light jobs) with normal jitter in each rank, then both
send {full_mb:g} MB ({light_mb:g} MB) to each other over TCP, in two halves as a ring all-reduce does. Daemons,
coordinator and DDP's store talk over a network of their own. `python -m bench.netlab`, {lanes} at a time.

*Alone* is the mean iteration time of one job in the same network. *Slower*: mean iteration time over that alone,
less 1; what a disturbance added to an iteration counts as alone. p50, p90, p99: of iteration times, over the mean
alone. Both from 10 s after the first start, 30 s where jobs are held (which are measured first), until the
disturbance or the end. *First after*: from the first start until jobs are interleaved for the first time.
*Overlap*: share of a job's communication during which another communicates. *Marks*: packets that came with CE, a
job and iteration, both ranks together; *resent*: segments. *Adjustments*: a minute and job, after the first.
*Interleaved after*: from the end of a disturbance until, for 5 s, every job overlaps less than 5 % and is slower by
less than 2 %; in brackets, until they overlap so little, however slow they are. *Meanwhile*: the most that a job
was slower from the disturbance until then (10 s at least; not a job that was itself stopped)."""


def targets(runs: Sequence[Row]) -> list[tuple[str, int, int]]:
    """What was wanted: in words, how often it was reached, of how many."""
    steady = [one for one in runs if one.scenario.mode == HELD and not one.scenario.disturbance.name]
    found = []
    for jitter in sorted({one.scenario.setting.jitter for one in steady}):
        some = [one for one in steady if one.scenario.setting.jitter == jitter]
        reached = sum(one.worst("slower") < WITHIN for one in some)
        found.append((f"held within {WITHIN:.0%} of alone, {jitter:.0%} jitter", reached, len(some)))
    if steady:
        few = sum(one.worst("adjustments") < ADJUSTMENTS for one in steady)
        found.append((f"held with fewer than {ADJUSTMENTS:g} adjustments a minute", few, len(steady)))
    factors = _marks(runs)
    if factors:
        many = sum(factor >= FEWER_MARKS for factor in factors)
        found.append(
            (f"settings with {FEWER_MARKS:g} times fewer marks held than at random starts", many, len(factors))
        )
    disturbed = [one for one in runs if one.scenario.disturbance.name]
    for name in dict.fromkeys(one.scenario.disturbance.name for one in disturbed):
        some = [one for one in disturbed if one.scenario.disturbance.name == name]
        if some[0].found["interleaved_s"] is None:
            calm = sum(one.worst("slower") < SLOWEST for one in some)
        else:
            back = sum(one.found["interleaved_s"] <= AGAIN_S for one in some)
            found.append((f"{name}: interleaved again within {AGAIN_S:g} s", back, len(some)))
            calm = sum(one.found["meanwhile"] < SLOWEST for one in some)
        found.append((f"{name}: nobody slower by {SLOWEST:.0%} meanwhile", calm, len(some)))
    return found


def _marks(runs: Sequence[Row]) -> list[float]:
    """How many times more marks at random starts than held, for each setting that has both, and marks at all."""
    found = []
    for setting in dict.fromkeys(one.scenario.setting for one in runs):
        means = []
        for mode in (RANDOM, HELD):
            some = [
                job["marks"]
                for one in runs
                if one.scenario.setting == setting and one.scenario.mode == mode and not one.scenario.disturbance.name
                for job in one.found["jobs"].values()
            ]
            means.append(statistics.fmean(some) if some else math.nan)
        if means[0] > 1 and not math.isnan(means[1]):
            found.append(means[0] / means[1] if means[1] else math.inf)
    return found


def markdown(runs: Sequence[Row], sessions: Sequence[Mapping[str, Any]], failures: Sequence[str], quick: bool) -> str:
    """The whole report."""
    lanes = " or ".join(map(str, sorted({session["lanes"] for session in sessions})))
    last = {**{key: str(value) for key, value in sessions[-1].items()}, "lanes": lanes}
    if len(sessions) > 1:
        last["sessions"] = f"{len(sessions)}; the machine is that of the last"
    parts = reports.heading("Control on a kernel's network", last, quick)
    parts.append(
        _ABOUT.format(
            rate=RATE_MBIT,
            full_ms=FULL.compute_ms,
            full_mb=FULL.megabytes,
            light_ms=LIGHT.compute_ms,
            light_mb=LIGHT.megabytes,
            lanes=lanes,
        )
        + "\n"
    )
    wanted = [(words, f"{reached} of {of}") for words, reached, of in targets(runs)]
    parts += ["## Targets\n", table(("wanted", "runs"), wanted)]
    parts.append(f"![all runs]({NAME}.png)\n")
    for group in dict.fromkeys(one.scenario.group for one in runs):
        some = [one for one in runs if one.scenario.group == group]
        parts += [f"## {group}\n", _summary(some)]
    parts += ["## Every run\n", "Jobs are separated by a stroke.\n", _every(runs)]
    if failures:
        parts += ["## Runs that failed\n", "".join(f"- {one}\n" for one in failures)]
    return "\n".join(parts)


def _summary(runs: Sequence[Row]) -> str:
    head = (
        "scenario",
        "runs",
        "first after",
        "slower (worst)",
        "p99",
        "overlap",
        "marks",
        "resent",
        "adjustments (worst)",
    )
    disturbed = any(one.found["interleaved_s"] is not None for one in runs)
    lines = []
    for name in dict.fromkeys(one.scenario.name for one in runs):
        some = [one for one in runs if one.scenario.name == name]

        def mean(key: str, some: list[Row] = some) -> float:
            values = [job[key] for one in some for job in one.found["jobs"].values() if key in job]
            kept = [value for value in values if not math.isnan(value)]
            return statistics.fmean(kept) if kept else math.nan

        line = [name, str(len(some)), _seconds(max(one.found["first_s"] for one in some))]
        line += [f"{mean('slower'):+.1%} ({max(one.worst('slower') for one in some):+.1%})"]
        line += [f"{max(one.worst('p99') for one in some):.2f}", f"{mean('overlap'):.2f}", f"{mean('marks'):.1f}"]
        line += [f"{mean('retransmissions'):.1f}"]
        line += [f"{mean('adjustments'):.1f} ({max(one.worst('adjustments') for one in some):.1f})"]
        if disturbed:
            line += _after(some)
        lines.append(line)
    return table((*head, "interleaved after (apart)", "meanwhile") if disturbed else head, lines)


def _after(runs: Sequence[Row]) -> list[str]:
    """The worst of some runs."""
    if runs[0].found["interleaved_s"] is None:
        return ["", ""]
    again, apart, cost = (max(one.found[key] for one in runs) for key in ("interleaved_s", "apart_s", "meanwhile"))
    return [f"{_seconds(again)} ({_seconds(apart)})", f"{cost:+.1%}"]


def _every(runs: Sequence[Row]) -> str:
    head = (
        "scenario",
        "run",
        "slower",
        "p50",
        "p90",
        "p99",
        "overlap",
        "marks",
        "resent",
        "adjustments",
        "waited",
        "state",
    )
    formats = {
        "slower": "+.1%",
        "p50": ".3f",
        "p90": ".3f",
        "p99": ".3f",
        "overlap": ".2f",
        "marks": ".0f",
        "retransmissions": ".0f",
        "adjustments": ".1f",
        "waited": ".1%",
        "state": "",
    }
    lines = []
    for one in runs:
        cells = [
            " / ".join(format(job[key], how) if key in job else "–" for job in one.found["jobs"].values())
            for key, how in formats.items()
        ]
        first = _seconds(one.found["first_s"])
        lines.append([one.scenario.name, str(one.number), first, *cells, *_after([one]), one.told()])
    return table((*head, "interleaved after (apart)", "meanwhile", "told"), lines)


def _seconds(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.1f} s"


def write(
    runs: Sequence[Row], sessions: Sequence[Mapping[str, Any]], failures: Sequence[str], out: Path, quick: bool
) -> None:
    """Markdown, JSON and the picture, into a folder."""
    figures = {
        "sessions": list(sessions),
        "targets": [{"wanted": words, "reached": reached, "runs": of} for words, reached, of in targets(runs)],
        "runs": [
            {"scenario": one.scenario.name, "number": one.number, **one.found, "events": list(one.events)}
            for one in runs
        ],
        "failures": list(failures),
    }
    draw(runs, out / f"{NAME}.png", reports.footnote(sessions[-1], quick))
    reports.write(out, NAME, markdown(runs, sessions, failures, quick), figures, [f"{NAME}.png"])
