"""What is asked of rankings, and whether it was reached."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bench.measuring.tables import seconds, table

RANKING_S, LINKS_S, PEAK_MIB = 5.0, 1.5, 1024.0
"""Of 1,000 candidates and 1,000 jobs."""

MIDDLE_S = 0.5
"""Of 100 candidates and 300 jobs."""

COLD_S = 1.5
"""What a cold process may take on top, whatever the size."""

SMALL_S = 0.05
"""Of ten candidates in a cold process."""

LATE_MS = 10.0
SHARE_AT_1_S = 0.995


@dataclass(frozen=True, slots=True)
class Target:
    """What was asked and found, as text."""

    what: str
    asked: str
    found: str
    reached: bool


def targets(found: Mapping[str, Any]) -> Iterator[Target]:
    """Every target of which the figures are there."""
    by_size = {(row["candidates"], row["jobs"]): row for row in found["sizes"] if not row["perturbation"]}
    if (large := by_size.get((1000, 1000))) is not None:
        yield _at_most("1,000 candidates, 1,000 jobs: the ranking", RANKING_S, large["wall_2_s"])
        yield _at_most("its links solved", LINKS_S, large["links_s"])
        peak = large["peak_mib"]
        yield Target("its memory", f"{PEAK_MIB:,.0f} MiB", f"{peak:,.0f} MiB", peak <= PEAK_MIB)
    if (middle := by_size.get((100, 300))) is not None:
        yield _at_most("100 candidates, 300 jobs: the ranking", MIDDLE_S, middle["wall_2_s"])
    yield _at_most("a cold process adds, at any size", COLD_S, max(map(cold_adds_s, found["sizes"])))
    for row in found["small"]:
        what = f"{row['name']}, {row['candidates']} candidates, in a cold process"
        yield _at_most(f"{what}, median", SMALL_S, row["first_s"]["median"])
    early = {library for row in found["small"] for library, step in row["libraries"].items() if step == "import"}
    said = ", ".join(sorted(early)) or "none"
    yield Target("networkx and numba loaded by importing `rank`", "none", said, not early)
    late = max(one["late_ms"] for one in found["deadlines"]["calls"])
    yield Target("latest answer after its deadline", f"{LATE_MS:g} ms", f"{late:.1f} ms", late <= LATE_MS)
    shares = [one["share"] for one in found["deadlines"]["calls"] if one["deadline_s"] == 1.0]
    least = min(shares, default=math.nan)
    yield Target(
        "least best score within 1 s, as a share of the reference",
        f"{SHARE_AT_1_S:.1%}",
        f"{least:.2%}",
        least >= SHARE_AT_1_S,
    )
    behind = [row for row in found["loops"] if row["default"]["score"] < row["reached_by_local_search"] - 1e-9]
    n_loops = len(found["loops"])
    yield Target("cyclic instances that reach the local search", f"{n_loops}", f"{n_loops - len(behind)}", not behind)
    proven = sum(row["no limit"]["optimal"] for row in found["loops"])
    yield Target("of them proven without limits", f"{n_loops}", f"{proven}", proven == n_loops)


def _at_most(what: str, most_s: float, found_s: float) -> Target:
    return Target(what, seconds(most_s), seconds(found_s), found_s <= most_s)


def cold_adds_s(row: Mapping[str, Any]) -> float:
    """Seconds by which importing and the first call of a process take longer than a later call."""
    return float(row["import_s"] + row["first_s"] - row["wall_2_s"])


def targets_table(found: Mapping[str, Any]) -> str:
    """A Markdown table."""
    rows = [[one.what, one.asked, one.found, "yes" if one.reached else "**no**"] for one in targets(found)]
    return table(["", "asked", "found", "reached"], rows)
