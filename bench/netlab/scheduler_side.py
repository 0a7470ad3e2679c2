"""What a scheduler does for the jobs of a lab: watches which run, ranks them, sends schedules, coordinates.

    python -m bench.netlab.scheduler_side FILE

``FILE`` is JSON: ``jobs`` (per job ``url`` of its daemon, ``route`` as a list of links, and the ``profile`` that the
agent measured of it alone), ``links`` (capacity by id, Gbit/s), ``token``, ``events`` (a file to which a line of JSON
goes for each event: ``t_ns``, ``event``, ``said``; ``Arranged`` when schedules were sent), ``again_every_s`` (schedules
are computed and sent again so often; 0: when jobs come or go).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.control.margin import cheapest_margin, measured_jitter
from cassini_agent.coordinator.background import coordinating
from cassini_agent.coordinator.member import Member

__all__ = ["main"]

SETTLED = 6
"""Iterations that a job has run before it is ranked."""

GONE_S = 5.0
"""A job that is not connected for so long has left. Its daemon may just have been started again."""

Tell = Callable[[str, str], None]


def main() -> int:
    """Until a signal comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    told = json.loads(parser.parse_args().file.read_text())
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    with Path(told["events"]).open("a", buffering=1) as file:

        def tell(event: str, said: str) -> None:
            file.write(json.dumps({"t_ns": time.monotonic_ns(), "event": event, "said": said}) + "\n")

        _serve(told, tell, done)
    return 0


def _serve(told: Mapping[str, Any], tell: Tell, done: threading.Event) -> None:
    held: tuple[str, ...] = ()
    seen_s: dict[str, float] = {}
    reached = True
    again_s = float("inf")
    with ExitStack() as coordinated:
        while not done.wait(0.2):
            try:
                known = {job: _status(job, one["url"], told["token"]) for job, one in told["jobs"].items()}
            except OSError as error:
                if reached:
                    tell("NotReached", str(error))
                # What is not known of jobs does not say that they have left.
                seen_s, reached = dict.fromkeys(seen_s, time.monotonic()), False
                continue
            now_s, reached = time.monotonic(), True
            connected = {job: one for job, one in known.items() if one is not None and one["connected"]}
            seen_s.update(dict.fromkeys(connected, now_s))
            present = tuple(job for job in known if now_s - seen_s.get(job, -GONE_S) < GONE_S)
            if any(job not in connected or connected[job]["iterations"] < SETTLED for job in present):
                continue
            if len(present) > 1 and (present != held or now_s >= again_s):
                coordinated.close()
                _hold(told, present, tell, coordinated)
                again_s = now_s + told["again_every_s"] if told["again_every_s"] else float("inf")
            elif present != held:
                coordinated.close()
            held = present


def _hold(told: Mapping[str, Any], present: Sequence[str], tell: Tell, coordinated: ExitStack) -> None:
    """Rank, send, and coordinate for as long as the stack is not closed."""
    jobs = {job: told["jobs"][job] for job in present}
    natural = _problem(jobs, told["links"])
    longer = dispatch.with_margins(natural, _margins(natural, jobs))
    ranking = cc.rank(longer)
    where = {job: dispatch.Endpoint(one["url"], told["token"], plain_http=True) for job, one in jobs.items()}
    sent = dispatch.apply(ranking, longer, where, natural=natural)
    tell("Arranged", f"{sent}")
    members = [Member(one.schedule, one.job) for one in sent if one.schedule is not None]
    if members:
        here = coordinating(members, where, lambda event: tell(type(event).__name__, repr(event)))
        coordinated.enter_context(here)


def _problem(told: Mapping[str, Any], capacity_gbps: Mapping[str, float]) -> cc.Problem:
    """The jobs as they were measured alone: while one communicates, it fills its links."""
    jobs = []
    for job, one in told.items():
        profile = one["profile"]
        start_ms, end_ms = profile["communication_start_ns"] / 1e6, profile["communication_end_ns"] / 1e6
        rate_gbps = min(capacity_gbps[link] for link in one["route"])
        jobs.append(cc.Job(job, profile["iteration_ns"] / 1e6, [cc.Phase(start_ms, end_ms - start_ms, rate_gbps)]))
    links = [cc.Link(link, gbps) for link, gbps in capacity_gbps.items()]
    routes = {job: one["route"] for job, one in told.items()}
    return cc.Problem(jobs, links, [cc.Candidate("as it is", routes)])


def _margins(natural: cc.Problem, told: Mapping[str, Any]) -> dict[str, float]:
    """One pace for all, since jobs of nearly equal paces would run free."""
    best = cc.rank(natural).best
    hold_ns = max(1.0, ((best.hold_ms or 0.0) if best is not None else 0.0) * 1e6)
    paces_ms = []
    for job in natural.jobs:
        jitter = measured_jitter(told[job.id]["profile"]["natural_ns"])
        margin = cheapest_margin(jitter.deviation_ns, hold_ns, job.iteration_ms * 1e6)
        # The iteration time of a profile is a median; what a pace has to carry is the mean.
        paces_ms.append(max(job.iteration_ms, (jitter.iteration_ns + margin.margin_ns) / 1e6))
    return {job.id: max(paces_ms) / job.iteration_ms - 1 for job in natural.jobs}


def _status(job: str, url: str, token: str) -> dict[str, Any] | None:
    request = urllib.request.Request(f"{url}/v1/jobs", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return next((one for one in json.load(answer)["jobs"] if one["job"] == job), None)


if __name__ == "__main__":
    sys.exit(main())
