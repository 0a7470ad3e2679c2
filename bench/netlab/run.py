"""One run: a network, jobs in it, and what they and the scheduler wrote."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .network import folder, network
from .processes import DAEMON_PORT, Processes, processes
from .topology import DUMBBELL, Queue, Topology

__all__ = ["RATE_MBIT", "Setting", "run"]

RATE_MBIT = 400
START_AFTER_S = 4.0
"""From launch to the first iteration: what imports and connections take on two busy cores."""


@dataclass(frozen=True)
class Setting:
    """What is measured, but for the mode: runs of one setting have one time alone.

    Attributes
    ----------
    topology : Topology
    jobs : tuple of str
        Of the topology's.
    flows : int
        Sockets of a job.
    per_job : bool
        A queue for each job at the bottleneck, or one for all.
    congestion : str
    jitter : float
        Standard deviation of a rank's compute phase as a share of it.
    compute_ms, megabytes : float
        Of each job and iteration; bytes each way.
    traffic : str
        ``plain`` or ``ddp``.
    """

    topology: Topology = DUMBBELL
    jobs: tuple[str, ...] = ("a", "b")
    flows: int = 8
    per_job: bool = False
    congestion: str = "cubic"
    jitter: float = 0.0
    compute_ms: float = 230.0
    megabytes: float = 8.4
    traffic: str = "plain"

    def options(self) -> dict[str, Any]:
        """For the worker."""
        names = ("flows", "congestion", "jitter", "compute_ms", "megabytes", "traffic")
        return {one: getattr(self, one) for one in names}


@dataclass
class Plan:
    """What happens in a run.

    Attributes
    ----------
    offsets_s : mapping of str to float
        Jobs that run, and when each starts after the first.
    seconds : float
        From the first start.
    seed : str
        Of the jitter.
    held : str
        ``""``, ``"once"`` (schedules are sent once) or ``"held"``.
    agent : bool
        Whether jobs have an agent and hosts a daemon.
    profiles : mapping of str to dict
        What the agent measured of each job alone; for held runs.
    """

    offsets_s: Mapping[str, float]
    seconds: float
    seed: str
    held: str = ""
    agent: bool = False
    profiles: Mapping[str, dict[str, Any]] = field(default_factory=dict)


def run(setting: Setting, plan: Plan, marker: str | None, lane: int, stop: threading.Event) -> dict[str, Any]:
    """Set up, run, take down.

    Returns
    -------
    dict
        ``begin_ns``; ``end_ns``; ``jobs``: per job what its ranks wrote; ``events``: what the scheduler's side wrote.
    """
    queue = Queue(RATE_MBIT, setting.per_job)
    with (
        folder() as own,
        network(setting.topology, queue, setting.congestion, marker, lane) as prefix,
        processes(setting.topology, prefix, Path(own), stop) as lab,
    ):
        return _in_lab(setting, plan, lab)


def _in_lab(setting: Setting, plan: Plan, lab: Processes) -> dict[str, Any]:
    if plan.agent or plan.held:
        for job in plan.offsets_s:
            for rank in range(2):
                lab.daemon(f"{job}{rank}")
        lab.daemons_ready()
    begin_s = time.monotonic() + START_AFTER_S
    until_s = begin_s + plan.seconds
    started = {}
    for job, offset_s in plan.offsets_s.items():
        options = {**setting.options(), "seed": plan.seed, "begin_s": begin_s + offset_s, "until_s": until_s}
        for rank in range(2):
            started[job, rank] = lab.rank(job, rank, options, plan.agent or bool(plan.held))
    events = lab.folder / "events.jsonl"
    if plan.held:
        lab.scheduler(
            {
                "jobs": {
                    job: {
                        "url": f"http://{lab.topology.management(f'{job}0')}:{DAEMON_PORT}",
                        "route": lab.topology.route(job),
                        "profile": plan.profiles[job],
                    }
                    for job in plan.offsets_s
                },
                "links": dict.fromkeys(lab.topology.links, RATE_MBIT / 1e3),
                "token": lab.token,
                "events": str(events),
                "coordinate": plan.held == "held",
            }
        )
    lab.wait_until(until_s)
    results = {
        job: [lab.result(job, rank, started[job, rank], until_s + 20) for rank in range(2)] for job in plan.offsets_s
    }
    told = [json.loads(line) for line in events.read_text().splitlines()] if events.exists() else []
    return {"begin_ns": round(begin_s * 1e9), "end_ns": round(until_s * 1e9), "jobs": results, "events": told}
