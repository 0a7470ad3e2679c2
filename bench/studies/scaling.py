"""What the time does not depend on: the resolution of the times, the LCM of the periods."""

from __future__ import annotations

import math
import statistics
from typing import Any

from bench import cases, engine, timing
from bench.grid import GridError, tick_grid
from bench.peers import Peer, PeerAnswer, available
from bench.progress import Progress
from bench.tables import ratio, score, seconds, table
from bench.verify import CLOSE, WrongAnswer, true_score

STEPS_MS = (1.0, 0.1, 0.01, 0.001)
PERIODS_MS = (
    (240, 240, 240),
    (200, 300, 300),
    (150, 200, 250),
    (200, 225, 250),
    (210, 240, 275),
    (231, 240, 250),
    (255, 247, 331),
    (997, 991, 983),
)


def run(quick: bool, progress: Progress) -> dict[str, Any]:
    """Units, steps and periods."""
    limit_s = 1.0 if quick else 5.0
    peer = next((peer for peer in available() if peer.module == "numba_enumeration"), None)
    progress.study("the same jobs in µs and in ms")
    units = _units(quick)
    progress.study("time against resolution")
    steps = [
        _point(cases.of_step(n, step, 1 if quick else 3), step, peer, limit_s, {"step_ms": step, "jobs": n})
        for n in (2, 3)
        for step in STEPS_MS
    ]
    progress.study("time against the LCM")
    periods = [
        _point(cases.of_periods(p, 1 if quick else 3), 1.0, peer, limit_s, {"periods_ms": p, "lcm_ms": math.lcm(*p)})
        for p in PERIODS_MS
    ]
    return {"limit_s": limit_s, "units": units, "steps": steps, "periods": periods}


def _units(quick: bool) -> list[dict[str, Any]]:
    """Pairs of the same jobs in ms and in µs, in turns."""
    members = [case for case in cases.from_file() if len(case.jobs) <= 4]
    for n_jobs in (2, 3, 4, 5):
        members += cases.equal(n_jobs, 3, 1 if quick else 3)
    pairs = [(engine.PreparedCall(case), engine.PreparedCall(cases.in_microseconds(case))) for case in members]
    timed = timing.in_turns([call for pair in pairs for call in pair], 3 if quick else 9, 0.05 if quick else 0.2)
    found: dict[int, list[tuple[float, float]]] = {}
    for (coarse, fine), in_ms, in_us in zip(pairs, timed[::2], timed[1::2], strict=True):
        scores = coarse.checked_answer().score_lower, fine.checked_answer().score_lower
        if abs(scores[0] - scores[1]) > CLOSE:
            raise WrongAnswer(f"{coarse.case.name}: scores {scores[0]!r} in ms and {scores[1]!r} in µs")
        found.setdefault(len(coarse.case.jobs), []).append((in_ms.median, in_us.median))
    return [
        {
            "jobs": n_jobs,
            "instances": len(both),
            "in_ms_s": statistics.median(one for one, _ in both),
            "in_us_s": statistics.median(two for _, two in both),
            "largest_ratio": max(two / one for one, two in both),
        }
        for n_jobs, both in sorted(found.items())
    ]


def _point(
    members: list[cases.Case], tick_ms: float, peer: Peer | None, limit_s: float, about: dict[str, Any]
) -> dict[str, Any]:
    """Median time of the engine, and of one peer on a grid of ``tick_ms``, over some cases."""
    calls = [engine.PreparedCall(case, 10.0) for case in members]
    ours = [timed.median for timed in timing.in_turns(calls, 5, 0.2)]
    proved = sum(call.checked_answer().optimal for call in calls)
    theirs, why, lost = [], "", []
    for call in calls:
        try:
            took, answer = _asked(call.case, tick_ms, peer, limit_s)
        except GridError as error:
            why = str(error)
            break
        theirs.append(took)
        if answer.shifts_ms:
            lost.append(call.checked_answer().score_lower - true_score(call.case, answer.shifts_ms))
        if not answer.proved_optimal:
            # The others would fare no better.
            why = f"cut short at {limit_s:g} s"
            break
    return about | {
        "engine_s": statistics.median(ours),
        "engine_proved": proved,
        "instances": len(members),
        "peer_s": statistics.median(theirs) if theirs else math.nan,
        "peer_note": why,
        "peer_lost": max(lost, default=math.nan),
    }


def _asked(case: cases.Case, tick_ms: float, peer: Peer | None, limit_s: float) -> tuple[float, PeerAnswer]:
    if peer is None:
        raise GridError("Numba is not installed")
    grid = tick_grid(case.jobs, case.capacity_gbps, tick_ms)
    solve, answer = peer.solve(), PeerAnswer.nothing()

    def ask() -> None:
        nonlocal answer
        answer = solve(grid, limit_s)

    return timing.sample(ask, 1), answer


def tables(result: dict[str, Any]) -> str:
    """Units, steps and periods."""
    units = [
        [
            str(one["jobs"]),
            str(one["instances"]),
            seconds(one["in_ms_s"]),
            seconds(one["in_us_s"]),
            ratio(one["in_us_s"] / one["in_ms_s"]),
            ratio(one["largest_ratio"]),
        ]
        for one in result["units"]
    ]
    steps = [
        [f"{one['jobs']}", f"{one['step_ms']:g} ms", f"{round(255 / one['step_ms']):,}", *_both(one)]
        for one in result["steps"]
    ]
    periods = [["/".join(map(str, one["periods_ms"])), f"{one['lcm_ms']:,}", *_both(one)] for one in result["periods"]]
    peer = "Numba enumeration"
    return (
        "### The same jobs in µs instead of ms\n\nEvery ms read as a µs, the resolution too.\n\n"
        + table(["jobs", "instances", "in ms", "in µs", "ratio of medians", "largest ratio"], units)
        + "\n### Finer times\n\nJobs of 255 ms, up to two phases, all times multiples of a step; the peer searches a "
        f"grid of that step for at most {result['limit_s']:g} s.\n\n![time against resolution](resolution.png)\n\n"
        + table(["jobs", "step", "steps per iteration", "engine", "proved", peer, "note"], steps)
        + "\n### Periods with little in common\n\nThree jobs of one phase, nothing free (resolution 0); the peer "
        "searches 1 ms ticks.\n\n![time against the LCM](lcm.png)\n\n"
        + table(["periods, ms", "LCM, ms", "engine", "proved", peer, "note"], periods)
    )


def _both(one: dict[str, Any]) -> list[str]:
    lost = f"lost {score(one['peer_lost'])}" if one["peer_lost"] > CLOSE else ""
    note = ", ".join(filter(None, [one["peer_note"], lost]))
    return [seconds(one["engine_s"]), f"{one['engine_proved']} of {one['instances']}", seconds(one["peer_s"]), note]
