"""The dynamic trace of data parallel tasks under Pollux, which allocates anew each minute (the paper, section 5.3)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..cases import Case
from ..comparison import run_cases
from ..experiment import Row, Settings
from ..parameters import MARKING, OPTIONS
from ..schemes import choices, gains, marks, named_cases, overview
from .dynamic import plot as _plot

TITLE = "Dynamic trace, data parallel, under Pollux"

SCHEMES = ("Pollux", "Po+Cassini", "Random", "Ideal")


def run(settings: Settings) -> dict[str, Any]:
    """All schemes on the tasks of the experiment ``dynamic``."""
    options = {**OPTIONS, "marking": dict(MARKING)}
    tasks = {"iterations": 60} if settings.quick else {}
    scheduler = {"generations": 5} if settings.quick else {}
    base = Case("Pollux", "dynamic", tasks, options=options, worn=True)
    cases = named_cases(SCHEMES, base)
    for name in ("Pollux", "Po+Cassini"):
        cases[name] = replace(cases[name], scheduler=scheduler)
    return run_cases(cases, settings, details=True)


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper's figures 11 and 16."""
    found = gains(data, {"Po+Cassini": ("1.6×", "2.5×")})
    models = sorted({model for one in data.values() for model in one["models"]})
    found += marks(data, "Pollux", "Po+Cassini", models, {"DLRM": "33×"})
    return [*found, *overview(data), *choices(data)]


def plot(data: dict[str, Any], path: Path) -> None:
    """As under Themis."""
    _plot(data, path)
