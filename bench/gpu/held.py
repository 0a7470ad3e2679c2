"""The run in which the agent holds the jobs: a daemon, and what interleaves its jobs, as schedulers have them."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Collection
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

from cassini_agent.dispatch import Endpoint
from cassini_agent.interleave import Interleaving, Network, describe
from cassini_agent.interleave.events import Arranged
from cassini_agent.schedule import MS_NS

__all__ = ["Daemon", "Scheduler"]

LONGEST_S = 60.0
"""Until jobs are arranged: they are parted first, and then known apart."""


class Daemon:
    """A ``cassini-agent serve`` of its own."""

    def __init__(self, folder: Path) -> None:
        self.token = secrets.token_hex(16)
        self.folder = folder
        token_file = folder / "token"
        token_file.touch(mode=0o600)
        token_file.write_text(self.token)
        self.environment = {**os.environ, "CASSINI_AGENT_SOCKET": str(folder / "agent.sock")}
        self.url = ""
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Daemon:
        port_file = self.folder / "port"
        command = [sys.executable, "-m", "cassini_agent.cli", "serve", "--port", "0", "--port-file", str(port_file)]
        command += ["--socket", str(self.folder / "agent.sock"), "--token-file", str(self.folder / "token")]
        with (self.folder / "daemon.log").open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log)
        for _ in range(200):
            if port_file.exists() and port_file.read_text():
                self.url = f"http://127.0.0.1:{int(port_file.read_text())}"
                return self
            time.sleep(0.1)
        raise RuntimeError(f"the daemon did not start: {(self.folder / 'daemon.log').read_text()[-1000:]}")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(10)

    def get(self, path: str) -> Any:
        """A JSON answer."""
        request = urllib.request.Request(self.url + path, headers={"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)


class Scheduler:
    """Has the jobs interleaved, as any scheduler would: their profiles are those that their daemon reports.

    Parameters
    ----------
    daemon : Daemon
        Of all jobs.
    jobs : collection of str
        Who takes part.
    link_gbps : float
        Of the link that they share.

    Attributes
    ----------
    known : dict
        What was decided, for the report: ``at_monotonic_ns``, when the jobs were arranged last; ``arranged_s``, how
        long that took, None if they are parted only; ``score``, ``hold_ms``, and by job ``shifts_ms`` and ``paces_ms``;
        ``told``, all events.
    """

    def __init__(self, daemon: Daemon, jobs: Collection[str], link_gbps: float) -> None:
        network = Network.one_link("lo", link_gbps)
        daemons = {"localhost": Endpoint(daemon.url, daemon.token)}
        self._jobs = set(jobs)
        self._began_s = 0.0
        self._interleaving = Interleaving(network, daemons, jobs=jobs, tell=self._hear)
        self._ended = ExitStack()
        self._arranged_s = 0.0
        self._score: float | None = None
        self.known: dict[str, Any] = {"told": []}

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.close()

    def hold(self) -> None:
        """Begin; returns when the jobs are arranged for good, or after ``LONGEST_S``, and goes on until the block ends.

        Raises
        ------
        RuntimeError
            One is not held then.
        """
        self._began_s = time.monotonic()
        running = self._ended.enter_context(self._interleaving)
        while not running.is_arranged() and time.monotonic() < self._began_s + LONGEST_S:
            time.sleep(0.1)
        answers = [row.answer for row in running.status() if row.answer is not None]
        given = {one.job: one.planned for one in answers if one.accepted and one.planned is not None}
        if missing := sorted(self._jobs - given.keys()):
            raise RuntimeError("\n".join([f"{missing[0]} is not held", *self.known["told"]]))
        self.known |= {
            "at_monotonic_ns": round(self._arranged_s * 1e9),
            "arranged_s": self._arranged_s - self._began_s if running.is_arranged() else None,
            "score": self._score,
            "shifts_ms": {job: one.shift_ns / MS_NS for job, one in given.items()},
            "hold_ms": min(one.hold_ns for one in given.values()) / MS_NS,
            "paces_ms": {job: one.pace_ns / MS_NS for job, one in given.items()},
        }

    def _hear(self, event: Any) -> None:
        now_s = time.monotonic()
        self.known["told"].append(f"{now_s - self._began_s:.1f} s: {describe(event)}")
        if isinstance(event, Arranged):
            self._arranged_s, self._score = now_s, event.score
