"""Any bytes, as a simulator's workload file: a job that can be written and read, or a refusal."""

from __future__ import annotations

from pathlib import Path

from cassini_core import InputError, load_profile
from cassini_core.problem_file import job_to_json
from cassini_core.profiles.model import profile_workload


def run(data: bytes, scratch: Path) -> None:
    """One input; ``scratch`` is a folder for the files. Anything but a refusal that comes out is a finding."""
    path = scratch / "workload.txt"
    path.write_bytes(data)
    for workers, local_ranks, local_gbps in ((None, 1, None), (8, 1, None), (16, 4, 2400.0)):
        try:
            profile = profile_workload(
                path, job_id="job", gbps=100.0, workers=workers, local_ranks=local_ranks, local_gbps=local_gbps
            )
        except InputError as error:
            text = str(error)
            if not text or "\n" in text:
                raise AssertionError(f"expected one line, got {text!r}") from error
            continue
        written = scratch / "job.json"
        written.write_bytes(job_to_json(profile.job, profile.about.to_dict("fuzz")))
        job, about = load_profile(written)
        assert job == profile.job
        assert about["warnings"] == list(profile.about.warnings)
