"""Any bytes, as the trace of one rank or of several: a profile whose job can be written and read, or a refusal."""

from __future__ import annotations

from pathlib import Path

from cassini_core import InputError
from cassini_core.problem_file import job_to_json, load_job
from cassini_core.profiles.kineto import profile_kineto

BETWEEN_RANKS = b"\n=====\n"
"""Stands between the traces of several ranks in one input."""


def run(data: bytes, scratch: Path) -> None:
    """One input; ``scratch`` is a folder for the files. Anything but a refusal that comes out is a finding."""
    paths = []
    for rank, trace in enumerate(data.split(BETWEEN_RANKS)[:3]):
        path = scratch / f"rank{rank}.json"
        path.write_bytes(trace)
        paths.append(path)
    for gbps in (None, 25.0):
        try:
            profile = profile_kineto(paths, job_id="job", gbps=gbps)
        except InputError as error:
            text = str(error)
            if not text or "\n" in text:
                raise AssertionError(f"expected one line, got {text!r}") from error
            continue
        written = scratch / "job.json"
        written.write_bytes(job_to_json(profile.job, {"warnings": profile.warnings}))
        assert load_job(written) == profile.job
