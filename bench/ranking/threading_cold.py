"""What the first call of a process costs, and what memory: each in processes of their own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from .threading_worker import ROOT, environment

FIRST_CALL = """
import json, sys, time
from pathlib import Path

def resident_mib():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4 / 1024

import cassini_core
from bench.ranking.threading_links import Links
from bench.ranking.threading_ways import NUMBA, PYTHON, one_call
links = Links.load(Path(sys.argv[1]))
one_call(links, 1)
found = {"before": resident_mib()}
if sys.argv[2] in NUMBA:
    begin = time.perf_counter()
    import numba
    found["import"] = time.perf_counter() - begin
begin = time.perf_counter()
{**PYTHON, **NUMBA}[sys.argv[2]](links, 1)
first = time.perf_counter() - begin
begin = time.perf_counter()
{**PYTHON, **NUMBA}[sys.argv[2]](links, 1)
found["first"] = first - (time.perf_counter() - begin)
found["memory"] = resident_mib() - found.pop("before")
print(json.dumps(found))
"""

THREADS, PRANGE = "Python threads, 2", "prange, chunks, 2"


def cold(links: Path, layer: str, cache: Path, tries: int) -> list[dict[str, object]]:
    """Medians: seconds of importing numba, seconds of the first call above those of the second, MiB."""
    rows: list[dict[str, object]] = []
    for what, way, full in (
        (THREADS, THREADS, True),
        (f"prange, {layer}, compiled code in its folder", PRANGE, True),
        (f"prange, {layer}, empty folder", PRANGE, False),
    ):
        found = [_first_call(links, way, layer, cache if full else None) for _ in range(tries)]
        rows.append({"what": what} | {key: statistics.median(one[key] for one in found) for key in found[0]})
    return rows


def _first_call(links: Path, way: str, layer: str, cache: Path | None) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as empty:
        done = subprocess.run(
            [sys.executable, "-c", FIRST_CALL, str(links), way],
            env=environment(layer, cache or empty),
            cwd=ROOT,
            text=True,
            check=True,
            capture_output=True,
        )
    said: dict[str, float] = json.loads(done.stdout)
    return said
