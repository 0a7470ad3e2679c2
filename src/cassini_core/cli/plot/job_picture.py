"""``cassini-core plot job``."""

from __future__ import annotations

from ..inputs import read_input
from .picture import NOWHERE, Target

__all__ = ["job"]


def job(
    file: str,
    /,
    *,
    target: Target = NOWHERE,
) -> None:
    """Draw a job: its demand over one iteration, along time and around its circle.

    Parameters
    ----------
    file
        Job file, as cassini-core profile writes it; - for standard input.
    """
    from ...plots.job import job_figure, job_plot_data
    from ...problem_file import profile_from_json

    target.check(file)
    shown, _ = profile_from_json(*read_input(file))
    data = {"id": shown.id, **job_plot_data(shown)}
    target.emit("job", data, lambda theme: job_figure(shown, theme))
