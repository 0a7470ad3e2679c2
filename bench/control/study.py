"""Keeps the control jobs interleaved, and what does it cost? Simulated runs, into a folder: JSON, a table, a picture.

Usage: python -m bench.control.study [--quick] [--out FOLDER]
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

from bench.measuring import reports
from bench.measuring.machine import about
from bench.measuring.progress import Progress

from . import scenarios
from .plot import draw
from .scenario import Outcome, Scenario, run
from .tables import tables

__all__ = ["main"]

SEEDS, MINUTES = 3, 5.0
QUICK_SEEDS, QUICK_MINUTES = 1, 2.0


def main() -> None:
    options = reports.parser("bench.control.study", __doc__, "one run of two simulated minutes each").parse_args()
    seeds, minutes = (QUICK_SEEDS, QUICK_MINUTES) if options.quick else (SEEDS, MINUTES)
    options.out.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()
    groups = {
        "Rules": scenarios.pair_rules(minutes),
        "Jitter, clocks, ranks": scenarios.sweeps(minutes),
        "More jobs, other paces": scenarios.more_jobs(minutes),
        "Disturbances": scenarios.disturbed(minutes),
        "Little room": scenarios.crowded(minutes),
        "Changed iteration times": scenarios.changed(minutes),
        "Iterations that differ in turn": scenarios.patterned(minutes),
        "Jobs that come and go": scenarios.coming_and_going(minutes),
    }
    progress = Progress()
    results = {name: _results(name, group, seeds, progress) for name, group in groups.items()}
    progress.done()
    machine = about()
    spent = f"{seeds} runs of {minutes:g} simulated minutes each, all in {time.monotonic() - begun:.0f} s"
    text = {name: [[outcome.as_json() for outcome in runs] for runs in group] for name, group in results.items()}
    (options.out / "control.json").write_text(json.dumps({"machine": machine, "runs": text}, indent=1) + "\n")
    (options.out / "control.md").write_text(tables(results, machine, spent))
    draw(results, options.out / "control.png", f"{spent}; commit {machine['commit']}")


def _results(name: str, group: Sequence[Scenario], seeds: int, progress: Progress) -> list[list[Outcome]]:
    progress.study(name)
    found = []
    for i, scenario in enumerate(group):
        progress.step(i, len(group), f"{scenario.name}, {scenario.rule}")
        found.append([run(scenario, seed) for seed in range(1, seeds + 1)])
    return found


if __name__ == "__main__":
    main()
