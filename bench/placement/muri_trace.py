"""Jobs of the trace that the paper of Muri (SIGCOMM 2022) was evaluated on, ``cluster_trace.csv``.

The trace gives for each job its GPUs, its iteration time and three times of stages, in ms. Which stage is which is seen
from the scheduler that comes with it and from the figures: it models four resources (storage, CPU, GPU, network), takes
the first time for two of them and each other for one; and the third time is 0 for every job of one GPU and grows with
the GPUs. So the third is the network's.

Assumed here, because the trace does not say it: the network is used in one phase at the end of the iteration, at
:data:`GBPS`, by a ring; and a worker, one GPU in the trace, has ``gpus_per_worker``.
"""

from __future__ import annotations

import csv
from pathlib import Path

from cassini_core import Job, Phase
from cassini_core.placement.job_request import JobRequest
from cassini_core.problem_file import job_to_json

GBPS = 100.0
"""What the busiest worker sends in its network phase, and the capacity of a host's cable."""


def muri_jobs(trace: Path, count: int, gpus_per_worker: int) -> list[JobRequest]:
    """The first jobs of the trace, all waiting."""
    with trace.open(newline="") as file:
        rows = list(csv.DictReader(file))[:count]
    return [
        JobRequest(_job(row, f"{row['model_name']}-{row['job_id']}"), int(row["num_gpu"]), gpus_per_worker)
        for row in rows
    ]


def _job(row: dict[str, str], name: str) -> Job:
    iteration_ms = float(row["iteration_time"])
    network_ms = min(float(row["resource_time_2"]), iteration_ms)
    phases = [Phase(iteration_ms - network_ms, network_ms, GBPS)] if network_ms > 0 else []
    return Job(name, iteration_ms, phases)


def write_files(requests: list[JobRequest], folder: Path) -> Path:
    """A file of jobs in CSV and a profile for each kind of job; the path of the former."""
    lines = ["id,profile,workers,gpus_per_worker"]
    for one in requests:
        kind = f"{one.job.id.rpartition('-')[0]}-{one.workers}.json"
        (folder / kind).write_bytes(job_to_json(Job(kind, one.job.iteration_ms, one.job.phases)))
        lines.append(f"{one.job.id},{kind},{one.workers},{one.gpus_per_worker}")
    path = folder / "jobs.csv"
    path.write_text("\n".join(lines) + "\n")
    return path
