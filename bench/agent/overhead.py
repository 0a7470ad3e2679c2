"""What the agent's calls cost the training loop: ``python -m bench.agent.overhead``.

Each iteration of a training loop makes three calls: ``iteration()``, and entering and leaving ``communication()``. They
are timed in a loop that does little else, with a daemon that listens (a thread that reads all it is sent), without one,
on another rank than 0, and, where there is a CUDA device, with CUDA events on a stream that is busy. A schedule holds
the job, but nothing is waited for.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cassini_agent.control.controller import Controller
from cassini_agent.local_link import LocalLink
from cassini_agent.loop.agent import Agent
from cassini_agent.loop.rank0_controller import Rank0Controller
from cassini_agent.loop.timeline import HostTimeline, Timeline

ITERATION_MS = 50.0
"""Of which the share is given."""

ROUNDS = 3000


@contextmanager
def daemon(path: str) -> Iterator[None]:
    """A listener that sends a schedule to whoever says hello, and reads all it is sent."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(path)
    listener.listen(4)

    def serve() -> None:
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            peer.recv(1 << 16)
            now_ns = time.monotonic_ns()
            times = {"epoch_ns": now_ns, "expires_ns": now_ns + 3600 * 10**9, "iteration_ns": 10**6, "pace_ns": 10**6}
            held = {"shift_ns": 0, "hold_ns": 4 * 10**5, "slack_ns": 4 * 10**5, "gain_ns": 0}
            message = {"type": "schedule", "job": "a", "component": "a", "version": 1, **times, **held}
            peer.send(json.dumps(message).encode())
            threading.Thread(target=_read_all, args=(peer,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    yield
    listener.close()


def _read_all(peer: socket.socket) -> None:
    with suppress(ConnectionError):
        while peer.recv(1 << 16):
            pass


def agent(path: str, timeline: Timeline) -> Agent:
    """As ``connect()`` makes it on rank 0, but that nothing is waited for."""
    hello = {"type": "hello", "protocol": 1, "job": "a", "rank": 0, "world_size": 1, "pid": os.getpid()}
    return Agent(timeline, Rank0Controller(LocalLink(path, hello), Controller()), wait=lambda until_ns: None)


def timed(one: Agent, between: Callable[[], None] = lambda: None) -> list[float]:
    """Cost of the three calls, us, per iteration."""
    costs = []
    for _ in range(ROUNDS):
        began = time.perf_counter_ns()
        one.iteration()
        with one.communication():
            pass
        costs.append((time.perf_counter_ns() - began) / 1e3)
        between()
    one.close()
    return costs[ROUNDS // 10 :]


def cases(folder: Path) -> dict[str, list[float]]:
    """All that can be measured here."""
    path = str(folder / "agent.sock")
    found: dict[str, list[float]] = {}
    with daemon(path):
        timed(agent(path, HostTimeline()))  # to warm up
        found["host clock"] = timed(agent(path, HostTimeline()))
        if cuda := _busy_cuda():
            timeline, work = cuda
            found["CUDA events"] = timed(agent(path, timeline), work)
    found["no daemon"] = timed(agent(str(folder / "none"), HostTimeline()))
    found["another rank"] = timed(Agent(HostTimeline(), None))
    return found


def _busy_cuda() -> tuple[Timeline, Callable[[], None]] | None:
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    from cassini_agent.loop.cuda_timeline import CudaTimeline

    matrix = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)

    def work() -> None:
        for _ in range(4):
            torch.mm(matrix, matrix)
        if torch.cuda.current_stream().query() is False:
            time.sleep(0.0005)  # the stream is not left to fall behind without end

    return CudaTimeline(0), work


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cassini-overhead-") as folder:
        found = cases(Path(folder))
    arguments.out.mkdir(parents=True, exist_ok=True)
    rows = {
        name: {
            "median_us": statistics.median(costs),
            "p99_us": sorted(costs)[round(0.99 * len(costs)) - 1],
            "mean_us": statistics.fmean(costs),
            "share_of_50_ms": statistics.fmean(costs) / 1e3 / ITERATION_MS,
        }
        for name, costs in found.items()
    }
    (arguments.out / "agent-overhead.json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = ["| calls of one iteration | median us | mean us | p99 us | of a 50 ms iteration |"]
    lines.append("| --- | ---: | ---: | ---: | ---: |")
    for name, row in rows.items():
        lines.append(
            f"| {name} | {row['median_us']:.1f} | {row['mean_us']:.1f} | {row['p99_us']:.1f} "
            f"| {row['share_of_50_ms']:.3%} |"
        )
    text = "\n".join(lines) + "\n"
    (arguments.out / "agent-overhead.md").write_text(text)
    print(text, file=sys.stdout)


if __name__ == "__main__":
    main()
