"""A network of the benchmark's own: a namespace whose loopback device is shaped by a token bucket (needs root)."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["INSIDE", "rerun_inside", "shape"]

INSIDE = "CASSINI_BENCH_NAMESPACE"
"""Set in the environment of the process that runs inside."""


def rerun_inside(module: str, arguments: Sequence[str], gbps: float) -> int:
    """Run ``python -m module`` in a new network namespace and take it down again; its exit status."""
    name = f"cassini-bench-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    try:
        subprocess.run(["ip", "netns", "exec", name, "ip", "link", "set", "lo", "up"], check=True)
        shape(gbps, ["ip", "netns", "exec", name])
        command = ["ip", "netns", "exec", name, sys.executable, "-m", module, *arguments]
        return subprocess.run(command, env={**os.environ, INSIDE: name}).returncode
    finally:
        subprocess.run(["ip", "netns", "del", name], check=True)


def shape(gbps: float, prefix: Sequence[str] = ()) -> None:
    """Shape the loopback device: all jobs share its rate, in both directions together."""
    burst_kb = max(256, round(8192 * gbps / 24))  # 2.7 ms, but no less than a few of the device's packets
    bucket = ["rate", f"{gbps:g}gbit", "burst", f"{burst_kb}kb", "latency", "50ms"]
    subprocess.run([*prefix, "tc", "qdisc", "replace", "dev", "lo", "root", "tbf", *bucket], check=True)
