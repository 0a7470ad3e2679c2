"""Candidates with loops: how many the paper's rule discards, and what joint shifts win there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from matplotlib import pyplot

from bench.measuring.plots import SERIES, saved

from ..cases import Case
from ..comparison import median_of, ratio_of, run_cases
from ..experiment import Row, Settings
from ..parameters import OPTIONS
from ..report import number, times

TITLE = "Candidates with loops: the paper's rule against joint shifts"


def _filled(leaves: int) -> Mapping[str, Any]:
    """A cluster that the dynamic trace fills, for 90 s."""
    return {
        "trace": "dynamic",
        "tasks": {"gpus": 4 * leaves},
        "network": "leaves and spines",
        "size": {"leaves": leaves, "hosts": 4, "spines": 2},
        "options": {**OPTIONS, "until_s": 90.0},
    }


SETTINGS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "Packed, 24 GPUs": {"tasks": {"count": 40}, "options": OPTIONS},
        "Random, 24 GPUs": {"tasks": {"count": 40}, "options": OPTIONS},
        "Packed, 96 GPUs": _filled(24),
        "Random, 96 GPUs": _filled(24),
        "Themis, 96 GPUs": _filled(24),
    }
)
"""The testbed with the Poisson trace, load 0.9; larger clusters filled at once."""


def run(settings: Settings) -> dict[str, Any]:
    """Each without Cassini, with the paper's rule, and with joint shifts."""
    cases = {}
    chosen = dict(list(SETTINGS.items())[:2]) if settings.quick else SETTINGS
    for name, what in chosen.items():
        scheduler = name.split(",")[0]
        short = "Th" if scheduler == "Themis" else scheduler
        for scheme in (scheduler, f"{short}+Cassini, paper's rule", f"{short}+Cassini"):
            cases[f"{name} | {scheme}"] = Case(scheme, **what)
    found = run_cases(cases, settings)
    return {
        name: {key.split(" | ")[1]: one for key, one in found.items() if key.startswith(f"{name} |")} for name in chosen
    }


def rows(data: dict[str, Any]) -> list[Row]:
    """Shares of candidates, and slowdowns."""
    found = []
    for name, of in data.items():
        plain, rule, joint = of.values()
        share = median_of([_share(one, "discarded", "candidates") for one in rule["ranked"]])
        fallback = median_of([_share(one, "all_discarded", "rounds") for one in rule["ranked"]])
        note = "in its own run: what is discarded decides where later tasks go"
        found.append(Row(f"{name}: candidates discarded, %", "", number(share, 1), note))
        found.append(
            Row(
                f"{name}: rounds in which all are, %",
                "",
                number(fallback, 1),
                "then the first is taken, without shifts",
            )
        )
        for what, one in (("the paper's rule", rule), ("joint shifts", joint)):
            mean, tail = (ratio_of(plain["slowdown"][key], one["slowdown"][key]) for key in ("mean", "p99"))
            found.append(
                Row(f"{name}: mean slowdown, without over with {what}", "", times(mean, 3), f"p99 {times(tail)}")
            )
        over = ratio_of(rule["slowdown"]["mean"], joint["slowdown"]["mean"])
        found.append(Row(f"{name}: mean slowdown, the paper's rule over joint shifts", "", times(over, 3)))
    return found


def plot(data: dict[str, Any], path: Path) -> None:
    """Share of candidates discarded, and mean slowdowns."""
    with saved(path, "medians over seeds with their intervals"):
        _, axes = pyplot.subplots(1, 2, figsize=(11, 4))
        names = list(data)
        shares = [
            [_share(one, "discarded", "candidates") for one in list(of.values())[1]["ranked"]] for of in data.values()
        ]
        axes[0].bar(names, [median_of(one)[0] for one in shares], color=SERIES[3], width=0.6)
        axes[0].set_axisbelow(True)
        axes[0].set(ylabel="candidates with loops, %")
        for at, (label, color) in enumerate(
            zip(("without Cassini", "the paper's rule", "joint shifts"), (SERIES[1], SERIES[3], SERIES[0]), strict=True)
        ):
            found = [median_of(list(of.values())[at]["slowdown"]["mean"]) for of in data.values()]
            errors = [[one[0] - one[1] for one in found], [one[2] - one[0] for one in found]]
            places = [index + 0.2 * (at - 1) for index in range(len(found))]
            axes[1].errorbar(
                places, [one[0] for one in found], yerr=errors, fmt="o", color=color, label=label, markersize=4
            )
        axes[1].set_xticks(range(len(names)), names)
        axes[1].set(ylabel="iteration time over that alone, mean")
        axes[1].legend(fontsize=8)
        for one in axes:
            one.tick_params(axis="x", labelsize=7)
            one.grid(axis="y", color="#dddddd", linewidth=0.6)


def _share(counts: Mapping[str, float], part: str, whole: str) -> float | None:
    return 100.0 * counts[part] / counts[whole] if counts[whole] else None
