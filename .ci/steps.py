"""Run steps of the checks, two at a time, and print a table of their times and verdicts.

Usage: steps.py [--keep-going] STEP ... [--alone STEP ...]

A step is what make is asked for: targets of the Makefile, and variables. Two steps run side by side, each with half
of the cores, and begin in the order given. Those after ``--alone`` follow one by one, with the machine for themselves.

What a step prints goes to ``build/checks/TARGET.log`` and is shown when the step ends, failures last.
After a failure no further step begins, unless ``--keep-going`` is given. Exit status 1 if a step failed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOGS = ROOT / "build" / "checks"
CORES = len(os.sched_getaffinity(0))


class Step:
    """Words for make and, once make has ended, its exit status and what it took, in seconds."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.log = LOGS / f"{words.split()[0]}.log"
        self.status: int | None = None
        self.clock_s = 0.0
        self.processor_s = 0.0

    @property
    def verdict(self) -> str:
        """For the table."""
        return {None: "not run", 0: "passed"}.get(self.status, f"FAILED ({self.status})")

    def run(self, cores: int) -> None:
        """Run make to its end."""
        # What a make hands to its children would tie this one to the make that runs us.
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        command = ["make", "--no-print-directory", f"JOBS={cores}", *self.words.split()]
        began = time.monotonic()
        with self.log.open("wb") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT)
            _, status, usage = os.wait4(process.pid, 0)
        self.status = process.returncode = os.waitstatus_to_exitcode(status)
        self.clock_s = time.monotonic() - began
        self.processor_s = usage.ru_utime + usage.ru_stime

    def show(self) -> None:
        """Print what it printed."""
        print(f"\n== make {self.words}", flush=True)
        sys.stdout.buffer.write(self.log.read_bytes())
        print(f"== {self.verdict} after {self.clock_s:.0f} s: make {self.words}", flush=True)


class Lanes:
    """Runs steps in threads, one step a thread at a time."""

    def __init__(self, keep_going: bool) -> None:
        self._keep_going = keep_going
        self._lock = threading.Lock()
        self.failed: list[Step] = []

    def run(self, steps: list[Step], lanes: int) -> None:
        """Returns when the last step has ended."""
        waiting = iter(steps)
        threads = [threading.Thread(target=self._lane, args=(waiting, CORES // lanes)) for _ in range(lanes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _lane(self, waiting: Iterator[Step], cores: int) -> None:
        while (step := self._next(waiting)) is not None:
            step.run(cores)
            with self._lock:
                if step.status == 0:
                    step.show()
                else:
                    self.failed.append(step)
                    print(f"\n== {step.verdict}: make {step.words}; its output comes last", flush=True)

    def _next(self, waiting: Iterator[Step]) -> Step | None:
        with self._lock:
            step = next(waiting, None) if self._keep_going or not self.failed else None
            if step is not None:
                print(f"-- make {step.words} begins", flush=True)
            return step


def table(steps: list[Step], clock_s: float) -> str:
    """A line a step, and one for all."""
    rows = [(step.words, step.clock_s, step.processor_s, step.verdict) for step in steps]
    rows.append(("all", clock_s, sum(step.processor_s for step in steps), ""))
    width = max(len(name) for name, *_ in rows)
    lines = [f"{name:<{width}}{clock:10.0f}{processor:14.0f}  {verdict}" for name, clock, processor, verdict in rows]
    return "\n".join([f"{'step':<{width}}{'clock, s':>10}{'processor, s':>14}  verdict", *lines])


def main() -> int:
    """Exit status 1 if a step failed."""
    words = [word for word in sys.argv[1:] if word != "--keep-going"]
    begin_alone = words.index("--alone") if "--alone" in words else len(words)
    together, alone = [[Step(word) for word in some] for some in (words[:begin_alone], words[begin_alone + 1 :])]
    LOGS.mkdir(parents=True, exist_ok=True)
    lanes = Lanes("--keep-going" in sys.argv)
    began = time.monotonic()
    lanes.run(together, min(2, CORES))
    lanes.run(alone, 1)
    for step in lanes.failed:
        step.show()
    print("\n" + table(together + alone, time.monotonic() - began), flush=True)
    return 1 if lanes.failed else 0


if __name__ == "__main__":
    sys.exit(main())
