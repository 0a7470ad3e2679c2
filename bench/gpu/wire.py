"""One of two processes of a job without a GPU: it computes by waiting, and exchanges bytes over plain sockets.

For hosts with too few GPUs for two jobs: on the link it is to the other job what that one is to it, and takes nothing
else from it. The agent's three lines are those with ``agent``.
"""

from __future__ import annotations

import argparse
import os
import socket
import time
from contextlib import nullcontext
from typing import Any

import cassini_agent
from bench.netlab.exchange import Exchange, connected

from .requests import answer, requests, wait_for

FLOWS = 2
"""Connections between the two, each used both ways: as many as NCCL uses with two channels."""

PATIENCE_S = 30.0
"""For the other process to come."""


def run(
    sockets: list[socket.socket], leads: bool, agent: cassini_agent.Agent | None, request: dict[str, Any]
) -> dict[str, Any]:
    """Some iterations of so many seconds of computation, then an exchange of so many bytes each way."""
    exchange = Exchange(sockets, request["bytes"], leads)
    starts_ns = []
    wait_for(request)
    for _ in range(request["iterations"]):
        if agent is not None:
            agent.iteration()
        starts_ns.append(time.monotonic_ns())
        time.sleep(max(0.0, starts_ns[-1] / 1e9 + request["compute_s"] - time.monotonic()))
        exchange.run(agent)
    starts_ns.append(time.monotonic_ns())
    return {"starts_ns": starts_ns, "agent": agent.summary() if agent is not None else None}


def main() -> None:
    """Do what is asked until the input ends."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agent", action="store_true")
    arguments = parser.parse_args()
    rank = int(os.environ["RANK"])
    sockets = connected(rank, "127.0.0.1", int(os.environ["MASTER_PORT"]), FLOWS, PATIENCE_S)
    agent = cassini_agent.connect() if arguments.agent else None
    asked = requests()
    while True:
        with agent.paused() if agent is not None else nullcontext():
            request = next(asked, None)
        if request is None:
            break
        known = run(sockets, rank == 0, agent, request) if request["do"] == "run" else {}
        if rank == 0:
            answer(request, **known)
    if agent is not None:
        agent.close()


if __name__ == "__main__":
    main()
