"""Files in: bytes to wire types to the frozen types of ``model``."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, BinaryIO, TypeVar

import msgspec

from ..errors import InputError, refusal, shown
from ..model import Candidate, Job, Link, Phase, Problem, checked_capacity_gbps
from .faults import explain
from .wire import JobFile, JobWire, LinkFile, PhaseWire, ProblemFile

__all__ = [
    "MAX_FILE_BYTES",
    "link_from_json",
    "load_job",
    "load_link",
    "load_problem",
    "load_profile",
    "problem_from_json",
    "profile_from_json",
    "read_file",
]

MAX_FILE_BYTES = 2**30
"""Files beyond 1 GiB are refused, so that a device or a stream without end is an error and not a full memory."""

_CHUNK_BYTES = 2**22

AnyFile = TypeVar("AnyFile", ProblemFile, LinkFile, JobFile)


def load_problem(path: str | os.PathLike[str]) -> Problem:
    """Read a ``cassini-problem/1`` file.

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
    wire = _decode(data, ProblemFile, source)
    with _within(source, "$"):
        _refuse_empty(wire.jobs, "jobs", "job")
        _refuse_empty(wire.candidates, "candidates", "candidate")
    jobs = _jobs(wire.jobs, source)
    links: list[Link] = []
    for link in wire.links:
        with _within(source, f"$.links[{len(links)}]"):
            links.append(Link(link.id, link.capacity_gbps))
    candidates: list[Candidate] = []
    for candidate in wire.candidates:
        with _within(source, f"$.candidates[{len(candidates)}]"):
            candidates.append(Candidate(candidate.id, candidate.routes))
    with _within(source, "$"):
        return Problem(tuple(jobs), tuple(links), tuple(candidates))


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
    wire = _decode(data, LinkFile, source)
    with _within(source, "$"):
        capacity_gbps = checked_capacity_gbps(wire.capacity_gbps, "link", "capacity_gbps")
        _refuse_empty(wire.jobs, "jobs", "job")
    jobs = _jobs(wire.jobs, source)
    with _within(source, "$"):
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
    wire = _decode(data, JobFile, source)
    with _within(source, "$"):
        job = Job(wire.id, wire.iteration_ms, _phases(wire.phases))
    about = dict(wire.about) if isinstance(wire.about, dict) else {}
    # How older files put it.
    if "measured_by" in about:
        about.setdefault("made_by", about.pop("measured_by"))
    return job, about


def read_file(path: str | os.PathLike[str], stream: BinaryIO | None = None) -> tuple[bytes, str]:
    """All bytes of a file, or of an open stream that ``path`` only names; and the name fit for a message."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise refusal("", "path", "a str or path-like", shown(path)) from None
    source = name if name.isprintable() else shown(name)
    chunks: list[bytes] = []
    left = MAX_FILE_BYTES + 1
    try:
        with open(name, "rb") if stream is None else nullcontext(stream) as opened:
            while left > 0 and (chunk := opened.read(min(left, _CHUNK_BYTES))):
                chunks.append(chunk)
                left -= len(chunk)
    except (OSError, ValueError) as error:
        came = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise _error(source, "", f"expected a readable file, got the error {came!r}") from None
    if left <= 0:
        raise _error(source, "", f"expected at most {MAX_FILE_BYTES} bytes, got more")
    return b"".join(chunks), source


def _decode(data: bytes, kind: type[AnyFile], source: str) -> AnyFile:
    try:
        wire = msgspec.json.decode(data, type=kind)
    except (ValueError, RecursionError) as error:
        place, reason = explain(data, kind) or ("", f"expected a valid file, got the error {shown(str(error))}")
    else:
        if _count_keys_at_most(data) == wire.count_keys():
            return wire
        # More colons than keys: a repeated key, or just ids that contain colons.
        fault = explain(data, kind)
        if fault is None:
            return wire
        place, reason = fault
    raise _error(source, place, reason) from None


def _count_keys_at_most(data: bytes) -> int:
    """At least the number of keys of all objects, repeated ones too.

    The decoder drops all but the last of equal keys, so a repeated key shows as fewer keys decoded than written. The
    colon after a key follows its closing quote or white space; such pairs of bytes inside of strings add to the count.
    """
    return sum(data.count(before + b":") for before in (b'"', b" ", b"\t", b"\n", b"\r"))


def _error(source: str, place: str, reason: str) -> InputError:
    return InputError(": ".join(part for part in (source, place, reason) if part), place=place, reason=reason)


@contextmanager
def _within(source: str, place: str) -> Iterator[None]:
    """Tell an error of ``model`` by its place in the file."""
    try:
        yield
    except InputError as error:
        raise _error(source, f"{place}.{error.place}", error.reason) from None


def _refuse_empty(items: Sequence[object], name: str, what: str) -> None:
    if not items:
        raise _error("", name, f"expected at least one {what}, got an empty array")


def _jobs(wires: list[JobWire], source: str) -> list[Job]:
    jobs: list[Job] = []
    for wire in wires:
        with _within(source, f"$.jobs[{len(jobs)}]"):
            jobs.append(Job(wire.id, wire.iteration_ms, _phases(wire.phases)))
    return jobs


def _phases(wires: list[PhaseWire]) -> tuple[Phase, ...]:
    phases: list[Phase] = []
    try:
        for wire in wires:
            phases.append(Phase(wire.start_ms, wire.duration_ms, wire.gbps))
    except InputError as error:
        raise _error("", f"phases[{len(phases)}].{error.place}", error.reason) from None
    return tuple(phases)
