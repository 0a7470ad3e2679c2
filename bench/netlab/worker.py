"""One rank of a training job: compute is a timed wait, communication is real. Started by the lab in a host's namespace.

The agent's three lines are those with ``agent``; everything else is the job, and what is written down of it.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cassini_agent

from . import tcp_counters
from .exchange import Exchange, connected

__all__ = ["Compute", "main"]

PORT = 29500
PATIENCE_S = 30.0


class Compute:
    """How long the compute phase of each iteration is.

    Parameters
    ----------
    options : mapping
        ``compute_ms``; ``jitter``, standard deviation as a share of it; and what disturbs, all in ms: ``slower_ms`` in
        each iteration from ``slower_at_s`` on, ``stall_ms`` in the first from ``stall_at_s`` on, ``every_fourth_ms`` in
        each fourth, ``alternating_ms`` added and taken away by turns.
    seed : str
        Of the jitter.
    """

    def __init__(self, options: Mapping[str, Any], seed: str) -> None:
        self._options = options
        self._random = random.Random(seed)
        self._stalled = False

    def milliseconds(self, iteration: int, now_s: float) -> tuple[float, float]:
        """Of an iteration that begins then: as it would be by itself, and what is added to it."""
        has = self._options
        natural = has["compute_ms"] * max(0.3, 1 + has["jitter"] * self._random.gauss(0, 1))
        extra = has.get("alternating_ms", 0.0) * (1 if iteration % 2 else -1)
        if now_s >= has.get("slower_at_s", float("inf")):
            extra += has["slower_ms"]
        if iteration % 4 == 3:
            extra += has.get("every_fourth_ms", 0.0)
        if not self._stalled and now_s >= has.get("stall_at_s", float("inf")):
            self._stalled = True
            extra += has["stall_ms"]
        return natural, extra


def main() -> int:
    """Run until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("options", help="JSON")
    options = json.loads(parser.parse_args().options)
    rank, job = options["rank"], options["job"]
    if options["traffic"] == "ddp":
        from .ddp_exchange import DdpExchange

        exchange: Any = DdpExchange(options)
        agent = cassini_agent.connect(job)
        exchange.attach(agent)
    else:
        sockets = connected(rank, options["address"], PORT, options["flows"], PATIENCE_S)
        _check(sockets, options["congestion"])
        exchange = Exchange(sockets, round(options["megabytes"] * 1e6), leads=rank == 0)
        agent = cassini_agent.connect(job, rank=rank, world_size=2)
    leaving = False

    def leave(*_: object) -> None:
        nonlocal leaving
        leaving = True

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A stall is one rank's: the others wait for it.
    compute = Compute(options if rank == 0 else {**options, "stall_ms": 0.0}, f"{options['seed']} {job} {rank}")
    exchange.warm_up()
    origin_s = _origin(Path(options["ready"]), Path(options["origin"]))
    time.sleep(max(0.0, origin_s + options["begin_s"] - time.monotonic()))
    starts_ns: list[int] = []
    communication_ns: list[tuple[int, int]] = []
    marks: list[int] = []
    retransmissions: list[int] = []
    extra_ms: list[float] = []
    last = False
    while not last:
        agent.iteration()
        start_ns = time.monotonic_ns()
        starts_ns.append(start_ns)
        natural_ms, extra = compute.milliseconds(len(starts_ns) - 1, start_ns / 1e9 - origin_s)
        extra_ms.append(extra)
        for kept, count in zip((marks, retransmissions), tcp_counters.read(), strict=True):
            kept.append(count)
        time.sleep(max(0.0, start_ns / 1e9 + (natural_ms + extra) / 1e3 - time.monotonic()))
        began_ns = time.monotonic_ns()
        last = exchange.run(agent, leaving or began_ns / 1e9 - origin_s > options["until_s"])
        communication_ns.append((began_ns, time.monotonic_ns()))
    starts_ns.append(time.monotonic_ns())
    for kept, count in zip((marks, retransmissions), tcp_counters.read(), strict=True):
        kept.append(count)
    written = {
        "starts_ns": starts_ns,
        "communication_ns": communication_ns,
        "extra_ms": extra_ms,
        "marks": marks,
        "retransmissions": retransmissions,
        "agent": agent.summary(),
    }
    agent.close()
    part = Path(options["out"] + ".part")
    part.write_text(json.dumps(written))
    part.rename(options["out"])
    exchange.part()  # neither rank lets go of the other before both have written
    return 0


def _origin(ready: Path, origin: Path) -> float:
    """Say that this rank is ready; when all are, a file says from when on times count, on the monotonic clock."""
    ready.touch()
    while not origin.exists():
        time.sleep(0.01)
    return float(origin.read_text())


def _check(sockets: list[socket.socket], congestion: str) -> None:
    for one in sockets:
        used = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
        if used != congestion:
            raise RuntimeError(f"expected congestion control {congestion}, got {used}")


if __name__ == "__main__":
    sys.exit(main())
