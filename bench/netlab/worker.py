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
from pathlib import Path
from typing import Any

import cassini_agent

from . import tcp_counters
from .exchange import Exchange, connected
from .store import ClientStore, ServerStore

__all__ = ["Compute", "main"]

PORT, STORE_PORT = 29500, 29501
PATIENCE_S = 30.0


class Compute:
    """How long the compute phase of each iteration is, s.

    Parameters
    ----------
    options : mapping
        ``compute_ms``; ``jitter``, standard deviation as a share of it; and what disturbs: ``slower_by`` from
        ``slower_at_s`` on, ``stall_ms`` in the first iteration from ``stall_at_s`` on, ``every_fourth`` (factor of
        the compute of each fourth iteration), ``alternating`` (a share, added and taken away by turns). Times are of
        the monotonic clock.
    seed : str
        Of the jitter.
    """

    def __init__(self, options: dict[str, Any], seed: str) -> None:
        self._options = options
        self._random = random.Random(seed)
        self._stalled = False

    def seconds(self, iteration: int, now_s: float) -> float:
        """Of an iteration that begins now."""
        has = self._options
        long = has["compute_ms"] / 1e3
        if now_s >= has.get("slower_at_s", float("inf")):
            long *= 1 + has["slower_by"]
        if iteration % 4 == 3:
            long *= has.get("every_fourth", 1.0)
        long *= 1 + has.get("alternating", 0.0) * (1 if iteration % 2 else -1)
        # The jitter is drawn in any case: with and without a disturbance it is the same.
        long *= max(0.3, 1 + self._random.gauss(0, 1) * has.get("jitter", 0.0))
        if not self._stalled and now_s >= has.get("stall_at_s", float("inf")):
            self._stalled = True
            long += has["stall_ms"] / 1e3
        return long


def main() -> int:
    """Run until told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("options", help="JSON")
    options = json.loads(parser.parse_args().options)
    rank, job = options["rank"], options["job"]
    if options["traffic"] == "ddp":
        from .ddp_exchange import DdpExchange

        exchange: Any = DdpExchange(options)
        store = None
    else:
        store = (ServerStore if rank == 0 else ClientStore)(options["store_address"], STORE_PORT)
        sockets = connected(rank, options["address"], PORT, options["flows"], PATIENCE_S)
        exchange = Exchange(sockets, round(options["megabytes"] * 1e6), leads=rank == 0)
        for one in sockets:
            used = one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b"\0").decode()
            if used != options["congestion"]:
                raise RuntimeError(f"expected congestion control {options['congestion']}, got {used}")
    agent = cassini_agent.connect(job, rank=rank, world_size=2, store=store)
    if options["traffic"] == "ddp":
        exchange.attach(agent)

    leaving = False

    def leave(*_: object) -> None:
        nonlocal leaving
        leaving = True

    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compute = Compute(options, f"{options['seed']} {job} {rank}")
    exchange.run(False)  # connections have grown, and both ranks are here
    time.sleep(max(0.0, options["begin_s"] - time.monotonic()))
    starts_ns: list[int] = []
    communication_ns: list[tuple[int, int]] = []
    marks, retransmissions = [], []
    last = False
    while not last:
        agent.iteration()
        start_ns = time.monotonic_ns()
        starts_ns.append(start_ns)
        length_s = compute.seconds(len(starts_ns) - 1, start_ns / 1e9)
        for kept, count in zip((marks, retransmissions), tcp_counters.read(), strict=True):
            kept.append(count)
        time.sleep(max(0.0, start_ns / 1e9 + length_s - time.monotonic()))
        began_ns = time.monotonic_ns()
        with agent.communication():
            last = exchange.run(leaving or began_ns / 1e9 > options["until_s"])
        communication_ns.append((began_ns, time.monotonic_ns()))
    starts_ns.append(time.monotonic_ns())
    for kept, count in zip((marks, retransmissions), tcp_counters.read(), strict=True):
        kept.append(count)
    written = {
        "starts_ns": starts_ns,
        "communication_ns": communication_ns,
        "marks": marks,
        "retransmissions": retransmissions,
        "agent": agent.summary(),
    }
    agent.close()
    part = Path(options["out"] + ".part")
    part.write_text(json.dumps(written))
    part.rename(options["out"])
    exchange.run(True)  # neither rank lets go of the other before both have written
    return 0


if __name__ == "__main__":
    sys.exit(main())
