"""The page: what is said without scripts, the numbers for the scripts, and a policy that lets nothing else in."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files
from string import Template
from typing import Any

from ..errors import refusal, shown
from ..formats import counted, json_line
from ..model import Problem
from ..plots.placed_links import PlacedLink, placed_links
from ..ranking.conclusion import conclude_ranking
from ..results import RankedCandidate, Ranking
from .elements import name, text
from .sections import candidates_section, key_figures, links_section, shifts_section, why_section
from .timeline import timeline_data

__all__ = ["embedded_json", "report_page"]

SCRIPTS = ("demand.js", "chart.js", "page.js")

FIRST_WARNINGS = 3
"""What is to be seen at once; the others are folded."""


def report_page(problem: Problem, ranking: Ranking, candidate_id: str | None = None) -> bytes:
    """One HTML file that explains one candidate of a ranking and asks for nothing else.

    Parameters
    ----------
    problem : Problem
    ranking : Ranking
        Of this problem.
    candidate_id : str, optional
        Default: the best, or the first where none was solved.

    Raises
    ------
    InputError
        There is no such candidate.

    Notes
    -----
    O(routes of the candidate + phases of the jobs on its links); the same bytes for the same answer.
    """
    candidate = _candidate(ranking, candidate_id)
    links: Sequence[PlacedLink] = () if candidate is None else placed_links(problem, ranking, candidate)
    is_live = bool(links) and candidate is not None and candidate.score is not None
    sections = "" if candidate is None else _sections(candidate, problem, ranking, links, is_live)
    timeline = _read("timeline.html") if is_live else ""
    style, script = _read("page.css"), _as_script("\n".join(_read(file) for file in SCRIPTS)) if is_live else ""
    data = timeline_data(links, candidate.jobs_placed) if is_live and candidate is not None else {}
    content = {
        "policy": _policy(style, script),
        "title": "Cassini report" if candidate is None else f"{text(candidate.id)} - Cassini report",
        "style": style,
        "heading": "No placement" if candidate is None else f"Placement {name(candidate.id)}",
        "scope": _scope(problem, ranking, candidate),
        "conclusion": text(conclude_ranking(ranking, problem, ranking.aggregate)),
        "figures": "" if candidate is None else key_figures(candidate),
        "warnings": _warnings([*ranking.warnings, *(candidate.warnings if candidate is not None else ())]),
        "contents": _contents(sections + timeline),
        "sections": sections,
        "timeline": timeline,
        "data": embedded_json(data),
        "script": script,
    }
    return Template(_read("page.html")).substitute(content).encode()


def embedded_json(content: Any) -> str:
    """JSON that cannot end the script element that it stands in, nor begin a comment there."""
    json = json_line(content).decode().strip()
    return json.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _candidate(ranking: Ranking, candidate_id: str | None) -> RankedCandidate | None:
    if candidate_id is None:
        return ranking.best or next(iter(ranking.candidates), None)
    if candidate_id not in ranking:
        raise refusal("", "candidate", "the id of a candidate", shown(candidate_id))
    return ranking[candidate_id]


def _sections(
    candidate: RankedCandidate, problem: Problem, ranking: Ranking, links: Sequence[PlacedLink], is_live: bool
) -> str:
    parts = (
        shifts_section(candidate, problem, ranking),
        why_section(candidate, ranking),
        candidates_section(candidate, ranking),
        links_section(links, is_live),
    )
    return "\n".join(parts)


def _read(file: str) -> str:
    return files(__package__).joinpath(file).read_text("utf-8")


def _as_script(source: str) -> str:
    """Each file begins strictly; in one script that is said once, at its beginning."""
    return '"use strict";\n' + source.replace('"use strict";\n', "")


def _policy(style: str, script: str) -> str:
    """No address is asked for anything, and only this style and this script are taken."""

    def digest(content: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"

    rules = ["default-src 'none'", f"style-src {digest(style)}", f"script-src {digest(script)}"]
    return "; ".join([*rules, "base-uri 'none'", "form-action 'none'"])


def _scope(problem: Problem, ranking: Ranking, candidate: RankedCandidate | None) -> str:
    sizes = ((problem.candidates, "candidate"), (problem.jobs, "job"), (problem.links, "link"))
    scope = ", ".join(counted(len(items), word) for items, word in sizes)
    if candidate is None or len(ranking) < 2:
        return scope
    return f"Number {ranking.candidates.index(candidate) + 1} of {scope}"


def _warnings(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    items = [f"<li>{text(one)}</li>" for one in dict.fromkeys(warnings)]
    first, more = "".join(items[:FIRST_WARNINGS]), "".join(items[FIRST_WARNINGS:])
    if more:
        more = f"<details><summary>{len(items) - FIRST_WARNINGS} more</summary><ul>{more}</ul></details>"
    return f'<div class="warnings"><strong>Warnings</strong><ul>{first}</ul>{more}</div>'


def _contents(sections: str) -> str:
    found = re.findall(r'<section id="([a-z]+)".*?<h2[^>]*>(.*?)</h2>', sections, re.DOTALL)
    return "\n".join(f'<a href="#{anchor}">{heading}</a>' for anchor, heading in found)
