"""Default calls in a process of their own, with what they took.

Memory is what the operating system counts for the process as a whole.
"""

from __future__ import annotations

import contextlib
import io
import resource
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from fork_server import FORK_SERVER

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
    reading, writing = FORK_SERVER.Pipe(duplex=False)
    process = FORK_SERVER.Process(target=_call, args=(call, str(file), guard_s, writing))
    process.start()
    writing.close()
    with reading:
        try:
            cost = Cost(*reading.recv())
        except EOFError:
            cost = None
    process.join()
    return cost or Cost(float(guard_s), 0.0, f"ended with {process.exitcode}")


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


def _call(call: str, file: str, guard_s: int, answer: Connection) -> None:
    """One call; sends its cost."""
    from cassini_core import CassiniError

    resource.setrlimit(resource.RLIMIT_CPU, (guard_s, guard_s))
    begun, clock = time.process_time(), time.perf_counter()
    try:
        outcome = CALLS[call](file)
    except CassiniError as error:
        outcome = f"{type(error).__name__}: {error}"[:300]
    mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = min(time.process_time() - begun, time.perf_counter() - clock)
    answer.send([seconds, mib, outcome])
