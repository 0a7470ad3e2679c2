"""``cassini-core plot affinity`` and ``candidates``."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from .picture import NOWHERE, CandidateId, Target

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
    target: Target = NOWHERE,
    candidate: CandidateId = None,
    link: Annotated[str | None, Parameter(help="Draw only what hangs together with this link.")] = None,
    job: Annotated[str | None, Parameter(help="Draw only what hangs together with this job.")] = None,
) -> None:
    """Draw the affinity graph of a candidate: jobs, links that they share, time-shifts on the links, loops.

    Links that pose the same problem to the same jobs are drawn once. Of a graph of more than 24 jobs or links what is
    nearest to the worst link is drawn.
    """
    from ...plots.affinity import affinity_plot_data
    from ...plots.affinity_drawing import affinity_figure
    from ...plots.figures import plot_label
    from ...plots.placed_links import placed_links
    from ..answers import chosen_candidate, read_answer

    target.check(file)
    problem, ranking = read_answer(file)
    chosen = chosen_candidate(ranking, candidate)
    data = affinity_plot_data(placed_links(problem, ranking, chosen), near_job=job, near_link=link)
    title, known = f"Affinity graph of {plot_label(chosen.id)}", [one.id for one in problem.jobs]
    target.emit(
        "affinity",
        {"candidate": chosen.id, **data},
        lambda theme: affinity_figure(data, title=title, known_jobs=known, theme=theme),
    )


def candidates(
    file: AnswerFile,
    /,
    *,
    target: Target = NOWHERE,
) -> None:
    """Draw the candidates beside each other: score, bound, hold and worst link; the picture has the first 30."""
    from ...plots.candidates import candidates_figure, candidates_plot_data
    from ..answers import read_answer

    target.check(file)
    _, ranking = read_answer(file)
    data = candidates_plot_data(ranking)
    target.emit("candidates", data, lambda theme: candidates_figure(data, theme=theme))
