"""One scheme with and without Cassini under several conditions: cases, rows and a plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from matplotlib import pyplot

from bench.measuring.plots import SERIES, saved

from .cases import Case
from .comparison import median_of, ratio_of, run_cases
from .experiment import Row, Settings
from .report import number, times

__all__ = ["gain_rows", "plot_gains", "sweep"]


def sweep(base: Case, scheme: str, changes: Mapping[str, Mapping[str, Any]], settings: Settings) -> dict[str, Any]:
    """The scheme with and without Cassini under each change: by its name, then by ``without`` and ``with``."""
    cases = {}
    for name, change in changes.items():
        changed = replace(base, **change)
        cases[name, "without"] = replace(changed, decider=scheme)
        cases[name, "with"] = replace(changed, decider=f"{'Th' if scheme == 'Themis' else scheme}+Cassini")
    found = run_cases({" | ".join(key): case for key, case in cases.items()}, settings)
    return {name: {which: found[f"{name} | {which}"] for which in ("without", "with")} for name in changes}


def gain_rows(data: Mapping[str, Any]) -> list[Row]:
    """By how much slowdowns are smaller with Cassini, and what they are without."""
    rows = []
    for name, of in data.items():
        mean, tail, done = (
            ratio_of(of["without"][kind][key], of["with"][kind][key])
            for kind, key in (("slowdown", "mean"), ("slowdown", "p99"), ("completion_s", "mean"))
        )
        there = median_of(of["without"]["slowdown"]["mean"])
        note = f"p99 {times(tail)}; completion {times(done)}; mean slowdown without {number(there, 3)}"
        rows.append(Row(f"{name}: mean slowdown, without over with", "", times(mean, 3), note))
    return rows


def plot_gains(data: Mapping[str, Any], path: Path, title: str) -> None:
    """Mean slowdown of each condition, without and with Cassini, and the gains by seed."""
    with saved(path, "medians over seeds with their intervals; dots: seeds"):
        _, axes = pyplot.subplots(1, 2, figsize=(12, 1.6 + 0.36 * len(data)), sharey=True)
        for at, (which, color) in enumerate((("without", SERIES[1]), ("with", SERIES[0]))):
            found = [median_of(of[which]["slowdown"]["mean"]) for of in data.values()]
            places = [index + 0.2 * (at - 0.5) for index in range(len(found))]
            middles = [one[0] for one in found]
            errors = [[one[0] - one[1] for one in found], [one[2] - one[0] for one in found]]
            axes[0].errorbar(middles, places, xerr=errors, fmt="o", color=color, label=which, markersize=4, linewidth=1)
        for index, of in enumerate(data.values()):
            ones, others = (of[which]["slowdown"]["mean"] for which in ("without", "with"))
            gains = [one / other for one, other in zip(ones, others, strict=True) if one and other]
            axes[1].plot(gains, [index] * len(gains), ".", color=SERIES[0], alpha=0.5)
            axes[1].plot(median_of(gains)[0], index, "|", color="black", markersize=14)
        axes[0].set_yticks(range(len(data)), list(data))
        axes[0].invert_yaxis()
        axes[0].set(xlabel="iteration time over that alone, mean", title=title)
        axes[1].set(xlabel="without over with Cassini")
        axes[1].axvline(1.0, color="#999999", linewidth=0.8)
        for one in axes:
            one.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes[0].legend(fontsize=8)
