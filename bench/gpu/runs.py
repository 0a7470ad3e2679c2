"""Start the ranks of training jobs, wait for them, and read what they wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Job", "Layout", "run_jobs"]

START_AFTER_S = 22.0
"""From launch to the first iteration: longer than imports, connections and warm-up take."""


@dataclass(frozen=True)
class Layout:
    """Which GPUs the ranks use.

    Two GPUs a job and NCCL where there are enough GPUs. With one GPU a job its two ranks share the GPU, each with half
    of the images, and reduce with gloo, because NCCL takes one rank a GPU. No job ever shares a GPU with another job:
    what they take from each other is the network alone.
    """

    n_jobs: int
    n_gpus: int
    images: int

    @property
    def gpus_per_job(self) -> int:
        """2, or 1 if there are too few."""
        return 2 if self.n_gpus >= 2 * self.n_jobs else 1

    @property
    def backend(self) -> str:
        """Of torch.distributed."""
        return "nccl" if self.gpus_per_job == 2 else "gloo"

    @property
    def images_per_rank(self) -> int:
        """Of one micro-batch."""
        return self.images if self.gpus_per_job == 2 else self.images // 2

    def gpu(self, job: int, rank: int) -> int:
        """Where a rank runs."""
        return job * 2 + rank if self.gpus_per_job == 2 else job


@dataclass(frozen=True)
class Job:
    """One job of a run: its number, when it starts after the first, and whether it has an agent."""

    number: int
    start_s: float = 0.0
    agent: bool = False
    trace: str | None = None


def run_jobs(
    jobs: Sequence[Job],
    iterations: int,
    layout: Layout,
    folder: Path,
    environment: Mapping[str, str] = os.environ,
    meanwhile: Any = None,
) -> list[dict[str, Any]]:
    """Run jobs side by side.

    Returns
    -------
    list of dict
        Per job what rank 0 wrote: ``starts_ns``, ``agent``, ``bytes``.

    Raises
    ------
    RuntimeError
        A rank failed; with the end of its log.
    """
    begin_s = time.monotonic() + START_AFTER_S
    started: list[tuple[subprocess.Popen[bytes], Path]] = []
    try:
        for job in jobs:
            for rank in range(2):
                started.append(_start(job, rank, iterations, begin_s, layout, folder, environment))
        if meanwhile is not None:
            meanwhile()
        for process, log in started:
            if process.wait(timeout=600) != 0:
                raise RuntimeError(f"{log.name} failed:\n{log.read_text()[-2000:]}")
    finally:
        for process, _ in started:
            if process.poll() is None:
                process.kill()
                process.wait()
    late_s = time.monotonic() - begin_s
    results = [json.loads((folder / f"job{job.number}.json").read_text()) for job in jobs]
    assert late_s > 0
    return results


def _start(
    job: Job, rank: int, iterations: int, begin_s: float, layout: Layout, folder: Path, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], Path]:
    network = {
        "NCCL_NET": "Socket",
        "NCCL_SOCKET_IFNAME": "lo",
        "NCCL_P2P_DISABLE": "1",
        "NCCL_SHM_DISABLE": "1",
        "NCCL_IB_DISABLE": "1",
        "NCCL_MAX_NCHANNELS": "2",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    place = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(29600 + job.number)}
    command = [sys.executable, "-m", "bench.gpu.worker", "--backend", layout.backend]
    command += ["--gpu", str(layout.gpu(job.number, rank)), "--images", str(layout.images_per_rank)]
    command += ["--iterations", str(iterations), "--start-monotonic-s", f"{begin_s + job.start_s:.6f}"]
    command += ["--out", str(folder / f"job{job.number}.json")]
    command += ["--agent"] if job.agent else []
    command += ["--trace", job.trace] if job.trace is not None and rank == 0 else []
    log = folder / f"job{job.number}-rank{rank}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            command,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**environment, **network, **place, "CASSINI_JOB_ID": f"job{job.number}"},
        )
    return process, log
