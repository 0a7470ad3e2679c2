"""One run: a network, jobs in it, and what they and the scheduler wrote."""

from __future__ import annotations

import json
import random
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

from .marker import RATE_MBIT
from .network import folder, network
from .processes import DAEMON_PORT, SCHEDULER_LOG, Failed, Processes, processes
from .scenarios import ALONE, FIRST_SHIFT, HELD, RANDOM, Scenario
from .topology import Queue

__all__ = ["offsets_s", "record", "run"]

JOINS_S = 10.0
"""A job that joins is started so long before it begins to train: imports and connections."""

ENDING_S = 20.0
"""After the end of a run until all must have ended."""

TOGETHER_S = 60.0
"""So long a lab that is ready waits for the others."""

LATE_US = 50_000
"""A job that starts later than it should by so much was not ready: its run is not what it says."""


def run(
    scenario: Scenario,
    number: int,
    alone_s: float,
    profile: Mapping[str, Any] | None,
    marker: str | None,
    lane: int,
    stop: threading.Event,
    together: threading.Barrier | None = None,
) -> dict[str, Any]:
    """Set up, run, take down.

    Parameters
    ----------
    scenario : Scenario
    number : int
        Of the run; with the scenario's name its seed.
    alone_s : float
        Iteration time alone, as far as it is known: what first shifts and random starts are shares of.
    profile : mapping or None
        What the agent measured of a job alone, if the scheduler is to know it: ``iteration_ns``,
        ``communication_start_ns``, ``communication_end_ns``.
    marker : str or None
        Object file of the ECN marker.
    lane : int
        Names what is made.
    stop : threading.Event
        Ends the run early.
    together : threading.Barrier, optional
        Of the labs whose jobs begin to train together, unless one of them cannot.

    Returns
    -------
    dict
        Times in µs after the first start: ``end_us``, ``settled_us`` (from when on it is measured), ``arranged_us``
        (the first schedules) and ``disturbed_us`` (begin, end), the last two None if they did not happen; ``jobs``: per
        job ``starts_us``, ``communication_us`` (pairs), ``extra_ms`` (compute that a disturbance added, per iteration),
        ``marks`` and ``retransmissions`` (per iteration, of both ranks) and ``agent``; ``events`` of the scheduler's
        side.

    Raises
    ------
    Failed
        A process ended as it should not, or was not ready in time.
    Stopped
        ``stop`` was set.
    RuntimeError
        The network could not be made.
    """
    setting = scenario.setting
    queue = Queue(RATE_MBIT, setting.per_job)
    with ExitStack() as held:
        own = Path(held.enter_context(folder()))
        prefix = held.enter_context(network(setting.topology, queue, setting.congestion, marker, lane))
        lab = held.enter_context(processes(setting.topology, prefix, own, stop))
        return _Run(scenario, number, alone_s, profile, lab, together).result()


def offsets_s(scenario: Scenario, number: int, alone_s: float) -> dict[str, float]:
    """When each job starts after the first, without one that joins later."""
    jobs = [job for job in scenario.setting.jobs if job != scenario.disturbance.joins]
    if scenario.mode == ALONE:
        return {jobs[0]: 0.0}
    if scenario.mode == FIRST_SHIFT:
        return {job: index / len(jobs) * alone_s for index, job in enumerate(jobs)}
    if scenario.mode in (RANDOM, HELD):
        drawn = random.Random(f"{scenario.name} {number}")
        return {job: drawn.uniform(0.0, alone_s) if index else 0.0 for index, job in enumerate(jobs)}
    return dict.fromkeys(jobs, 0.0)


