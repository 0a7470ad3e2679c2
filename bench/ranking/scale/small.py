"""Small problems in cold processes."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .fresh_process import in_fresh_process


def small(files: Mapping[str, Path], processes: int, warm_runs: int) -> list[dict[str, Any]]:
    """One row per problem file: milliseconds of each step, median and most over so many fresh processes."""
    rows = []
    for name, file in files.items():
        found = [in_fresh_process("small", {"file": str(file), "warm_runs": warm_runs}) for _ in range(processes)]
        row: dict[str, Any] = {"name": name, "processes": len(found), "candidates": found[0]["candidates"]}
        for step in ("import_s", "load_s", "first_s", "first_cpu_s", "warm_s"):
            values = [one[step] for one in found]
            row[step] = {"median": statistics.median(values), "most": max(values)}
        row["loaded_by_call"] = sorted({module for one in found for module in one["loaded_by_call"]})
        row["libraries"] = found[0]["libraries"]
        row["status"] = sorted({status for one in found for status in one["status"]})
        rows.append(row)
    return rows
