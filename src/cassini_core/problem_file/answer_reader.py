"""Rankings in: a ``cassini-ranking/1`` object, with its problem where the file has it."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping

import msgspec

from ..errors import shown
from ..model import Problem
from ..results import Disturbance, LinkScore, NarrowLink, RankedCandidate, Ranking
from .answer_wire import AnswerFile, DisturbanceWire, RankedCandidateWire
from .decoding import decode, file_error, read_file
from .reader import problem_from_json

__all__ = ["answer_from_json", "load_ranking"]


def load_ranking(path: str | os.PathLike[str]) -> Ranking:
    """Read a ``cassini-ranking/1`` file, as ``cassini-core rank --json`` and :meth:`Ranking.to_json` write it.

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
    wire = decode(data, AnswerFile, source)
    ranking = _ranking(wire, source)
    if not isinstance(wire.problem, msgspec.Raw):
        return ranking, None
    problem = problem_from_json(bytes(wire.problem), f"{source}: $.problem")
    _check_same(ranking, problem, source)
    return ranking, problem


def _ranking(wire: AnswerFile, source: str) -> Ranking:
    candidates = tuple(map(_candidate, wire.candidates))
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


def _candidate(wire: RankedCandidateWire) -> RankedCandidate:
    content = msgspec.structs.asdict(wire)
    content["links"] = tuple(LinkScore(one.id, one.score, one.upper_bound) for one in wire.links)
    narrow = wire.narrow_links
    content["narrow_links"] = tuple(NarrowLink(one.id, one.job, one.score, one.excess_gbps) for one in narrow)
    content["disturbance"] = None
    if isinstance(wire.disturbance, DisturbanceWire):
        content["disturbance"] = Disturbance(**msgspec.structs.asdict(wire.disturbance))
    return RankedCandidate(**content | {"free_jobs": tuple(wire.free_jobs), "warnings": tuple(wire.warnings)})


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
    for at, one in enumerate(ranking.candidates):
        place, routes = f"$.candidates[{at}]", placed[one.id].routes
        crossed = {link for route in routes.values() for link in route}
        links = [*(link.id for link in one.links), *(link.id for link in one.narrow_links)]
        moves_ms: Mapping[str, float] = {} if one.disturbance is None else one.disturbance.moves_ms
        jobs = [*one.shifts_ms, *one.slack_ms, *one.free_jobs, *(link.job for link in one.narrow_links), *moves_ms]
        _check_ids(source, place, "links that a job of this candidate crosses", links, crossed)
        _check_ids(source, place, "jobs that this candidate places", jobs, routes)
        for name, times in (
            ("shifts_ms", one.shifts_ms),
            ("slack_ms", one.slack_ms),
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
