"""Measure the link solver and its peers, and write ``link.md``, ``link.json`` and the plots.

Run from the root of the source tree: ``python -m bench.link.report [--quick] [--out FOLDER]``. A full run takes some
eight minutes on one core, a quick one under a minute; figures to be quoted come from a full run on an idle machine.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from bench.link import anytime, calls, comparison, comparison_tables, families
from bench.link.plots import draw_all
from bench.measuring import machine, reports
from bench.measuring.progress import Progress
from bench.measuring.tables import seconds

STUDIES: tuple[tuple[str, str, ModuleType, ModuleType], ...] = (
    ("families", "Exact solves by family", families, families),
    ("calls", "Calls", calls, calls),
    ("comparison", "Beside its peers", comparison, comparison_tables),
    ("anytime", "Anytime answers", anytime, anytime),
)


def main(argv: list[str] | None = None) -> int:
    """Run all studies; 0 when every checked answer was right."""
    options = reports.parser("bench.link.report", __doc__, "few instances and rounds").parse_args(argv)
    about, progress = machine.about(), Progress()
    results: dict[str, Any] = {key: study.run(options.quick, progress) for key, _, study, _ in STUDIES}
    progress.done()
    options.out.mkdir(parents=True, exist_ok=True)
    plots = draw_all(results, options.out, reports.footnote(about, options.quick))
    figures = {"format": "cassini-bench-link/1", "quick": options.quick, "machine": about}
    figures |= {"seconds": progress.seconds, **results}
    text = markdown(results, about, options.quick, progress.seconds)
    reports.write(options.out, "link", text, figures, plots)
    return 0


def markdown(results: dict[str, Any], about: dict[str, str], quick: bool, took: dict[str, float]) -> str:
    """The whole report."""
    parts = reports.heading("The link solver, measured", about, quick)
    parts.append(
        "Written by `python -m bench.link.report`. Every answer was checked: its score recomputed from its shifts, by "
        "laying out the whole unified circle where that fits, and its optimum compared with what is proven elsewhere. "
        f"The studies took {seconds(sum(took.values()))}. [Answered questions](answered.md) has what was asked once.\n"
    )
    for key, title, _, writer in STUDIES:
        parts += [f"## {title}\n", writer.tables(results[key])]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
