"""The report at cluster scale as one picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, PercentFormatter

from bench.measuring.plots import SERIES, saved
from bench.measuring.tables import seconds

from .targets import LATE_MS, RANKING_S, SHARE_AT_1_S

Found = Mapping[str, Any]

TIMES = {"ranking, two threads": "wall_2_s", "ranking, one thread": "wall_1_s", "its links, two threads": "links_s"}


def draw(found: Found, file: Path, footnote: str) -> None:
    """Time against candidates; score against the deadline; how late each call was."""
    with saved(file, footnote):
        _, axes = pyplot.subplots(1, 3, figsize=(14, 5.2), width_ratios=(1.3, 1, 1))
        _times(axes[0], found)
        _shares(axes[1], found)
        _lateness(axes[2], found)


def _times(axes: Axes, found: Found) -> None:
    most = max(row["jobs"] for row in found["sizes"])
    own = [row for row in found["sizes"] if row["jobs"] == most and not row["perturbation"]]
    candidates = [row["candidates"] for row in own]
    for color, (name, key) in zip(SERIES, TIMES.items(), strict=False):
        axes.plot(candidates, [row[key] for row in own], "o-", color=color, markersize=4, linewidth=1, label=name)
    for marker, row in zip("sD^v", [row for row in found["sizes"] if row not in own], strict=False):
        axes.plot(row["candidates"], row["wall_2_s"], marker, color=SERIES[3], markersize=5, label=_other(row))
    axes.axhline(RANKING_S, color="#999999", linewidth=0.6, linestyle="--")
    axes.set(xscale="log", yscale="log", xlabel="candidates", ylabel="median time of a warm call")
    axes.xaxis.set_major_locator(FixedLocator(candidates))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_title(f"{most:,} jobs. Dashed: {seconds(RANKING_S)}, asked of the largest", fontsize=9)
    # Below: lines may fall or rise.
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.45, -0.13), ncols=2)


def _other(row: Found) -> str:
    return f"{row['candidates']:,} × {row['jobs']:,} jobs" + (", perturbed" if row["perturbation"] else "")


def _shares(axes: Axes, found: Found) -> None:
    _dots(axes, found, "share")
    axes.axhline(SHARE_AT_1_S, color="#999999", linewidth=0.6, linestyle="--")
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_ylabel("best score, share of the reference")
    axes.set_title(f"Each call with a deadline. Dashed: {SHARE_AT_1_S:.1%}, asked at 1 s", fontsize=9)


def _lateness(axes: Axes, found: Found) -> None:
    _dots(axes, found, "late_ms")
    axes.axhline(LATE_MS, color="#999999", linewidth=0.6, linestyle="--")
    axes.axhline(0, color="#999999", linewidth=0.6)
    axes.set_yscale("symlog", linthresh=LATE_MS)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_ylabel("end of the call after the deadline, ms")
    axes.set_title(f"How late. Dashed: {LATE_MS:g} ms, the most asked", fontsize=9)


def _dots(axes: Axes, found: Found, key: str) -> None:
    """One dot per call, and a line through the medians."""
    calls = found["deadlines"]["calls"]
    deadlines = sorted({one["deadline_s"] for one in calls})
    medians = [np.median([one[key] for one in calls if one["deadline_s"] == deadline_s]) for deadline_s in deadlines]
    axes.plot(deadlines, medians, "-", color=SERIES[0], linewidth=1)
    at = [one["deadline_s"] for one in calls]
    axes.plot(at, [one[key] for one in calls], "o", color=SERIES[0], markersize=4, alpha=0.4, markeredgewidth=0)
    axes.set(xscale="log", xlabel="deadline, s")
    axes.xaxis.set_major_locator(FixedLocator(deadlines))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
