"""``cassini-core rank``: the candidate placements of a problem file, best first."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ..choices import Loops, Order
from ..errors import InputError
from ..formats import counted, magnitude_text, ms_text, ms_text_down, score_text
from ..kernel.prepared_link import DEFAULT_RESOLUTION_MS, DEFAULT_SLACK_TOLERANCE
from ..node_budget import AUTO
from ..ranking.aggregate import DEFAULT_AGGREGATE
from ..ranking.options import DEFAULT_RUNNING_TOLERANCE
from ..units import SCORE_TOLERANCE
from .console import Waiting, emit_bytes, emit_renderables, one_line
from .inputs import read_input
from .options import (
    AggregateName,
    BlockNodeLimit,
    DeadlineS,
    JsonFlag,
    LinkNodeLimit,
    PositiveCount,
    ResolutionMs,
    SlackTolerance,
    number_from,
    whole_number_from,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..model import Problem
    from ..results import RankedCandidate, Ranking

__all__ = ["rank"]

MOST_MOVES = 10
MOST_NARROW = 10
MOST_WARNINGS = 10
"""What is printed for people: in a large cluster one slow job has hundreds of narrow links, each with a warning."""


def rank(
    file: str,
    /,
    *,
    json: JsonFlag = False,
    with_problem: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    differences: Annotated[bool, Parameter(negative="", show_default=False)] = False,
    rows: Annotated[int, Parameter(converter=whole_number_from(1))] = 10,
    top: Annotated[int, Parameter(converter=whole_number_from(1))] = 1,
    exhaustive: Annotated[bool, Parameter(negative="")] = False,
    loops: Loops = "joint",
    aggregate: AggregateName = DEFAULT_AGGREGATE,
    order: Order = "jobs_placed",
    period_tolerance: Annotated[float, Parameter(converter=number_from(0))] = 0.01,
    threads: PositiveCount = None,
    deadline_s: DeadlineS = None,
    node_limit: LinkNodeLimit = AUTO,
    block_node_limit: BlockNodeLimit = AUTO,
    resolution_ms: ResolutionMs = DEFAULT_RESOLUTION_MS,
    slack_tolerance: SlackTolerance = DEFAULT_SLACK_TOLERANCE,
    running: str | None = None,
    running_tolerance: Annotated[float, Parameter(converter=number_from(0))] = DEFAULT_RUNNING_TOLERANCE,
) -> None:
    """Rank the candidate placements of a problem file and compute each job's time-shift.

    Prints the candidates, best first, each with its score, a proven upper bound of it, and how far all jobs
    may drift at once (hold); then the shifts of the best one, and why it is the best.

    Parameters
    ----------
    file
        Problem file (format cassini-problem/1 or /2), or - for standard input.
    with_problem
        Print JSON that holds the problem too: all that cassini-core report and plot need.
    differences
        Print JSON that tells candidates by how they differ from most others, short where they do in little.
    rows
        How many candidates the table shows. JSON always has all.
    top
        How many candidates are sure to be the first: of many candidates, those that cannot be among so many are not
        searched and have a bound only.
    exhaustive
        Search all candidates.
    loops
        What to do with a placement whose affinity graph has a loop: find shifts for all links of a loop jointly,
        keep it only if no loop is left (or costs anything) once links that pose the same problem are merged, or
        discard it as the paper does.
    aggregate
        How link scores become a candidate's score: per_job, the mean over all placed jobs of each job's worst
        link; mean over the shared links, as in the paper; min; or a percentile such as p10.
    order
        What comes first: jobs_placed, the candidates that place more jobs, and of these the higher score; or score,
        the higher score, however few jobs that places.
    period_tolerance
        By what fraction an iteration time may be lengthened so that jobs get a common period; 0 changes none.
    threads
        Number of threads; the answer does not depend on it. Default: one per core.
    running
        JSON of an earlier ranking, or - for standard input: the jobs of its best candidate run at the shifts that it
        gives them, in place of what the problem file says.
    running_tolerance
        What moving a running job has to win: by how much the score has to grow, summed over the placed jobs. A loss
        of this on each link moves nobody.
    """
    from ..problem_file import answer_from_json, answer_to_json, problem_from_json
    from ..ranking.rank_problem import rank as rank_problem

    if file == running == "-":
        raise InputError("--running: expected a file where the problem comes from standard input, got '-'")
    problem = problem_from_json(*read_input(file))
    if running is not None:
        problem = _running_as(problem, answer_from_json(*read_input(running))[0])
    with Waiting("ranking candidates") as waiting:
        ranking = rank_problem(
            problem,
            loops=loops,
            aggregate=aggregate,
            order=order,
            top=top,
            exhaustive=exhaustive,
            period_tolerance=period_tolerance,
            threads=threads,
            deadline_s=deadline_s,
            node_limit=node_limit,
            block_node_limit=block_node_limit,
            resolution_ms=resolution_ms,
            slack_tolerance=slack_tolerance,
            running_tolerance=running_tolerance,
            progress=waiting.update,
        )
    if with_problem:
        emit_bytes(answer_to_json(ranking, problem, differences=differences))
    elif json or differences:
        emit_bytes(ranking.to_json(differences=differences))
    else:
        emit_renderables(*_report(ranking, problem, aggregate, rows, slack_tolerance))


def _running_as(problem: Problem, before: Ranking) -> Problem:
    """The problem with its jobs where an earlier ranking put them; those that it did not place do not run."""
    from ..model import Problem

    shifts_ms = {} if before.best is None else before.best.shifts_ms
    here = {job.id for job in problem.jobs}
    return Problem(
        problem.jobs,
        problem.links,
        problem.candidates,
        {job: shift_ms for job, shift_ms in shifts_ms.items() if job in here},
    )


def _running_text(best: RankedCandidate, running: Set[str]) -> str:
    """Which running jobs move, and what it would score if none did."""
    found = best.disturbance
    assert found is not None
    shares = len(running & best.shifts_ms.keys())
    if not found.moves_ms:
        return f"No running job moves: {counted(shares, 'job')} of this candidate that share links run, and stay."
    waits = ", ".join(f"{job} {ms_text(ms)} ms" for job, ms in list(found.moves_ms.items())[:MOST_MOVES])
    more = len(found.moves_ms) - MOST_MOVES
    waits += f", and {more} more (--json has them)" if more > 0 else ""
    is_proven = found.score_if_kept >= found.upper_bound_if_kept - SCORE_TOLERANCE
    bound = "proven" if is_proven else f"bound {score_text(found.upper_bound_if_kept)}"
    return (
        f"Of {counted(shares, 'running job')} {len(found.moves_ms)} move, each waiting once: {waits}. If all stayed, "
        f"it would score {score_text(found.score_if_kept)} ({bound})."
    )


def _report(
    ranking: Ranking, problem: Problem, aggregate: str, rows: int, slack_tolerance: float
) -> Iterator[RenderableType]:
    from rich.text import Text

    from ..ranking.conclusion import conclude_ranking
    from .tables import narrow_table, ranking_table, shift_table

    sizes = ((problem.jobs, "job"), (problem.links, "link"), (problem.candidates, "candidate"))
    yield Text(", ".join(counted(len(items), word) for items, word in sizes) + "\n")
    if ranking.candidates:
        yield ranking_table(ranking, rows)
    if len(ranking.candidates) > rows:
        yield Text(f"{len(ranking.candidates) - rows} more candidates: --rows {len(ranking.candidates)} shows them.\n")
    best = ranking.best
    if best is not None and best.links:
        yield shift_table(best, problem.jobs, ranking.paces_ms)
    if best is not None and best.narrow_links:
        yield narrow_table(best, MOST_NARROW)
        if len(best.narrow_links) > MOST_NARROW:
            yield Text(f"{len(best.narrow_links) - MOST_NARROW} more narrow links score no less: --json has them.\n")
    if best is not None and best.hold_ms is not None:
        yield Text(
            f"All jobs may drift up to {ms_text_down(best.hold_ms)} ms at once, each alone up to its slack, "
            f"before a link's score drops by more than {slack_tolerance:g}."
        )
    if best is not None and best.total_excess_gbps is not None and (best.links or best.narrow_links):
        links = " and ".join(
            counted(len(some), word)
            for some, word in ((best.links, "shared link"), (best.narrow_links, "narrow link"))
            if some
        )
        yield Text(f"Demand above capacity: {magnitude_text(best.total_excess_gbps)} Gbit/s on average, over {links}.")
    if best is not None and best.disturbance is not None and best.links:
        yield Text(one_line(_running_text(best, problem.running_shifts_ms.keys())))
    warnings = (*ranking.warnings, *(best.warnings if best is not None else ()))
    for warning in warnings[:MOST_WARNINGS]:
        yield Text(f"Warning: {one_line(warning)}")
    if len(warnings) > MOST_WARNINGS:
        yield Text(f"Warning: {len(warnings) - MOST_WARNINGS} more: --json has them.")
    yield Text(one_line(conclude_ranking(ranking, problem, aggregate)))
