"""Rankings in: ``cassini-ranking/1`` or ``/2`` objects, with their problem where the file has it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec

from ..answer_differences import LISTS, MAPPINGS, whole_list, whole_mapping
from ..errors import shown
from ..formats import counted
from ..model import Problem
from ..results import Disturbance, LinkScore, NarrowLink, RankedCandidate, Ranking, deferred_candidate
from .answer_wire import (
    AnswerFile,
    DetailsWire,
    DisturbanceWire,
    LinkScoreWire,
    NarrowLinkWire,
    RankedCandidateWire,
    SummaryWire,
    ToldAnswerFile,
    ToldCandidateWire,
)
from .decoding import decode, file_error, format_of, read_file
from .reader import problem_from_json

__all__ = ["answer_from_json", "load_ranking"]


def load_ranking(path: str | os.PathLike[str]) -> Ranking:
    """Read a ``cassini-ranking/1`` or ``/2`` file, as ``cassini-core rank --json`` or ``--differences`` and
    :meth:`Ranking.to_json` write it.

    What differences say of single jobs and links is put together when it is first asked for.

    Parameters
    ----------
    path : str or path-like
        As in :func:`load_problem`. A problem that stands in the file is checked, and not kept.

    Raises
    ------
    InputError
        The file can't be read or is wrong; one line with file, place, what was expected and what came. Whether the
        figures are true is not checked: :func:`rank` the problem again to know.

    Examples
    --------
    >>> import tempfile
    >>> import cassini_core as cc
    >>> jobs = [cc.Job(name, 40, [cc.Phase(0, 20, 50)]) for name in "ab"]
    >>> ranking = cc.rank(cc.Problem(jobs, [cc.Link("up", 50)], [cc.Candidate("c", {"a": ["up"], "b": ["up"]})]))
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(ranking.to_json())
    ...     file.flush()
    ...     cc.load_ranking(file.name) == ranking
    True
    """
    return answer_from_json(*read_file(path))[0]


def answer_from_json(data: bytes, source: str = "ranking") -> tuple[Ranking, Problem | None]:
    """As :func:`load_ranking`, from bytes, and the problem that stands in the file, if one does.

    Raises
    ------
    InputError
        As there; or ranking and problem are not about the same candidates, links and jobs.
    """
    wire: AnswerFile | ToldAnswerFile
    if b"cassini-ranking/2" in data and format_of(data) == "cassini-ranking/2":
        wire = decode(data, ToldAnswerFile, source)
    else:
        wire = decode(data, AnswerFile, source)
    ranking = _ranking(wire, source)
    if not isinstance(wire.problem, msgspec.Raw):
        return ranking, None
    problem = problem_from_json(bytes(wire.problem), f"{source}: $.problem")
    _check_same(ranking, problem, source)
    return ranking, problem


def _ranking(wire: AnswerFile | ToldAnswerFile, source: str) -> Ranking:
    if isinstance(wire, ToldAnswerFile):
        candidates = _told_candidates(wire, source)
    else:
        candidates = tuple(RankedCandidate(**_summary(one), **_details(one)) for one in wire.candidates)
    by_id = {candidate.id: candidate for candidate in candidates}
    if len(by_id) < len(candidates):
        raise file_error(source, "$.candidates", "expected an id of its own for each candidate, got one twice")
    if wire.best is not None and wire.best not in by_id:
        raise file_error(source, "$.best", f"expected the id of a candidate, got {shown(wire.best)}")
    return Ranking(
        best=None if wire.best is None else by_id[wire.best],
        best_proven=wire.best_proven,
        paces_ms=wire.paces_ms,
        candidates=candidates,
        warnings=tuple(wire.warnings),
        order=wire.order,
        resolution_ms=wire.resolution_ms,
        aggregate=wire.aggregate,
        slack_tolerance=wire.slack_tolerance,
        running_tolerance=wire.running_tolerance if isinstance(wire.running_tolerance, float) else None,
    )


def _summary(wire: RankedCandidateWire | ToldCandidateWire) -> dict[str, Any]:
    """The fields of a candidate but those of single jobs and links."""
    content = {name: getattr(wire, name) for name in SummaryWire.__struct_fields__}
    disturbance = wire.disturbance
    told = Disturbance(**msgspec.structs.asdict(disturbance)) if isinstance(disturbance, DisturbanceWire) else None
    return content | {"disturbance": told}


def _details(wire: RankedCandidateWire | DetailsWire) -> dict[str, Any]:
    """The fields of single jobs and links."""
    return {
        **{name: getattr(wire, name) for name in MAPPINGS},
        **{name: tuple(map(_entry, getattr(wire, name))) for name in LISTS},
    }


def _entry(wire: Any) -> Any:
    """An entry of a list; what stands for itself, as it is."""
    if isinstance(wire, LinkScoreWire):
        return LinkScore(wire.id, wire.score, wire.upper_bound)
    if isinstance(wire, NarrowLinkWire):
        return NarrowLink(wire.id, wire.job, wire.score, wire.excess_gbps)
    return wire


def _told_candidates(wire: ToldAnswerFile, source: str) -> tuple[RankedCandidate, ...]:
    """Candidates that are told by their differences; what they say of single jobs and links is made when asked for."""
    bases = [_details(base) for base in wire.bases]
    nothing: dict[str, Any] = {**{name: {} for name in MAPPINGS}, **dict.fromkeys(LISTS, ())}
    candidates = []
    for at, one in enumerate(wire.candidates):
        place = f"$.candidates[{at}]"
        if one.base is not None and not 0 <= one.base < len(bases):
            expected = f"null or the number of one of {counted(len(bases), 'base')}"
            raise file_error(source, f"{place}.base", f"expected {expected}, got {one.base}")
        base = nothing if one.base is None else bases[one.base]
        _check_told(one, base, source, place)
        candidates.append(deferred_candidate(partial(_whole, one, base), **_summary(one)))
    return tuple(candidates)


def _check_told(one: ToldCandidateWire, base: Mapping[str, Any], source: str, place: str) -> None:
    """Refuse what the base does not have. O(differences)."""
    for name in MAPPINGS:
        for key, value in getattr(one, name).items():
            if value is None and key not in base[name]:
                raise file_error(source, f"{place}.{name}[{shown(key)}]", "expected a number, got null, as in the base")
    for name in LISTS:
        n, last = len(base[name]), 0
        for at, piece in enumerate(getattr(one, name)):
            if isinstance(piece, list):
                if len(piece) != 2 or not last <= piece[0] < piece[1] <= n:
                    expected = f"two numbers, from {last} to {n} and ascending, of entries of the base"
                    raise file_error(source, f"{place}.{name}[{at}]", f"expected {expected}, got {shown(piece)}")
                last = piece[1]


def _whole(one: ToldCandidateWire, base: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: whole_mapping(base[name], getattr(one, name)) for name in MAPPINGS},
        **{name: whole_list(base[name], map(_entry, getattr(one, name))) for name in LISTS},
    }


def _check_same(ranking: Ranking, problem: Problem, source: str) -> None:
    """Refuse a ranking that cannot be the answer to the problem."""
    iterations = {job.id: job.iteration_ms for job in problem.jobs}
    placed = {candidate.id: candidate for candidate in problem.candidates}
    _check_ids(source, "$.paces_ms", "the jobs of the problem", ranking.paces_ms, iterations, whole=True)
    for job, pace_ms in ranking.paces_ms.items():
        if pace_ms < iterations[job]:
            place, expected = f"$.paces_ms[{shown(job)}]", f"at least the iteration time, {iterations[job]!r} ms"
            raise file_error(source, place, f"expected {expected}, got {pace_ms!r}")
    ids = [candidate.id for candidate in ranking.candidates]
    _check_ids(source, "$.candidates", "the candidates of the problem", ids, placed, whole=True)
    for at, told in enumerate(ranking.candidates):
        place, routes = f"$.candidates[{at}]", placed[told.id].routes
        crossed = {link for route in routes.values() for link in route}
        one = told._fields()
        links = [*(link.id for link in one["links"]), *(link.id for link in one["narrow_links"])]
        moves_ms: Mapping[str, float] = {} if told.disturbance is None else told.disturbance.moves_ms
        jobs = [*one["shifts_ms"], *one["slack_ms"], *one["free_jobs"], *moves_ms]
        jobs += [link.job for link in one["narrow_links"]]
        _check_ids(source, place, "links that a job of this candidate crosses", links, crossed)
        _check_ids(source, place, "jobs that this candidate places", jobs, routes)
        for name, times in (
            ("shifts_ms", one["shifts_ms"]),
            ("slack_ms", one["slack_ms"]),
            ("disturbance.moves_ms", moves_ms),
        ):
            for job, ms in times.items():
                if not 0 <= ms <= ranking.paces_ms[job]:
                    expected = f"from 0 to the pace, {ranking.paces_ms[job]!r} ms"
                    raise file_error(source, f"{place}.{name}[{shown(job)}]", f"expected {expected}, got {ms!r}")


def _check_ids(
    source: str, place: str, what: str, found: Iterable[str], known: Collection[str], *, whole: bool = False
) -> None:
    """Refuse ids that are not known; with ``whole`` none may be missing either."""
    ids = set(found)
    for one in sorted(ids - set(known)):
        raise file_error(source, place, f"expected {what}, got {shown(one)}")
    if whole and len(ids) < len(known):
        raise file_error(source, place, f"expected all of {what}, got none named {shown(min(set(known) - ids))}")
