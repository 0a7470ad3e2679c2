"""What an experiment of the paper gets and says: its settings, and rows of the paper's figures against ours."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

__all__ = ["Experiment", "Row", "Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is run, and where what has been run is kept.

    Parameters
    ----------
    seeds : int
        How many; 0 is the first.
    folder : Path
        The experiment's own, for ``cassini_core.simulation.seeds.run_seeds``: an interrupted one goes on there.
    processes : int, optional
        As many as there are processors, if left out.
    quick : bool
        Little work, to see that all works; what comes out means nothing.
    progress : callable, optional
        Told how much is done, and of how much: for ``run_seeds``.
    """

    seeds: int
    folder: Path
    processes: int | None = None
    quick: bool = False
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A figure of the paper against ours.

    Parameters
    ----------
    what : str
        What is measured, in words.
    paper : str
        What the paper has; empty where it has nothing.
    ours : str
        What came out here.
    note : str
        Why they differ, or what to mind.
    """

    what: str
    paper: str
    ours: str
    note: str = ""


class Experiment(Protocol):
    """A module of ``bench.testbed.experiments``.

    Attributes
    ----------
    TITLE : str
    """

    TITLE: str

    def run(self, settings: Settings) -> dict[str, Any]:
        """All that is computed, as something that JSON can say."""
        ...

    def rows(self, data: dict[str, Any]) -> list[Row]:
        """The paper against what ``run`` gave."""
        ...

    def plot(self, data: dict[str, Any], path: Path) -> None:
        """Draw what ``run`` gave."""
        ...
