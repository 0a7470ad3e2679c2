"""Which candidate and which link of a file a picture shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ...errors import InputError, shown
from ...formats import listed
from ..answers import answer_from, chosen_candidate
from ..console import Waiting
from ..inputs import read_input

if TYPE_CHECKING:
    from ...model import Problem
    from ...plots.placed_links import PlacedLink
    from ...results import RankedCandidate, Ranking

__all__ = ["ChosenLink", "chosen_link"]


class ChosenLink(NamedTuple):
    """A link to draw, what it is called, and all jobs of its answer."""

    link: PlacedLink
    candidate: str | None
    title: str
    known_jobs: Sequence[str]


def chosen_link(file: str, candidate: str | None, link: str | None, least_jobs: int = 1) -> ChosenLink:
    """The link of a link file, with its best shifts, or one of a candidate: by default the best one's worst shared.

    Of the links of a candidate those of fewer than ``least_jobs`` jobs are no choice.
    """
    from ...problem_file.decoding import is_link_file

    data, source = read_input(file)
    if is_link_file(data):
        for option, value in (("--candidate", candidate), ("--link", link)):
            if value is not None:
                raise InputError(f"{option}: expected a problem or an answer to choose from, got a link file")
        return _solved_link(data, source)
    problem, ranking = answer_from(data, source)
    return _placed_link(problem, ranking, chosen_candidate(ranking, candidate), link, least_jobs)


def _solved_link(data: bytes, source: str) -> ChosenLink:
    from ...links.one_link import solve_link
    from ...plots.placed_links import PlacedLink
    from ...problem_file import link_from_json

    jobs, capacity_gbps = link_from_json(data, source)
    with Waiting("searching shifts"):
        solution = solve_link(jobs, capacity_gbps)
    found = PlacedLink(
        source,
        capacity_gbps,
        tuple(jobs),
        solution.shifts_ms,
        solution.free_jobs,
        solution.score,
        solution.upper_bound,
    )
    ids = [job.id for job in jobs]
    return ChosenLink(found, None, f"a link of {len(jobs)} jobs", ids)


def _placed_link(
    problem: Problem, ranking: Ranking, candidate: RankedCandidate, link: str | None, least_jobs: int
) -> ChosenLink:
    from ...plots.figures import plot_label
    from ...plots.placed_links import placed_links

    name = f"candidate {shown(candidate.id)}"
    if candidate.score is None:
        hint = "; cassini-core rank --exhaustive --with-problem solves all" if candidate.status == "bound_only" else ""
        raise InputError(f"{name}: expected one that was solved, got {candidate.status}{hint}")
    links = [one for one in placed_links(problem, ranking, candidate) if len(one.jobs) >= least_jobs]
    if not links:
        kinds = "a shared or narrow link" if least_jobs == 1 else "a link that jobs share"
        raise InputError(f"{name}: expected {kinds}, got none: there is nothing to draw")
    if link is None:  # on a narrow link shifts change nothing, so there is little to see
        links.sort(key=lambda one: len(one.jobs) < 2)
    found = next((one for one in links if link in (None, one.id)), None)
    if found is None:
        known = listed(one.id for one in links)
        raise InputError(f"--link: expected a shared or narrow link of {name} ({known}), got {shown(link)}")
    title = f"link {plot_label(found.id)} of {plot_label(candidate.id)}"
    return ChosenLink(found, candidate.id, title, [job.id for job in problem.jobs])
