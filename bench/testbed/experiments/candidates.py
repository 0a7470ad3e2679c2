"""How many candidates are worth it: 1 to 100 on the Poisson trace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..cases import Case
from ..comparison import run_cases
from ..experiment import Row, Settings
from ..parameters import OPTIONS
from ..sweeps import gain_rows, plot_gains

TITLE = "Candidates: 1 to 100"

COUNTS = (1, 3, 10, 30, 100)
SCHEDULERS = ("Packed", "Random")


def run(settings: Settings) -> dict[str, Any]:
    """Packed and random placement with so many candidates; without Cassini once."""
    tasks = {"load": 0.9, "count": 6 if settings.quick else 40}
    cases = {}
    for scheduler in SCHEDULERS:
        cases[scheduler] = Case(scheduler, "poisson", tasks, options=OPTIONS)
        for count in COUNTS[: 2 if settings.quick else len(COUNTS)]:
            cases[f"{scheduler}, {count}"] = Case(
                f"{scheduler}+Cassini", "poisson", tasks, options=OPTIONS, candidates=count
            )
    found = run_cases(cases, settings)
    return {
        f"{name} candidates": {"without": found[name.split(",")[0]], "with": one}
        for name, one in found.items()
        if "," in name
    }


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper takes up to 10 and does not say why."""
    return gain_rows(data)


def plot(data: dict[str, Any], path: Path) -> None:
    """Slowdowns and gains by number of candidates."""
    plot_gains(data, path, "Poisson trace")
