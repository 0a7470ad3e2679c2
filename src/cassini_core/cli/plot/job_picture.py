"""``cassini-core plot job``."""

from __future__ import annotations

from ..inputs import read_input
from .picture import DarkFlag, NumbersFlag, PicturePath, check_picture, emit_picture

__all__ = ["job"]


def job(
    file: str,
    /,
    *,
    output: PicturePath = None,
    json: NumbersFlag = False,
    dark: DarkFlag = False,
) -> None:
    """Draw a job: its demand over one iteration, along time and around its circle.

    Parameters
    ----------
    file
        Job file, as cassini-core profile writes it; - for standard input.
    """
    from ...plots.job import job_figure, job_plot_data
    from ...problem_file import profile_from_json

    check_picture(file, output, json)
    shown, _ = profile_from_json(*read_input(file))
    data = {"id": shown.id, **job_plot_data(shown)}
    emit_picture("job", data, lambda theme: job_figure(shown, theme), output=output, json=json, dark=dark)
