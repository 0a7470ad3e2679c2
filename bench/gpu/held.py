"""The run in which the agent holds the jobs: daemon, ranking, schedules and coordinator, as schedulers have them."""

from __future__ import annotations

import json
import os
import random
import secrets
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.control.margin import cheapest_margin, measured_jitter
from cassini_agent.coordinator.background import coordinating
from cassini_agent.coordinator.member import Member

from .runs import Job, Layout, run_jobs

HOST = "localhost"

SETTLED = 6
"""Iterations that both jobs have run before the scheduler speaks."""


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


def problem_from(profile: dict[str, Any], link_gbps: float) -> cc.Problem:
    """Two jobs of the measured profile on the shaped link: while one communicates alone, it fills the link."""
    start_ms, end_ms = profile["communication_start_ns"] / 1e6, profile["communication_end_ns"] / 1e6
    phase = cc.Phase(start_ms, end_ms - start_ms, link_gbps)
    jobs = [cc.Job(f"job{k}", profile["iteration_ns"] / 1e6, [phase]) for k in range(2)]
    routes = {job.id: ["lo"] for job in jobs}
    return cc.Problem(jobs, [cc.Link("lo", link_gbps)], [cc.Candidate("both", routes)])


def held_run(
    daemon: Daemon,
    profile: dict[str, Any],
    link_gbps: float,
    solo_s: float,
    iterations: int,
    layout: Layout,
    folder: Path,
) -> dict[str, Any]:
    """Both jobs with agents, the second started at random; the scheduler sends schedules when it knows them both."""
    natural = problem_from(profile, link_gbps)
    solution = cc.solve_link(natural.jobs, link_gbps)
    jitter = measured_jitter(profile["natural_ns"])
    margin = cheapest_margin(jitter.deviation_ns, max(1.0, solution.hold_ms * 1e6), profile["iteration_ns"])
    shares = {job.id: margin.margin_ns / profile["iteration_ns"] for job in natural.jobs}
    longer = dispatch.with_margins(natural, shares)
    sent: dict[str, Any] = {"told": []}
    coordinated = ExitStack()

    def scheduler() -> None:
        end_s = time.monotonic() + 120
        while time.monotonic() < end_s:
            known = {one["job"]: one for one in daemon.get("/v1/jobs")["jobs"] if one["connected"]}
            if len(known) == 2 and all(one["iterations"] >= SETTLED for one in known.values()):
                break
            time.sleep(0.5)
        where = {job.id: dispatch.Endpoint(daemon.url, daemon.token) for job in natural.jobs}
        began = time.perf_counter()
        ranking = cc.rank(longer)
        ranked = time.perf_counter()
        acknowledged = dispatch.apply(ranking, longer, where, natural=natural)
        sent["rank_ms"] = (ranked - began) * 1e3
        sent["dispatch_ms"] = (time.perf_counter() - ranked) * 1e3
        sent["acknowledged"] = [one.accepted for one in acknowledged]
        sent["at_monotonic_ns"] = time.monotonic_ns()
        sent["shifts_ms"] = dict(ranking.best.shifts_ms)
        sent["hold_ms"] = ranking.best.hold_ms
        sent["paces_ms"] = dict(ranking.paces_ms)
        members = [Member(one.schedule, HOST) for one in acknowledged if one.schedule is not None]
        here = {HOST: dispatch.Endpoint(daemon.url, daemon.token)}
        coordinated.enter_context(coordinating(members, here, lambda event: sent["told"].append(repr(event))))

    offset_s = random.Random(1).uniform(0.0, solo_s)
    pair = [Job(0, agent=True), Job(1, offset_s, agent=True)]
    with coordinated:
        both = run_jobs(pair, iterations, layout, folder, daemon.environment, scheduler)
    return {
        **sent,
        "margin_ms": margin.margin_ns / 1e6,
        "started_s_later": offset_s,
        "score": solution.score,
        "starts_ns": [one["starts_ns"] for one in both],
        "durations_ms": [
            [(b - a) / 1e6 for a, b in zip(one["starts_ns"], one["starts_ns"][1:], strict=False)] for one in both
        ],
        "agents": [one["agent"] for one in both],
        "daemon": daemon.get("/v1/jobs")["jobs"],
    }
