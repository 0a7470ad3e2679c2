"""What the page says without scripts: the answer, the shifts, why it wins, all candidates, the links."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..formats import counted, magnitude_text, ms_text, ms_text_down, score_text
from ..model import Candidate, Problem
from ..plots.placed_links import PlacedLink
from ..ranking.conclusion import proof_text
from ..results import LinkScore, NarrowLink, RankedCandidate, Ranking
from .elements import bar, figures, mark, name, table, text

__all__ = ["candidates_section", "key_figures", "links_section", "shifts_section", "why_section"]

MOST_CANDIDATES = 50
MOST_LINKS = 200
MOST_HOSTS = 6
MOST_JOBS = 8
"""Rows of tables, hosts of a job, jobs of a link; what is left out is counted."""


def key_figures(candidate: RankedCandidate) -> str:
    """Score, proof, hold and excess of the placement that the page is about."""
    pairs = [
        ("score", "-" if candidate.score is None else score_text(candidate.score), text(proof_text(candidate))),
        ("upper bound", score_text(candidate.upper_bound), "of any shifts of this placement"),
    ]
    if candidate.hold_ms is not None:
        pairs.append(("hold", f"{ms_text_down(candidate.hold_ms)} ms", "all jobs may drift so far at once"))
    if candidate.total_excess_gbps is not None:
        links = [counted(len(candidate.links), "shared link")]
        links += [counted(len(candidate.narrow_links), "narrow link")] * bool(candidate.narrow_links)
        excess = magnitude_text(candidate.total_excess_gbps)
        pairs.append(("mean demand above capacity", f"{excess} Gbit/s", f"over {' and '.join(links)}"))
    return figures(pairs)


def shifts_section(candidate: RankedCandidate, problem: Problem, ranking: Ranking) -> str:
    """What to apply: shift, slack and pace of each job, and where it runs, marked if not as in the first candidate."""
    placed = next(one for one in problem.candidates if one.id == candidate.id)
    base = problem.candidates[0]
    headers, classes = ["job", "shift, ms", "slack, ms", "pace, ms", "longer by"], ["", *["number"] * 4]
    if placed.hosts:
        headers, classes = [*headers, "workers on"], [*classes, "name"]
    rows = []
    for job in problem.jobs:
        if job.id not in placed.routes:
            continue
        pace = ranking.paces_ms.get(job.id, job.iteration_ms)
        longer = pace / job.iteration_ms - 1
        cells = [name(job.id) + (mark("elsewhere") if _is_elsewhere(job.id, base, placed) else "")]
        cells += [*_shift_cells(candidate, job.id), ms_text(pace)]
        cells.append(f"{magnitude_text(100 * longer)} %" if longer > 0 else "-")
        rows.append([*cells, *[_hosts_text(placed.hosts.get(job.id, {}))] * bool(placed.hosts)])
    notes = (
        "The shift is by how much to delay a job, the pace the iteration time to hold, the slack how far a job alone "
        f"may drift before a link's score drops by more than {ranking.slack_tolerance:g}."
    )
    if base.id != placed.id:
        notes += f" Elsewhere are jobs that have other hosts or links than in {name(base.id)}, the first of the input."
    if len(rows) < len(problem.jobs):
        notes += f" {counted(len(problem.jobs) - len(rows), 'job')} of the problem not placed."
    content = table("Jobs of this placement", headers, classes, rows)
    return _section("shifts", "Shifts to apply", f"<p>{notes}</p>", content)


def _is_elsewhere(job: str, base: Candidate, placed: Candidate) -> bool:
    return base.routes.get(job) != placed.routes[job] or base.hosts.get(job) != placed.hosts.get(job)


def _shift_cells(candidate: RankedCandidate, job: str) -> tuple[str, str]:
    if job in candidate.free_jobs:
        return "does not matter", "any"
    if job not in candidate.shifts_ms:
        return "not needed" if candidate.score is not None else "not known", "-"
    slack = candidate.slack_ms.get(job)
    return ms_text(candidate.shifts_ms[job]), "-" if slack is None else ms_text_down(slack)


def _hosts_text(hosts: Mapping[str, int]) -> str:
    shown = [f"{name(host)} ×{workers}" for host, workers in sorted(hosts.items())[:MOST_HOSTS]]
    more = [f"{len(hosts) - MOST_HOSTS} more"] * (len(hosts) > MOST_HOSTS)
    return ", ".join([*shown, *more]) or "-"


def why_section(chosen: RankedCandidate, ranking: Ranking) -> str:
    """The placement beside its strongest rival: the runner-up, or for any other placement the best."""
    solved = [one for one in ranking.candidates if one.score is not None]
    rivals = [one for one in solved if one.id != chosen.id]
    if chosen.score is None or not rivals:
        return ""
    wins = ranking.best is not None and chosen.id == ranking.best.id
    rival, role = rivals[0], "the runner-up" if wins else "the best"
    rows = list(zip(COMPARED, _compared(chosen), _compared(rival), strict=True))
    heading = "Why it wins" if wins and ranking.best_proven else "Why it leads" if wins else "What it lacks"
    headers = ("", name(chosen.id), f"{name(rival.id)} ({role})")
    return _section("why", heading, table("This placement and its rival", headers, ("", "", ""), rows))


COMPARED = (
    *("score", "jobs placed", "shared links", "mean demand above capacity, Gbit/s", "hold, ms"),
    *("worst link", "second worst", "third worst"),
)


def _compared(candidate: RankedCandidate) -> list[str]:
    links: list[LinkScore | NarrowLink] = [*candidate.links, *candidate.narrow_links]
    worst = sorted((one.score, one.id) for one in links if one.score is not None)[:3]
    return [
        *("-" if candidate.score is None else score_text(candidate.score), str(candidate.jobs_placed)),
        *(str(len(candidate.links)), magnitude_text(candidate.total_excess_gbps or 0.0)),
        "-" if candidate.hold_ms is None else ms_text_down(candidate.hold_ms),
        *(f"{score_text(score)} {name(link)}" for score, link in worst),
        *["-"] * (3 - len(worst)),
    ]


STATUSES = {
    "alone": "no link is shared",
    "tree": "jobs and the links that they share make no loop",
    "consistent": "they make loops, which cost nothing",
    "joint": "they make loops, whose links were searched together",
    "discarded": "they make loops, and such candidates were not wanted",
    "bound_only": "not searched: it cannot be among the best, or the time was up",
}
"""What the page says of how a candidate was answered."""


def candidates_section(chosen: RankedCandidate, ranking: Ranking) -> str:
    """The first candidates, best first."""
    shown = ranking.candidates[:MOST_CANDIDATES]
    headers = ("candidate", "score", "bound", "proof", "jobs", "status", "hold, ms")
    classes = ("", "number", "number", "", "number", "", "number")
    rows = [
        (
            f'<span class="rank">{rank}</span> {name(one.id)}' + (mark("this page") if one.id == chosen.id else ""),
            "-" if one.score is None else score_text(one.score),
            score_text(one.upper_bound),
            text(proof_text(one)),
            str(one.jobs_placed),
            text(one.status.replace("_", " ")),
            "-" if one.hold_ms is None else ms_text_down(one.hold_ms),
        )
        for rank, one in enumerate(shown, start=1)
    ]
    at = next((n for n, one in enumerate(shown) if one.id == chosen.id), None)
    left = len(ranking.candidates) - len(shown)
    known = {one.status for one in shown}
    more = f"<p>{counted(left, 'more candidate')} not shown.</p>" if left else ""
    meanings = [f"{text(status.replace('_', ' '))} ({STATUSES[status]})" for status in STATUSES if status in known]
    intro = f"<p>No shifts of a placement score more than its bound. Status: {'; '.join(meanings)}.</p>"
    found = table("Candidates, best first", headers, classes, rows, at)
    return _section("candidates", "All candidates", intro, found, more)


def links_section(links: Sequence[PlacedLink], timeline: bool) -> str:
    """The shared and narrow links, worst first, each with its score; with a timeline a link leads to its demand."""
    if not links:
        return _section("links", "Links", "<p>No link is shared and none is too narrow: no shift is needed.</p>")
    rows = [
        (
            _link_name(link, number if timeline else None),
            "-" if link.score is None else score_text(link.score),
            bar(link.score or 0.0),
            magnitude_text((1 - link.score) * link.capacity_gbps) if link.score is not None else "-",
            f"{link.capacity_gbps:g}",
            _jobs_text(link),
        )
        for number, link in enumerate(links[:MOST_LINKS])
    ]
    headers = ("link", "score", "", "mean above capacity, Gbit/s", "capacity, Gbit/s", "jobs")
    classes = ("", "number", "bar", "number", "number", "name")
    rest = [link.score for link in links[MOST_LINKS:] if link.score is not None]
    more = ""
    if rest:
        more = f"<p>{counted(len(rest), 'more link')} from {score_text(min(rest))} to {score_text(max(rest))}.</p>"
    intro = (
        "<p>Links that several jobs share, and links too narrow for their only job. "
        "1 means that demand never exceeds the link.</p>"
    )
    return _section(
        "links", "Links of this placement", intro, table("Scores, worst first", headers, classes, rows), more
    )


def _link_name(link: PlacedLink, number: int | None) -> str:
    anchor = name(link.id) if number is None else f'<a href="#timeline" data-link="{number}">{name(link.id)}</a>'
    return anchor + (mark("narrow") if len(link.jobs) == 1 else "")


def _jobs_text(link: PlacedLink) -> str:
    more = [f"{len(link.jobs) - MOST_JOBS} more"] * (len(link.jobs) > MOST_JOBS)
    return ", ".join([*(name(job.id) for job in link.jobs[:MOST_JOBS]), *more])


def _section(identifier: str, heading: str, *parts: str) -> str:
    head = f'<h2 id="{identifier}-h">{heading}</h2>'
    return f'<section id="{identifier}" aria-labelledby="{identifier}-h">{head}{"".join(parts)}</section>'
