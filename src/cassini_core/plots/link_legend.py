"""The words of the pictures of one link: which jobs, how late each starts, how good it is, how much of it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..formats import score_text, short
from .figures import Look, Theme, key_below, plot_label
from .job_styles import JobStyle

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_legend", "duration_words", "excess_style", "kept_jobs", "score_words", "shift_words"]

MOST_JOBS = 8
"""Jobs that are drawn one by one; the others, which carry less, are drawn as one."""

UNITS_MS = ((365.25 * 86_400_000, "years"), (86_400_000, "days"), (3_600_000, "h"), (60_000, "min"), (1000, "s"))


def kept_jobs(data: Mapping[str, Any]) -> list[str]:
    """The jobs that are drawn one by one, by id: all, or of many those that carry most."""
    by_volume = sorted(data["jobs"], key=lambda job: (-job["mean_gbps"], job["id"]))
    kept = by_volume if len(by_volume) <= MOST_JOBS else by_volume[: MOST_JOBS - 1]
    return sorted(job["id"] for job in kept)


def draw_legend(
    figure: Figure, data: Mapping[str, Any], styles: Mapping[str, JobStyle], theme: Theme, more: Sequence[Any] = ()
) -> None:
    """Below the picture: a swatch for each job with its shift, one for the excess, and ``more`` handles."""
    from matplotlib.patches import Patch

    handles = []
    for job in data["jobs"]:
        if job["id"] in styles:
            style, words = styles[job["id"]], f"{plot_label(job['id'])}, {shift_words(job)}"
            handles.append(Patch(facecolor=style.colour, hatch=style.hatch, edgecolor=theme.ink, lw=0.5, label=words))
    n_others = len(data["jobs"]) - len(styles)
    if n_others:
        handles.append(Patch(facecolor=theme.fill, edgecolor=theme.ink, lw=0.5, label=f"and {n_others} more jobs"))
    handles.append(Patch(**{**excess_style(theme), "linewidth": 0.5}, label="above the capacity"))
    key_below(figure, [*handles, *more], theme, window_words(data))


def shift_words(job: Mapping[str, Any]) -> str:
    """How late a job starts."""
    return "any shift" if job["is_free"] else f"shift {short(job['shift_ms'])} ms"


def score_words(side: Mapping[str, Any]) -> str:
    """A score, and whether it is only known to be that much at least."""
    return f"{'' if side['score_is_exact'] else 'at least '}{score_text(side['score'])}"


def window_words(data: Mapping[str, Any]) -> str:
    """What a reader has to know where not all is shown; empty where all is."""
    if data["is_whole"]:
        return ""
    return (
        f"The pattern repeats after {duration_words(data['perimeter_ms'])}; "
        f"shown are the first {duration_words(data['window_ms'])}. The scores are those of the whole."
    )


def duration_words(duration_ms: float | None) -> str:
    """A time of any length, None for one that no float can hold, in the unit people use for it."""
    if duration_ms is None:
        return "a time beyond all bounds"
    for unit_ms, name in UNITS_MS:
        if duration_ms >= 5 * unit_ms:
            return f"{duration_ms / unit_ms:.3g} {name}"
    return f"{duration_ms:.5g} ms"


def excess_style(theme: Theme) -> Look:
    """How demand above the capacity looks: a hatch, whatever colours are below."""
    red, green, blue = (int(theme.background[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return {"facecolor": (red, green, blue, 0.5), "hatch": "/////", "edgecolor": theme.ink, "linewidth": 0}
