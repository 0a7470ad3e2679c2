"""How long the threads of a ranking are in Python, which the interpreter lets one thread at a time be.

``python -m bench.ranking.lock`` prints a table by threads and needs no rights of the system: *in Python* is processor
time of a thread less that of the calls inside it that release the lock (the kernel's, and compiled loops); *waiting* is
time of a thread in which it does not run: for the lock, or for a core where there are too few. NumPy's short calls
count as Python, and so do scores of paces that the calling thread finds itself with one thread. ``--threads 1 2 4 8
16`` on an idle machine with as many cores shows what the lock costs there.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from bench.measuring.tables import seconds, table
from bench.ranking.rounds import generate
from bench.ranking.scale.cases import settings_of
from cassini_core import rank
from cassini_core.joint import base_search
from cassini_core.joint.scoring import Table
from cassini_core.kernel.prepared_links import PreparedLinks
from cassini_core.ranking import best_first, candidate_search, rank_problem

COLUMNS = ("wall", "calling thread in Python", "others in Python", "others waiting", "others released")

Seconds = Counter[str]


class _Clock:
    """Adds up what functions take, in several threads; what it wraps stays wrapped for the rest of the process."""

    def __init__(self) -> None:
        self._lock, self._own = threading.Lock(), threading.local()
        self.seconds: Seconds = Counter()

    def released(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A call that releases the lock."""

        def call(*args: Any, **options: Any) -> Any:
            begin = time.thread_time()
            found = function(*args, **options)
            self._own.released = self._so_far() + time.thread_time() - begin
            return found

        return call

    def watch(self, owner: Any, name: str, who: str) -> None:
        """Add up what a function takes that ``who`` runs."""
        function = getattr(owner, name)

        def call(*args: Any, **options: Any) -> Any:
            before, wall, own = self._so_far(), time.perf_counter(), time.thread_time()
            try:
                return function(*args, **options)
            finally:
                wall, own = time.perf_counter() - wall, time.thread_time() - own
                released = self._so_far() - before
                parts = {"in Python": own - released, "waiting": wall - own, "released": released}
                with self._lock:
                    self.seconds.update({f"{who} {part}": value for part, value in parts.items()})

        setattr(owner, name, call)

    def _so_far(self) -> float:
        return float(getattr(self._own, "released", 0.0))


class _Handle:
    """A handle of the kernel, all of whose calls release the lock."""

    def __init__(self, handle: Any, clock: _Clock) -> None:
        self.handle, self._clock = handle, clock

    def __getattr__(self, name: str) -> Any:
        return self._clock.released(getattr(self.handle, name))


def _watched() -> _Clock:
    clock = _Clock()
    prepared, baseline, scoring_of = PreparedLinks.prepared, base_search.Baseline, rank_problem.scoring_of

    def scoring(*args: Any, **options: Any) -> Any:
        found = scoring_of(*args, **options)
        if found.table is None:
            return found  # whole arrays
        loops = Table(*map(clock.released, found.table))
        return type(found)(*map(clock.released, found[:-1]), loops)

    names: list[tuple[Any, str, Any]] = [
        (PreparedLinks, "prepared", lambda links: _Handle(prepared(links), clock)),
        (base_search, "Baseline", lambda links, **options: _Handle(baseline(links.handle, **options), clock)),
        (rank_problem, "scoring_of", scoring),
    ]
    for owner, name, value in names:
        setattr(owner, name, value)
    clock.watch(rank_problem, "_rank_in_time", "calling thread")
    clock.watch(PreparedLinks, "solve", "others")
    clock.watch(best_first.BestFirst, "_answer_part", "others")
    clock.watch(best_first.BestFirst, "_most_of_part", "others")
    clock.watch(candidate_search.CandidateSearch, "_improved", "others")
    return clock


def measured(size: str, threads: list[int], runs: int) -> dict[int, Seconds]:
    """Medians by the number of threads, all in turns, after a call that is not counted."""
    candidates, jobs = map(int, size.split("x"))
    problem = generate(settings_of(candidates, jobs))
    clock = _watched()
    rank(problem, threads=threads[-1])
    found: dict[int, list[Seconds]] = {number: [] for number in threads}
    for turn in range(runs):
        for number in threads if turn % 2 == 0 else reversed(threads):
            clock.seconds = Counter()
            begin = time.perf_counter()
            rank(problem, threads=number)
            clock.seconds["wall"] = time.perf_counter() - begin
            found[number].append(clock.seconds)
    return {
        number: Counter({name: statistics.median(one[name] for one in own) for name in COLUMNS})
        for number, own in found.items()
    }


def main(argv: list[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.ranking.lock", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--size", default="1000x1000", help="candidates x jobs (default 1000x1000)")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="numbers of threads (default 1 2)")
    parser.add_argument("--runs", type=int, default=5, help="timed calls of each (default 5)")
    options = parser.parse_args(argv)
    found = measured(options.size, options.threads, options.runs)
    rows = [[str(number), *(seconds(row[name]) for name in COLUMNS)] for number, row in found.items()]
    print(table(["threads", *COLUMNS], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
