"""Any bytes, as a file of jobs: candidate placements that can be written and read, or a refusal in one line."""

from __future__ import annotations

from pathlib import Path

from cassini_core import InputError
from cassini_core.placement.jobs_file import load_jobs
from cassini_core.placement.place import place
from cassini_core.problem_file import problem_from_json, problem_to_json
from cassini_core.topology.generated import paper_two_gpus

_NETWORK = paper_two_gpus()
_MOST_JOBS = 40
_MOST_PHASES = 400


def run(data: bytes, scratch: Path) -> None:
    """One input; ``scratch`` is a folder for the file. Anything but a refusal that comes out is a finding."""
    path = scratch / "input"
    path.write_bytes(data)
    try:
        requests = load_jobs(path)
        if len(requests) > _MOST_JOBS or sum(len(one.job.phases) for one in requests) > _MOST_PHASES:
            return
        made = place(_NETWORK, requests, candidates=5, move_running=len(requests) % 2 == 0)
    except InputError as error:
        text = str(error)
        if not text or not text.isprintable() or len(text) > 2000:
            raise AssertionError(f"expected one printable line, got {text!r}") from error
        return
    assert problem_from_json(problem_to_json(made.problem, differences=True)) == made.problem
    workers = {one.job.id: one.workers for one in requests}
    for candidate in made.problem.candidates:
        assert all(sum(hosts.values()) == workers[job] for job, hosts in candidate.hosts.items())
