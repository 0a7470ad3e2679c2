"""Files out: the frozen types of ``model`` and ``answers`` to JSON, the same bytes for equal objects.

Floats are written in the shortest form that reads back as the same number. JSON has no NaN and no infinity, and the
JSON library would write ``null`` for them, so each number is checked on its way out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import msgspec

from ..errors import InputError, shown
from ..model import Job, Problem
from ..results import LinkSolution, RankedCandidate, Ranking

__all__ = ["job_to_json", "link_solution_to_json", "problem_to_json", "ranking_to_json"]


def problem_to_json(problem: Problem) -> bytes:
    """A ``cassini-problem/1`` file: one line. Loading it gives an equal problem if it has a job and a candidate."""
    return _line(
        {
            "format": "cassini-problem/1",
            "jobs": [_job(job) for job in problem.jobs],
            "links": [{"id": link.id, "capacity_gbps": link.capacity_gbps} for link in problem.links],
            "candidates": [
                {"id": candidate.id, "routes": {job: _route(route) for job, route in candidate.routes.items()}}
                for candidate in problem.candidates
            ],
        }
    )


def job_to_json(job: Job, about: Mapping[str, Any] | None = None) -> bytes:
    """A ``cassini-job/1`` file, indented for reading.

    Parameters
    ----------
    job : Job
    about : mapping, optional
        Where the job comes from: strings, numbers, booleans, None, and sequences and mappings of them, NumPy scalars
        too. Written under ``about``, in the order given.

    Raises
    ------
    InputError
        A value of ``about`` is something else, or a number that is not finite.
    """
    content = {"format": "cassini-job/1", **_job(job)}
    if about is not None:
        content["about"] = _plain(about, "about")
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def link_solution_to_json(solution: LinkSolution) -> bytes:
    """A ``cassini-link-solution/1`` object: one line, the attributes of :class:`LinkSolution` in order, ids sorted.

    ``perimeter_ms`` is null where the perimeter is too long for a float.

    Raises
    ------
    InputError
        Another number is not finite.
    """
    perimeter_ms = float(solution.perimeter_ms)
    return _line(
        {
            "format": "cassini-link-solution/1",
            "score": _number(solution.score, "score"),
            "score_is_exact": bool(solution.score_is_exact),
            "upper_bound": _number(solution.upper_bound, "upper_bound"),
            "optimal": bool(solution.optimal),
            "claimed_score": _number(solution.claimed_score, "claimed_score"),
            "shifts_ms": _by_id(solution.shifts_ms, "shifts_ms"),
            "slack_ms": _by_id(solution.slack_ms, "slack_ms"),
            "hold_ms": _number(solution.hold_ms, "hold_ms"),
            "free_jobs": [str(job) for job in solution.free_jobs],
            "perimeter_ms": None if math.isinf(perimeter_ms) else _number(perimeter_ms, "perimeter_ms"),
            "nodes": int(solution.nodes),
        }
    )


def ranking_to_json(ranking: Ranking) -> bytes:
    """A ``cassini-ranking/1`` object: one line, ids sorted in every mapping.

    Raises
    ------
    InputError
        A number is not finite.
    """
    return _line(
        {
            "format": "cassini-ranking/1",
            "best": None if ranking.best is None else ranking.best.id,
            "best_proven": bool(ranking.best_proven),
            "paces_ms": _by_id(ranking.paces_ms, "paces_ms"),
            "candidates": [_candidate(one, f"candidates[{at}]") for at, one in enumerate(ranking.candidates)],
            "warnings": [str(warning) for warning in ranking.warnings],
        }
    )


def _candidate(ranked: RankedCandidate, place: str) -> dict[str, Any]:
    return {
        "id": ranked.id,
        "score": _number_or_none(ranked.score, f"{place}.score"),
        "upper_bound": _number(ranked.upper_bound, f"{place}.upper_bound"),
        "optimal": bool(ranked.optimal),
        "status": ranked.status,
        "shifts_ms": _by_id(ranked.shifts_ms, f"{place}.shifts_ms"),
        "slack_ms": _by_id(ranked.slack_ms, f"{place}.slack_ms"),
        "hold_ms": _number_or_none(ranked.hold_ms, f"{place}.hold_ms"),
        "free_jobs": [str(job) for job in ranked.free_jobs],
        "worst_link": ranked.worst_link,
        "total_excess_gbps": _number_or_none(ranked.total_excess_gbps, f"{place}.total_excess_gbps"),
        "links": [
            {
                "id": link.id,
                "score": _number_or_none(link.score, f"{place}.links[{at}].score"),
                "upper_bound": _number(link.upper_bound, f"{place}.links[{at}].upper_bound"),
            }
            for at, link in enumerate(ranked.links)
        ],
        "warnings": [str(warning) for warning in ranked.warnings],
    }


def _line(content: Any) -> bytes:
    return msgspec.json.encode(content) + b"\n"


def _job(job: Job) -> dict[str, Any]:
    phases = [{"start_ms": p.start_ms, "duration_ms": p.duration_ms, "gbps": p.gbps} for p in job.phases]
    return {"id": job.id, "iteration_ms": job.iteration_ms, "phases": phases}


def _route(route: Mapping[str, float]) -> list[str] | dict[str, float]:
    return list(route) if all(multiplier == 1.0 for multiplier in route.values()) else dict(route)


def _number(value: Any, place: str) -> float:
    """A finite plain float; adding zero makes -0.0 into 0.0."""
    number = float(value) + 0.0
    if not math.isfinite(number):
        raise InputError(f"{place}: expected a finite number, got {number!r}")
    return number


def _number_or_none(value: Any, place: str) -> float | None:
    return None if value is None else _number(value, place)


def _by_id(values: Mapping[str, float], place: str) -> dict[str, float]:
    return {key: _number(values[key], f"{place}[{shown(key)}]") for key in sorted(values)}


def _plain(value: Any, place: str) -> Any:
    """Free-form content as the types JSON has."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        # File names may hold bytes that are no UTF-8; a question mark will do for a reader.
        return value.encode(errors="replace").decode()
    if isinstance(value, Integral):
        if not -(2**63) <= int(value) < 2**63:
            raise InputError(f"{place}: expected an integer of 64 bits, got {shown(int(value))}")
        return int(value)
    if isinstance(value, Real):
        return _number(value, place)
    if isinstance(value, Mapping):
        return {_plain(str(key), place): _plain(item, f"{place}[{shown(key)}]") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
    raise InputError(f"{place}: expected a string, number, list or mapping, got {shown(value)}")
