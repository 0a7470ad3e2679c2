"""Two training jobs share a shaped link: alone, in phase, at random phases, and held interleaved by the agent.

    sudo python -m bench.gpu.two_jobs           (two GPUs or more, iproute2, torch; some eight minutes)
    sudo python -m bench.gpu.two_jobs --tiny    (no GPU: tiny models over gloo on a slow link, to rehearse; six minutes)

With four GPUs a VGG16 job and a job of a transformer of GPT-2's size run side by side, two GPUs each. With two, each of
them runs beside a job without a GPU (``wire``), whose iteration time is set to that of the GPU job: two jobs on one GPU
would take more from each other than the network. No step waits for its GPU. The jobs are held by
``cassini_agent.interleave``, from what their agents measure. Everything runs in a network namespace of its own, which
is taken down again.
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
from collections.abc import Callable
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Any

from .held import Daemon, Scheduler
from .report import draw, table
from .runs import RANKS, Job, gpu_job, side_by_side, wire_job
from .shaped_link import INSIDE, rerun_inside
from .trace import host_waits

SEED = 20240416

SETTLED = 6
"""Iterations that both jobs have run before the scheduler begins."""

ARRANGED = 50
"""Iterations until the jobs are arranged for good, and some more."""

LARGEST_SHARE = 0.4
"""Of an iteration in which the wire job communicates; less where the GPU job leaves less room."""

ROOM = 0.85
"""What the wire job takes of the time in which the GPU job does not communicate."""

TRACED = 4
"""Iterations under the profiler."""


def main() -> int:
    """Set up the link, measure, write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    parser.add_argument("--gbps", type=float, help="rate of the link; default 24, with --tiny 0.25")
    parser.add_argument("--models", nargs="+", default=["vgg16", "gpt2"], help="the GPU jobs")
    parser.add_argument("--sizes", nargs="+", type=int, help="of their micro-batches, on each rank")
    parser.add_argument(
        "--iterations", type=int, default=24, help="of each run; of the held one 50 and 2.5 times as many"
    )
    parser.add_argument("--random-phases", type=int, default=2, help="runs with the second job started at random")
    parser.add_argument("--trace", action="store_true", help="a short run with the profiler for each GPU job")
    parser.add_argument("--tiny", action="store_true", help="tiny models, no GPU")
    arguments = parser.parse_args()
    arguments.gbps = arguments.gbps or (0.25 if arguments.tiny else 24.0)
    if INSIDE not in os.environ:
        return rerun_inside("bench.gpu.two_jobs", sys.argv[1:], arguments.gbps)
    arguments.out.mkdir(parents=True, exist_ok=True)
    where = arguments.out / "gpu-held"
    report: dict[str, Any] = {"machine": machine(arguments.tiny), "gbps": arguments.gbps, "pairs": []}
    sizes = dict(zip(arguments.models, arguments.sizes or [None] * len(arguments.models), strict=True))

    def keep() -> None:
        where.with_suffix(".json").write_text(json.dumps(report) + "\n")

    with tempfile.TemporaryDirectory(prefix="cassini-gpu-") as folder:
        for names in pairs(arguments.models, report["machine"]["gpus"]):
            pair = Pair(names, sizes, arguments, Path(folder), keep)
            report["pairs"].append(pair.report)
            try:
                pair.with_agents()
                pair.without()
            except RuntimeError as error:  # of a job; the other pair may do better
                pair.report["failed"] = str(error)
                print(error, file=sys.stderr, flush=True)
            keep()
    text = table(report)
    where.with_suffix(".md").write_text(text)
    draw(report, where.with_suffix(".png"))
    print(text)
    return int(any("failed" in pair for pair in report["pairs"]))


def pairs(models: list[str], gpus: int) -> list[list[str]]:
    """Which jobs run side by side: two GPU jobs where there are GPUs for both, else each with a job without."""
    if gpus >= RANKS * len(models) > RANKS:
        return [models]
    return [[model, "wire"] for model in models]


