"""The run in which the agent holds the jobs: daemon, ranking, schedules and coordinator, as schedulers have them."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.control.margin import cheapest_margin, measured_jitter
from cassini_agent.coordinator.background import coordinating
from cassini_agent.coordinator.member import Member

__all__ = ["Daemon", "Scheduler"]

HOST = "localhost"


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
        command += ["--log-file", str(self.folder / "daemon.log")]
        self.process = subprocess.Popen(command)
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
    """Ranks what the agents measured of the jobs while each ran alone, sends schedules, and coordinates.

    Parameters
    ----------
    daemon : Daemon
        Of all jobs.
    profiles : mapping of str to dict
        By job: ``profile`` of the agent's summary.
    link_gbps : float
        Of the link that they share.

    Attributes
    ----------
    known : dict
        What was decided, for the report.
    """

    def __init__(self, daemon: Daemon, profiles: Mapping[str, dict[str, Any]], link_gbps: float) -> None:
        self._daemon, self._profiles = daemon, profiles
        self._natural = _problem(profiles, link_gbps)
        self._coordinated = ExitStack()
        self.known: dict[str, Any] = {"told": []}

    def __enter__(self) -> Scheduler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._coordinated.close()

    def hold(self) -> None:
        """From now on until the block ends."""
        began_s = time.perf_counter()
        longer = dispatch.with_margins(self._natural, self._margins())
        ranking = cc.rank(longer)
        ranked_s = time.perf_counter()
        where = {job.id: dispatch.Endpoint(self._daemon.url, self._daemon.token) for job in self._natural.jobs}
        acknowledged = dispatch.apply(ranking, longer, where, natural=self._natural)
        best = ranking.best
        assert best is not None
        self.known |= {
            "at_monotonic_ns": time.monotonic_ns(),
            "rank_ms": (ranked_s - began_s) * 1e3,
            "dispatch_ms": (time.perf_counter() - ranked_s) * 1e3,
            "accepted": {one.job: one.accepted and one.schedule is not None for one in acknowledged},
            "score": best.score,
            "shifts_ms": dict(best.shifts_ms),
            "hold_ms": best.hold_ms,
            "paces_ms": dict(ranking.paces_ms),
        }
        members = [Member(one.schedule, HOST) for one in acknowledged if one.schedule is not None]
        here = {HOST: dispatch.Endpoint(self._daemon.url, self._daemon.token)}
        if members:
            tell = self.known["told"].append
            self._coordinated.enter_context(coordinating(members, here, lambda event: tell(repr(event))))

    def _margins(self) -> dict[str, float]:
        """One pace for both, as their iterations take the same time: that of the job that needs the longer one."""
        best = cc.rank(self._natural).best
        hold_ns = max(1.0, ((best.hold_ms if best is not None else None) or 0.0) * 1e6)
        paces_ms = []
        for job in self._natural.jobs:
            jitter = measured_jitter(self._profiles[job.id]["natural_ns"])
            margin = cheapest_margin(jitter.deviation_ns, hold_ns, job.iteration_ms * 1e6)
            paces_ms.append(job.iteration_ms + margin.margin_ns / 1e6)
        return {job.id: max(paces_ms) / job.iteration_ms - 1 for job in self._natural.jobs}


def _problem(profiles: Mapping[str, dict[str, Any]], link_gbps: float) -> cc.Problem:
    """Jobs of the measured profiles on the shaped link: while one communicates alone, it fills the link."""
    jobs = []
    for name, profile in profiles.items():
        iteration_ms = profile["iteration_ns"] / 1e6
        start_ms, end_ms = profile["communication_start_ns"] / 1e6, profile["communication_end_ns"] / 1e6
        jobs.append(cc.Job(name, iteration_ms, [cc.Phase(start_ms, min(end_ms, iteration_ms) - start_ms, link_gbps)]))
    routes = {job.id: ["lo"] for job in jobs}
    return cc.Problem(jobs, [cc.Link("lo", link_gbps)], [cc.Candidate("both", routes)])
