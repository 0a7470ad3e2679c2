"""Measure the link solver and its peers, and write ``link.md``, ``link.json`` and the plots.

Run from the root of the source tree: ``python -m bench.link_report [--quick] [--out FOLDER]``. A full run takes some
ten minutes on one core, a quick one under a minute; figures to be quoted come from a full run on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from bench import machine
from bench.progress import Progress
from bench.studies import anytime, calls, comparison, comparison_tables, discretisation, families, hard, scaling
from bench.tables import seconds

STUDIES: tuple[tuple[str, str, ModuleType, ModuleType], ...] = (
    ("families", "Exact solves by family", families, families),
    ("calls", "Calls", calls, calls),
    ("comparison", "Beside its peers", comparison, comparison_tables),
    ("anytime", "Anytime answers", anytime, anytime),
    ("hard", "Hard links", hard, hard),
    ("scaling", "What the time does not depend on", scaling, scaling),
    ("discretisation", "Angle discretisation", discretisation, discretisation),
)
PLOTS_OF = {"families": ("jobs.png", "phases.png")}


def main(argv: list[str] | None = None) -> int:
    """Run all studies; 0 when every checked answer was right."""
    parser = argparse.ArgumentParser(prog="python -m bench.link_report", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    parser.add_argument("--quick", action="store_true", help="few instances and rounds: to see that all works")
    options = parser.parse_args(argv)
    about = machine.about()
    progress = Progress()
    results: dict[str, Any] = {key: study.run(options.quick, progress) for key, _, study, _ in STUDIES}
    progress.done()
    options.out.mkdir(parents=True, exist_ok=True)
    footnote = f"{about['CPU']}; cassini-core {about['cassini-core']}, commit {about['commit']}"
    drawn = _draw(results, options.out, footnote + ("; quick run" if options.quick else ""))
    document = {"format": "cassini-bench-link/1", "quick": options.quick, "machine": about}
    document |= {"seconds": progress.seconds, **results}
    _write(options.out / "link.json", _json(document) + "\n")
    _write(options.out / "link.md", markdown(results, about, options.quick, drawn, progress.seconds))
    return 0


def _draw(results: dict[str, Any], folder: Path, footnote: str) -> list[str]:
    if find_spec("matplotlib") is None:
        print("matplotlib is not installed: no plots", file=sys.stderr)
        return []
    from bench.plots import draw_all

    return draw_all(results, folder, footnote)


def markdown(
    results: dict[str, Any], about: dict[str, str], quick: bool, drawn: list[str], took: dict[str, float]
) -> str:
    """The whole report."""
    parts = ["# The link solver, measured\n"]
    if quick:
        parts.append("**A quick run: few instances and rounds. Not to be quoted.**\n")
    parts.append("".join(f"- {what}: {said}\n" for what, said in about.items()))
    parts.append(
        "Written by `python -m bench.link_report`. Every answer was checked: its score recomputed from its shifts, by "
        "laying out the whole unified circle where that fits, and its optimum compared with what is proven elsewhere. "
        f"The studies took {seconds(sum(took.values()))}.\n"
    )
    for key, title, _, writer in STUDIES:
        parts.append(f"## {title}\n")
        text = writer.tables(results[key])
        parts.append(
            text if drawn else "\n".join(line for line in text.splitlines() if not line.startswith("![")) + "\n"
        )
        parts += [f"![{name.partition('.')[0]}]({name})\n" for name in PLOTS_OF.get(key, ()) if name in drawn]
    return "\n".join(parts)


def _json(value: Any, depth: int = 0) -> str:
    """JSON with one line per record of a list, NaN as null, and floats to ten digits."""
    indent = "\n" + " " * (depth + 1)
    if isinstance(value, dict) and depth < 3:
        items = [f"{json.dumps(str(key))}: {_json(one, depth + 1)}" for key, one in value.items()]
        return "{" + indent + f",{indent}".join(items) + "}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[" + indent + f",{indent}".join(json.dumps(_plain(one)) for one in value) + "]"
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    print(path)


if __name__ == "__main__":
    sys.exit(main())
