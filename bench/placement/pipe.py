"""How long the pipe takes: a network from a file, jobs of a trace, candidates, their ranking."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from .muri_trace import GBPS, muri_jobs, write_files

JOBS, GPUS_PER_WORKER, GPUS = 200, 4, 8
TIERS = (f"1:gbps={GBPS:g}", "2:oversubscription=2,parallel=4", "3:oversubscription=2,parallel=4")

PROGRAM = (sys.executable, "-m", "cassini_core")


@dataclass(frozen=True, slots=True)
class Step:
    """One command: what it is, s by the clock and of processors, and MB written."""

    command: str
    seconds: float
    processor_s: float
    megabytes: float


@dataclass(frozen=True, slots=True)
class Pipe:
    """The commands one after the other, and all at once as a pipe, s; what the placing said; and the best candidate."""

    steps: tuple[Step, ...]
    at_once_s: float
    said: tuple[str, ...]
    best: str


def time_pipe(topology: Path, trace: Path) -> Pipe:
    """Run the commands on the network of ``topology`` and the first jobs of ``trace``."""
    with tempfile.TemporaryDirectory() as scratch:
        jobs = write_files(muri_jobs(trace, JOBS, GPUS_PER_WORKER), Path(scratch))
        tiers = [word for tier in TIERS for word in ("--tier", tier)]
        commands = [
            ["topology", str(topology), *tiers, "-o", "-"],
            ["place", "-", "--jobs", str(jobs), "--gpus", str(GPUS)],
            ["rank", "-", "--with-problem"],
            ["report", "-", "-o", str(Path(scratch) / "report.html")],
        ]
        if subprocess.run([*PROGRAM, "report", "--help"], capture_output=True).returncode:
            commands.pop()
        steps, data, said, best = [], b"", (), ""
        for command in commands:
            began, used = time.perf_counter(), _processor_s()
            done = subprocess.run([*PROGRAM, *command], input=data, capture_output=True, check=True)
            took = time.perf_counter() - began
            data = done.stdout
            used = _processor_s() - used
            steps.append(Step(_shown(command, topology, scratch), took, used, len(data) / 1e6))
            if command[0] == "place":
                said = tuple(line for line in done.stderr.decode().splitlines() if line.strip())
            if command[0] == "rank":
                best = _best(data)
        return Pipe(tuple(steps), _at_once(commands), said, best)


def _at_once(commands: list[list[str]]) -> float:
    began = time.perf_counter()
    running: list[subprocess.Popen[bytes]] = []
    for command in commands:
        above = running[-1].stdout if running else subprocess.DEVNULL
        running.append(
            subprocess.Popen([*PROGRAM, *command], stdin=above, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        )
    running[-1].communicate()
    for process in running:
        if process.wait():
            raise RuntimeError(f"{process.args} ended with {process.returncode}")
    return time.perf_counter() - began


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _best(data: bytes) -> str:
    answer = json.loads(data)
    first = answer["candidates"][0]
    proven = "proven" if answer["best_proven"] else "not proven"
    return f"`{answer['best']}` with {first['score']:.4f} ({proven}), {first['jobs_placed']} jobs placed"


def _shown(command: list[str], topology: Path, scratch: str) -> str:
    words = [word.replace(f"{scratch}/", "").replace(str(topology), topology.name) for word in command]
    return " ".join(("cassini-core", *words))
