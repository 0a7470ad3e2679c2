"""The comparison of threads as Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from typing import Any

from bench.tables import ratio, seconds, table

from .threading_ways import CHUNK, NODE_LIMIT

BASE = "Python threads, 2"


def markdown(found: Mapping[str, Any], about: Mapping[str, str], took_s: float, quick: bool) -> str:
    """The whole report."""
    parts = ["# Numba's prange, or Python threads?\n"]
    if quick:
        parts.append("**A quick run: few links. Not to be quoted.**\n")
    parts.append("".join(f"- {what}: {said}\n" for what, said in about.items()))
    parts.append(_introduction(found, took_s))
    parts.append("## Warm\n")
    parts.append(_times(found))
    parts.append("## The first call\n")
    parts.append(_cold(found))
    parts.append("## Hazards\n")
    parts.append(_hazards(found))
    return "\n".join(parts)


def _introduction(found: Mapping[str, Any], took_s: float) -> str:
    n_parts = len({row["part"] for row in found["times"]})
    return (
        f"Written by `python -m bench.ranking.threading_peers` in {seconds(took_s)}. All {found['links']:,} distinct "
        f"links of a round of `bench.ranking.rounds`, with at most {NODE_LIMIT} search nodes each, dealt out into "
        f"{n_parts} parts; every way solves a part before any goes on to the next. All ways gave the same bytes for "
        "every link: shifts, slacks, free jobs, results and status.\n\n"
        "*One call*: `cassini_solve_links`, in one thread. *Python threads*: a `ThreadPoolExecutor` over chunks of "
        f"{CHUNK} links, each a call of `_kernel.solve_links`; `rank` does the same with its own objects. *Prange*: "
        "`@njit(parallel=True, nogil=True, cache=True)` calling `cassini_solve_link` by symbol, in equal parts (the "
        f"default) or in chunks of {CHUNK}. *Numba serial in Python threads*: the same loop without `prange`, called "
        "from a `ThreadPoolExecutor`. The number is that of threads.\n\n"
        f"Threading layers that could be loaded: {', '.join(found['layers'])}. Where the load average at the "
        "start is near the number of cores or above, others used the machine too: absolute times are then those of a "
        "busy machine, and a second thread gains less or nothing in any way.\n"
    )


def _times(found: Mapping[str, Any]) -> str:
    by_way: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for row in found["times"]:
        by_way.setdefault((row["layer"], row["way"]), {})[row["part"]] = row
    base = by_way["", BASE]
    rows = []
    for (layer, way), own in by_way.items():
        ratios = [own[part]["seconds"] / base[part]["seconds"] for part in own]
        cpu = statistics.median(own[part]["cpu_seconds"] / base[part]["cpu_seconds"] for part in own)
        each = statistics.median(row["seconds"] / row["links"] for row in own.values())
        spread = f"{ratio(min(ratios))} to {ratio(max(ratios))}"
        name = f"{way} ({layer})" if layer else way
        rows.append([name, seconds(each), ratio(statistics.median(ratios)), spread, ratio(cpu)])
    return (
        f"Time per link, and over that of `{BASE}` in the same turn: median and range over the parts. *CPU*: the same "
        "ratio of processor time, all threads together; others on the machine hardly change it.\n\n"
        + table(["way", "per link", "ratio", "least to most", "CPU"], rows)
    )


def _cold(found: Mapping[str, Any]) -> str:
    rows = [
        [
            row["what"],
            seconds(row.get("import", math.nan)),
            seconds(max(0.0, row["first"])),
            f"{row['memory']:.0f} MiB",
        ]
        for row in found["cold"]
    ]
    return (
        "In a fresh process that has imported `cassini_core` and solved some links in one call: what comes on top. "
        "*First call*: how much longer it takes than the second. Medians.\n\n"
        + table(["way", "import numba", "first call", "memory"], rows)
    )


def _hazards(found: Mapping[str, Any]) -> str:
    rows = [
        [one["hazard"], one["way"], "killed" if one["code"] is None else str(one["code"]), _quoted(one["said"])]
        for one in found["hazards"]
    ]
    return (
        "Each in a process of its own; negative codes are signals. A process that hangs is killed after a while. "
        "*Said*: what it printed of it. A call of `prange` is one call of compiled code, and Python handles Ctrl-C "
        "after it; `rank` waits in Python and sets the kernel's cancel flag.\n\n"
        + table(["hazard", "way", "code", "said"], rows)
    )


def _quoted(said: str) -> str:
    short = said if len(said) <= 120 else f"{said[:117]}..."
    return short.replace("|", "\\|")
