"""What a long run is doing, on standard error."""

from __future__ import annotations

import sys
import time


class Progress:
    """Prints the study and its step with the seconds since the start; one line per study unless on a terminal."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._study = ""
        self._study_start = self._start
        self._live = sys.stderr.isatty()
        self.seconds: dict[str, float] = {}

    def study(self, name: str) -> None:
        """Begin a study."""
        self.done()
        self._study, self._study_start = name, time.perf_counter()
        self._print(name)

    def step(self, done: int, total: int, what: str) -> None:
        """Say how far the study is."""
        if self._live:
            self._print(f"{self._study}: {done + 1}/{total} {what}", end="")

    def done(self) -> None:
        """End the study under way; its seconds are kept in ``seconds``."""
        if self._study:
            took = self.seconds[self._study] = time.perf_counter() - self._study_start
            self._print(f"{self._study}: done in {took:.0f} s")
            self._study = ""

    def _print(self, text: str, end: str = "\n") -> None:
        clear = "\r\x1b[K" if self._live else ""
        print(f"{clear}{time.perf_counter() - self._start:5.0f} s  {text[:100]}", end=end, file=sys.stderr, flush=True)
