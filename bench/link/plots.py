"""The report's plots. Times are on logarithmic axes; what was cut short is drawn hollow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench.link import comparison_tables
from bench.measuring.plots import SERIES, saved
from bench.measuring.tables import seconds

ENGINE = "#1b6ca8"
PEERS = {
    "CP-SAT": "#c0392b",
    "HiGHS": "#d68910",
    "NumPy enumeration": "#7d3c98",
    "Numba enumeration": "#2e8b57",
    "greedy rotation": "#7f8c8d",
    "100 random delays": "#34495e",
}

Result = dict[str, Any]


def draw_all(results: Result, folder: Path, footnote: str) -> list[str]:
    """Draw every plot; returns the file names."""
    plots: dict[str, Callable[[Result], None]] = {"jobs.png": _jobs, "phases.png": _phases}
    for name, plot in plots.items():
        with saved(folder / name, footnote):
            plot(results)
    return list(plots)


def _time_axis(axes: Axes) -> None:
    axes.set_yscale("log")
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: seconds(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def _jobs(results: Result) -> None:
    """Engine by family with its 95th percentile; peers on 72 angles."""
    _, axes = pyplot.subplots(figsize=(8, 4.8))
    families = {one["family"]: one for one in results["families"]["families"]}
    kinds = (("1 phase", "-"), ("1-3 phases", "--"), ("3 phases", ":"))
    for offset, (kind, style) in zip((-0.06, 0.0, 0.06), kinds, strict=True):
        ours = [one for n in range(2, 9) if (one := families.get(f"equal {n} jobs, {kind}"))]
        at, middle = [one["jobs"] + offset for one in ours], [one["median_s"] for one in ours]
        whiskers = [[0.0] * len(at), [max(0.0, one["p95_s"] - one["median_s"]) for one in ours]]
        axes.errorbar(at, middle, whiskers, fmt="none", ecolor=ENGINE, capsize=3, elinewidth=1)
        cut = [one["proved"] < one["instances"] for one in ours]
        _with_hollow(axes, at, middle, cut, ENGINE, f"engine, {kind}", marker="o", linestyle=style)
    for peer, color in PEERS.items():
        runs = {
            int(group.split()[0]): comparison_tables.medians(found)
            for (group, grid, name), found in comparison_tables.grouped(results["comparison"]).items()
            if name == peer and grid == "72 angles" and "mixed" not in group
        }
        times, cut = [run["peer_s"] for run in runs.values()], [run["at_least"] for run in runs.values()]
        _with_hollow(axes, list(runs), times, cut, color, peer)
    axes.set(xlabel="jobs on the link", ylabel="median time (whisker: 95th percentile)")
    axes.set_title(
        "Exact solve in continuous time; peers on 72 angles, on fewer links. Hollow: some without proof", fontsize=9
    )
    axes.set_xticks(range(2, 7))
    _time_axis(axes)
    axes.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _with_hollow(
    axes: Axes,
    x: Sequence[float],
    y: Sequence[float],
    hollow: Sequence[bool],
    color: str,
    label: str,
    *,
    marker: str = "s",
    linestyle: str = "-",
) -> None:
    """A line with markers, some of them hollow."""
    axes.plot(x, y, color=color, linewidth=1, label=label, marker=marker, markersize=4, linestyle=linestyle)
    if any(hollow):
        points = [(a, b) for a, b, one in zip(x, y, hollow, strict=True) if one]
        axes.plot(*zip(*points, strict=True), marker, color="white", markeredgecolor=color, markersize=5)


def _phases(results: Result) -> None:
    """GPT-like families by number of phases."""
    _, axes = pyplot.subplots(figsize=(6, 4))
    families = [one for one in results["families"]["families"] if one["family"].startswith("GPT-like")]
    for color, n_jobs in zip(SERIES, sorted({one["jobs"] for one in families}), strict=False):
        ours = [one for one in families if one["jobs"] == n_jobs]
        at = [int(one["family"].split(", ")[1].split()[0]) for one in ours]
        cut = [one["proved"] < one["instances"] for one in ours]
        _with_hollow(axes, at, [one["median_s"] for one in ours], cut, color, f"{n_jobs} jobs", marker="o")
        axes.plot(at, [one["slowest_s"] for one in ours], "^", color=color, alpha=0.5, markersize=4)
    axes.set(xlabel="phases per job", ylabel="median time (triangle: slowest)", xscale="log")
    axes.set_xticks((6, 12, 25, 50), labels=("6", "12", "25", "50"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_title("Jobs with many phases. Hollow: some without proof", fontsize=9)
    _time_axis(axes)
    axes.legend(fontsize=7)
