"""``cassini-core plot affinity`` and ``candidates``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .picture import CandidateId, DarkFlag, NumbersFlag, PicturePath, check_picture, emit_picture

__all__ = ["affinity", "candidates"]


AnswerFile = Annotated[
    str,
    Parameter(
        help="Problem file, which is ranked first, or answer of cassini-core rank --with-problem; - for standard input."
    ),
]


def affinity(
    file: AnswerFile,
    /,
    *,
    output: PicturePath = None,
    json: NumbersFlag = False,
    candidate: CandidateId = None,
    link: Annotated[str | None, Parameter(help="Draw only what hangs together with this link.")] = None,
    job: Annotated[str | None, Parameter(help="Draw only what hangs together with this job.")] = None,
    dark: DarkFlag = False,
) -> None:
    """Draw the affinity graph of a candidate: jobs, links that they share, time-shifts on the links, loops.

    Links that pose the same problem to the same jobs are drawn once. Of a graph of more than 24 jobs or links what is
    nearest to the worst link is drawn.
    """
    from ...plots.affinity import affinity_plot_data
    from ...plots.affinity_drawing import affinity_figure
    from ...plots.figures import plot_label
    from ...plots.placed_links import placed_links
    from ..answers import read_answer
    from .chosen import chosen_candidate

    check_picture(file, output, json)
    problem, ranking = read_answer(file)
    chosen = chosen_candidate(ranking, candidate)
    data = affinity_plot_data(placed_links(problem, ranking, chosen), near_job=job, near_link=link)
    title, known = f"Affinity graph of {plot_label(chosen.id)}", [one.id for one in problem.jobs]
    emit_picture(
        "affinity",
        {"candidate": chosen.id, **data},
        lambda theme: affinity_figure(data, title=title, known_jobs=known, theme=theme),
        output=output,
        json=json,
        dark=dark,
    )


def candidates(
    file: AnswerFile,
    /,
    *,
    output: PicturePath = None,
    json: NumbersFlag = False,
    dark: DarkFlag = False,
) -> None:
    """Draw the candidates beside each other: score, bound, hold and worst link; the picture has the first 30."""
    from ...plots.candidates import candidates_figure, candidates_plot_data
    from ..answers import read_answer

    check_picture(file, output, json)
    _, ranking = read_answer(file)
    data = candidates_plot_data(ranking)
    emit_picture(
        "candidates", data, lambda theme: candidates_figure(data, theme=theme), output=output, json=json, dark=dark
    )
