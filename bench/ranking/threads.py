"""What more threads do for rankings, from ten candidates to ten thousand, and what compiled loops take to load.

``python -m bench.ranking.threads`` writes ``ranking-threads.md``, its figures as JSON, and a plot. Each round is ranked
in a process of its own, with all numbers of threads in turns, and every answer has the bytes of the first one. On a
machine with 64 cores it takes half an hour; ``--sizes`` and ``--threads`` choose less, ``--quick`` next to nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.ticker import FixedLocator, FuncFormatter

from bench.measuring import machine, reports
from bench.measuring.plots import SERIES, saved
from bench.measuring.progress import Progress
from bench.measuring.tables import ratio, seconds, table
from bench.ranking.rounds import generate
from bench.ranking.scale.cases import settings_of
from bench.ranking.scale.fresh_process import in_fresh_process, keep

Found = dict[str, Any]

SIZES = ("10x1000", "100x300", "100x1000", "1000x1000", "10000x1000", "10000x24000")
"""Candidates and jobs. A rack of 64 GPUs has 15.6 jobs: 1,000 jobs have 4,096 GPUs, 24,000 jobs 98,304."""

THREADS = (1, 2, 4, 8, 16, 32, 64)


def measured(sizes: Sequence[str], threads: Sequence[int], runs: int, processes: int, progress: Progress) -> Found:
    """All figures of the report."""
    found: Found = {"loading": [], "sizes": []}
    with tempfile.TemporaryDirectory() as folder:
        progress.study("loading compiled loops")
        for place in range(processes):
            cache = Path(folder) / f"cache{place}"
            for kind in ("cold", "cached"):
                found["loading"].append({"kind": kind, **in_fresh_process("loading", {"cache": str(cache)})})
        progress.study("rounds")
        for place, size in enumerate(sizes):
            progress.step(place, len(sizes), size)
            candidates, jobs = map(int, size.split("x"))
            settings = settings_of(candidates, jobs)
            file = keep(generate(settings), Path(folder) / "round.pickle")
            rows = in_fresh_process("threads", {"file": str(file), "threads": list(threads), "runs": runs})
            gpus = settings.racks * settings.gpus_per_rack
            found["sizes"].append({"candidates": candidates, "jobs": jobs, "gpus": gpus, **rows})
    progress.done()
    return found


def markdown(found: Found, about: Mapping[str, str], took_s: float, quick: bool, plot: str) -> str:
    """The whole report."""
    parts = reports.heading("Threads", about, quick)
    parts.append(
        f"Written by `python -m bench.ranking.threads` in {seconds(took_s)}. Rounds of `bench.ranking.rounds`, each "
        "ranked in a process of its own, with all numbers of threads in turns: medians of wall time after a warm-up "
        "call. Every answer had the same bytes. A number of threads above that of the cores is no gain to be expected. "
        "*Memory*: peak of the process, the problem included.\n"
    )
    threads = [int(one) for one in found["sizes"][0]["wall_s"]]
    head = ["candidates × jobs", "GPUs", "runs", *(f"{one}" for one in threads), "best", "memory"]
    rows = []
    for row in found["sizes"]:
        times = [row["wall_s"][str(one)] for one in threads]
        most = times[0] / min(times)
        name = f"{row['candidates']:,} × {row['jobs']:,}"
        memory = f"{row['peak_mib']:,.0f} MiB"
        rows.append([name, f"{row['gpus']:,}", str(row["runs"]), *map(seconds, times), ratio(most), memory])
    parts += ["## Time by threads\n", table(head, rows), f"![time and speed-up by threads]({plot})\n"]
    parts += ["## Loading compiled loops\n", _loading(found["loading"])]
    return "\n".join(parts)


def _loading(rows: Sequence[Found]) -> str:
    lines = []
    for kind in ("cold", "cached"):
        own = [row for row in rows if row["kind"] == kind]
        values = [[row[key] for row in own] for key in ("import_s", "load_s")]
        lines.append([kind, *(f"{seconds(statistics.median(some))} ({seconds(max(some))})" for some in values)])
    why = {row["why_not"] for row in rows} - {""}
    return (
        f"Fresh processes, {len(rows) // 2} of each: median (most). *Cold*: the cache is empty, *cached*: an earlier "
        "process filled it. It happens once in a process, beside the solving of links, where a round is large.\n\n"
        + table(["", "import numba", "compile or load"], lines)
        + "".join(f"\nNot compiled: {one}.\n" for one in sorted(why))
    )


def draw(found: Found, file: Path, footnote: str) -> None:
    """Time, and how many times faster than with one thread, by threads."""
    with saved(file, footnote):
        _, axes = pyplot.subplots(1, 2, figsize=(11, 4.5))
        for color, row in zip(SERIES, found["sizes"], strict=False):
            threads = [int(one) for one in row["wall_s"]]
            times = list(row["wall_s"].values())
            name = f"{row['candidates']:,} × {row['jobs']:,}, {row['gpus']:,} GPUs"
            axes[0].plot(threads, times, "o-", color=color, markersize=4, linewidth=1, label=name)
            axes[1].plot(threads, [times[0] / one for one in times], "o-", color=color, markersize=4, linewidth=1)
        axes[1].plot(threads, threads, color="#999999", linewidth=0.6, linestyle="--")
        axes[0].set(xscale="log", yscale="log", xlabel="threads", ylabel="median time of a call, s")
        axes[1].set(xscale="log", yscale="log", xlabel="threads", ylabel="times faster than one thread")
        for one in axes:
            one.xaxis.set_major_locator(FixedLocator(threads))
            one.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            one.minorticks_off()
            one.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes[0].legend(fontsize=7)


def main(argv: list[str] | None = None) -> int:
    """Measure all and write the report."""
    parser: argparse.ArgumentParser = reports.parser("bench.ranking.threads", __doc__, "two small rounds")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    own = [one for one in THREADS if one <= max(2, cores)]
    parser.add_argument("--sizes", nargs="+", default=SIZES, help=f"candidates x jobs (default {' '.join(SIZES)})")
    parser.add_argument("--threads", nargs="+", type=int, default=own, help="numbers of threads, least first")
    parser.add_argument("--runs", type=int, default=5, help="timed calls of each (default 5)")
    options = parser.parse_args(argv)
    about, progress = machine.about(), Progress()
    sizes, runs, processes = (["3x40", "6x40"], 1, 1) if options.quick else (options.sizes, options.runs, 5)
    found = measured(sizes, options.threads, runs, processes, progress)
    options.out.mkdir(parents=True, exist_ok=True)
    name, plot = "ranking-threads", "ranking-threads.png"
    draw(found, options.out / plot, reports.footnote(about, options.quick))
    text = markdown(found, about, sum(progress.seconds.values()), options.quick, plot)
    figures = {"format": "cassini-bench-threads/1", "quick": options.quick, "machine": about, **found}
    reports.write(options.out, name, text, figures, [plot])
    return 0


if __name__ == "__main__":
    sys.exit(main())
