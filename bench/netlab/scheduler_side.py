"""What a scheduler does for the jobs of a lab: it has them interleaved.

    python -m bench.netlab.scheduler_side FILE

``FILE`` is JSON: ``jobs`` (per job ``url`` of its daemon, and ``route`` as a list of links), ``links`` (capacity by id,
Gbit/s), ``profile`` (what the agent measured of each job alone, or null: then all are measured while they run),
``token``, ``events`` (a file to which a line of JSON goes for each event: ``t_ns``, ``event``, ``said``),
``again_every_s`` (the same is told again so often, as a scheduler does that tells all it knows in each round; 0: once).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cassini_core as cc
from cassini_agent.dispatch import Endpoint
from cassini_agent.interleave import Interleaving, Network, describe

__all__ = ["main"]


def main() -> int:
    """Until a signal comes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    told = json.loads(parser.parse_args().file.read_text())
    done = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: done.set())
    jobs = told["jobs"]
    routes = {job: dict.fromkeys(one["route"], 1.0) for job, one in jobs.items()}
    profile = told["profile"]
    known = {} if profile is None else {job: _job(job, profile, min(told["links"].values())) for job in jobs}
    network = Network(told["links"], routes, profiles=known)
    daemons = {job: Endpoint(one["url"], told["token"], plain_http=True) for job, one in jobs.items()}
    with Path(told["events"]).open("a", buffering=1) as file:

        def tell(event: Any) -> None:
            line = {"t_ns": time.monotonic_ns(), "event": type(event).__name__, "said": describe(event)}
            file.write(json.dumps(line) + "\n")

        with Interleaving(network, daemons, tell=tell) as interleaving:
            while not done.wait(told["again_every_s"] or None):
                interleaving.update(network, daemons)
    return 0


def _job(name: str, profile: Mapping[str, Any], gbps: float) -> cc.Job:
    """While it communicates alone, it fills its links."""
    start_ms, end_ms = profile["communication_start_ns"] / 1e6, profile["communication_end_ns"] / 1e6
    return cc.Job(name, profile["iteration_ns"] / 1e6, [cc.Phase(start_ms, end_ms - start_ms, gbps)])


if __name__ == "__main__":
    sys.exit(main())