class _Run:
    """A run in its lab; what disturbances act on."""

    def __init__(
        self,
        scenario: Scenario,
        number: int,
        alone_s: float,
        profile: Mapping[str, Any] | None,
        lab: Processes,
        together: threading.Barrier | None,
    ) -> None:
        self.ranks: dict[tuple[str, int], subprocess.Popen[bytes]] = {}
        self._scenario = scenario
        self._number = number
        self._lab = lab
        self._alone_s = alone_s
        self._profile = profile
        self._together = together
        self._scheduler: subprocess.Popen[bytes] | None = None
        self._begin_s = 0.0

    def result(self) -> dict[str, Any]:
        """Run to the end."""
        scenario, lab = self._scenario, self._lab
        jobs = scenario.setting.jobs[:1] if scenario.mode == ALONE else scenario.setting.jobs
        agent = scenario.mode in (ALONE, HELD)
        if agent:
            for job in jobs:
                for rank in range(2):
                    lab.daemon(f"{job}{rank}")
            lab.daemons_ready()
        offsets = offsets_s(scenario, self._number, self._alone_s)
        for job, offset_s in offsets.items():
            self._start(job, offset_s, agent)
        lab.ranks_ready(self.ranks)
        if self._together is not None:
            with suppress(threading.BrokenBarrierError):
                self._together.wait(TOGETHER_S)
        self._begin_s = lab.begin()
        if scenario.mode == HELD:
            self.start_scheduler()
        disturbed = self._disturb()
        until_s = self._begin_s + scenario.seconds
        lab.wait_until(until_s)
        if self._scheduler is not None:
            lab.running(self._scheduler, SCHEDULER_LOG)
        written = {
            job: [lab.result(job, rank, self.ranks[job, rank], until_s + ENDING_S) for rank in range(2)] for job in jobs
        }
        kept = self._record(written, disturbed)
        for job, offset_s in offsets.items():
            late_us = kept["jobs"][job]["starts_us"][0] - offset_s * 1e6
            if late_us > LATE_US:
                raise Failed(f"{job} started {late_us / 1e3:.0f} ms late")
        return kept

    def kill_daemon(self, host: str) -> None:
        """See ``Live``."""
        self._lab.kill_daemon(host)

    def daemon(self, host: str) -> None:
        """See ``Live``."""
        self._lab.daemon(host)

    def kill_scheduler(self) -> None:
        """See ``Live``."""
        assert self._scheduler is not None
        self._scheduler.kill()

    def start_scheduler(self) -> None:
        """See ``Live``."""
        topology = self._scenario.setting.topology
        jobs = {
            job: {
                "url": f"http://{topology.management(f'{job}0')}:{DAEMON_PORT}",
                "route": topology.route(job),
            }
            for job in self._scenario.setting.jobs
        }
        self._scheduler = self._lab.scheduler(
            {
                "jobs": jobs,
                "links": dict.fromkeys(topology.links, RATE_MBIT / 1e3),
                "profile": self._profile,
                "token": self._lab.token,
                "events": str(self._events),
                "again_every_s": self._scenario.disturbance.again_every_s,
            }
        )

    @property
    def _events(self) -> Path:
        return self._lab.folder / "events.jsonl"

    def _start(self, job: str, offset_s: float, agent: bool) -> None:
        scenario = self._scenario
        options = {
            **scenario.setting.options(),
            **scenario.disturbance.options.get(job, {}),
            "seed": f"{scenario.setting.name} {self._number}",
            "begin_s": offset_s,
            "until_s": scenario.seconds,
        }
        for rank in range(2):
            self.ranks[job, rank] = self._lab.rank(job, rank, options, agent)

    def _disturb(self) -> tuple[float, float] | None:
        """When it began and ended, of the monotonic clock."""
        one = self._scenario.disturbance
        if one.at_s is None:
            return None
        if one.joins:
            self._lab.wait_until(self._begin_s + one.at_s - JOINS_S)
            self._start(one.joins, one.at_s, agent=True)
        self._lab.wait_until(self._begin_s + one.at_s)
        begin_s = time.monotonic()
        one.begin(self)
        self._lab.wait_until(begin_s + one.lasts_s)
        one.end(self)
        return begin_s, time.monotonic()

    def _record(
        self, written: Mapping[str, list[dict[str, Any]]], disturbed: tuple[float, float] | None
    ) -> dict[str, Any]:
        origin_ns = round(self._begin_s * 1e9)
        events = [json.loads(line) for line in self._events.read_text().splitlines()] if self._events.exists() else []
        told = [{"at_us": (one.pop("t_ns") - origin_ns) // 1000, **one} for one in events]
        between = None if disturbed is None else [round((one - self._begin_s) * 1e6) for one in disturbed]
        jobs = {job: _job(ranks, origin_ns) for job, ranks in written.items()}
        return record(self._scenario, self._number, between, jobs, told)


def record(
    scenario: Scenario,
    number: int,
    disturbed_us: list[int] | None,
    jobs: Mapping[str, Any],
    told: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    """What is kept of a run, see ``run``: of its jobs, and what the scheduler's side told."""
    sent = [one["at_us"] for one in told if one["event"] == "Arranged"]
    return {
        "scenario": scenario.name,
        "number": number,
        "end_us": round(scenario.seconds * 1e6),
        "settled_us": round(scenario.settled_s * 1e6),
        "arranged_us": min(sent, default=None),
        "disturbed_us": disturbed_us,
        "jobs": jobs,
        "events": told,
    }


def _job(ranks: list[dict[str, Any]], origin_ns: int) -> dict[str, Any]:
    first = ranks[0]

    def counted(what: str) -> list[int]:
        totals = [sum(pair) for pair in zip(*(one[what] for one in ranks), strict=True)]
        return [after - before for before, after in pairwise(totals)]

    return {
        "starts_us": [(one - origin_ns) // 1000 for one in first["starts_ns"]],
        "communication_us": [[(one - origin_ns) // 1000 for one in pair] for pair in first["communication_ns"]],
        "extra_ms": first["extra_ms"],
        "marks": counted("marks"),
        "retransmissions": counted("retransmissions"),
        "agent": {**first["agent"], "profile": _short(first["agent"]["profile"])},
    }


def _short(profile: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Without the time of each iteration, which follows from the starts."""
    return None if profile is None else {key: value for key, value in profile.items() if key != "natural_ns"}
