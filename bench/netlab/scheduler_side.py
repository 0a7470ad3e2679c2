"""What a scheduler does for the jobs of a lab: waits until they run, ranks, sends schedules, coordinates.

    python -m bench.netlab.scheduler_side FILE

``FILE`` is JSON: ``jobs`` (per job ``url`` of its daemon, ``route`` as a list of links, and the ``profile`` that the
agent measured), ``links`` (capacity by id, Gbit/s), ``token``, ``events`` (a file to which a line of JSON goes for
each event), ``coordinate`` (false: schedules are sent once and nobody looks after them).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cassini_core as cc
from cassini_agent import dispatch
from cassini_agent.coordinator.background import coordinating
from cassini_agent.coordinator.member import Member

__all__ = ["main"]

SETTLED = 6
"""Iterations that each job has run before schedules are computed."""

Log = Callable[..., None]


def main() -> int:
    """Until a signal comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    told = json.loads(parser.parse_args().file.read_text())
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    with Path(told["events"]).open("a", buffering=1) as file:

        def log(what: str, **more: Any) -> None:
            file.write(json.dumps({"t_ns": time.monotonic_ns(), "what": what, **more}) + "\n")

        if await_jobs(told, log, done):
            hold(told, log, done)
    return 0


def await_jobs(told: dict[str, Any], log: Log, done: threading.Event) -> bool:
    """Whether all jobs run, before the signal came."""
    while not done.wait(0.2):
        try:
            known = {job: _status(job, one["url"], told["token"]) for job, one in told["jobs"].items()}
        except OSError as error:
            log("not reached", reason=str(error))
            continue
        if all(one is not None and one["connected"] and one["iterations"] >= SETTLED for one in known.values()):
            return True
    return False


def hold(told: dict[str, Any], log: Log, done: threading.Event) -> None:
    """Rank, send, and coordinate until the signal comes."""
    measured = {job: dispatch.NaturalTimes(one["profile"]["natural_ns"]) for job, one in told["jobs"].items()}
    arranged = dispatch.arrange(_problem(told), measured=measured)
    ranking = arranged.ranking
    best = ranking.best
    assert best is not None
    log(
        "ranked",
        score=best.score,
        shifts_ms=dict(best.shifts_ms),
        hold_ms=best.hold_ms,
        paces_ms=dict(ranking.paces_ms),
    )
    where = {job: dispatch.Endpoint(one["url"], told["token"], plain_http=True) for job, one in told["jobs"].items()}
    sent = dispatch.apply(arranged, where=where)
    log("dispatched", jobs={one.job: one.accepted and one.schedule is not None for one in sent})
    members = [Member(one.schedule, one.job) for one in sent if one.schedule is not None]
    if not members or not told["coordinate"]:
        done.wait()
        return
    with coordinating(members, where, lambda event: log("event", event=type(event).__name__, said=repr(event))):
        done.wait()


def _problem(told: dict[str, Any]) -> cc.Problem:
    """The jobs as they were measured alone: while one communicates, it fills its links."""
    jobs = []
    for job, one in told["jobs"].items():
        profile = one["profile"]
        start_ms, end_ms = profile["communication_start_ns"] / 1e6, profile["communication_end_ns"] / 1e6
        rate_gbps = min(told["links"][link] for link in one["route"])
        jobs.append(cc.Job(job, profile["iteration_ns"] / 1e6, [cc.Phase(start_ms, end_ms - start_ms, rate_gbps)]))
    links = [cc.Link(link, gbps) for link, gbps in told["links"].items()]
    routes = {job: one["route"] for job, one in told["jobs"].items()}
    return cc.Problem(jobs, links, [cc.Candidate("as it is", routes)])


def _status(job: str, url: str, token: str) -> dict[str, Any] | None:
    request = urllib.request.Request(f"{url}/v1/jobs", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        return next((one for one in json.load(answer)["jobs"] if one["job"] == job), None)


if __name__ == "__main__":
    sys.exit(main())
