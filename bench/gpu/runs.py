"""Jobs of two ranks: started, asked to run, alone or side by side, and ended."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["RANKS", "Job", "gpu_job", "side_by_side", "wire_job"]

RANKS = 2

LONGEST_S = 240.0
"""For one answer; a job that takes longer hangs."""

OTHERS_S = 1.0
"""Where a rank has ended: for what the others say."""

NETWORK = {
    "NCCL_NET": "Socket",
    "NCCL_SOCKET_IFNAME": "lo",
    "NCCL_P2P_DISABLE": "1",
    "NCCL_SHM_DISABLE": "1",
    "NCCL_IB_DISABLE": "1",
    "NCCL_MAX_NCHANNELS": "2",
    "GLOO_SOCKET_IFNAME": "lo",
}
"""All that the ranks tell each other goes over the shaped device."""

_numbers = itertools.count()


class Job:
    """The ranks of one job, as processes that do what they are asked.

    Parameters
    ----------
    name : str
        Under which the agent's daemon knows it.
    commands : sequence of list of str
        Module and arguments, per rank.
    folder : Path
        For logs and answers.
    environment : mapping, optional
        Of the processes.
    defaults : mapping, optional
        Goes along with every request.
    """

    def __init__(
        self,
        name: str,
        commands: Sequence[list[str]],
        folder: Path,
        environment: Mapping[str, str] | None = None,
        defaults: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self.defaults = dict(defaults or {})
        self._commands, self._folder = commands, folder
        self._environment = dict(os.environ if environment is None else environment)
        self._ranks: list[tuple[subprocess.Popen[bytes], Path]] = []
        self._answer: Path | None = None

    def __enter__(self) -> Job:
        number = next(_numbers)
        place = {"WORLD_SIZE": str(RANKS), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(29600 + number)}
        for rank, command in enumerate(self._commands):
            log = self._folder / f"{number}-{self.name}-{rank}.log"
            own = {"RANK": str(rank), "CASSINI_JOB_ID": self.name, "PYTHONUNBUFFERED": "1"}
            with log.open("wb") as out:
                process = subprocess.Popen(
                    [sys.executable, "-m", *command],
                    stdin=subprocess.PIPE,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env={**self._environment, **NETWORK, **place, **own},
                )
            self._ranks.append((process, log))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process, _ in self._ranks:
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.close()
        for process, _ in self._ranks:
            try:
                process.wait(30 if error is None else 1)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._ranks.clear()

    def ask(self, do: str, **more: Any) -> None:
        """Ask all ranks; :meth:`answer` waits for them."""
        self._answer = self._folder / f"answer-{next(_numbers)}.json"
        line = json.dumps({**self.defaults, "do": do, "answer": str(self._answer), **more}) + "\n"
        for process, _ in self._ranks:
            assert process.stdin is not None
            with suppress(BrokenPipeError):  # it has ended, and the answer will say so
                process.stdin.write(line.encode())
                process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        """What rank 0 answers.

        Raises
        ------
        RuntimeError
            A rank has ended, or there is no answer for long; with the ends of all logs.
        """
        assert self._answer is not None
        end_s = time.monotonic() + LONGEST_S
        while not self._answer.exists():
            ended = any(process.poll() is not None for process, _ in self._ranks)
            if ended or time.monotonic() > end_s:
                what = "a rank has ended" if ended else f"no answer in {LONGEST_S:.0f} s"
                time.sleep(OTHERS_S)
                logs = [f"{log.name}:\n{log.read_text(errors='replace')[-2000:]}" for _, log in self._ranks]
                raise RuntimeError("\n".join([f"{self.name}: {what}", *logs]))
            time.sleep(0.05)
        known: dict[str, Any] = json.loads(self._answer.read_text())
        return known

    def prepare(self) -> dict[str, Any]:
        """Connect and warm up."""
        self.ask("prepare")
        return self.answer()


def side_by_side(jobs: Sequence[Job], offsets_s: Sequence[float], iterations: Sequence[int], **more: Any) -> list[Any]:
    """Run jobs at the same time, each from its offset on; their answers.

    ``meanwhile``, if given, is called with the monotonic time at which the first begins, s.
    """
    meanwhile = more.pop("meanwhile", None)
    begin_s = time.monotonic() + 0.5
    for job, offset_s, count in zip(jobs, offsets_s, iterations, strict=True):
        job.ask("run", begin_s=begin_s + offset_s, iterations=count, **more)
    if meanwhile is not None:
        meanwhile(begin_s)
    return [job.answer() for job in jobs]


def gpu_job(
    model: str,
    gpus: Sequence[int] | None,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    size: int | None = None,
) -> Job:
    """A job that trains ``model``, a rank on each of two GPUs; without GPUs a tiny one."""
    commands = []
    for rank in range(RANKS):
        command = ["bench.gpu.worker", "--model", model]
        command += ["--gpu", str(gpus[rank])] if gpus is not None else ["--tiny"]
        command += ["--size", str(size)] if size is not None else []
        commands.append(command + (["--agent"] if environment is not None else []))
    return Job(model, commands, folder, environment)


def wire_job(
    folder: Path, environment: Mapping[str, str] | None = None, compute_s: float = 0.0, size_bytes: int = 0
) -> Job:
    """A job without a GPU. With an environment, that of a daemon, it has an agent."""
    command = ["bench.gpu.wire"] + (["--agent"] if environment is not None else [])
    return Job("wire", [command] * RANKS, folder, environment, {"compute_s": compute_s, "bytes": size_bytes})
