"""Marked packets here and in ns-3, side by side: two jobs on one link of 1 Gbit/s, DCTCP.

``python -m bench.testbed.validation.ns3_check --ns3-python PYTHON [--quick] [--out FOLDER]`` writes
``simulation-ns3.md`` and its figures as JSON. It needs a Python with ns-3's bindings (``pip install ns3`` in a virtual
environment whose path does not contain "test"); five minutes.
"""

from __future__ import annotations

import json
import statistics
import subprocess
from pathlib import Path
from typing import Any

from bench.measuring import machine, reports
from bench.measuring.tables import table
from cassini_core import Job, Phase
from cassini_core.simulation.marking import Marking
from cassini_core.simulation.network import NetworkSimulation

RUN = Path(__file__).with_name("ns3_run.py")

GBPS, DELAY_US, HOPS = 1.0, 5.0, 3
COMPUTE_MS, BYTES = 55.0, 5_437_500
SEND_MS = BYTES * 8 / GBPS / 1e6
THRESHOLD_PACKETS, PACKET_BYTES = 65, 1500
"""DCTCP's authors use 65 packets at 10 Gbit/s and 20 at 1 Gbit/s (SIGCOMM 2010, section 4)."""

WARM_UP_MS, UNTIL_MS = 400.0, 1500.0


def main(argv: list[str] | None = None) -> int:
    """Run all in both and write the table."""
    parser = reports.parser("bench.testbed.validation.ns3_check", __doc__, "two starts, one flow a job")
    parser.add_argument("--ns3-python", required=True, help="a Python that has ns-3")
    options = parser.parse_args(argv)
    rows, figures = [], []
    for flows in (1,) if options.quick else (1, 4):
        for apart_ms in (0.0, 49.0) if options.quick else (0.0, 12.0, 25.0, 38.0, 49.0):
            here, there = ours(flows, apart_ms), ns3(flows, apart_ms, options.ns3_python)
            shown = [f"{one['iteration_ms']:.1f}" for one in (here, there)]
            rows.append([f"{flows}", f"{apart_ms:.0f}", *shown, *(f"{one['marked']:.0f}" for one in (here, there))])
            figures.append({"flows": flows, "apart_ms": apart_ms, "ours": here, "ns3": there})
    about = machine.about()
    text = "\n".join(
        [
            *reports.heading("ECN marks beside ns-3", about, options.quick),
            "",
            f"Two jobs, {COMPUTE_MS:.0f} ms of computing and {BYTES / 1e6:.1f} MB on a link of {GBPS:.0f} Gbit/s "
            f"({SEND_MS:.1f} ms alone), so many flows each, the second one's start so much later. Mean iteration time "
            f"and marked packets per iteration of a job ({BYTES // 1448} packets), after {WARM_UP_MS:.0f} ms. ns-3: "
            f"DCTCP, marks above {THRESHOLD_PACKETS} packets. Ours: `Marking(transport='dctcp')` with the same.",
            "",
            table(["flows", "apart, ms", "ours, ms", "ns-3, ms", "ours, marks", "ns-3, marks"], rows),
            "",
            "In phase both take as long, and interleaved both mark nothing. In phase ours mark two to three "
            "times as many packets. Where the jobs overlap in part the two are not the same experiment: with "
            "max-min sharing the overlap stays as it is; in ns-3 jobs of one flow drift apart until they "
            "hardly meet, and with four flows they move to and fro, so that single runs differ by up to "
            "twenty times in their marks. So what can be relied on is whether there are marks, and the order "
            "of magnitude of marks for a given overlap.",
            "",
        ]
    )
    options.out.mkdir(parents=True, exist_ok=True)
    reports.write(
        options.out, "simulation-ns3", text, {"format": "cassini-bench-ns3/1", "machine": about, "runs": figures}, []
    )
    return 0


def ours(flows: int, apart_ms: float) -> dict[str, float]:
    """Mean iteration time and marks of both jobs."""
    rtt_ms = 2 * HOPS * DELAY_US / 1e3
    marking = Marking(
        transport="dctcp",
        min_cells=THRESHOLD_PACKETS,
        max_cells=THRESHOLD_PACKETS + 1,
        cell_bytes=PACKET_BYTES,
        packet_bytes=PACKET_BYTES,
        reaction_ms=rtt_ms,
        rtt_ms=rtt_ms,
        flows_per_job=flows,
    )
    simulation = NetworkSimulation({"link": GBPS}, marking=marking)
    for number, name in enumerate("ab"):
        job = Job(name, COMPUTE_MS + SEND_MS, [Phase(COMPUTE_MS, SEND_MS, GBPS)])
        simulation.add(job, {"link": 1.0}, start_ms=100.0 + apart_ms * number)
    simulation.run(UNTIL_MS)
    found = [
        (length, marked)
        for one in simulation.take_iterations().values()
        for start, length, marked in zip(one.start_ms, one.length_ms, one.marked, strict=True)
        if start >= WARM_UP_MS
    ]
    return {
        "iteration_ms": statistics.fmean(length for length, _ in found),
        "marked": statistics.fmean(marked for _, marked in found),
    }


def ns3(flows: int, apart_ms: float, python: str) -> dict[str, float]:
    """The same there."""
    given: dict[str, Any] = {
        "packet_bytes": PACKET_BYTES,
        "threshold_packets": THRESHOLD_PACKETS,
        "gbps": GBPS,
        "delay_us": DELAY_US,
        "flows": flows,
        "until_ms": UNTIL_MS,
        "jobs": [
            {"compute_ms": COMPUTE_MS, "start_ms": 100.0 + apart_ms * number, "bytes": BYTES} for number in range(2)
        ],
    }
    done = subprocess.run([python, str(RUN)], input=json.dumps(given), capture_output=True, text=True, check=True)
    rows = [[float(field) for field in line.split()] for line in done.stdout.splitlines() if line.strip()]
    kept = [(end - start, marked) for _, start, end, marked, _ in rows if start >= WARM_UP_MS]
    return {
        "iteration_ms": statistics.fmean(length for length, _ in kept),
        "marked": statistics.fmean(marked for _, marked in kept),
    }


if __name__ == "__main__":
    raise SystemExit(main())
