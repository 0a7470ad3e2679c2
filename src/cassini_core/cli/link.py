"""``cassini-core link``: the best shifts for the jobs of one link."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..choices import Method
from ..formats import ms_text_down, score_text
from ..kernel.prepared_link import DEFAULT_RESOLUTION_MS, DEFAULT_SLACK_TOLERANCE
from ..node_budget import DEFAULT_NODE_LIMIT
from .console import Waiting, emit_bytes, emit_renderables, one_line
from .inputs import read_input
from .options import AngleCount, DeadlineS, JsonFlag, NodeLimit, ResolutionMs, SlackTolerance

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..model import Job
    from ..results import LinkSolution

__all__ = ["link"]


def link(
    file: str,
    /,
    *,
    json: JsonFlag = False,
    method: Method = "exact",
    angles: AngleCount = 72,
    deadline_s: DeadlineS = None,
    node_limit: NodeLimit = DEFAULT_NODE_LIMIT,
    resolution_ms: ResolutionMs = DEFAULT_RESOLUTION_MS,
    slack_tolerance: SlackTolerance = DEFAULT_SLACK_TOLERANCE,
) -> None:
    """Find the time-shifts at which the jobs of one link interleave best.

    Iteration times are taken as they are; rank first makes periods that almost agree agree.

    Parameters
    ----------
    file
        Link file: {"capacity_gbps": 50, "jobs": [...]} with jobs as in a problem file; - for standard input.
    method
        exact: continuous time, with proof. angles: the paper's grid of rotation angles.
    angles
        Number of angles on the unified circle, for --method angles; 72 is the paper's 5 degrees.
    """
    from ..links.one_link import solve_link
    from ..problem_file import link_from_json

    jobs, capacity_gbps = link_from_json(*read_input(file))
    with Waiting("searching shifts"):
        solution = solve_link(
            jobs,
            capacity_gbps,
            method=method,
            angles=angles,
            resolution_ms=resolution_ms,
            slack_tolerance=slack_tolerance,
            node_limit=node_limit,
            deadline_s=deadline_s,
        )
    if json:
        emit_bytes(solution.to_json())
    else:
        emit_renderables(*_report(solution, jobs, capacity_gbps, method, slack_tolerance))


def _report(
    solution: LinkSolution, jobs: Sequence[Job], capacity_gbps: float, method: str, slack_tolerance: float
) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..ranking.conclusion import conclude_link, proof_text
    from .tables import link_table

    yield link_table(solution, jobs)
    least = "" if solution.score_is_exact else "at least "
    yield Text(
        f"Score {least}{score_text(solution.score)}, bound {score_text(solution.upper_bound)} "
        f"({proof_text(solution)}); "
        f"perimeter {solution.perimeter_ms:.15g} ms, {solution.nodes} search nodes."
    )
    if method == "angles":
        yield Text(f"The grid of angles itself claims {score_text(solution.claimed_score)} for these shifts.")
    yield Text(
        f"All jobs may drift up to {ms_text_down(solution.hold_ms)} ms at once, each alone up to its slack, "
        f"before the score drops by more than {slack_tolerance:g}."
    )
    yield Text(one_line(conclude_link(solution, capacity_gbps)))
