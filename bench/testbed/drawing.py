"""Plots that several experiments have: curves of distributions, marks by model, and medians with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from matplotlib.axes import Axes

from bench.measuring.plots import SERIES

from .cases import QUANTILES
from .comparison import Estimate

__all__ = ["bars_by_model", "curves", "medians"]

STYLES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "Themis": (SERIES[1], "-"),
        "Th+Cassini": (SERIES[0], "-"),
        "Th+Cassini, paper's rule": (SERIES[0], "--"),
        "Th+Cassini, placement alone": (SERIES[0], ":"),
        "Th+Cassini, shifts alone": (SERIES[0], "-."),
        "Pollux": (SERIES[3], "-"),
        "Po+Cassini": (SERIES[4], "-"),
        "Random": (SERIES[6], "-"),
        "Ideal": (SERIES[2], "-"),
        "Packed": (SERIES[5], "-"),
        "Packed+Cassini": (SERIES[5], "--"),
    }
)
"""Colour and line by scheme, the same in all plots."""


def curves(axes: Axes, schemes: Mapping[str, Mapping[str, Any]], kind: str, label: str) -> None:
    """Distribution functions of all iterations, medians over seeds; the axis ends where 99.8 % of all schemes are."""
    shares = [percent / 100 for percent in QUANTILES]
    ends = []
    for name, one in schemes.items():
        curve = one[kind]["curve"]
        if curve:
            color, line = STYLES.get(name, (SERIES[6], ":"))
            axes.step(curve, shares, line, where="post", color=color, label=name, linewidth=1.4)
            ends.append(curve[-2])
    axes.set(xlabel=label, ylabel="share of iterations", ylim=(0, 1.005))
    if ends:
        axes.set_xlim(right=max(ends) * 1.02)
    axes.grid(color="#dddddd", linewidth=0.6)


def bars_by_model(axes: Axes, schemes: Mapping[str, Mapping[str, float]], label: str) -> None:
    """A group of bars per model, one a scheme."""
    models = sorted({model for one in schemes.values() for model in one})
    width = 0.8 / max(1, len(schemes))
    for at, (name, one) in enumerate(schemes.items()):
        color, line = STYLES.get(name, (SERIES[6], "-"))
        places = [index + (at + 0.5) * width - 0.4 for index in range(len(models))]
        heights = [one.get(model, 0.0) for model in models]
        axes.bar(places, heights, width, color=color, alpha=1.0 if line == "-" else 0.5, label=name)
    axes.set_axisbelow(True)
    axes.set_xticks(range(len(models)), models, rotation=45, ha="right", fontsize=7)
    axes.set_ylabel(label)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)


def medians(
    axes: Axes, places: Sequence[float], found: Sequence[Estimate], label: str, color: str, line: str = "-"
) -> None:
    """Medians over a parameter, with their intervals."""
    middles = [one[0] for one in found]
    axes.fill_between(
        places, [one[1] for one in found], [one[2] for one in found], color=color, alpha=0.15, linewidth=0
    )
    axes.plot(places, middles, line, marker="o", markersize=3, color=color, label=label)
