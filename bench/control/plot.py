"""The study of control as one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean

from matplotlib import pyplot
from matplotlib.axes import Axes

from bench.measuring.plots import SERIES, saved

from .scenario import Outcome, relative_phase_ms

__all__ = ["draw"]

SHOWN_S = 120.0


def draw(results: Mapping[str, Sequence[Sequence[Outcome]]], file: Path, footnote: str) -> None:
    """Phase of the pair over time under each rule, its cost by rule and by jitter, and a stall."""
    with saved(file, footnote):
        _, axes = pyplot.subplots(2, 2, figsize=(11, 8))
        _phases(axes[0, 0], results["Rules"])
        _costs(axes[0, 1], results["Rules"])
        _sweep(axes[1, 0], results["Jitter, clocks, ranks"])
        _stall(axes[1, 1], results["Disturbances"])


def _phases(axes: Axes, group: Sequence[Sequence[Outcome]]) -> None:
    for runs, colour in reversed(list(zip(group[:4], SERIES, strict=False))):  # the agent's on top
        _phase(axes, runs[0], colour, runs[0].rule)
    axes.set_title("3 % jitter: relative phase of the pair")
    axes.set_xlim(0, SHOWN_S)
    axes.legend(loc="upper right", markerscale=4, fontsize=8)


def _phase(axes: Axes, outcome: Outcome, colour: str, label: str) -> None:
    first, second = list(outcome.traces.values())[:2]
    shift = outcome.shift_ms[1] - outcome.shift_ms[0]
    series = relative_phase_ms(first, second, outcome.pace_ms[0], shift)
    axes.plot([s / 1e3 for s, _ in series], [off for _, off in series], ".", markersize=1.5, color=colour, label=label)
    axes.set_xlabel("s")
    axes.set_ylabel("ms from the planned phase")


def _costs(axes: Axes, group: Sequence[Sequence[Outcome]]) -> None:
    names = [runs[0].rule for runs in group]
    places = range(len(group))
    slower = [100 * fmean(v for run in runs for v in run.slower) for runs in group]
    axes.barh(places, slower, color=[SERIES[0] if name == "agent" else "0.75" for name in names])
    for place, value in zip(places, slower, strict=True):
        axes.text(value, place, f" {value:.1f} %", va="center", fontsize=8)
    axes.set_yticks(list(places), names)
    axes.invert_yaxis()
    axes.set_xlabel("mean iteration time above the job alone, %")
    axes.set_title("3 % jitter: cost of each rule")


def _sweep(axes: Axes, group: Sequence[Sequence[Outcome]]) -> None:
    runs = [each for each in group if "," not in each[0].scenario]
    names = [each[0].scenario.replace(" jitter", "") for each in runs]
    axes.plot(
        names, [100 * fmean(v for r in each for v in r.slower) for each in runs], "o-", color=SERIES[0], label="slower"
    )
    waited = [100 * fmean(v for r in each for v in r.delay_share) for each in runs]
    axes.plot(names, waited, "s--", color=SERIES[1], label="waited")
    axes.set_xlabel("compute jitter (standard deviation)")
    axes.set_ylabel("%")
    axes.set_ylim(bottom=0)
    axes.set_title("The agent: cost by jitter")
    axes.legend()


def _stall(axes: Axes, group: Sequence[Sequence[Outcome]]) -> None:
    for runs, colour in zip(group[:2], SERIES, strict=False):
        label = "no coordinator" if "no coordinator" in runs[0].scenario else "with a coordinator"
        _phase(axes, runs[0], colour, label)
    axes.axvspan(60, 77, color="0.9")
    axes.set_xlim(40, SHOWN_S)
    axes.set_title("One job stands still for 17 s")
    axes.legend(loc="lower left", markerscale=4, fontsize=8)
