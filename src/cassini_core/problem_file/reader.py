"""Files in: bytes to wire types to the frozen types of ``model``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import msgspec

from ..errors import InputError
from ..model import Candidate, Job, Link, Phase, Problem, checked_capacity_gbps
from .decoding import decode, file_error, format_of, read_file, within
from .wire import DifferencesFile, HostsWire, JobFile, JobWire, LinkFile, PhaseWire, ProblemFile

__all__ = [
    "link_from_json",
    "load_job",
    "load_link",
    "load_problem",
    "load_profile",
    "phases_of",
    "problem_from_json",
    "profile_from_json",
]


def load_problem(path: str | os.PathLike[str]) -> Problem:
    """Read a ``cassini-problem/1`` or ``cassini-problem/2`` file.

    Parameters
    ----------
    path : str or path-like
        File of at most 1 GiB; a pipe or device will do.

    Returns
    -------
    Problem
        With at least one job and one candidate: an empty list of either is taken for a mistake of whoever wrote the
        file. Links may be empty (all jobs placed without network).

    Raises
    ------
    InputError
        The file can't be read or is wrong; one line with file, place, what was expected and what came.

    Notes
    -----
    Cost: about 30 ns and 7 bytes of memory a byte of file (100 MB: 3 s, 0.7 GiB); millions of empty routes or of
    phases take up to three times as long.

    Examples
    --------
    >>> import tempfile
    >>> import cassini_core as cc
    >>> text = b'''{"format": "cassini-problem/1",
    ...  "jobs": [{"id": "a", "iteration_ms": 40, "phases": [{"start_ms": 0, "duration_ms": 20, "gbps": 50}]}],
    ...  "links": [{"id": "up", "capacity_gbps": 50}],
    ...  "candidates": [{"id": "c", "routes": {"a": ["up"]}}]}'''
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(text)
    ...     file.flush()
    ...     cc.load_problem(file.name)
    <Problem: 1 job, 1 link, 1 candidate>
    """
    return problem_from_json(*read_file(path))


def problem_from_json(data: bytes, source: str = "problem") -> Problem:
    """As :func:`load_problem`, from bytes; ``source`` stands for the file in messages."""
    wire: ProblemFile | DifferencesFile
    # The word may stand elsewhere in the file. Of one that is no JSON it is told what is wrong as of this version.
    if b"cassini-problem/2" in data and format_of(data) in ("cassini-problem/2", None):
        wire = decode(data, DifferencesFile, source)
    else:
        wire = decode(data, ProblemFile, source)
    with within(source, "$"):
        _refuse_empty(wire.jobs, "jobs", "job")
        _refuse_empty(wire.candidates, "candidates", "candidate")
    jobs = _jobs(wire.jobs, source)
    links: list[Link] = []
    for link in wire.links:
        with within(source, f"$.links[{len(links)}]"):
            links.append(Link(link.id, link.capacity_gbps))
    if isinstance(wire, DifferencesFile):
        return _of_differences(wire, jobs, links, source)
    candidates: list[Candidate] = []
    for candidate in wire.candidates:
        with within(source, f"$.candidates[{len(candidates)}]"):
            candidates.append(Candidate(candidate.id, candidate.routes))
    with within(source, "$"):
        return Problem(tuple(jobs), tuple(links), tuple(candidates))


def _of_differences(wire: DifferencesFile, jobs: list[Job], links: list[Link], source: str) -> Problem:
    """The problem of a file of differences; candidates share what they have in common."""
    with within(source, "$.base"):
        base = Candidate("base", wire.base.routes, _hosts(wire.base.hosts))
    with within(source, "$", {r"^candidates\[0\]": "base"}):
        Problem(jobs, links, (base,))  # what is wrong with the base is told of the base
    candidates: list[Candidate] = []
    for candidate in wire.candidates:
        with within(source, f"$.candidates[{len(candidates)}]", {"^routes": "moves"}):
            candidates.append(Candidate.moved(candidate.id, base, candidate.moves, _hosts(candidate.hosts)))
    running = wire.running_shifts_ms if isinstance(wire.running_shifts_ms, dict) else {}
    with within(source, "$", {r"^(candidates\[\d+\])\.routes": r"\1.moves"}):
        return Problem(jobs, links, candidates, running)


def _hosts(wire: HostsWire | msgspec.UnsetType) -> HostsWire:
    return wire if isinstance(wire, dict) else {}


def load_link(path: str | os.PathLike[str]) -> tuple[list[Job], float]:
    """Read a link file: ``{"capacity_gbps": Gbit/s, "jobs": [...]}``, if wanted with ``"format": "cassini-link/1"``.

    Parameters
    ----------
    path : str or path-like
        As in :func:`load_problem`.

    Returns
    -------
    jobs : list of Job
        In the order of the file, at least one, ids all different.
    capacity_gbps : float
        Gbit/s.

    Raises
    ------
    InputError
        As in :func:`load_problem`.
    """
    return link_from_json(*read_file(path))


def link_from_json(data: bytes, source: str = "link") -> tuple[list[Job], float]:
    """As :func:`load_link`, from bytes; ``source`` stands for the file in messages."""
    wire = decode(data, LinkFile, source)
    with within(source, "$"):
        capacity_gbps = checked_capacity_gbps(wire.capacity_gbps, "link", "capacity_gbps")
        _refuse_empty(wire.jobs, "jobs", "job")
    jobs = _jobs(wire.jobs, source)
    with within(source, "$"):
        Problem(tuple(jobs), (), ())  # for its check of ids
    return jobs, capacity_gbps


def load_job(path: str | os.PathLike[str]) -> Job:
    """Read a ``cassini-job/1`` file, as profiling writes it. What stands under ``about`` is not kept.

    Parameters
    ----------
    path : str or path-like
        As in :func:`load_problem`.

    Raises
    ------
    InputError
        As in :func:`load_problem`.
    """
    return load_profile(path)[0]


def load_profile(path: str | os.PathLike[str]) -> tuple[Job, dict[str, Any]]:
    """Read a ``cassini-job/1`` file: a job, and what the file says of where its figures come from.

    Parameters
    ----------
    path : str or path-like
        As in :func:`load_problem`.

    Returns
    -------
    job : Job
    about : dict
        What stands under ``about``, empty if nothing does: ``made_by``, ``inputs``, ``iteration_ms``,
        ``iteration_from``, ``rate_from``, ``recorded_gbps``, ``kept_gbps``, ``warnings`` (docs/formats.md). A file may
        leave out any of them.

    Raises
    ------
    InputError
        As in :func:`load_problem`.

    Examples
    --------
    >>> import tempfile
    >>> import cassini_core as cc
    >>> text = b'''{"format": "cassini-job/1", "id": "a", "iteration_ms": 40,
    ...  "phases": [{"start_ms": 0, "duration_ms": 20, "gbps": 50}], "about": {"warnings": ["one rank only"]}}'''
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(text)
    ...     file.flush()
    ...     job, about = cc.load_profile(file.name)
    >>> job.iteration_ms, about["warnings"]
    (40.0, ['one rank only'])
    """
    return profile_from_json(*read_file(path))


def profile_from_json(data: bytes, source: str = "job") -> tuple[Job, dict[str, Any]]:
    """As :func:`load_profile`, from bytes; ``source`` stands for the file in messages."""
    wire = decode(data, JobFile, source)
    with within(source, "$"):
        job = Job(wire.id, wire.iteration_ms, phases_of(wire.phases))
    about = dict(wire.about) if isinstance(wire.about, dict) else {}
    # How older files put it.
    if "measured_by" in about:
        about.setdefault("made_by", about.pop("measured_by"))
    return job, about


def _refuse_empty(items: Sequence[object], name: str, what: str) -> None:
    if not items:
        raise file_error("", name, f"expected at least one {what}, got an empty array")


def _jobs(wires: list[JobWire], source: str) -> list[Job]:
    jobs: list[Job] = []
    for wire in wires:
        with within(source, f"$.jobs[{len(jobs)}]"):
            jobs.append(Job(wire.id, wire.iteration_ms, phases_of(wire.phases)))
    return jobs


def phases_of(wires: list[PhaseWire]) -> tuple[Phase, ...]:
    """Phases, or an error that names the one that is wrong."""
    phases: list[Phase] = []
    try:
        for wire in wires:
            phases.append(Phase(wire.start_ms, wire.duration_ms, wire.gbps))
    except InputError as error:
        raise file_error("", f"phases[{len(phases)}].{error.place}", error.reason) from None
    return tuple(phases)
