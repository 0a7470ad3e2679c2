"""The table and the plot of the GPU benchmark.

``python -m bench.gpu.report OUT FILE.json ...`` writes both anew, of several reports together as ``OUT.md`` and so on.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

__all__ = ["draw", "table"]

SKIPPED = 2
"""Iterations at the beginning of a run that do not count."""

ENTERING = 8
"""Iterations after the jobs were arranged that do not count: hosts are some ahead, and wait once for their places."""

MODES = ["alone", "alone, with agent", "in phase", "random phase", "held"]


def table(report: Mapping[str, Any]) -> str:
    """Markdown."""
    report = _of_today(report)
    machine = report["machine"]
    lines = ["# Two training jobs on one shaped link", "", _where(machine, report["gbps"]), ""]
    for pair in report["pairs"]:
        lines += [f"## {' and '.join(pair['jobs'])}", "", *_about(pair), *_runs(pair), *_held(pair)]
        lines += [f"Ended before its time: {pair['failed']}", ""] if "failed" in pair else []
    return "\n".join(lines).rstrip() + "\n"


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Per pair: iteration times of all runs, and the phase of the jobs to each other while they are held."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    pairs = _of_today(report)["pairs"]
    figure, axes = plt.subplots(len(pairs), 2, figsize=(12, 4.5 * len(pairs)), squeeze=False)
    for (left, right), pair in zip(axes, pairs, strict=True):
        labelled = set()
        for run in pair["runs"]:
            mode, colour = _mode(run), f"C{MODES.index(_mode(run))}"
            for name, style in zip(pair["jobs"], ["-", "--"], strict=True):
                if name in run["jobs"]:
                    took = _took(run["jobs"][name])
                    left.plot(took, style, color=colour, alpha=0.7, label=None if mode in labelled else mode)
                    labelled.add(mode)
        left.set(title=f"{pair['jobs'][0]} (solid), {pair['jobs'][1]} (dashed)", ylim=(0, None))
        left.set(xlabel="iteration", ylabel="iteration time, ms")
        left.legend()
        if "held" in pair:
            _draw_phase(right, pair)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _draw_phase(axis: Any, pair: Mapping[str, Any]) -> None:
    run = next(one for one in pair["runs"] if one["mode"] == "held")
    one, other = pair["jobs"]
    first, second = run["jobs"][one]["starts_ns"], run["jobs"][other]["starts_ns"]
    held = pair["held"]
    pace_ms = max(held["paces_ms"].values())
    wanted_ms = held["shifts_ms"][other] - held["shifts_ms"][one]
    points = []
    for start_ns in second:
        before = max((each for each in first if each <= start_ns), default=None)
        if before is not None:
            points.append(((start_ns - first[0]) / 1e9, (start_ns - before) / 1e6 % pace_ms))
    axis.plot(*zip(*points, strict=True), ".-", label=f"{other} after {one}")
    axis.axhline(wanted_ms % pace_ms, color="black", lw=0.8, label="shift of the ranking")
    axis.axvline((held["at_monotonic_ns"] - first[0]) / 1e9, color="grey", ls=":", label="arranged")
    axis.set(xlabel="s", ylabel="phase, ms", ylim=(0, pace_ms), title="held")
    axis.legend()


def _where(machine: Mapping[str, Any], gbps: float) -> str:
    nccl = f", driver {machine['driver']}, NCCL {machine['nccl']}" if "nccl" in machine else ""
    return (
        f"{machine.get('gpus', 4)} x {machine['card']}{nccl}, PyTorch {machine['torch']}, {machine['date']}. Link: "
        f"loopback in a namespace of its own, token bucket of {gbps:g} Gbit/s. Two ranks a job."
    )


def _about(pair: Mapping[str, Any]) -> Iterator[str]:
    """What the jobs are, and what their agents measured."""
    for name in pair["jobs"]:
        about, profile = pair["about"].get(name, {}), pair["profiles"].get(name)
        if "bytes" in about:
            yield f"- `{name}`: {about['bytes'] / 1e6:.0f} MB of gradients, reduced by DDP."
            if about.get("waiting_operations"):
                yield f"  Operations that waited for the GPU: {', '.join(about['waiting_operations'])}."
        elif about:
            yield (
                f"- `{name}`: no GPU; computes for {1e3 * about['compute_s']:.1f} ms by waiting, then sends "
                f"{about['size_bytes'] / 1e6:.0f} MB each way. Its iteration time is set to the other's."
            )
        if profile is not None:
            start_ms, end_ms = profile["communication_start_ns"] / 1e6, profile["communication_end_ns"] / 1e6
            yield (
                f"  Profile measured by its agent: iteration {profile['iteration_ns'] / 1e6:.1f} ms, communication "
                f"from {start_ms:.1f} to {end_ms:.1f} ms."
            )
    for name, calls in pair.get("host_waits", {}).items():
        waits = ", ".join(f"{count} {call}" for call, count in calls["waits"].items()) or "none"
        yield (
            f"- Calls of `{name}` that wait for the GPU, in a trace of its loop with the agent: {waits}; "
            f"{calls['event_records']} events recorded, {calls['event_queries']} asked for."
        )
    yield ""


def _runs(pair: Mapping[str, Any]) -> Iterator[str]:
    """Each run, by job. Times alone are those without an agent, as soon as they are known."""
    yield "| run | job | mean ms | p50 ms | p90 ms | p99 ms | x alone | host ahead, ms | iterations |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    alone = {
        name: statistics.mean(_counted(run, name, pair))
        for mode in ("alone, with agent", "alone")
        for run in pair["runs"]
        for name in run["jobs"]
        if _mode(run) == mode
    }
    for mode in MODES:
        for run in (one for one in pair["runs"] if _mode(one) == mode):
            for name in (one for one in pair["jobs"] if one in run["jobs"]):
                took = sorted(_counted(run, name, pair))
                if not took:
                    continue  # arranged when it was over
                mean = statistics.mean(took)
                ranks = [took[min(len(took) - 1, round(share * len(took)))] for share in (0.5, 0.9, 0.99)]
                columns = [f"{mean:.1f}", *(f"{one:.1f}" for one in ranks), f"{mean / alone[name]:.4f}"]
                label = f"{mode}, {run['offset_s'] * 1e3:.0f} ms" if mode == "random phase" else mode
                yield f"| {label} | {name} | {' | '.join(columns)} | {_ahead(run['jobs'][name])} | {len(took)} |"
    yield ""


def _held(pair: Mapping[str, Any]) -> Iterator[str]:
    if "held" not in pair:
        return
    held = pair["held"]
    shifts = ", ".join(f"{name} {shift:.1f}" for name, shift in held["shifts_ms"].items())
    after_s = held.get("arranged_s")
    arranged = "" if after_s is None else f"; arranged for good after {after_s:.0f} s"
    yield (
        f"Score {held['score']:.3f}; shifts {shifts} ms; pace {max(held['paces_ms'].values()):.2f} ms; hold "
        f"{held['hold_ms']:.1f} ms{arranged}."
    )
    yield ""
    run = next(one for one in pair["runs"] if one["mode"] == "held")
    for name, one in run["jobs"].items():
        if "agent" in one:
            yield f"Agent of {name}: {one['agent']}"
            yield ""
    if held["told"]:
        yield f"Told: {'; '.join(held['told'])}"
        yield ""


def _mode(run: Mapping[str, Any]) -> str:
    return "alone, with agent" if run["mode"] == "alone" and run["agent"] else str(run["mode"])


def _took(one: Mapping[str, Any]) -> list[float]:
    """Iteration times, ms."""
    if "durations_ms" in one:
        return list(one["durations_ms"])
    return [(b - a) / 1e6 for a, b in pairwise(one["starts_ns"])]


def _counted(run: Mapping[str, Any], name: str, pair: Mapping[str, Any]) -> list[float]:
    """Those that count: not the first, and of the held run only those that are held."""
    one = run["jobs"][name]
    if run["mode"] != "held":
        return _took(one)[SKIPPED:]
    at_ns = pair["held"]["at_monotonic_ns"]
    first = next((k for k, start_ns in enumerate(one["starts_ns"]) if start_ns > at_ns), len(one["starts_ns"]))
    return _took(one)[first + ENTERING :]


def _ahead(one: Mapping[str, Any]) -> str:
    """By how much the host came to iterations before its GPU: median."""
    if "came_ns" not in one:
        return ""
    return f"{statistics.median(b - a for a, b in zip(one['came_ns'], one['starts_ns'], strict=False)) / 1e6:.0f}"


def _of_today(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Reports of before pairs: two jobs of one kind."""
    if "pairs" in report:
        return report
    names = ["job0", "job1"]
    runs: list[dict[str, Any]] = []
    for mode, durations in report["runs"].items():
        for k in range(0, len(durations), 2):
            jobs = {name: {"durations_ms": one} for name, one in zip(names, durations[k : k + 2], strict=False)}
            offset_s = report["random_phase_s"][k // 2] if mode == "random phase" else 0.0
            kept = {"solo": "alone", "solo with agent": "alone"}.get(mode, mode)
            runs.append({"mode": kept, "agent": "agent" in mode or mode == "held", "offset_s": offset_s, "jobs": jobs})
    held = dict(report["held"])
    for run in runs:
        if run["mode"] == "held":
            for name, starts_ns in zip(names, held["starts_ns"], strict=True):
                run["jobs"][name]["starts_ns"] = starts_ns
        if run["mode"] == "alone":  # of two equal jobs one was measured
            run["jobs"] = dict.fromkeys(names, run["jobs"]["job0"])
    pair = {"jobs": names, "about": {}, "profiles": dict.fromkeys(names, report["profile"]), "runs": runs, "held": held}
    return {"machine": report["machine"], "gbps": report["gbps"], "pairs": [pair]}


def main() -> None:
    """Write the reports as one, its table and its plot."""
    out = Path(sys.argv[1])
    reports = [_of_today(json.loads(Path(one).read_text())) for one in sys.argv[2:]]
    report = {**reports[0], "pairs": [pair for one in reports for pair in one["pairs"]]}
    out.with_suffix(".json").write_text(json.dumps(report) + "\n")
    out.with_suffix(".md").write_text(table(report))
    draw(report, out.with_suffix(".png"))


if __name__ == "__main__":
    main()
