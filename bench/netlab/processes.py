"""Processes in a lab's namespaces: jobs, daemons, the scheduler. All of them end with the block that made them."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .topology import MANAGEMENT, Topology

__all__ = ["Failed", "Processes", "Stopped", "processes"]

ROOT = Path(__file__).resolve().parents[2]
DAEMON_PORT = 9311
SCHEDULER_LOG = "scheduler.log"
PATIENCE_S = 60.0
"""For imports and connections, on a machine that is busy with other labs."""
SOON_S = 0.2
ENDING_S = 5.0


class Stopped(Exception):
    """The whole study is to end."""


class Failed(RuntimeError):
    """A process of the lab ended as it should not; with the end of its log."""


class Processes:
    """What runs in the namespaces of one lab.

    Parameters
    ----------
    topology : Topology
    prefix : str
        Of the namespaces' names.
    folder : Path
        For sockets, logs and results; short, since paths of sockets are.
    stop : threading.Event
        Set when everything is to end.
    """

    def __init__(self, topology: Topology, prefix: str, folder: Path, stop: threading.Event) -> None:
        self.topology = topology
        self.folder = folder
        self.token = secrets.token_hex(16)
        self._prefix = prefix
        self._stop = stop
        self._started: list[subprocess.Popen[bytes]] = []
        self._daemons: dict[str, subprocess.Popen[bytes]] = {}
        token = folder / "token"
        token.touch(mode=0o600)
        token.write_text(self.token)

    def wait_until(self, time_s: float) -> None:
        """Until a point of the monotonic clock.

        Raises
        ------
        Stopped
            The study is to end first.
        """
        if self._stop.wait(max(0.0, time_s - time.monotonic())):
            raise Stopped

    def start(
        self, space: str, module: str, arguments: Sequence[str], log: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Run a module in a namespace; what it prints goes to a file."""
        command = ["ip", "netns", "exec", self._prefix + space, sys.executable, "-m", module, *arguments]
        with (self.folder / log).open("ab") as file:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **(environment or {})},
                stdout=file,
                stderr=file,
                start_new_session=True,  # Ctrl-C is for us, who end the others in order
            )
        self._started.append(process)
        return process

    def daemon(self, host: str) -> None:
        """Start the agent's daemon of a host; a second time after it was killed, with what it remembers."""
        own = self.folder / host
        own.mkdir(exist_ok=True)
        arguments = ["serve", "--host", self.topology.management(host), "--port", str(DAEMON_PORT), "--plain-http"]
        arguments += ["--token-file", str(self.folder / "token"), "--socket", str(own / "s")]
        arguments += ["--state-directory", str(own)]
        self._daemons[host] = self.start(host, "cassini_agent.cli", arguments, f"{host}-daemon.log")

    def kill_daemon(self, host: str) -> None:
        """At once."""
        self._daemons[host].kill()
        self._daemons[host].wait()

    def daemons_ready(self) -> None:
        """Wait until all that were started have their sockets.

        Raises
        ------
        Failed
            One did not.
        """
        for host, process in self._daemons.items():
            self._appears(self.folder / host / "s", process, f"{host}-daemon.log")

    def ranks_ready(self, ranks: Mapping[tuple[str, int], subprocess.Popen[bytes]]) -> None:
        """Wait until all are.

        Raises
        ------
        Failed
            One was not.
        """
        for (job, rank), process in ranks.items():
            self._appears(self.folder / f"{job}{rank}.ready", process, f"{job}{rank}.log")

    def begin(self) -> float:
        """Tell the ranks from when on times count; that time, on the monotonic clock."""
        origin_s = time.monotonic() + SOON_S
        part = self.folder / "origin.part"
        part.write_text(repr(origin_s))
        part.rename(self.folder / "origin")
        return origin_s

    def _appears(self, file: Path, process: subprocess.Popen[bytes], log: str) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not file.exists():
            self.running(process, log)
            if time.monotonic() > end_s:
                raise Failed(f"{log}: not ready after {PATIENCE_S:g} s: {self._said(log)}")
            self.wait_until(time.monotonic() + 0.02)

    def rank(self, job: str, rank: int, options: Mapping[str, Any], agent: bool) -> subprocess.Popen[bytes]:
        """Start a rank of a job; ``worker`` has the options, what follows from the topology is added."""
        host, first = f"{job}{rank}", f"{job}0"
        told = {
            **options,
            "job": job,
            "rank": rank,
            "address": self.topology.address(first),
            "out": str(self.folder / f"{host}.json"),
            "ready": str(self.folder / f"{host}.ready"),
            "origin": str(self.folder / "origin"),
        }
        environment = {
            "CASSINI_AGENT_SOCKET": str(self.folder / host / "s"),
            "CASSINI_JOB_ID": job,
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "MASTER_ADDR": self.topology.management(first),
            "MASTER_PORT": "29600",
            "GLOO_SOCKET_IFNAME": "e0",
            "OMP_NUM_THREADS": "1",
            **({} if agent else {"CASSINI_AGENT": "0"}),
        }
        return self.start(host, "bench.netlab.worker", [json.dumps(told)], f"{host}.log", environment)

    def scheduler(self, told: Mapping[str, Any]) -> subprocess.Popen[bytes]:
        """Start what a scheduler does, in the management network."""
        file = self.folder / "scheduler.json"
        file.write_text(json.dumps(told))
        return self.start(MANAGEMENT, "bench.netlab.scheduler_side", [str(file)], SCHEDULER_LOG)

    def running(self, process: subprocess.Popen[bytes], log: str) -> None:
        """Check that a process still runs.

        Raises
        ------
        Failed
            It has ended.
        """
        if process.poll() is not None:
            raise Failed(f"{log} ended with {process.returncode}: {self._said(log)}")

    def result(self, job: str, rank: int, process: subprocess.Popen[bytes], end_s: float) -> dict[str, Any]:
        """What a rank wrote, when it has ended.

        Raises
        ------
        Failed
            It ended without a result, or not until ``end_s`` of the monotonic clock.
        """
        while process.poll() is None:
            if time.monotonic() > end_s:
                raise Failed(f"{job}{rank} did not end: {self._said(f'{job}{rank}.log')}")
            self.wait_until(time.monotonic() + 0.05)
        if process.returncode != 0:
            raise Failed(f"{job}{rank} ended with {process.returncode}: {self._said(f'{job}{rank}.log')}")
        return dict(json.loads((self.folder / f"{job}{rank}.json").read_text()))

    def end(self) -> None:
        """End all that still runs, also what is stopped."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for process in self._started:
                if process.poll() is None:
                    process.send_signal(number)
                    process.send_signal(signal.SIGCONT)
            end_s = time.monotonic() + ENDING_S
            for process in self._started:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.05, end_s - time.monotonic()))

    def _said(self, log: str) -> str:
        file = self.folder / log
        return file.read_text(errors="replace")[-1500:] if file.exists() else "no log"


@contextmanager
def processes(topology: Topology, prefix: str, folder: Path, stop: threading.Event) -> Iterator[Processes]:
    """For the time of a block."""
    own = Processes(topology, prefix, folder, stop)
    try:
        yield own
    finally:
        own.end()
