"""The table and the plot of the GPU benchmark."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["draw", "table"]

SKIPPED = 2
"""Iterations at the beginning of a run that do not count."""


def settled(report: dict[str, Any]) -> list[list[float]]:
    """Iterations of the held run after the schedules were sent, two more left out."""
    at_ns = report["held"]["at_monotonic_ns"]
    kept = []
    for starts, took in zip(report["held"]["starts_ns"], report["runs"]["held"], strict=True):
        first = next((k for k, start_ns in enumerate(starts) if start_ns > at_ns), 0)
        kept.append(took[first + 3 :])
    return kept


def _row(name: str, runs: Sequence[Sequence[float]], solo: float) -> str:
    took = sorted(value for run in runs for value in run)
    mean, p90 = statistics.mean(took), took[min(len(took) - 1, round(0.9 * len(took)))]
    return f"| {name} | {mean:.0f} | {p90:.0f} | {mean / solo:.3f} | {len(took)} |"


def table(report: dict[str, Any]) -> str:
    """Markdown."""
    runs = {name: [run[SKIPPED:] for run in some] for name, some in report["runs"].items()}
    runs["held"] = settled(report)
    solo = statistics.mean(runs["solo"][0])
    in_phase = statistics.mean(value for run in runs["in phase"] for value in run)
    held = statistics.mean(value for run in runs["held"] for value in run)
    machine, layout = report["machine"], report["layout"]
    lines = [
        "# Two training jobs on one shaped link",
        "",
        f"{layout['gpus']} x {machine['card']}, driver {machine['driver']}, PyTorch {machine['torch']}, NCCL "
        f"{machine['nccl']}, {machine['date']}. Link: loopback in a namespace of its own, "
        f"token bucket of {report['gbps']:g} Gbit/s. VGG16, three micro-batches, two ranks a job on "
        f"{layout['gpus_per_job']} GPU(s) of its own ({layout['images_per_rank_and_micro_batch']} images a rank), "
        f"{layout['backend']} all-reduce of all gradients.",
        "",
        "| run | mean ms | p90 ms | x solo | iterations |",
        "| --- | ---: | ---: | ---: | ---: |",
        *(_row(name, some, solo) for name, some in runs.items()),
        "",
        f"In phase takes {in_phase / held:.3f} times as long as held; held takes {held / solo:.4f} times solo.",
        "",
        f"Profile measured by the agent: iteration {report['profile']['iteration_ns'] / 1e6:.1f} ms, communication "
        "from "
        f"{report['profile']['communication_start_ns'] / 1e6:.1f} to "
        f"{report['profile']['communication_end_ns'] / 1e6:.1f} ms. Shifts {report['held']['shifts_ms']}, paces "
        f"{report['held']['paces_ms']}, hold {report['held']['hold_ms']:.2f} ms, margin "
        f"{report['held']['margin_ms']:.2f} ms; ranked in {report['held']['rank_ms']:.1f} ms, sent in "
        f"{report['held']['dispatch_ms']:.1f} ms.",
        "",
    ]
    for one in report["held"]["agents"]:
        kept = {key: value for key, value in one.items() if key not in ("profile", "log")}
        lines += [f"Agent: {kept}", ""]
    if "trace" in report:
        lines += ["Calls in a profiler's trace of four iterations:", ""]
        for name, calls in report["trace"].items():
            waits = ", ".join(f"{count} {call}" for call, count in calls["waits"].items())
            others = f"{calls['event_records']} events recorded, {calls['event_queries']} asked for"
            lines.append(f"- {name}: {waits}; {others}.")
        lines.append("")
    return "\n".join(lines)


def draw(report: dict[str, Any], path: Path) -> None:
    """Iteration times of all runs, and the phase of the held jobs to each other."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    for name, runs in report["runs"].items():
        for k, run in enumerate(runs):
            left.plot(run, label=name if k == 0 else None, color=f"C{list(report['runs']).index(name)}", alpha=0.7)
    left.set_xlabel("iteration")
    left.set_ylabel("iteration time, ms")
    left.set_ylim(bottom=0)
    left.legend()
    first, second = report["held"]["starts_ns"]
    pace_ms = max(report["held"]["paces_ms"].values())
    wanted_ms = report["held"]["shifts_ms"]["job1"] - report["held"]["shifts_ms"]["job0"]
    began_ns = first[0]
    times, phases = [], []
    for start_ns in second:
        before = max((one for one in first if one <= start_ns), default=None)
        if before is not None:
            times.append((start_ns - began_ns) / 1e9)
            phases.append((start_ns - before) / 1e6 % pace_ms)
    right.plot(times, phases, ".-", label="second job after the first")
    right.axhline(wanted_ms % pace_ms, color="black", lw=0.8, label="shift of the ranking")
    right.axvline((report["held"]["at_monotonic_ns"] - began_ns) / 1e9, color="grey", ls=":", label="schedules sent")
    right.set_xlabel("s")
    right.set_ylabel("phase, ms")
    right.set_ylim(0, pace_ms)
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
