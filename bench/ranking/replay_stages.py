"""Where the time of a ranking goes: wall clock and processor time of its stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any
from unittest import mock

from cassini_core.ranking import rank_problem as ranking

STAGES = {
    "RouteTable": "routes",
    "paced_problem": "iteration times",
    "LinkCatalog": "link problems",
    "BatchSolver.solve": "links",
    "_answer_candidates": "candidates",
}
"""What ``cassini_core.ranking.rank_problem`` calls one after the other, and what is done there."""

OTHER = "all else"


@dataclass(slots=True)
class Taken:
    """Seconds of one ranking; processor time is that of all threads."""

    wall_s: float = 0.0
    cpu_s: float = 0.0
    stage_cpu_s: dict[str, float] = field(default_factory=dict)


@contextmanager
def timed() -> Iterator[Taken]:
    """The time that is taken by the one ranking made meanwhile, by stage; complete at the end."""
    taken = Taken()
    with ExitStack() as stack:
        for name, stage in STAGES.items():
            call = _timed(attrgetter(name)(ranking), stage, taken)
            stack.enter_context(mock.patch(f"{ranking.__name__}.{name}", call))
        wall, cpu = time.perf_counter(), time.process_time()
        yield taken
        taken.wall_s, taken.cpu_s = time.perf_counter() - wall, time.process_time() - cpu
    taken.stage_cpu_s[OTHER] = taken.cpu_s - sum(taken.stage_cpu_s.values())


def _timed(call: Callable[..., Any], stage: str, taken: Taken) -> Callable[..., Any]:
    def timed_call(*args: Any, **options: Any) -> Any:
        start = time.process_time()
        try:
            return call(*args, **options)
        finally:
            taken.stage_cpu_s[stage] = time.process_time() - start

    return timed_call
