"""The study of placements as Markdown and as a picture."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib import pyplot
from matplotlib.axes import Axes

from bench.measuring import reports
from bench.measuring.plots import SERIES, saved
from bench.measuring.tables import table

from .gain import Gain
from .muri_trace import GBPS
from .pipe import GPUS_PER_WORKER, JOBS, Pipe
from .worn_cluster import ENDED, GPUS, HOSTS, LEAVES, OVERSUBSCRIPTION

FAMILIES = {"packed": "jobs that run were packed", "scattered": "jobs that run lie scattered"}
SHOWN = ("best", "packed", "best at random", "mean at random")
SLOWED = ("best", "mean at random")


def markdown(pipe: Pipe, gains: Sequence[Gain], candidates: int, about: Mapping[str, str], quick: bool) -> str:
    """The whole report."""
    parts = reports.heading("What candidate placements are worth", about, quick)
    parts.append(
        "Written by `python -m bench.placement --topology TOPO.csv --trace CLUSTER_TRACE.csv`. Jobs are those of "
        f"Muri's trace; assumed is that each sends at {GBPS:g} Gbit/s for as long as the trace gives for the network, "
        f"at the end of an iteration, in a ring, and that a worker has {GPUS_PER_WORKER} GPUs "
        "(`bench/placement/muri_trace.py`).\n"
    )
    parts.append(f"## The pipe: Lingjun's network, {JOBS} jobs\n")
    rows = [
        (f"`{step.command}`", f"{step.seconds:.1f} s", f"{step.processor_s:.1f} s", f"{step.megabytes:.2f}")
        for step in pipe.steps
    ]
    every = (
        "all at once, as a pipe",
        f"{pipe.at_once_s:.1f} s",
        f"{sum(one.processor_s for one in pipe.steps):.1f} s",
        "",
    )
    parts.append(table(("command", "by the clock", "of processors", "MB out"), [*rows, every]))
    parts.append(f"Best: {pipe.best}. The placing says:\n\n```text\n" + "\n".join(pipe.said) + "\n```\n")
    parts.append("## Beside random placement\n")
    parts.append(
        f"{len(gains)} clusters of {LEAVES} leaf switches with {HOSTS} hosts of {GPUS} GPUs, {OVERSUBSCRIPTION:g}:1 "
        f"above the leaf switches. Each was filled with jobs, {ENDED:.0%} of them ended, and others wait for the "
        f"holes; all that wait are placed in every candidate. `place` makes {candidates} candidates, and as many are "
        "drawn at random. All are ranked together. *Score* is that of the ranking. *Slowdown* is iteration time over "
        "that alone, mean over all jobs, in the max-min simulation of "
        "[ranking-prediction.md](ranking-prediction.md): with the shifts of the ranking, paced 1 % above the "
        "iteration time; or from random starts without shifts.\n"
    )
    for family, words in FAMILIES.items():
        of = [one for one in gains if one.family == family]
        won = Counter(one.won_by for one in of)
        waiting = [one.waiting for one in of]
        parts.append(f"### Where the {words}\n")
        parts.append(
            f"{len(of)} clusters; {min(waiting)} to {max(waiting)} jobs wait. The best of `place` is "
            + ", ".join(f"{name} in {count}" for name, count in won.most_common())
            + f". It scores more than all {candidates} at random in "
            f"{sum(one.scores['best'] > one.scores['best at random'] + 1e-9 for one in of)}, as much in "
            f"{sum(abs(one.scores['best'] - one.scores['best at random']) <= 1e-9 for one in of)}.\n"
        )
        parts.append(_table(of))
        without = [statistics.fmean(one.slowdown[f"{name}, without shifts"] for one in of) for name in SLOWED]
        parts.append(f"Without shifts the mean slowdown is {without[0]:.4f} (best) and {without[1]:.4f} (at random).\n")
    parts.append("![score and slowdown of each cluster](placement.png)\n")
    return "\n".join(parts)


def _table(gains: Sequence[Gain]) -> str:
    rows = []
    for name in SHOWN:
        row = [name]
        for values in ([one.scores[name] for one in gains], [one.slowdown[name] for one in gains]):
            row += [f"{one:.4f}" for one in (statistics.fmean(values), min(values), max(values))]
        rows.append(row)
    head = ("placement", "score", "least", "most", "slowdown", "least", "most")
    return table(head, rows)


def draw(gains: Sequence[Gain], file: Path, footnote: str) -> None:
    """Score and slowdown of each cluster: the best of the candidates, the packed one, and those at random."""
    with saved(file, footnote):
        _, axes = pyplot.subplots(1, 2, figsize=(10, 4.2))
        _panel(axes[0], gains, "scores", "score (higher is better)")
        _panel(axes[1], gains, "slowdown", "slowdown, with shifts (lower is better)")
        axes[0].legend(fontsize=8, loc="lower left")


def _panel(axes: Axes, gains: Sequence[Gain], field: str, label: str) -> None:
    marks = (("best", "o", "best of place"), ("packed", "_", "packed"), ("best at random", "^", "best at random"))
    marks += (("mean at random", "x", "mean at random"),)
    at = list(range(len(gains)))
    for color, (name, mark, words) in zip(SERIES, marks, strict=False):
        values = [getattr(one, field)[name] for one in gains]
        axes.plot(at, values, mark, color=color, label=words, markersize=10 if mark == "_" else 5, mew=1.5)
    split = sum(one.family == "packed" for one in gains)
    axes.axvline(split - 0.5, color="#999999", linewidth=0.8)
    for place, words in (
        (split / 2 - 0.5, FAMILIES["packed"]),
        ((split + len(gains)) / 2 - 0.5, FAMILIES["scattered"]),
    ):
        axes.text(place, 1.02, words, ha="center", fontsize=8, transform=axes.get_xaxis_transform())
    axes.set(xlabel="cluster", ylabel=label, xticks=[])
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
