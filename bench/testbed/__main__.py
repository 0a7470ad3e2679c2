"""The paper's evaluation, regenerated: every figure of the paper against ours, and what the paper does not have.

``python -m bench.testbed [--only NAME ...] [--seeds N] [--processes N] [--quick] [--out FOLDER]``, or ``make paper``,
writes ``paper.md``, and of each experiment its figures as JSON and a plot. What was run is kept (``--kept``): an
interrupted run goes on, and with more seeds only those are run that are missing.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from bench.measuring import machine, reports
from bench.measuring.progress import Progress

from .experiment import Experiment, Settings
from .report import PREFIX, markdown

__all__ = ["EXPERIMENTS", "main"]

EXPERIMENTS = (
    "patterns",
    "two_jobs",
    "poisson",
    "dynamic",
    "pollux",
    "model_parallel",
    "snapshots",
    "partial",
    "multi_gpu",
    "angles",
    "assumptions",
    "moves",
    "loops",
    "conditions",
    "cluster_size",
    "pairs",
    "candidates",
    "margins",
    "monkeytree",
)
"""Modules of ``bench.testbed.experiments``, in the order of the report; those that are not there are left out."""


def main(argv: list[str] | None = None) -> int:
    """Run what is asked for and write the report."""
    parser = reports.parser("bench.testbed", __doc__, "two seeds of short traces")
    there = experiments()
    parser.add_argument("--only", nargs="+", choices=list(there), metavar="NAME", help="of " + ", ".join(there))
    parser.add_argument("--list", action="store_true", help="print the experiments and end")
    parser.add_argument("--seeds", type=int, default=10, help="of each simulation (default: 10)")
    parser.add_argument("--processes", type=int, help="at a time (default: as many as there are processors)")
    parser.add_argument("--kept", type=Path, default=Path("build/paper"), help="folder for what has been run")
    options = parser.parse_args(argv)
    if options.list:
        print(*(f"{name}: {one.TITLE}" for name, one in there.items()), sep="\n")
        return 0
    about, progress = machine.about(), Progress()
    data, seeds = earlier(options.out, options.quick, there)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, one in there.items():
        if options.only and name not in options.only:
            continue
        progress.study(name)
        settings = Settings(
            seeds=min(2, options.seeds) if options.quick else options.seeds,
            folder=options.kept / ("quick" if options.quick else "full") / name,
            processes=options.processes,
            quick=options.quick,
            progress=lambda done, total: progress.step(done - 1, total, ""),
        )
        data[name] = one.run(settings)
        one.plot(data[name], options.out / f"{PREFIX}-{name}.png")
        progress.done()
        seeds[name] = settings.seeds
        figures = {"format": "cassini-bench-paper/1", "quick": options.quick, "machine": about, "code": _digest(one)}
        figures |= {"seeds": settings.seeds, "figures": data[name]}
        _figures(options.out, name).write_text(reports.to_json(figures) + "\n", encoding="utf-8")
        _write(options.out, there, data, seeds, about, options.quick)
    return 0


def experiments() -> dict[str, Experiment]:
    """Those that are there, by name."""
    found: dict[str, Any] = {}
    for name in EXPERIMENTS:
        module = f"{__package__}.experiments.{name}"
        if importlib.util.find_spec(module) is not None:
            found[name] = importlib.import_module(module)
    return found


def earlier(folder: Path, quick: bool, there: dict[str, Experiment]) -> tuple[dict[str, Any], dict[str, int]]:
    """What an earlier report of the folder has, and from how many seeds: ``--only`` makes one part of it anew.

    What another version of an experiment wrote is left out.
    """
    data, seeds = {}, {}
    for name, one in there.items():
        path = _figures(folder, name)
        figures = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if figures.get("quick") == quick and figures["code"] == _digest(one):
            data[name], seeds[name] = figures["figures"], figures["seeds"]
    return data, seeds


def _figures(folder: Path, name: str) -> Path:
    return folder / f"{PREFIX}-{name}.json"


def _digest(experiment: Any) -> str:
    return hashlib.sha256(Path(experiment.__file__).read_bytes()).hexdigest()[:12]


def _write(
    folder: Path,
    there: dict[str, Experiment],
    data: dict[str, Any],
    seeds: dict[str, int],
    about: dict[str, str],
    quick: bool,
) -> None:
    shown = {name: (one, data[name], seeds[name]) for name, one in there.items() if name in data}
    (folder / f"{PREFIX}.md").write_text(markdown(shown, about, quick), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
