"""How late answers come by the processor's clock, on which what others do on the machine hardly counts.

``python -m bench.ranking.scale.lateness [--calls N] [--deadlines S ...] [--candidates N] [--jobs N]`` ranks a round of
1,000 candidates and 1,000 jobs by one thread, with each deadline in turns, and prints a table. All that looks at the
time in Python reads the processor time of the process; the kernel keeps to the wall clock, which is no slower. To
compare versions run them in turns, each found first by ``PYTHONPATH``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from types import SimpleNamespace
from typing import Any

import cassini_core as cc
import cassini_core.deadline
from bench.measuring.tables import table
from bench.measuring.timing import percentile
from bench.ranking.rounds import generate

from .answer_check import check
from .cases import settings_of

DEADLINES_S = (0.05, 0.2, 0.4, 0.7, 1.0, 2.0, 3.0)


def late_ms(problem: cc.Problem, deadline_s: float) -> tuple[float, cc.Ranking]:
    """Processor time from the deadline to the end of a call, ms, and the answer."""
    begin = time.process_time()
    ranking = cc.rank(problem, threads=1, deadline_s=deadline_s)
    return (time.process_time() - begin - deadline_s) * 1e3, ranking


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser("bench.ranking.scale.lateness", description=__doc__.partition("\n")[0])
    parser.add_argument("--calls", type=int, default=20, help="with each deadline (default 20)")
    parser.add_argument("--deadlines", type=float, nargs="+", default=DEADLINES_S, metavar="S", help="seconds")
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1000)
    options = parser.parse_args()
    problem = generate(settings_of(options.candidates, options.jobs))
    clock: Any = SimpleNamespace(monotonic=time.process_time)
    cassini_core.deadline.time = clock  # type: ignore[attr-defined]
    late_ms(problem, 5.0)  # warm up
    calls: list[tuple[float, float, int]] = []  # the deadline, how late, and how many candidates have a score
    for _ in range(options.calls):
        for deadline_s in options.deadlines:
            found_ms, ranking = late_ms(problem, deadline_s)
            check(problem, ranking)
            calls.append((deadline_s, found_ms, sum(one.score is not None for one in ranking.candidates)))
            del ranking  # not while the next one is timed
    rows = [_row(f"{one:g} s", [call for call in calls if call[0] == one]) for one in options.deadlines]
    head = ["deadline", "calls", "late, ms: median", "99th percentile", "most", "answered, median"]
    print(table(head, [*rows, _row("all", calls)]))


def _row(name: str, calls: list[tuple[float, float, int]]) -> list[str]:
    late = [one for _, one, _ in calls]
    figures = [f"{value:+.1f}" for value in (statistics.median(late), percentile(late, 99), max(late))]
    return [name, str(len(calls)), *figures, f"{statistics.median(answered for *_, answered in calls):,.0f}"]


if __name__ == "__main__":
    main()
