"""What candidates win that may move tasks whose lease is over: the dynamic trace, by lease and number of candidates.

The paper says that a task whose lease is over gives its servers up, and that an auction of them follows (section 5.1);
whether a task that wins as many gets its own back is not said. In the other experiments it does.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..cases import Case
from ..comparison import run_cases
from ..experiment import Row, Settings
from ..parameters import OPTIONS
from ..sweeps import gain_rows, plot_gains

TITLE = "Candidates that move tasks whose lease is over"

LEASES_S = (600.0, 300.0, 120.0, 60.0)
COUNTS = (10, 100)


def run(settings: Settings) -> dict[str, Any]:
    """Themis with these leases; with Cassini where all stay that win what they gave up, and where they may move."""
    cases = {}
    for lease_s in LEASES_S[-1:] if settings.quick else LEASES_S:
        name, lease = f"leases of {lease_s:g} s", {"lease_s": lease_s}
        cases[name] = Case("Themis", "dynamic", options=OPTIONS, worn=True, scheduler=lease)
        for count in COUNTS[:1] if settings.quick else COUNTS:
            one = replace(cases[name], decider="Th+Cassini", candidates=count)
            moving = replace(one, scheduler={**lease, "moves": True})
            cases[f"{name}, {count} candidates, stay"] = one
            cases[f"{name}, {count} candidates, may move"] = moving
            free = replace(moving, options={**OPTIONS, "holding": "none"})
            cases[f"{name}, {count} candidates, may move, nobody held"] = free
    found = run_cases(cases, settings)
    return {name: {"without": found[name.split(",")[0]], "with": one} for name, one in found.items() if "," in name}


def rows(data: dict[str, Any]) -> list[Row]:
    """Gains in slowdown; completion counts restarts."""
    return gain_rows(data)


def plot(data: dict[str, Any], path: Path) -> None:
    """Slowdowns and gains."""
    plot_gains(data, path, "dynamic trace")
