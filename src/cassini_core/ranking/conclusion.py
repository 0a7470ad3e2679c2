"""One sentence that says why the best candidate wins, or how good a link's answer is.

Every clause is computed from the answer; nothing is said that the numbers do not show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..formats import counted, magnitude_text, printable, score_text
from ..model import Problem
from ..results import LinkScore, LinkSolution, NarrowLink, RankedCandidate, Ranking
from ..units import SCORE_TOLERANCE
from .ranked_candidate import TIE_BREAKS, tie_break

__all__ = ["conclude_link", "conclude_ranking", "proof_text"]


def conclude_ranking(ranking: Ranking, problem: Problem, aggregate: str) -> str:
    """Why the best candidate wins: its worst link, the difference to the runner-up, and the proof."""
    if not ranking.candidates:
        return "There are no candidates to rank."
    best = ranking.best
    if best is None:
        return _none_solved(ranking.candidates)
    others = [c for c in ranking.candidates if c.id != best.id]
    clauses = (
        _verdict(ranking, best, others, problem, aggregate),
        _reason(best, others),
        _proof(ranking, best, others),
    )
    return "; ".join(clauses) + "."


def conclude_link(solution: LinkSolution, capacity_gbps: float) -> str:
    """What the score of one link means, and whether it can be better."""
    excess = (1 - solution.score) * capacity_gbps
    if solution.score >= 1 - SCORE_TOLERANCE:
        meaning = "The jobs interleave completely: demand never exceeds the capacity"
    elif solution.score_is_exact:
        meaning = f"Demand above the capacity averages {magnitude_text(excess)} Gbit/s at these shifts"
    else:
        meaning = f"Demand above the capacity averages at most {magnitude_text(excess)} Gbit/s at these shifts"
    if solution.optimal:
        proof = f"{_proven(solution.resolution_ms)}: no shifts score more"
    else:
        proof = f"not proven: other shifts might score up to {score_text(solution.upper_bound)}"
    hint = ""
    if len(solution.shifts_ms) > 1 and len(solution.free_jobs) == len(solution.shifts_ms):
        hint = "; no shift matters, because the iteration times have no common step long enough to hold"
    return f"{meaning}; {proof}{hint}."


def proof_text(answer: LinkSolution | RankedCandidate) -> str:
    """``proven``, at which resolution where that matters, or how far the bound is above the score."""
    if answer.score is None:
        return "not solved"
    if not answer.optimal:
        return f"gap {magnitude_text(max(answer.upper_bound - answer.score, 0.0))}"
    return "proven" if answer.resolution_ms is None else f"proven at {answer.resolution_ms:g} ms"


def _none_solved(candidates: Sequence[RankedCandidate]) -> str:
    top = max(candidates, key=lambda c: c.upper_bound)
    looped = all(c.status == "discarded" for c in candidates)
    bound = f"{score_text(top.upper_bound)} ({_quoted(top.id)})"
    if len(candidates) == 1:
        cause = "its affinity graph has a loop" if looped else "only its bound is known"
        return f"The only candidate was not solved, {cause}; the bound is {bound}."
    cause = "their affinity graphs have loops" if looped else "only bounds are known"
    return f"None of the {len(candidates)} candidates was solved, {cause}; the highest bound is {bound}."


def _verdict(
    ranking: Ranking, best: RankedCandidate, others: Sequence[RankedCandidate], problem: Problem, aggregate: str
) -> str:
    name, score = _quoted(best.id), _score_of(best)
    solved = [c for c in others if c.score is not None]
    has_links = best.links or best.narrow_links
    points = f"{score_text(score)} ({_meaning(aggregate, best)})" if has_links else score_text(score)
    if not others:
        return f"{name} is the only candidate and scores {points}"
    if not solved:
        return f"{name} scores {points} and is the only one of {len(others) + 1} candidates that was solved"
    equals = [c for c in solved if _placed(ranking, c) == _placed(ranking, best)]
    tied = [c for c in equals if abs(_score_of(c) - score) <= SCORE_TOLERANCE]
    if tied:
        company = _quoted(tied[0].id) if len(tied) == 1 else f"{len(tied)} other candidates"
        return f"{name} and {company} tie at {points}{_tie_break(ranking, best, tied, problem)}"
    second, verb = solved[0], "wins" if ranking.best_proven else "leads"
    if _score_of(second) > score and equals and second in equals:
        less = magnitude_text(_score_of(second) - score)
        return f"{name} {verb} with {points}: {_quoted(second.id)} scores {less} more, but {_moves_more(second, best)}"
    runner_up = f"the runner-up {_quoted(second.id)} ({score_text(_score_of(second))})"
    if not equals:
        return f"{name} {verb} with {points}: it places {_jobs(best)}, {runner_up} only {second.jobs_placed}"
    return f"{name} {verb} with {points}, {magnitude_text(score - _score_of(second))} above {runner_up}"


def _tie_break(ranking: Ranking, best: RankedCandidate, tied: Sequence[RankedCandidate], problem: Problem) -> str:
    """What sets the best apart from all that tie with it, if anything can be named."""
    moves = _moves(best)
    if moves is not None and all((_moves(one) or 0) > moves for one in tied):
        return f", and {_quoted(best.id)} comes first because it moves the fewest running jobs"
    periods = {job.id: job.iteration_ms for job in problem.jobs} | dict(ranking.paces_ms)
    number = {candidate.id: n for n, candidate in enumerate(problem.candidates)}
    own, *others = (tie_break(_least_slack(c, periods), len(c.links), number.get(c.id, 0)) for c in (best, *tied))
    for reason, value, theirs in zip(TIE_BREAKS, own, zip(*others, strict=True), strict=True):
        if all(value < other - 1e-6 for other in theirs):
            return f", and {_quoted(best.id)} {reason}"
    return ""


def _moves(candidate: RankedCandidate) -> int | None:
    """How many running jobs it moves; None where that is not known, or none runs."""
    return None if candidate.disturbance is None else len(candidate.disturbance.moves_ms)


def _moves_more(candidate: RankedCandidate, best: RankedCandidate) -> str:
    moves, least = _moves(candidate), _moves(best) or 0
    if moves is None:
        return "it was not looked at how few running jobs it might move"
    return f"moves {counted(moves, 'running job')} and not {least}"


def _least_slack(candidate: RankedCandidate, periods: Mapping[str, float]) -> float:
    """Least slack of a job over its iteration time; a candidate without shared links is held by nothing."""
    return min((slack / periods[job] for job, slack in candidate.slack_ms.items() if job in periods), default=0.5)


def _reason(best: RankedCandidate, others: Sequence[RankedCandidate]) -> str:
    worst = _worst_link(best)
    if worst is None:
        reason = "it has no shared link, so no shift is needed"
    elif (worst.score or 0.0) >= 1 - SCORE_TOLERANCE:
        whole = "its only shared link" if len(best.links) == 1 else f"all its {len(best.links)} shared links"
        reason = f"demand stays within the capacity on {whole}"
    else:
        reason = f"its worst link {_quoted(worst.id)} scores {_link_text(worst)}"
    solved = [c for c in others if c.score is not None]
    theirs = _worst_link(solved[0]) if solved else None
    if theirs is not None and _score_of(best) - _score_of(solved[0]) > SCORE_TOLERANCE:
        reason += f", the runner-up's worst {_quoted(theirs.id)} scores {_link_text(theirs)}"
    return reason


def _proof(ranking: Ranking, best: RankedCandidate, others: Sequence[RankedCandidate]) -> str:
    own = "" if best.optimal else f"better shifts for it are not ruled out (bound {score_text(best.upper_bound)})"
    proven = _proven(ranking.resolution_ms)
    if not others:
        return own or f"{proven}: no shifts score more"
    equals = [c for c in others if _placed(ranking, c) == _placed(ranking, best)]
    if ranking.best_proven:
        if not equals:
            proof = "no other candidate places as many jobs"
        elif len(equals) < len(others):
            proof = f"{proven}: no other candidate that places as many jobs can score more"
        else:
            proof = f"{proven}: no other candidate can score more"
        return f"{proof}, though {own}" if own else proof
    ahead = [c for c in others if _placed(ranking, c) > _placed(ranking, best)]
    if ahead:
        proof = f"not proven: {_quoted(ahead[0].id)} places {_jobs(ahead[0])} and was not solved"
    else:
        rival = max(equals, key=lambda c: c.upper_bound)
        proof = f"not proven: {_quoted(rival.id)} might score up to {score_text(rival.upper_bound)}"
    return f"{proof}, and {own}" if own else proof


def _proven(resolution_ms: float | None) -> str:
    """``proven``, and at which resolution where it is not proven for shifts that are held more precisely."""
    return "proven" if resolution_ms is None else f"proven at a resolution of {resolution_ms:g} ms"


def _placed(ranking: Ranking, candidate: RankedCandidate) -> int:
    """The jobs that a candidate places, as far as they play a part in the order."""
    return candidate.jobs_placed if ranking.order == "jobs_placed" else 0


def _jobs(candidate: RankedCandidate) -> str:
    return counted(candidate.jobs_placed, "job")


def _meaning(aggregate: str, candidate: RankedCandidate) -> str:
    words = {"per_job": "mean over all placed jobs of each job's worst link", "min": "its worst link"}
    if aggregate in words:
        return words[aggregate]
    narrow = ", and over links too narrow for their only job where that is less" if candidate.narrow_links else ""
    return f"{printable(aggregate)} over its shared links{narrow}"


def _worst_link(candidate: RankedCandidate) -> LinkScore | NarrowLink | None:
    links: list[LinkScore | NarrowLink] = [*candidate.links, *candidate.narrow_links]
    return next((link for link in links if link.id == candidate.worst_link), None)


def _link_text(link: LinkScore | NarrowLink) -> str:
    if link.score is None:
        return "an unknown value"
    alone = f" (too narrow for {_quoted(link.job)} alone)" if isinstance(link, NarrowLink) else ""
    return f"{score_text(link.score)}{alone}"


def _score_of(candidate: RankedCandidate) -> float:
    return float("-inf") if candidate.score is None else candidate.score


def _quoted(name: str) -> str:
    return f'"{printable(name)}"'
