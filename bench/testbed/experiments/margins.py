"""By how much paces must be longer than iterations: fixed margins against the agent's, by jitter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..cases import Case
from ..comparison import run_cases
from ..experiment import Row, Settings
from ..parameters import OPTIONS
from ..sweeps import gain_rows, plot_gains

TITLE = "Margins of paces: fixed ones and the agent's"

MARGINS = (None, 0.0, 0.002, 0.01, 0.03, 0.06)
JITTERS = (0.0, 0.014, 0.05)
CHANGES = {"sending": 0.2, "octave_ms": 200.0}
"""Where all tasks fit, so that there is something to hold: as it is, hardly any do (experiment ``assumptions``)."""


def run(settings: Settings) -> dict[str, Any]:
    """The dynamic trace with each jitter and margin; without Cassini once for each jitter."""
    tasks = {"iterations": 60} if settings.quick else {}
    cases = {}
    for jitter in JITTERS[:: 3 if settings.quick else 1]:
        of = f"jitter {100 * jitter:g} %"
        options = {**OPTIONS, "jitter_share": jitter}
        base: dict[str, Any] = {"trace": "dynamic", "tasks": tasks, "worn": True, "changes": CHANGES}
        cases[of] = Case("Themis", options=options, **base)
        for margin in MARGINS:
            name = "the agent's margin" if margin is None else f"{100 * margin:g} %"
            cases[f"{of}, {name}"] = Case("Th+Cassini", options={**options, "margin": margin}, **base)
    found = run_cases(cases, settings)
    return {name: {"without": found[name.split(",")[0]], "with": one} for name, one in found.items() if "," in name}


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper has no margins: its jobs are held at their own iteration times."""
    return gain_rows(data)


def plot(data: dict[str, Any], path: Path) -> None:
    """Slowdowns and gains by margin."""
    plot_gains(data, path, "Themis, tasks that send 20 %, commensurate")
