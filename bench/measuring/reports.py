"""What all reports have in common: their options, their first lines, the plots' footnote, the files."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def parser(module: str, description: str | None, quick: str) -> argparse.ArgumentParser:
    """Options ``--out`` and ``--quick``; ``quick`` says what a quick run leaves out."""
    found = argparse.ArgumentParser(prog=f"python -m {module}", description=(description or "").split("\n")[0])
    found.add_argument("--out", type=Path, default=Path("bench/results"), help="folder for what is written")
    found.add_argument("--quick", action="store_true", help=f"{quick}: to see that all works")
    return found


def heading(title: str, about: Mapping[str, str], quick: bool) -> list[str]:
    """The first parts of a Markdown report: title, a warning if quick, and ``about`` the machine."""
    warning = ["**A quick run, on less than is reported otherwise. Not to be quoted.**\n"] if quick else []
    return [f"# {title}\n", *warning, "".join(f"- {what}: {said}\n" for what, said in about.items())]


def footnote(about: Mapping[str, str], quick: bool) -> str:
    """What stands below a plot."""
    said = f"{about['CPU']}; cassini-core {about['cassini-core']}, commit {about['commit']}"
    return said + ("; quick run" if quick else "")


def write(folder: Path, name: str, text: str, figures: Mapping[str, Any], plots: Sequence[str]) -> None:
    """Write ``name.md`` and ``name.json``, and print the paths, those of the plots too."""
    (folder / f"{name}.md").write_text(text, encoding="utf-8")
    (folder / f"{name}.json").write_text(to_json(figures) + "\n", encoding="utf-8")
    print(*(folder / one for one in (f"{name}.md", f"{name}.json", *plots)), sep="\n")


def to_json(value: Any, depth: int = 0) -> str:
    """JSON with one line per record of a list, NaN as null, and floats to ten digits."""
    indent = "\n" + " " * (depth + 1)
    if isinstance(value, Mapping) and depth < 3:
        items = [f"{json.dumps(str(key))}: {to_json(one, depth + 1)}" for key, one in value.items()]
        return "{" + indent + f",{indent}".join(items) + "}"
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        return "[" + indent + f",{indent}".join(json.dumps(_plain(one)) for one in value) + "]"
    return json.dumps(_plain(value), allow_nan=False)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value
