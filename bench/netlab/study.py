"""Runs of a study, some at a time, each in a lab of its own; a line a run is written as soon as it has ended."""

from __future__ import annotations

import gzip
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from .measures import alone_ms
from .processes import Failed, Stopped
from .run import run
from .scenarios import ALONE, Scenario

__all__ = ["Study", "Task"]

OVERHEAD_S = 12.0
"""What a run takes beyond its own time: setting up, imports, taking down."""

ATTEMPTS = 2
"""Of a run that failed. Failures that stay are shown."""


@dataclass(frozen=True)
class Task:
    """A run to be made."""

    scenario: Scenario
    number: int

    @property
    def key(self) -> tuple[str, int]:
        """Of its record."""
        return self.scenario.name, self.number


@dataclass
class Study:
    """All runs that there are, those that failed, and how many there was no time for.

    Parameters
    ----------
    file : Path
        To which a line of JSON goes for each run, packed by gzip.
    marker : str or None
        Object file of the ECN marker.
    lanes : int
        Labs at a time.
    end_s : float
        No run is begun that would not be over by then, of the monotonic clock.
    known : bool
        Whether the scheduler knows the jobs' profiles, as they are alone, or measures them while they run.
    """

    file: Path
    marker: str | None
    lanes: int = 1
    end_s: float = float("inf")
    known: bool = False
    records: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    not_begun: int = 0
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _broken: list[BaseException] = field(default_factory=list)

    def read(self) -> None:
        """Take the runs that are there already."""
        for record in self._lines():
            if "scenario" in record:
                self.records[record["scenario"], record["number"]] = record

    def note(self, session: dict[str, Any]) -> None:
        """Write down where and when the runs that follow are made."""
        self._write({"session": session})

    def sessions(self) -> list[dict[str, Any]]:
        """What was noted."""
        return [line["session"] for line in self._lines() if "session" in line]

    def make(self, tasks: Sequence[Task], began: Callable[[int, int, str], None]) -> None:
        """Make those that are not there yet: jobs alone first, then the longest first, one in each lane at a time.

        Their jobs begin to train together: the processes of one lab, while they start, would take the processors that
        the jobs of another need.

        Raises
        ------
        BaseException
            What went wrong in the study itself; a run that fails is noted in ``failures``.
        """
        missing = [task for task in tasks if task.key not in self.records]
        alone = [task for task in missing if task.scenario.mode == ALONE]
        others = [task for task in missing if task.scenario.mode != ALONE]
        done = 0
        ordered = sorted(others, key=lambda task: -task.scenario.seconds)
        for batch in (*batched(alone, self.lanes), *batched(ordered, self.lanes)):
            together = threading.Barrier(len(batch))

            def work(lane: int, task: Task, together: threading.Barrier = together) -> None:
                nonlocal done
                with self._lock:
                    began(done, len(missing), task.scenario.name)
                    done += 1
                self._attempt(task, lane, together)

            threads = [threading.Thread(target=self._guarded, args=(work, *one)) for one in enumerate(batch)]
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():  # a signal's handler runs between two joins
                    thread.join(0.2)
                    if self.stop.is_set():
                        together.abort()
            if self.stop.is_set():
                break
        if self._broken:
            raise self._broken[0]

    def _guarded(self, work: Callable[[int, Task], None], lane: int, task: Task) -> None:
        try:
            work(lane, task)
        except Stopped:
            pass
        except BaseException as error:  # handed to the main thread; the other lanes take their labs down
            self._broken.append(error)
            self.stop.set()

    def _attempt(self, task: Task, lane: int, together: threading.Barrier) -> None:
        alone = [one for key, one in self.records.items() if key[0] == _alone(task.scenario)]
        if task.scenario.mode != ALONE and not alone:
            self.failures.append(f"{task.scenario.name}, run {task.number}: there is no run of the job alone")
            together.abort()
            return
        for attempt in range(1, ATTEMPTS + 1):
            if time.monotonic() + task.scenario.seconds + OVERHEAD_S > self.end_s:
                self.not_begun += 1
                together.abort()
                return
            try:
                alone_s = alone_ms(alone) / 1e3 if alone else 0.0
                profile = alone[0]["jobs"]["a"]["agent"]["profile"] if alone and self.known else None
                record = run(task.scenario, task.number, alone_s, profile, self.marker, lane, self.stop, together)
            except (Failed, RuntimeError, OSError) as error:
                together.abort()  # nobody is to wait for this one
                if self.stop.is_set():
                    raise Stopped from error
                print(f"{task.scenario.name}, run {task.number}: {error}", file=sys.stderr, flush=True)
                if attempt == ATTEMPTS:
                    last = traceback.format_exception_only(error)[-1].strip()
                    self.failures.append(f"{task.scenario.name}, run {task.number}: {last[:300]}")
                continue
            with self._lock:
                self.records[task.key] = record
                self._write(record)
            return

    def _write(self, line: dict[str, Any]) -> None:
        packed = gzip.compress(json.dumps(line, separators=(",", ":")).encode() + b"\n")
        with self.file.open("ab") as file:
            file.write(packed)  # at once: whoever ends us leaves whole lines

    def _lines(self) -> list[dict[str, Any]]:
        if not self.file.exists():
            return []
        with gzip.open(self.file, "rt") as file:
            return [json.loads(line) for line in file]


def batched(tasks: Sequence[Task], size: int) -> Iterator[list[Task]]:
    """Some at a time, in order."""
    rest = iter(tasks)
    while batch := list(islice(rest, size)):
        yield batch


def _alone(scenario: Scenario) -> str:
    return f"{scenario.setting.name}: {ALONE}"
