"""``cassini-core plot circles``, ``demand`` and ``landscape``: one link."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ...errors import InputError, shown
from ...formats import listed
from .chosen import ChosenLink, chosen_link
from .picture import NOWHERE, CandidateId, LinkId, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["circles", "demand", "landscape"]

LinkFile = Annotated[
    str,
    Parameter(
        help="Problem file, which is ranked first; answer of cassini-core rank --with-problem; or link file, which is "
        "solved first; - for standard input."
    ),
]


def circles(
    file: LinkFile,
    /,
    *,
    target: Target = NOWHERE,
    candidate: CandidateId = None,
    link: LinkId = None,
) -> None:
    """Draw the unified circle of a link: a ring for each job, before the jobs are rotated and after."""
    from ...plots.circles import circles_figure, circles_plot_data

    target.check(file)
    chosen = chosen_link(file, candidate, link)
    _emit("circles", "Unified circle of", chosen, target, circles_plot_data, circles_figure)


def demand(
    file: LinkFile,
    /,
    *,
    target: Target = NOWHERE,
    candidate: CandidateId = None,
    link: LinkId = None,
) -> None:
    """Draw what the jobs of a link demand over time, without shifts and with them, and what exceeds the capacity."""
    from ...plots.demand import demand_figure, demand_plot_data

    target.check(file)
    chosen = chosen_link(file, candidate, link)
    _emit("demand", "Demand on", chosen, target, demand_plot_data, demand_figure)


def landscape(
    file: LinkFile,
    /,
    *,
    target: Target = NOWHERE,
    candidate: CandidateId = None,
    link: LinkId = None,
    jobs: Annotated[
        str | None,
        Parameter(help="HELD,MOVED: the job that is held and the one that moves; by default the first two."),
    ] = None,
) -> None:
    """Draw what a link scores at every shift of one job against another, with the plateau around the shift chosen."""
    from ...plots.landscape import landscape_figure, landscape_plot_data

    target.check(file)
    chosen = chosen_link(file, candidate, link, least_jobs=2)
    pair = None if jobs is None else _pair(jobs, [job.id for job in chosen.link.jobs])
    data = landscape_plot_data(**_link_arguments(chosen), moved=pair)
    target.emit(
        "landscape",
        _head(chosen) | data,
        lambda theme: landscape_figure(data, title=f"Landscape of {chosen.title}", theme=theme),
    )


def _emit(
    kind: str,
    words: str,
    chosen: ChosenLink,
    target: Target,
    plot_data: Callable[..., dict[str, Any]],
    figure: Callable[..., Figure],
) -> None:
    """A picture of all jobs of a link."""
    data = plot_data(**_link_arguments(chosen), free_jobs=chosen.link.free_jobs)
    title = f"{words} {chosen.title}"
    target.emit(
        kind,
        _head(chosen) | data,
        lambda theme: figure(data, title=title, known_jobs=chosen.known_jobs, theme=theme),
    )


def _link_arguments(chosen: ChosenLink) -> dict[str, Any]:
    link = chosen.link
    return {
        "jobs": link.jobs,
        "capacity_gbps": link.capacity_gbps,
        "shifts_ms": link.shifts_ms,
        "resolution_ms": chosen.link.resolution_ms,
    }


def _head(chosen: ChosenLink) -> dict[str, Any]:
    """Whose numbers they are; null where a link file has no candidate."""
    return {"candidate": chosen.candidate, "link": chosen.link.id}


def _pair(text: str, ids: list[str]) -> tuple[str, str]:
    """Two ids with a comma between them; ids may have commas of their own."""
    for at, sign in enumerate(text):
        if sign == "," and text[:at] in ids and text[at + 1 :] in ids and text[:at] != text[at + 1 :]:
            return text[:at], text[at + 1 :]
    raise InputError(f"--jobs: expected HELD,MOVED, two jobs of the link ({listed(ids)}), got {shown(text)}")
