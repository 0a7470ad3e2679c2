"""How jobs are told apart: a colour for each, and beyond the colours a hatch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from .figures import PALETTE

__all__ = ["JobStyle", "job_styles"]

HATCHES = ("", "....", "xxxx", "----", "oo", "++++")


class JobStyle(NamedTuple):
    """Colour and hatch of a job in all pictures of one answer; the hatch is empty for the first seven."""

    colour: str
    hatch: str


def job_styles(shown: Collection[str], known: Iterable[str] = ()) -> Mapping[str, JobStyle]:
    """A style for every job shown, no two alike as long as at most 42 are shown.

    Styles go by the order of ids among all jobs ``known``, so that a job looks the same in every picture. Where two
    jobs shown would look alike, they go by the order of those shown.
    """
    place = {job: at for at, job in enumerate(sorted({*known, *shown}))}
    n_styles = len(PALETTE) * len(HATCHES)
    if len({place[job] % n_styles for job in shown}) < len(set(shown)):
        place = {job: at for at, job in enumerate(sorted(set(shown)))}
    styles = [JobStyle(colour, hatch) for hatch in HATCHES for colour in PALETTE]
    return {job: styles[place[job] % n_styles] for job in sorted(shown)}
