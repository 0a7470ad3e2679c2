"""Two real training jobs share a shaped link: alone, at random phases, in phase, and held interleaved by the agent.

    sudo python -m bench.gpu.two_jobs      (two GPUs or more, iproute2, torch; some six minutes)

The profile that the shift is computed from is the one the agent measured while the first job ran alone. Everything
runs in a network namespace of its own, which is taken down again.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from .held import Daemon, held_run
from .runs import Job, Layout, run_jobs
from .shaped_link import INSIDE, loopback_bytes, rerun_inside

SEED = 20240416


def main() -> int:
    """Set up the link, measure, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    parser.add_argument("--gbps", type=float, default=24.0, help="rate of the link")
    parser.add_argument("--images", type=int, default=500, help="of a micro-batch; three a job and iteration")
    parser.add_argument("--iterations", type=int, default=30, help="of each run; the held one takes twice as many")
    parser.add_argument("--random-phases", type=int, default=3, help="runs with the second job started at random")
    parser.add_argument("--trace", action="store_true", help="one more short run with the profiler")
    arguments = parser.parse_args()
    if INSIDE not in os.environ:
        return rerun_inside("bench.gpu.two_jobs", sys.argv[1:], arguments.gbps)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="cassini-gpu-") as folder:
        report = measure(arguments, Path(folder))
    (arguments.out / "gpu-two-jobs.json").write_text(json.dumps(report, indent=1) + "\n")
    from .report import draw, table

    text = table(report)
    (arguments.out / "gpu-two-jobs.md").write_text(text)
    draw(report, arguments.out / "gpu-two-jobs.png")
    print(text)
    return 0


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """All runs, one after the other."""
    import torch

    layout = Layout(2, torch.cuda.device_count(), arguments.images)
    runs: dict[str, Any] = {}
    report = {"machine": machine(), "gbps": arguments.gbps, "layout": describe(layout), "runs": runs}
    n = arguments.iterations

    say("alone, without an agent")
    before = loopback_bytes()
    (alone,) = run_jobs([Job(0)], n, layout, folder)
    sent = loopback_bytes() - before
    runs["solo"] = [durations(alone)]
    solo_s = statistics.mean(durations(alone)) / 1e3

    say("in phase")
    runs["in phase"] = [durations(one) for one in run_jobs([Job(0), Job(1)], n, layout, folder)]

    rng = random.Random(SEED)
    runs["random phase"], report["random_phase_s"] = [], []
    for _ in range(arguments.random_phases):
        offset_s = rng.uniform(0.0, solo_s)
        say(f"second job {offset_s:.3f} s later")
        report["random_phase_s"].append(offset_s)
        both = run_jobs([Job(0), Job(1, offset_s)], n, layout, folder)
        runs["random phase"] += [durations(one) for one in both]

    with Daemon(folder) as daemon:
        say("alone, measured by the agent")
        (profiled,) = run_jobs([Job(0, agent=True)], n, layout, folder, daemon.environment)
        runs["solo with agent"] = [durations(profiled)]
        report["profile"] = profiled["agent"]["profile"]
        say("held by the agent")
        held = held_run(daemon, report["profile"], arguments.gbps, solo_s, 2 * n, layout, folder)
        runs["held"] = held.pop("durations_ms")
        report["held"] = held
        if arguments.trace:
            from .trace import synchronisations

            report["trace"] = {}
            for agent in (False, True):
                say(f"with the profiler, {'with' if agent else 'without'} the agent")
                trace = str(folder / "trace.json")
                run_jobs([Job(0, agent=agent, trace=trace)], 4, layout, folder, daemon.environment)
                report["trace"]["with agent" if agent else "without"] = synchronisations(Path(trace))
    report["loopback_bytes_per_iteration"] = sent / n
    return report


def durations(result: dict[str, Any]) -> list[float]:
    """Iteration times of a job, ms."""
    starts = result["starts_ns"]
    return [(later - earlier) / 1e6 for earlier, later in pairwise(starts)]


def describe(layout: Layout) -> dict[str, Any]:
    """The layout for the report."""
    return {
        "gpus": layout.n_gpus,
        "gpus_per_job": layout.gpus_per_job,
        "ranks_per_job": 2,
        "backend": layout.backend,
        "images_per_rank_and_micro_batch": layout.images_per_rank,
    }


def machine() -> dict[str, Any]:
    """Versions and cards."""
    import torch

    driver = subprocess.run(
        ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True
    ).stdout.split("\n")[0]
    return {
        "card": torch.cuda.get_device_name(0),
        "driver": driver,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d"),
    }


def say(what: str) -> None:
    """Progress."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
