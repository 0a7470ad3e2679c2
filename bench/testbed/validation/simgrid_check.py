"""Mean iteration times here and in SimGrid, side by side.

``python -m bench.testbed.validation.simgrid_check [--quick] [--out FOLDER] [--record FILE]`` writes
``simulation-simgrid.md`` and its figures as JSON. It needs SimGrid with its Python bindings for some Python (Debian:
``apt-get install python3-simgrid``); ``--simgrid-python`` says which.
"""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.measuring import machine, reports
from bench.measuring.tables import table

from .scenarios import mean_ms, ours, scenarios

EARLY_MS = 6_000.0

RUN = Path(__file__).with_name("simgrid_run.py")


def main(argv: list[str] | None = None) -> int:
    """Run all scenarios in both and write the table."""
    parser = reports.parser("bench.testbed.validation.simgrid_check", __doc__, "one seed")
    parser.add_argument("--simgrid-python", default="/usr/bin/python3", help="a Python that has SimGrid")
    parser.add_argument(
        "--record", type=Path, help="write scenarios and SimGrid's means there too: a test compares with them"
    )
    options = parser.parse_args(argv)
    given = scenarios(1, 10_000.0) if options.quick else scenarios(5, 600_000.0)
    ours(next(iter(given.values())))  # compiles
    rows, figures = [], []
    for name, scenario in given.items():
        start = time.perf_counter()
        ends = ours(scenario)
        middle = time.perf_counter()
        their_ends = simgrid(scenario, options.simgrid_python)
        end = time.perf_counter()
        here, there = mean_ms(scenario, ends), mean_ms(scenario, their_ends)
        worst = max(abs(here[job] / there[job] - 1) for job in there)
        early = max(
            abs(one - other)
            for job in there
            for one, other in zip(ends[job], their_ends[job], strict=False)
            if other < EARLY_MS
        )
        means = [f"{sum(each.values()) / len(each):.3f}" for each in (here, there)]
        times = [f"{seconds:.3f}" for seconds in (middle - start, end - middle)]
        rows.append([name, *means, f"{100 * worst:.3f} %", f"{1e6 * early:.0f} ns", *times])
        figures.append({"name": name, "scenario": scenario, "simgrid_ms": there, "ours_ms": here, "worst": worst})
    about = machine.about()
    text = "\n".join(
        [
            *reports.heading("The simulator beside SimGrid", about, options.quick),
            "",
            "Mean iteration time over all jobs, the largest difference of one job's mean, and the largest difference",
            f"of the end of any iteration in the first {EARLY_MS / 1e3:.0f} s. Both share links max-min fairly",
            "(SimGrid: CM02 without latency). Where ten jobs delay one another, what begins as rounding grows a",
            "thousandfold in eight seconds: runs that agree to a nanosecond at first are different samples in the end.",
            "",
            table(
                [
                    "scenario",
                    "ours, ms",
                    "SimGrid, ms",
                    "largest difference",
                    "of an early end",
                    "ours, s",
                    "SimGrid, s",
                ],
                rows,
            ),
            "",
        ]
    )
    kept = [{key: one[key] for key in ("name", "simgrid_ms", "ours_ms", "worst")} for one in figures]
    options.out.mkdir(parents=True, exist_ok=True)
    reports.write(
        options.out,
        "simulation-simgrid",
        text,
        {"format": "cassini-bench-simgrid/1", "machine": about, "scenarios": kept},
        [],
    )
    if options.record is not None:
        recorded = [
            {"name": one["name"], "scenario": one["scenario"], "simgrid_ms": one["simgrid_ms"]} for one in figures
        ]
        options.record.write_text(json.dumps(recorded, separators=(",", ":")) + "\n")
    return 0 if max(one["worst"] for one in figures) < 0.01 else 1


def simgrid(scenario: dict[str, Any], python: str) -> dict[str, list[float]]:
    """When the iterations of each job end there, ms."""
    done = subprocess.run([python, str(RUN)], input=json.dumps(scenario), capture_output=True, text=True, check=True)
    found: dict[str, list[float]] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    raise SystemExit(main())
