"""Calls of a two-job link through each layer of Python, as one process times or repeats them.

python -m bench.wheels.calls                  seconds per call, and of the import, as JSON
python -m bench.wheels.calls "CALL" COUNT     COUNT calls and nothing else, for a counter of instructions
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

started = time.perf_counter()
from cassini_core.kernel import _kernel  # noqa: E402

IMPORT_S = time.perf_counter() - started

from bench import timing  # noqa: E402
from cassini_core import Job, Phase, score_link, solve_link  # noqa: E402
from cassini_core.arrays import Int64Array  # noqa: E402
from cassini_core.kernel.prepared_link import PreparedLink, kernel_options  # noqa: E402

ROUNDS = 40
PHASES = ("phase_start", "phase_length", "phase_rate")


def calls() -> dict[str, timing.Call]:
    """What a caller says, by name."""
    jobs = [Job(name, 255.0, [Phase(141.0, 114.0, 45.0)]) for name in "ab"]
    link = PreparedLink.from_jobs(jobs, 50.0)
    answer = link.solve()
    options = kernel_options(0.5, 0.01)
    batch = copies(link, 60)
    links = _kernel.Links(**batch, options=options)
    period, one, members = link.period, np.zeros(1, np.int64), np.arange(2)
    nothing = np.zeros(0, np.int32)
    shifts = {"a": 0.0, "b": 127.5}
    return {
        "an attribute": lambda: answer.score_lower,
        "an empty call": lambda: _kernel.check_status(nothing),
        "PreparedLink.solve": link.solve,
        "score_link": lambda: score_link(jobs, 50.0, shifts),
        "solve_link": lambda: solve_link(jobs, 50.0),
        "solve_links, 60 links": lambda: _kernel.solve_links(**batch, options=options),
        "Links.evaluate_block": lambda: links.evaluate_block(period, one, members, answer.shift, options),
    }


def copies(link: PreparedLink, count: int) -> dict[str, Int64Array]:
    """The arrays of ``count`` links with two jobs and one phase each."""
    members = np.arange(0, 2 * count + 1, dtype=np.int64)
    arrays = {name: np.tile(getattr(link, name), count) for name in ("period", *PHASES)}
    return {
        "job_offset": members[::2].copy(),
        "phase_offset": members,
        **arrays,
        "capacity": np.full(count, link.capacity),
    }


def main() -> None:
    """Time all calls, or repeat one."""
    if len(sys.argv) == 3:
        call = calls()[sys.argv[1]]
        for _ in range(int(sys.argv[2])):
            call()
        return
    named = calls()
    timed = timing.in_turns(list(named.values()), ROUNDS, limit_s=0.2)
    seconds = {name: times.median for name, times in zip(named, timed, strict=True)}
    print(json.dumps({"import, after NumPy": IMPORT_S, **seconds, "extension": _kernel.__file__}))


if __name__ == "__main__":
    main()
