"""The report's plots. Times are on logarithmic axes; what was cut short is drawn hollow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, NullFormatter

from bench.studies import comparison_tables, discretisation
from bench.tables import seconds

ENGINE = "#1b6ca8"
PEERS = {
    "CP-SAT": "#c0392b",
    "HiGHS": "#d68910",
    "NumPy enumeration": "#7d3c98",
    "Numba enumeration": "#2e8b57",
    "greedy rotation": "#7f8c8d",
    "100 random delays": "#34495e",
}
SERIES = ("#1b6ca8", "#c0392b", "#2e8b57", "#d68910", "#7d3c98", "#16a085", "#34495e")

Result = dict[str, Any]


def draw_all(results: Result, folder: Path, footnote: str) -> list[str]:
    """Draw every plot whose study is in ``results``; returns the file names."""
    plots: dict[str, Callable[[Result], None]] = {
        "jobs.png": _jobs,
        "phases.png": _phases,
        "resolution.png": _resolution,
        "lcm.png": _lcm,
        "discretisation.png": _discretisation,
    }
    with pyplot.rc_context(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    ):
        for name, plot in plots.items():
            plot(results)
            figure = pyplot.gcf()
            figure.text(0.01, 0.005, footnote, fontsize=6, color="#666666")
            figure.tight_layout(rect=(0, 0.02, 1, 1))
            figure.savefig(folder / name, dpi=130)
            pyplot.close(figure)
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


def _resolution(results: Result) -> None:
    points = results["scaling"]["steps"]
    _scaling(points, [255 / one["step_ms"] for one in points], "steps per iteration (255 ms in steps of 1 ms to 1 µs)")
    pyplot.gca().set_title("Finer times. Hollow: cut short, no proof", fontsize=9)


def _lcm(results: Result) -> None:
    points = results["scaling"]["periods"]
    _scaling(points, [one["lcm_ms"] for one in points], "LCM of the iteration times, ms")
    pyplot.gca().set_title("Periods with ever less in common. Hollow: cut short, no proof", fontsize=9)


def _scaling(points: list[Result], x: Sequence[float], x_label: str) -> None:
    """The engine and Numba enumeration against something that grows."""
    _, axes = pyplot.subplots(figsize=(6.4, 4))
    for n_jobs, color in zip(sorted({one.get("jobs", 3) for one in points}), SERIES, strict=False):
        own = [(at, one) for at, one in zip(x, points, strict=True) if one.get("jobs", 3) == n_jobs]
        cut = [one["engine_proved"] < one["instances"] for _, one in own]
        ours = [one["engine_s"] for _, one in own]
        _with_hollow(axes, [at for at, _ in own], ours, cut, color, f"engine, {n_jobs} jobs", marker="o")
        asked = [(at, one) for at, one in own if not math.isnan(one["peer_s"])]
        cut = [one["peer_note"].startswith("cut") for _, one in asked]
        theirs = [one["peer_s"] for _, one in asked]
        label = f"Numba enumeration, {n_jobs} jobs"
        _with_hollow(axes, [at for at, _ in asked], theirs, cut, color, label, linestyle="--")
    axes.set(xlabel=x_label, ylabel="median time", xscale="log")
    _time_axis(axes)
    axes.legend(fontsize=7)


def _discretisation(results: Result) -> None:
    """Left: time of the search on angles, and the exact method's as a line. Right: score lost."""
    _, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.6))
    families = discretisation.summary(results["discretisation"])
    for color, (family, by_degrees) in zip(SERIES, families.items(), strict=False):
        degrees = sorted(by_degrees, reverse=True)
        points = [by_degrees[one] for one in degrees]
        cut = [point["cut_short"] > 0 for point in points]
        _with_hollow(left, degrees, [point["time_s"] for point in points], cut, color, family)
        left.axhline(points[0]["exact_s"], color=color, linewidth=0.8, linestyle=":")
        lost = [max(point["mean_lost"], 1e-6) for point in points]
        _with_hollow(right, degrees, lost, cut, color, family)
    for axes in (left, right):
        axes.set(xscale="log", xlabel="precision, degrees (finer to the right)")
        axes.invert_xaxis()
        axes.set_xticks((90, 45, 30, 15, 10, 5, 2, 1, 0.5), labels=("90", "45", "30", "15", "10", "5", "2", "1", "0.5"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.axvline(5, color="#999999", linewidth=0.6)
    _time_axis(left)
    left.set_ylabel("median time")
    left.set_title("Search on angles. Hollow: some cut short. Dotted: the exact method", fontsize=9)
    right.set_yscale("log")
    right.grid(axis="y", color="#dddddd", linewidth=0.6)
    right.axhline(discretisation.ENOUGH, color="#999999", linewidth=0.6, linestyle="--")
    right.set_ylabel("mean score lost (1e-6: none)")
    right.set_title("Exact optimum less the true score of the shifts", fontsize=9)
    right.legend(fontsize=7)
