"""Files out: the frozen types of ``model`` and ``results`` to JSON, the same bytes for equal objects.

Floats are written in the shortest form that reads back as the same number. JSON has no NaN and no infinity, and the
JSON library would write ``null`` for them, so each number is checked on its way out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import msgspec

from ..errors import InputError, shown
from ..formats import by_id, finite, json_line
from ..model import Candidate, Job, Problem
from ..moved_mapping import changed_keys
from ..results import LinkSolution, Ranking

__all__ = ["answer_to_json", "job_to_json", "link_solution_to_json", "problem_to_json", "ranking_to_json"]


def problem_to_json(problem: Problem, *, differences: bool = False) -> bytes:
    """A problem file: one line. Loading it gives an equal problem if it has a job and a candidate.

    Parameters
    ----------
    problem : Problem
    differences : bool
        Tell each candidate by how it differs from the first (``cassini-problem/2``), which is shorter where candidates
        have most routes in common. So is a problem written in which a candidate has hosts or jobs run, which version 1
        cannot tell.
    """
    return json_line(_problem(problem, differences))


def answer_to_json(ranking: Ranking, problem: Problem, *, differences: bool = False) -> bytes:
    """As :meth:`Ranking.to_json`, with the problem that the ranking answers: one line."""
    problem_json = msgspec.json.encode(_problem(problem, differences=True))
    return ranking.to_json(differences=differences).rstrip().removesuffix(b"}") + b',"problem":' + problem_json + b"}\n"


def _problem(problem: Problem, differences: bool) -> dict[str, Any]:
    jobs = [_job(job) for job in problem.jobs]
    links = [{"id": link.id, "capacity_gbps": link.capacity_gbps} for link in problem.links]
    content: dict[str, Any] = {"format": "cassini-problem/1", "jobs": jobs, "links": links}
    running = problem.running_shifts_ms
    if not differences and not running and not any(candidate.hosts for candidate in problem.candidates):
        candidates = [{"id": one.id, "routes": _routes(one.routes)} for one in problem.candidates]
        return content | {"candidates": candidates}
    base = problem.candidates[0] if problem.candidates else Candidate("base", {})
    place = {job: k for k, job in enumerate(base.routes)}
    content |= {
        "format": "cassini-problem/2",
        "base": {"routes": _routes(base.routes), **_hosts(base.hosts)},
        "candidates": [_moves(candidate, base, place) for candidate in problem.candidates],
    }
    return content | ({"running_shifts_ms": by_id(running, "running_shifts_ms")} if running else {})


def _moves(candidate: Candidate, base: Candidate, place: Mapping[str, int]) -> dict[str, Any]:
    """A candidate as its difference from another, whose jobs come first, in the order that ``place`` says."""
    moves: dict[str, Any] = {}
    hosts: dict[str, Mapping[str, int]] = {}
    routes = candidate.routes
    may_differ = changed_keys(routes, base.routes) | changed_keys(candidate.hosts, base.hosts)
    known = sorted((job for job in may_differ if job in place), key=place.__getitem__)
    new = may_differ - place.keys()
    for job in [job for job in known if job in routes] + [job for job in routes if new and job in new]:
        where = candidate.hosts.get(job)
        if job in new or routes[job] != base.routes[job] or where != base.hosts.get(job):
            moves[job] = _route(routes[job])
            if where is not None:
                hosts[job] = where
    moves |= {job: None for job in known if job not in routes}
    return {"id": candidate.id, "moves": moves, **_hosts(hosts)}


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
    """As :meth:`LinkSolution.to_json`."""
    return solution.to_json()


def ranking_to_json(ranking: Ranking) -> bytes:
    """As :meth:`Ranking.to_json`."""
    return ranking.to_json()


def _job(job: Job) -> dict[str, Any]:
    phases = [{"start_ms": p.start_ms, "duration_ms": p.duration_ms, "gbps": p.gbps} for p in job.phases]
    return {"id": job.id, "iteration_ms": job.iteration_ms, "phases": phases}


def _routes(routes: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    return {job: _route(route) for job, route in routes.items()}


def _hosts(hosts: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    return {"hosts": {job: dict(where) for job, where in hosts.items()}} if hosts else {}


def _route(route: Mapping[str, float]) -> list[str] | dict[str, float]:
    return list(route) if all(multiplier == 1.0 for multiplier in route.values()) else dict(route)


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
        return finite(value, place)
    if isinstance(value, Mapping):
        return {_plain(str(key), place): _plain(item, f"{place}[{shown(key)}]") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_plain(item, f"{place}[{index}]") for index, item in enumerate(value)]
    raise InputError(f"{place}: expected a string, number, list or mapping, got {shown(value)}")
