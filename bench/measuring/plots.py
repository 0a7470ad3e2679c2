"""The colours of the plots, and how a picture is styled and saved."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot

SERIES = ("#1b6ca8", "#c0392b", "#2e8b57", "#d68910", "#7d3c98", "#16a085", "#34495e")


@contextmanager
def saved(file: Path, footnote: str) -> Iterator[None]:
    """Save what the block draws on the current figure, with a footnote, to ``file``."""
    style = {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
    with pyplot.rc_context(style):
        yield
        figure = pyplot.gcf()
        figure.text(0.01, 0.005, footnote, fontsize=6, color="#666666")
        figure.tight_layout(rect=(0, 0.02, 1, 1))
        figure.savefig(file, dpi=130)
        pyplot.close(figure)
