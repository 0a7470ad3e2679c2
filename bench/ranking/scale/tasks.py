"""What a fresh process measures: one function per task, called with JSON by ``bench.ranking.scale.fresh_process``.

Nothing of the package is imported before a task begins: importing is part of what is measured.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from .fresh_process import load, peak_mib

Found = dict[str, Any]


def _imported() -> tuple[Callable[..., Any], float]:
    """``rank`` and the seconds it took to import it."""
    begin = time.perf_counter()
    import cassini_core

    rank = cassini_core.rank  # loaded when asked for
    return rank, time.perf_counter() - begin


def _timed(call: Callable[[], Any]) -> tuple[Any, float, float]:
    """What the call returns, its seconds, and the CPU seconds of all threads."""
    begin, cpu_begin = time.perf_counter(), time.process_time()
    found = call()
    return found, time.perf_counter() - begin, time.process_time() - cpu_begin


class LinksSolved:
    """What ``rank`` says its progress to: the seconds until all distinct link problems are solved, and their number."""

    def __init__(self, candidates: int) -> None:
        self._candidates, self._begin = candidates, time.perf_counter()
        self.number, self.seconds = 0, 0.0

    def __call__(self, done: int, total: int) -> None:
        self.number = total - self._candidates
        if done <= self.number:
            self.seconds = time.perf_counter() - self._begin


def size(file: str, least_runs: int, most_runs: int, limit_s: float) -> Found:
    """A round ranked by a cold process, then again and again, with two threads and with one in turns.

    There are as many turns as fit into ``limit_s``, but at least ``least_runs``. All answers have the same bytes.
    """
    rank, import_s = _imported()
    problem = load(file)
    loaded_mib = peak_mib()
    ranking, first_s, _ = _timed(lambda: rank(problem, threads=2))
    found: Found = {"import_s": import_s, "first_s": first_s, "loaded_mib": loaded_mib, "peak_mib": peak_mib()}

    from .answer_check import WrongAnswerError, check, digest

    check(problem, ranking)
    said = digest(ranking)
    runs = max(least_runs, min(most_runs, int(limit_s / (2 * first_s))))
    samples: dict[int, list[tuple[float, float, float]]] = {2: [], 1: []}
    for turn in range(runs):
        for threads in (2, 1) if turn % 2 == 0 else (1, 2):
            links = LinksSolved(len(problem.candidates))
            again, wall_s, cpu_s = _timed(lambda n=threads, said=links: rank(problem, threads=n, progress=said))
            if digest(again) != said:
                raise WrongAnswerError(f"{threads} threads, turn {turn + 1}: not the bytes of the first call")
            samples[threads].append((wall_s, cpu_s, links.seconds))
            del again
    for threads, own in samples.items():
        found[f"wall_{threads}_s"], found[f"cpu_{threads}_s"], _ = map(statistics.median, zip(*own, strict=True))
    found["links_s"] = statistics.median(links_s for _, _, links_s in samples[2])
    best = ranking.best
    return {
        **found,
        "runs": runs,
        "sha256": said,
        "shared_links": statistics.fmean(len(one.links) for one in ranking.candidates),
        "answered": sum(one.score is not None for one in ranking.candidates),
        "best": None if best is None else best.id,
        "score": None if best is None else best.score,
        "upper_bound": None if best is None else best.upper_bound,
        "highest_bound": max(one.upper_bound for one in ranking.candidates),
        "best_proven": ranking.best_proven,
        "link_problems": links.number,
    }


def small(file: str, warm_runs: int) -> Found:
    """A problem file ranked by a cold process: each step by itself, and what it had to load for it."""
    rank, import_s = _imported()
    import cassini_core

    loaded = {"import": set(sys.modules)}
    _, networkx_s, _ = _timed(lambda: importlib.import_module("networkx"))  # graphs need it: an import too
    import_s += networkx_s
    loaded["networkx"] = set(sys.modules)
    problem, load_s, _ = _timed(lambda: cassini_core.load_problem(file))
    loaded["load"] = set(sys.modules)
    ranking, first_s, first_cpu_s = _timed(lambda: rank(problem, threads=2))
    loaded["call"] = set(sys.modules)
    found = {
        "import_s": import_s,
        "load_s": load_s,
        "first_s": first_s,
        "first_cpu_s": first_cpu_s,
        "loaded_by_call": sorted(loaded["call"] - loaded["load"]),
        "libraries": {
            library: next((step for step, modules in loaded.items() if library in modules), None)
            for library in ("networkx", "numba")
        },
        "status": sorted({one.status for one in ranking.candidates}),
    }

    from .answer_check import check

    check(problem, ranking)
    warm = [_timed(lambda: rank(problem, threads=2))[1] for _ in range(warm_runs)]
    return {**found, "warm_s": statistics.median(warm), "candidates": len(problem.candidates)}


def deadlines(file: str, calls: dict[str, int], long_s: float, node_limit: int) -> Found:
    """A round ranked with deadlines; see :mod:`bench.ranking.scale.deadlines`."""
    rank, _ = _imported()
    from .deadlines import with_deadlines

    return with_deadlines(rank, load(file), {float(one): n for one, n in calls.items()}, long_s, node_limit)


def threads(file: str, threads: list[int], runs: int) -> Found:
    """A round ranked with some numbers of threads in turns; all answers have the same bytes."""
    rank, _ = _imported()
    problem = load(file)
    first, first_s, _ = _timed(lambda: rank(problem, threads=threads[-1]))

    from .answer_check import WrongAnswerError, check, digest

    check(problem, first)
    said = digest(first)
    del first
    samples: dict[int, list[tuple[float, float]]] = {number: [] for number in threads}
    for turn in range(runs):
        for number in threads if turn % 2 == 0 else reversed(threads):
            again, wall_s, cpu_s = _timed(lambda n=number: rank(problem, threads=n))
            if digest(again) != said:
                raise WrongAnswerError(f"{number} threads, turn {turn + 1}: not the bytes of the first call")
            samples[number].append((wall_s, cpu_s))
            del again
    return {
        "runs": runs,
        "first_s": first_s,
        "wall_s": {number: statistics.median(wall_s for wall_s, _ in own) for number, own in samples.items()},
        "cpu_s": {number: statistics.median(cpu_s for _, cpu_s in own) for number, own in samples.items()},
        "peak_mib": peak_mib(),
        "sha256": said,
    }


def loading(cache: str) -> Found:
    """Compiled loops, loaded by a process that finds what others left in a cache."""
    import os

    os.environ["NUMBA_CACHE_DIR"] = cache
    _imported()
    _, import_s, _ = _timed(lambda: importlib.import_module("numba"))

    from cassini_core.compiled import compiled, why_not
    from cassini_core.joint.placement_loops import LOOPS

    _, load_s, _ = _timed(lambda: compiled(LOOPS))
    return {"import_s": import_s, "load_s": load_s, "why_not": why_not()}


TASKS: dict[str, Callable[..., Found]] = {
    "size": size,
    "small": small,
    "deadlines": deadlines,
    "threads": threads,
    "loading": loading,
}


def main() -> None:
    """Do the task named on the command line."""
    print(json.dumps(TASKS[sys.argv[1]](**json.load(sys.stdin)), allow_nan=False))


if __name__ == "__main__":
    main()
