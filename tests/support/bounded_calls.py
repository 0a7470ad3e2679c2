"""Default calls in a process of their own, with what they took: ``python bounded_calls.py CALL FILE`` prints it.

Memory is what the operating system counts for the process as a whole.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["CALLS", "Cost", "measured"]

GUARD_S = 120
"""Processor time after which a process that runs away is ended."""


class Cost(NamedTuple):
    """Of one process: time of the call, s, peak memory, MiB, and what came of it.

    Time is that of the processor or of the clock, whichever is less: two threads take twice the one, and on a busy
    machine the other says nothing.
    """

    seconds: float
    mib: float
    outcome: str


def measured(call: str, file: Path, guard_s: int = GUARD_S) -> Cost:
    """What a call takes in a fresh process."""
    done = subprocess.run(
        [sys.executable, __file__, call, str(file)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (guard_s, guard_s)),
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    if done.returncode != 0:
        return Cost(float(guard_s), 0.0, f"ended with {done.returncode}: {done.stderr[-200:]}")
    return Cost(*json.loads(done.stdout.splitlines()[-1]))


def _rank(file: str) -> str:
    from cassini_core import load_problem, rank

    best = rank(load_problem(file)).best
    return "no best" if best is None else f"{best.status}, {best.score:.6g}"


def _rank_again(file: str) -> str:
    from cassini_core import Ranker, load_problem

    ranker, problem = Ranker(), load_problem(file)
    assert ranker.rank(problem) == ranker.rank(problem)
    return str(ranker.cache_info())


def _command(*words: str) -> Callable[[str], str]:
    def run(file: str) -> str:
        from cassini_core.cli import main

        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
            status = main([*words, file])
        out.flush()
        return f"exit status {status}, {len(out.buffer.getvalue())} bytes"  # type: ignore[attr-defined]

    return run


def _on_link(name: str) -> Callable[[str], str]:
    def run(file: str) -> str:
        import cassini_core as cc
        from cassini_core.problem_file import load_link

        jobs, capacity_gbps = load_link(file)
        calls: dict[str, Callable[[], Any]] = {
            "solve_link": lambda: cc.solve_link(jobs, capacity_gbps).score,
            "score_link": lambda: cc.score_link(jobs, capacity_gbps, {}),
            "score_bounds": lambda: cc.score_bounds(jobs, capacity_gbps, {}),
            "harmonize": lambda: cc.harmonize(jobs, capacity_gbps=capacity_gbps).score,
        }
        return str(calls[name]())

    return run


def _place(file: str) -> str:
    from cassini_core.placement.jobs_file import load_jobs
    from cassini_core.placement.place import place
    from cassini_core.topology.generated import leaf_spine
    from cassini_core.topology.overlay import with_capacities

    made = place(with_capacities(leaf_spine(32, 8, 32)), load_jobs(file), gpus_per_host=8)
    return f"{len(made.problem.candidates)} candidates"


CALLS: dict[str, Callable[[str], str]] = {
    "place": _place,
    "rank": _rank,
    "Ranker": _rank_again,
    "cassini-core rank": _command("rank"),
    "cassini-core rank --json": _command("rank", "--json"),
    "cassini-core link": _command("link"),
    "cassini-core topology": _command("topology"),
    **{name: _on_link(name) for name in ("solve_link", "score_link", "score_bounds", "harmonize")},
}
"""By name; those after ``cassini-core rank --json`` take link files, but for ``topology`` and ``place``."""


def main() -> None:
    """One call; prints its cost."""
    from cassini_core import CassiniError

    begun, clock = time.process_time(), time.perf_counter()
    try:
        outcome = CALLS[sys.argv[1]](sys.argv[2])
    except CassiniError as error:
        outcome = f"{type(error).__name__}: {error}"[:300]
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = min(time.process_time() - begun, time.perf_counter() - clock)
    print(json.dumps([seconds, mib, outcome]))


if __name__ == "__main__":
    main()
