"""Which assumption carries the difference to the paper: the dynamic trace again, with one changed at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
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
from ..schemes import named_cases

TITLE = "Which assumption carries the difference: the dynamic trace with one changed"

SCHEMES = ("Themis", "Th+Cassini", "Th+Cassini, shifts alone", "Ideal")

_COMMENSURATE = {"octave_ms": 200.0}

CHANGES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "as it is": {},
        "packed at first": {"worn": False},
        "traffic spread over all paths": {"paths": "spread"},
        "usual batch sizes": {"tasks": {"batches": "usual"}},
        "iteration times commensurate": {"changes": _COMMENSURATE},
        "sending 20 % of the time": {"changes": {"sending": 0.2}},
        "commensurate, sending 20 %": {"changes": {"sending": 0.2, **_COMMENSURATE}},
        "commensurate, sending 30 %": {"changes": {"sending": 0.3, **_COMMENSURATE}},
        "commensurate, sending 40 %": {"changes": {"sending": 0.4, **_COMMENSURATE}},
        "commensurate, sending 30 %, no jitter": {
            "changes": {"sending": 0.3, **_COMMENSURATE},
            "options": {**OPTIONS, "jitter_share": 0.0},
        },
    }
)
"""What is changed of the case. Themis' tasks lie where chance put them at first, as in the experiment ``dynamic``."""


def run(settings: Settings) -> dict[str, Any]:
    """Themis with and without Cassini under each."""
    base = Case("Themis", "dynamic", options=OPTIONS, worn=True)
    changes = dict(list(CHANGES.items())[:2]) if settings.quick else CHANGES
    cases = {
        f"{change}: {name}": case
        for change, what in changes.items()
        for name, case in named_cases(SCHEMES, replace(base, **what)).items()
    }
    found = run_cases(cases, settings)
    return {change: {name: found[f"{change}: {name}"] for name in SCHEMES} for change in changes}


def rows(data: dict[str, Any]) -> list[Row]:
    """Gains, and what there was to gain."""
    found = []
    for change, of in data.items():
        mean, tail = (
            ratio_of(of["Themis"]["slowdown"][key], of["Th+Cassini"]["slowdown"][key]) for key in ("mean", "p99")
        )
        alone = ratio_of(of["Themis"]["slowdown"]["mean"], of["Th+Cassini, shifts alone"]["slowdown"]["mean"])
        there = median_of(of["Themis"]["slowdown"]["mean"])
        note = f"p99 {times(tail)}; shifts alone {times(alone)}; Themis' mean slowdown {number(there)}"
        found.append(
            Row(
                f"{change}: mean slowdown, Th+Cassini over Themis",
                "1.5×" if change == "as it is" else "",
                times(mean),
                note,
            )
        )
    return found


def plot(data: dict[str, Any], path: Path) -> None:
    """What Themis loses to the network, and what of that is left with Cassini."""
    with saved(path, "mean slowdown, medians over seeds; bars: the interval of the median"):
        _, axes = pyplot.subplots(figsize=(9, 4.8))
        for at, (name, color) in enumerate(zip(SCHEMES[:3], (SERIES[1], SERIES[0], SERIES[3]), strict=True)):
            found = [median_of(of[name]["slowdown"]["mean"]) for of in data.values()]
            places = [index + 0.2 * (at - 1) for index in range(len(found))]
            middles = [one[0] for one in found]
            errors = [[one[0] - one[1] for one in found], [one[2] - one[0] for one in found]]
            axes.errorbar(middles, places, xerr=errors, fmt="o", color=color, label=name, markersize=4, linewidth=1)
        axes.set_yticks(range(len(data)), list(data))
        axes.invert_yaxis()
        axes.axvline(1.0, color="#999999", linewidth=0.8)
        axes.set(xlabel="iteration time over that alone, mean over iterations")
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.legend(fontsize=8)
