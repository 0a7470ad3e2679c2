"""Ranking at the scale of a cluster: time, memory, deadlines, proof and reproducibility, beside what is asked of them.

``python -m bench.ranking.scale [--quick] [--out FOLDER]`` writes ``ranking-scale.md``, its figures as JSON, and a plot.
A full run takes some minutes on two cores.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.measuring import machine, reports
from bench.measuring.progress import Progress
from bench.ranking.rounds import Settings, generate
from cassini_core.problem_file import problem_to_json

from .cases import FULL, QUICK, TEN_CANDIDATES, Plan, settings_of
from .fresh_process import ROOT, in_fresh_process, keep
from .loops import loops
from .plot import draw
from .small import small
from .tables import markdown

EXAMPLE = "examples/three-racks.json"

Found = dict[str, Any]


class Rounds:
    """Rounds in files, each made when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[Settings, Path] = {}

    def file(self, settings: Settings) -> Path:
        """Where fresh processes find the round."""
        if settings not in self._files:
            self._files[settings] = keep(generate(settings), self._folder / f"{len(self._files)}.pickle")
        return self._files[settings]


def run(plan: Plan, progress: Progress) -> Found:
    """All figures of the report."""
    found: Found = {"plan": asdict(plan)}
    with tempfile.TemporaryDirectory() as folder:
        rounds = Rounds(Path(folder))
        progress.study("sizes")
        found["sizes"] = _sizes(plan, rounds, progress)
        progress.study("small problems in cold processes")
        files = {EXAMPLE: ROOT / EXAMPLE}
        for name, settings in TEN_CANDIDATES.items():
            files[name] = Path(folder) / f"{name}.json"
            files[name].write_bytes(problem_to_json(generate(settings)))
        found["small"] = small(files, plan.processes, plan.warm_runs)
        progress.study("deadlines")
        found["deadlines"] = in_fresh_process(
            "deadlines",
            {
                "file": str(rounds.file(settings_of(plan.deadline_candidates, plan.deadline_jobs))),
                "calls": plan.deadline_calls,
                "long_s": plan.long_s,
                "node_limit": plan.node_limit,
            },
        )
        progress.study("loops")
        found["loops"] = loops(plan.loop_runs)
    progress.done()
    return found


def _sizes(plan: Plan, rounds: Rounds, progress: Progress) -> list[Found]:
    rows, cases = [], list(plan.cases())
    for place, case in enumerate(cases):
        progress.step(place, len(cases), case.name)
        limits = {"least_runs": plan.least_runs, "most_runs": plan.most_runs, "limit_s": plan.limit_s}
        about = {
            key: getattr(case.settings, key)
            for key in ("candidates", "jobs", "racks", "uplinks", "moves", "perturbation")
        }
        measured = in_fresh_process("size", {"file": str(rounds.file(case.settings)), **limits})
        rows.append({"name": case.name, **about, **measured})
    return rows


def main(argv: list[str] | None = None) -> int:
    """Measure all and write the report."""
    options = reports.parser("bench.ranking.scale", __doc__, "small rounds and few calls").parse_args(argv)
    about, progress = machine.about(), Progress()
    found = run(QUICK if options.quick else FULL, progress)
    options.out.mkdir(parents=True, exist_ok=True)
    name, plot = "ranking-scale", "ranking-scale.png"
    draw(found, options.out / plot, reports.footnote(about, options.quick))
    text = markdown(found, about, sum(progress.seconds.values()), options.quick, plot)
    figures = {"format": "cassini-bench-scale/1", "quick": options.quick, "machine": about, **found}
    reports.write(options.out, name, text, figures, [plot])
    return 0
