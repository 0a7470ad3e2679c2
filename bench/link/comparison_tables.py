"""The comparison in Markdown: ratios of medians by number of jobs, proofs, and what the shifts really score."""

from __future__ import annotations

import math
import statistics
from typing import Any

from bench.measuring.tables import ratio, score, seconds, table


def tables(result: dict[str, Any]) -> str:
    """Ratios by number of jobs, then one row per group, grid and peer."""
    rows = [_row(*key, runs) for key, runs in grouped(result).items()]
    times = ["instances", "engine", "peer's time", "search", "whole call"]
    head = ["jobs", "grid", "peer", *times, "proved", "score lost", "most lost"]
    notes = "".join(f"\n{note}.\n" for note in result["notes"])
    return (
        "Each method on one core; engine and peer run in turns on the same instances. How many times longer than "
        "`PreparedLink.solve` a peer searches a grid already laid out, ratio of medians:\n\n"
        + _by_jobs(result)
        + "\nGreedy rotation and random delays prove nothing and lose score; below, with all else. Times are medians. "
        "*Search* is the ratio above; *whole call* adds laying out the grid there and `solve_link` from jobs to shifts "
        f"here. A peer that can prove an optimum stops after {result['limit_s']:g} s: `≥`. *Score lost*: exact optimum "
        "less the exact score of the peer's shifts, median and largest. Every proven optimum was compared with the "
        "others on the same grid, and on 1 ms ticks with the engine's.\n\n" + table(head, rows) + notes
    )


def _by_jobs(result: dict[str, Any]) -> str:
    """One row per grid and peer, one column per group."""
    found = {key: medians(runs) for key, runs in grouped(result).items()}
    groups = [group for group in dict.fromkeys(group for group, _, _ in found) if "copies" not in group]
    rows = []
    # Peers in the order they ran, the grid of angles first.
    for grid, peer in sorted(
        dict.fromkeys((grid, peer) for _, grid, peer in found), key=lambda one: one[0] == "1 ms ticks"
    ):
        cells = [found.get((group, grid, peer)) for group in groups]
        rows.append([f"{peer}, {grid}", *(_ratio(one) if one else "not run" for one in cells)])
    return table(["peer", *groups], rows)


def _ratio(one: dict[str, Any]) -> str:
    return ratio(one["search_ratio"], at_least=one["at_least"])


def grouped(result: dict[str, Any]) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Runs by group, grid and peer, in the order met."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for run in result["runs"]:
        found.setdefault((run["group"], run["grid"], run["peer"]), []).append(run)
    return found


def medians(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over instances of one group, grid and peer, and their ratios."""
    middle = {name: statistics.median(run[name] for run in runs) for name in ("engine_s", "engine_whole_s", "peer_s")}
    whole_peer = statistics.median(run["peer_s"] + run["layout_s"] for run in runs)
    cut = sum(run["cut_short"] for run in runs)
    return middle | {
        "search_ratio": middle["peer_s"] / middle["engine_s"],
        "whole_ratio": whole_peer / middle["engine_whole_s"],
        # The median itself is a lower bound once half of the runs were cut short.
        "at_least": 2 * cut >= len(runs),
    }


def _row(said: str, grid: str, peer: str, runs: list[dict[str, Any]]) -> list[str]:
    found = medians(runs)
    lost = [max(0.0, run["exact"] - run["true"]) for run in runs if not math.isnan(run["true"])]
    proves = any(run["proved"] or run["cut_short"] for run in runs)
    return [
        said,
        grid,
        peer,
        str(len(runs)),
        seconds(found["engine_s"]),
        ("≥ " if found["at_least"] else "") + seconds(found["peer_s"]),
        _ratio(found),
        ratio(found["whole_ratio"], at_least=found["at_least"]),
        f"{sum(run['proved'] for run in runs)} of {len(runs)}" if proves else "never",
        score(statistics.median(lost)) if lost else "no answer",
        score(max(lost)) if lost else "no answer",
    ]
