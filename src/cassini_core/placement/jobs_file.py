"""Files of jobs with their workers: ``cassini-jobs/1`` in JSON, or a table in CSV; recognised by the content."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from ..errors import InputError, refusal, shown
from ..model import Job
from ..problem_file.decoding import FileWire, decode, file_error, read_file
from ..problem_file.reader import load_job, phases_of
from ..problem_file.wire import PhaseWire
from .job_request import Hybrid, JobRequest, Pattern
from .jobs_table import JobRow, job_rows

__all__ = [
    "MAX_JOBS",
    "PatternOfWire",
    "PatternWire",
    "ProfileFiles",
    "ProfileWire",
    "error_at",
    "jobs_from_bytes",
    "keys_of",
    "load_jobs",
    "pattern_of",
]

MAX_JOBS = 20_000
"""Jobs of one file."""

_LONGEST_PATH = 1_000
"""Characters; messages name it."""


class ProfileWire(Struct, forbid_unknown_fields=True):
    """What a job sends, in place of the path of a ``cassini-job/1`` file."""

    iteration_ms: float
    phases: list[PhaseWire]


class HybridWire(Struct, forbid_unknown_fields=True):
    """Sizes of the groups, and how the demand splits over their kinds."""

    data: int
    tensor: int
    pipeline: int
    shares: dict[str, float]


class PatternWire(Struct, forbid_unknown_fields=True):
    """A pattern with parameters."""

    hybrid: HybridWire


PatternOfWire = Literal["ring", "tree", "all_to_all", "pipeline"] | PatternWire


def pattern_of(wire: PatternOfWire | UnsetType) -> Pattern:
    """The pattern that a file tells; a ring where it says nothing."""
    if isinstance(wire, PatternWire):
        hybrid = wire.hybrid
        return Hybrid(hybrid.data, hybrid.tensor, hybrid.pipeline, tuple(hybrid.shares.items()))
    return "ring" if isinstance(wire, UnsetType) else wire


def keys_of(wire: ProfileWire | PatternOfWire | str | UnsetType) -> int:
    """Keys of all objects in a profile or a pattern."""
    if isinstance(wire, ProfileWire):
        return 2 + 3 * len(wire.phases)
    return 5 + len(wire.hybrid.shares) if isinstance(wire, PatternWire) else 0


class RequestWire(Struct, forbid_unknown_fields=True):
    """A job and its workers."""

    id: str
    workers: int
    profile: str | ProfileWire
    gpus_per_worker: int | UnsetType = UNSET
    pattern: PatternOfWire | UnsetType = UNSET
    hosts: dict[str, int] | UnsetType = UNSET

    def count_keys(self) -> int:
        """Keys of all objects in it, those of the profile too."""
        found = 3 + sum(one is not UNSET for one in (self.gpus_per_worker, self.pattern, self.hosts))
        found += keys_of(self.profile) + keys_of(self.pattern)
        return found + (len(self.hosts) if isinstance(self.hosts, dict) else 0)


class JobsFile(FileWire):
    """``cassini-jobs/1``."""

    format: Literal["cassini-jobs/1"]
    jobs: list[RequestWire]

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        return 2 + sum(job.count_keys() for job in self.jobs)


def load_jobs(path: str | os.PathLike[str]) -> list[JobRequest]:
    """Read a file of jobs.

    Parameters
    ----------
    path : str or path-like
        JSON or CSV, at most 1 GiB. Paths of profiles in it count from its folder.

    Returns
    -------
    list of JobRequest
        In the order of the file; at least one, at most :data:`MAX_JOBS`, ids all different.

    Raises
    ------
    InputError
        The file, or a profile that it names, can't be read or is wrong; one line with file, place, what was expected
        and what came.

    Notes
    -----
    Each profile is read once. Cost as of :func:`cassini_core.load_problem`.
    """
    return jobs_from_bytes(*read_file(path), folder=os.path.dirname(os.fspath(path)))


def jobs_from_bytes(data: bytes, source: str = "jobs", *, folder: str | bytes = "") -> list[JobRequest]:
    """As :func:`load_jobs`, from bytes.

    ``source`` stands for the file in messages; paths of profiles count from ``folder``, by default the working one.
    """
    profiles = ProfileFiles(os.fsdecode(folder))
    made = _from_json if data.lstrip()[:1] == b"{" else _from_table
    requests: list[JobRequest] = []
    known: set[str] = set()
    for place, one in made(data, source, profiles):
        if one.job.id in known:
            raise file_error(source, f"{place}.id", f"expected an id of its own, got {shown(one.job.id)} again")
        known.add(one.job.id)
        if len(requests) == MAX_JOBS:
            raise file_error(source, place, f"expected at most {MAX_JOBS} jobs, got more")
        requests.append(one)
    if not requests:
        raise file_error(source, "", "expected at least one job, got none")
    return requests


def _from_json(data: bytes, source: str, profiles: ProfileFiles) -> Iterator[tuple[str, JobRequest]]:
    for index, wire in enumerate(decode(data, JobsFile, source).jobs):
        place = f"$.jobs[{index}]"
        with error_at(source, place):
            job, pattern = profiles.of(wire.id, wire.profile), pattern_of(wire.pattern)
            gpus = 1 if isinstance(wire.gpus_per_worker, UnsetType) else wire.gpus_per_worker
            hosts = None if isinstance(wire.hosts, UnsetType) else wire.hosts
            request = JobRequest(job, wire.workers, gpus, pattern, hosts)
        yield place, request


def _from_table(data: bytes, source: str, profiles: ProfileFiles) -> Iterator[tuple[str, JobRequest]]:
    rows = job_rows(data)
    while True:
        with error_at(source, ""):
            row: JobRow | None = next(rows, None)
        if row is None:
            return
        with error_at(source, row.place):
            job = profiles.job(row.id, row.profile)
            request = JobRequest(job, row.workers, row.gpus_per_worker, row.pattern, row.hosts)  # type: ignore[arg-type]
        yield row.place, request


class ProfileFiles:
    """Jobs by the path of their file, each read once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[str, Job] = {}

    def of(self, job_id: str, profile: str | ProfileWire) -> Job:
        """What a job sends, told in place or by the path of a file."""
        if isinstance(profile, str):
            return self.job(job_id, profile)
        return Job(job_id, profile.iteration_ms, phases_of(profile.phases))

    def job(self, job_id: str, path: str) -> Job:
        """The job of a file under another id."""
        if path not in self._known:
            if len(path) > _LONGEST_PATH:
                raise refusal("", "profile", f"a path of at most {_LONGEST_PATH} characters", shown(path))
            try:
                self._known[path] = load_job(os.path.join(self._folder, path))
            except InputError as error:
                raise InputError(str(error), place="profile", reason=str(error)) from None
        found = self._known[path]
        return Job(job_id, found.iteration_ms, found.phases)


@contextmanager
def error_at(source: str, place: str) -> Iterator[None]:
    """Tell an error by its place in the file."""
    try:
        yield
    except InputError as error:
        whole = f"{place}.{error.place}" if place and error.place else place or error.place
        raise file_error(source, whole, error.reason) from None
