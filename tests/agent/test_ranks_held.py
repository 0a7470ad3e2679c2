"""Two real ranks over gloo, clocks an hour apart: rank 0 begins on the grid, and the other communicates with it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median

import pytest

from cassini_agent.control.phase import wrap

pytestmark = pytest.mark.idle

MS = 1_000_000
PACE, NATURAL, SHIFT = 104 * MS, 100 * MS, 30 * MS
AHEAD_NS = 3600 * 10**9
ITERATIONS, SETTLED = 120, 20

JOB = f"""
import json, os, random, time
true_ns = time.monotonic_ns
if os.environ["RANK"] == "1":
    time.monotonic_ns = lambda: true_ns() + {AHEAD_NS}
import torch
import torch.distributed as dist
import cassini_agent
dist.init_process_group("gloo")
agent = cassini_agent.connect("a")
rng, flat, starts_ns = random.Random(int(os.environ["RANK"])), torch.zeros(1), []
for _ in range({ITERATIONS}):
    agent.iteration()
    starts_ns.append(true_ns())
    time.sleep({NATURAL * 1e-9} + rng.gauss(0, 0.002))
    with agent.communication():
        dist.all_reduce(flat)
print(json.dumps([starts_ns, agent.summary()]), flush=True)
agent.close()
"""


@contextmanager
def daemon(path: str, epoch_ns: int) -> Iterator[None]:
    """Sends one schedule to whoever says hello."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(1)
    grid = {"epoch_ns": epoch_ns, "pace_ns": PACE, "shift_ns": SHIFT, "iteration_ns": NATURAL, "gain_ns": 0}
    held = {"hold_ns": 8 * MS, "slack_ns": 16 * MS, "expires_ns": epoch_ns + 600 * 10**9}

    def serve() -> None:
        with suppress(OSError):
            peer, _ = listener.accept()
            with peer:
                peer.recv(1 << 16)
                message = {"type": "schedule", "job": "a", "component": "a", "version": 1, **grid, **held}
                peer.send(json.dumps(message).encode())
                while peer.recv(1 << 16):
                    pass

    thread = threading.Thread(target=serve)
    thread.start()
    yield
    listener.close()
    thread.join(10)


def test_two_ranks_are_held_on_one_grid(tmp_path: Path) -> None:
    pytest.importorskip("torch.distributed")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    epoch_ns = time.monotonic_ns()
    place = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"}
    environment = {**os.environ, **place, "CASSINI_AGENT_SOCKET": str(tmp_path / "s")}
    with daemon(str(tmp_path / "s"), epoch_ns):
        command = [sys.executable, "-c", JOB]
        jobs = [
            subprocess.Popen(command, env={**environment, "RANK": str(rank)}, stdout=subprocess.PIPE, text=True)
            for rank in range(2)
        ]
        (zero, summary), (one, followed) = [json.loads(job.communicate(timeout=120)[0]) for job in jobs]
    errors = sorted(wrap(start - epoch_ns - SHIFT, PACE) for start in zero[SETTLED:])
    assert summary["state"] == "held", summary
    assert errors[0] > -MS
    assert errors[len(errors) // 2] < 4 * MS
    assert (followed["iterations"], followed["delay_total_ns"]) == (ITERATIONS, 0)
    earlier = [a - b for a, b in zip(zero[SETTLED:], one[SETTLED:], strict=True)]
    assert 0 <= median(earlier) < 2 * (PACE - NATURAL)  # by what rank 0 waits