class Pair:
    """Two jobs, and all that is measured of them.

    Attributes
    ----------
    report : dict
        What is known so far.
    """

    def __init__(
        self,
        names: list[str],
        sizes: dict[str, int | None],
        arguments: argparse.Namespace,
        folder: Path,
        keep: Callable[[], None],
    ) -> None:
        self.names, self.sizes, self.arguments, self.folder = names, sizes, arguments, folder
        self._write = keep
        self.wire: dict[str, Any] = {}
        self.report: dict[str, Any] = {"jobs": names, "about": {}, "profiles": {}, "runs": []}

    def with_agents(self) -> None:
        """Each alone, which gives the profiles; then both, held."""
        n = self.arguments.iterations
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        with Daemon(folder) as daemon, ExitStack() as ended:
            jobs = self._gpu_jobs(ended, daemon.environment)
            self._prepare(jobs)
            for job in jobs:
                self._alone(job, n, agent=True)
            if "wire" in self.names:
                self._fit_wire(jobs[0].name)
                jobs.append(ended.enter_context(wire_job(self.folder, daemon.environment, **self.wire)))
                self._alone(jobs[-1], n, agent=True)
            self._say("held by the agents")
            rng = random.Random(SEED)
            with Scheduler(daemon, self.names, self.arguments.gbps) as scheduler:

                def meanwhile(begin_s: float) -> None:
                    time.sleep(max(0.0, begin_s + SETTLED * self._iteration_s() - time.monotonic()))
                    scheduler.hold()

                offset_s = rng.uniform(0, self._iteration_s())
                answers = side_by_side(jobs, [0.0, offset_s], [ARRANGED + 5 * n // 2] * 2, meanwhile=meanwhile)
            self._keep("held", jobs, answers, offset_s, agent=True)
            self.report["held"] = scheduler.known | {"daemon": daemon.get("/v1/jobs")["jobs"]}
            if self.arguments.trace:
                for job in [one for one in jobs if one.name != "wire"]:
                    self._say(f"{job.name} with the profiler")
                    path = str(self.folder / "trace.json")
                    side_by_side([job], [0.0], [TRACED], trace=path)
                    self.report.setdefault("host_waits", {})[job.name] = host_waits(Path(path))

    def without(self) -> None:
        """Without agents: each alone, both in phase, both at random phases."""
        n = self.arguments.iterations
        with ExitStack() as ended:
            jobs = self._gpu_jobs(ended, None)
            others = [wire_job(self.folder, None, **self.wire)] if "wire" in self.names else []
            for wire in others:  # while the others load: they send nothing before they are prepared
                self._alone(ended.enter_context(wire), n, agent=False)
            self._prepare(jobs)
            for job in jobs:
                self._alone(job, n, agent=False)
            jobs += others
            self._say("in phase")
            # Iterations begin together, and as they take the same time, communication ends together.
            self._keep("in phase", jobs, side_by_side(jobs, [0.0, 0.0], [n, n]), 0.0)
            rng = random.Random(SEED + 1)
            for _ in range(self.arguments.random_phases):
                offset_s = rng.uniform(0, self._iteration_s())
                self._say(f"second job {offset_s:.3f} s later")
                self._keep("random phase", jobs, side_by_side(jobs, [0.0, offset_s], [n, n]), offset_s)

    def _gpu_jobs(self, ended: ExitStack, environment: dict[str, str] | None) -> list[Job]:
        models = [name for name in self.names if name != "wire"]
        jobs = []
        for number, name in enumerate(models):
            gpus = None if self.arguments.tiny else [RANKS * number, RANKS * number + 1]
            jobs.append(ended.enter_context(gpu_job(name, gpus, self.folder, environment, self.sizes[name])))
        return jobs

    def _prepare(self, jobs: list[Job]) -> None:
        self._say("preparing")
        for job in jobs:
            self.report["about"][job.name] = job.prepare()

    def _alone(self, job: Job, iterations: int, agent: bool) -> None:
        self._say(f"{job.name} alone, {'measured by its agent' if agent else 'without an agent'}")
        (answer,) = side_by_side([job], [0.0], [iterations])
        self._keep("alone", [job], [answer], 0.0, agent)
        if agent:
            profile = answer["agent"]["profile"]
            if profile is None or None in profile.values():
                raise RuntimeError(f"{job.name}: expected a profile, got {profile}; the agent: {answer['agent']}")
            self.report["profiles"][job.name] = profile

    def _fit_wire(self, other: str) -> None:
        """Size the job without a GPU: an iteration as long as the other's, and so much communication that both fit."""
        profile = self.report["profiles"][other]
        iteration_s = profile["iteration_ns"] / 1e9
        free_s = iteration_s - (profile["communication_end_ns"] - profile["communication_start_ns"]) / 1e9
        wanted_s = min(LARGEST_SHARE * iteration_s, ROOM * free_s)
        # Both ways over one shaped device.
        size_bytes = round(self.arguments.gbps * 1e9 / 8 * wanted_s / 2)
        with wire_job(self.folder, None, 0.0, size_bytes) as wire:
            for _ in range(2):  # the first while the windows grow
                exchange_s = iteration_time_s(side_by_side([wire], [0.0], [6])[0])
            wire.defaults["bytes"] = round(size_bytes * wanted_s / exchange_s)
            wire.defaults["compute_s"] = iteration_s - wanted_s
            took_s = iteration_time_s(side_by_side([wire], [0.0], [8])[0])
            wire.defaults["compute_s"] += iteration_s - took_s
            self.wire = {"compute_s": wire.defaults["compute_s"], "size_bytes": wire.defaults["bytes"]}
        self.report["about"]["wire"] = {**self.wire, "communication_s": wanted_s, "iteration_s": iteration_s}

    def _iteration_s(self) -> float:
        return max(one["iteration_ns"] for one in self.report["profiles"].values()) / 1e9

    def _keep(self, mode: str, jobs: list[Job], answers: list[Any], offset_s: float, agent: bool = False) -> None:
        run: dict[str, Any] = {"mode": mode, "agent": agent, "offset_s": offset_s, "jobs": {}}
        for job, answer in zip(jobs, answers, strict=True):
            one = {key: answer[key] for key in ("starts_ns", "came_ns") if key in answer}
            if answer["agent"] is not None:
                one["agent"] = {key: value for key, value in answer["agent"].items() if key != "profile"}
            run["jobs"][job.name] = one
        self.report["runs"].append(run)
        self._write()

    def _say(self, what: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {' + '.join(self.names)}: {what}", file=sys.stderr, flush=True)


def iteration_time_s(answer: dict[str, Any]) -> float:
    """Median."""
    return statistics.median((b - a) / 1e9 for a, b in pairwise(answer["starts_ns"]))


def machine(tiny: bool) -> dict[str, Any]:
    """Versions and cards."""
    import torch

    known = {
        "gpus": torch.cuda.device_count(),
        "card": "no GPU",
        "torch": torch.__version__,
        "python": sys.version.split()[0],
        "date": time.strftime("%Y-%m-%d"),
    }
    if tiny:
        return {**known, "gpus": 0}
    query = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    driver = subprocess.run(query, capture_output=True, text=True).stdout.split("\n")[0]
    nccl = ".".join(map(str, torch.cuda.nccl.version()))
    return {**known, "card": torch.cuda.get_device_name(0), "driver": driver, "cuda": torch.version.cuda, "nccl": nccl}


if __name__ == "__main__":
    sys.exit(main())
