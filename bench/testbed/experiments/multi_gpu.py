"""Servers with two GPUs: DLRM comes beside XLM and ResNet50, all on three GPUs (the paper, section 5.6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..cases import Case
from ..comparison import run_cases
from ..experiment import Row, Settings
from ..parameters import MARKING, OPTIONS
from ..schemes import choices, gains, named_cases, overview
from .dynamic import plot as _plot

TITLE = "Servers with two GPUs"

SCHEMES = (
    "Themis",
    "Th+Cassini",
    "Th+Cassini, paper's rule",
    "Th+Cassini, placement alone",
    "Th+Cassini, shifts alone",
    "Random",
    "Random+Cassini",
    "Ideal",
)


def run(settings: Settings) -> dict[str, Any]:
    """All schemes on the same tasks. On six servers Themis' packing leaves no task a server of its own."""
    options = {**OPTIONS, "marking": dict(MARKING)}
    tasks = {"iterations": 60} if settings.quick else {}
    return run_cases(
        named_cases(SCHEMES, Case("Themis", "multi_gpu", tasks, "two GPUs", options=options)), settings, details=True
    )


def rows(data: dict[str, Any]) -> list[Row]:
    """The paper's figure 15."""
    return [*gains(data, {"Th+Cassini": ("1.4×", "1.9×")}), *overview(data), *choices(data)]


def plot(data: dict[str, Any], path: Path) -> None:
    """As for the dynamic trace."""
    _plot(data, path)
