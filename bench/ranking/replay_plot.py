"""The replay as one picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, PercentFormatter

from bench.plots import SERIES

from .replay_tables import stage_medians

if TYPE_CHECKING:
    from .replay_report import Replayed


def draw(replayed: Sequence[Replayed], file: Path, footnote: str) -> None:
    """Left: hits round by round. Right: processor time of a round by stage, as a share of that of ``rank``."""
    with pyplot.rc_context(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    ):
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.4))
        _hits(left, replayed)
        _stages(right, replayed)
        figure.text(0.01, 0.005, footnote, fontsize=6, color="#666666")
        figure.tight_layout(rect=(0, 0.02, 1, 1))
        figure.savefig(file, dpi=130)
        pyplot.close(figure)


def _hits(axes: Axes, replayed: Sequence[Replayed]) -> None:
    for one, color in zip(replayed, SERIES, strict=False):
        shares = [each.hits / max(1, each.hits + each.misses) for each in one.rounds]
        axes.plot(range(1, len(shares) + 1), shares, "o-", color=color, markersize=3, linewidth=1, label=one.study.name)
    axes.set(xlabel="round", ylim=(0, 1))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_title("Distinct link problems whose answer was known", fontsize=9)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.legend(fontsize=7, loc="lower right")


def _stages(axes: Axes, replayed: Sequence[Replayed]) -> None:
    labels = []
    for place, one in enumerate(replayed):
        whole = sum(stage_medians(one.rounds, "plain").values())
        for below, way in enumerate(("plain", "ranker")):
            begin, y = 0.0, -(place * 2.6 + below)
            for color, (stage, taken) in zip(SERIES, stage_medians(one.rounds, way).items(), strict=False):
                named = stage if place == below == 0 else None
                axes.barh(y, taken / whole, left=begin, color=color, height=0.8, label=named)
                begin += taken / whole
            labels.append((y, "rank" if way == "plain" else "Ranker"))
        axes.text(0.0, -(place * 2.6) + 0.5, one.study.name, fontsize=7)
    axes.set_yticks([y for y, _ in labels], labels=[name for _, name in labels])
    axes.xaxis.set_major_formatter(PercentFormatter(1.0))
    axes.set_title("Processor time of a round by stage", fontsize=9)
    axes.legend(fontsize=7, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.1))
