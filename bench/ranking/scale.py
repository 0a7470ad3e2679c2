"""Ranking at the scale of a cluster: time, memory, deadlines, proof and reproducibility, beside what is asked of them.

``python -m bench.ranking.scale [--quick] [--out FOLDER]`` writes ``ranking-scale.md``, its figures as JSON, and a plot.
A full run takes some minutes on two cores.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench import machine
from bench.progress import Progress
from cassini_core.problem_file import problem_to_json

from .rounds import Settings, generate
from .scale_cases import FULL, QUICK, TEN_CANDIDATES, Case, Plan, settings_of
from .scale_check import WrongAnswerError
from .scale_loops import loops
from .scale_process import ROOT, in_fresh_process, keep
from .scale_small import small
from .scale_tables import markdown

THREADS = (1, 2, 8)
SAID = ("candidates", "jobs", "racks", "uplinks", "moves", "perturbation")
"""Of the settings of a round."""

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
        progress.study("the same bytes")
        found["bytes"] = [_digests(settings_of(*one), rounds) for one in plan.digest_sizes]
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


def _digests(settings: Settings, rounds: Rounds) -> Found:
    """The digest of a round's ranking for each number of threads and in another process, all equal."""
    file = str(rounds.file(settings))
    first = in_fresh_process("digests", {"file": file, "threads": list(THREADS)}, hash_seed=1)
    other = in_fresh_process("digests", {"file": file, "threads": [2]}, hash_seed=2)
    said = {f"{n} threads" if n > 1 else "1 thread": one for n, one in zip(THREADS, first["sha256"], strict=True)}
    said["another process"] = other["sha256"][0]
    name = Case(settings).name
    if len(set(said.values())) != 1:
        raise WrongAnswerError(f"{name}: not the same bytes everywhere: {said}")
    return {"name": name, "sha256": said}


def main(argv: list[str] | None = None) -> int:
    """Measure all and write the report."""
    options = _parser().parse_args(argv)
    about, progress = machine.about(), Progress()
    found = run(QUICK if options.quick else FULL, progress)
    options.out.mkdir(parents=True, exist_ok=True)
    plots = []
    if find_spec("matplotlib") is not None:
        from .scale_plot import draw

        plots = [options.out / "ranking-scale.png"]
        draw(found, plots[0], f"{about['CPU']}; cassini-core {about['cassini-core']}, commit {about['commit']}")
    text = markdown(found, about, sum(progress.seconds.values()), options.quick, [plot.name for plot in plots])
    document = {"format": "cassini-bench-scale/1", "quick": options.quick, "machine": about, **found}
    files = {
        "ranking-scale.md": text,
        "ranking-scale.json": json.dumps(_rounded(document), indent=1, allow_nan=False) + "\n",
    }
    for name, content in files.items():
        (options.out / name).write_text(content, encoding="utf-8")
    print(*(options.out / name for name in files), *plots, sep="\n")
    return 0


def _rounded(value: object) -> object:
    """Floats to nine decimals: scores are exact to that."""
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    return round(value, 9) if isinstance(value, float) else value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.ranking.scale", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    parser.add_argument("--quick", action="store_true", help="small rounds and few calls: to see that all works")
    return parser


if __name__ == "__main__":
    sys.exit(main())
