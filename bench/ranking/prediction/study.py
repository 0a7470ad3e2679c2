"""Does the ranking predict? Small rounds are ranked, every candidate is simulated, and the two are compared.

``python -m bench.ranking.prediction [--quick] [--out FOLDER]`` writes ``ranking-prediction.md``, its figures as JSON,
and a plot. A full run takes some minutes on two cores.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, replace

from bench.measuring import machine, reports
from bench.measuring.progress import Progress
from bench.ranking.cluster import NoRoomError
from bench.ranking.rounds import Settings, current_placement

from .plot import draw
from .tables import markdown
from .trial import Trial, TrialOptions, run_trial

GPUS_PER_SERVER = 8
SERVERS_PER_RACK = 4
LEAST_SERVERS, MOST_SERVERS = 24, 200
JOBS_PER_GPU = 0.2
"""Some fewer than in the large round: a small cluster has less room for chance. Uplinks per GPU are the same."""

LOADS = {"crowded": 1 / 3, "medium": 1 / 6, "light": 1 / 12}
"""Share of the jobs that use the network; the first is that of the large round."""

ATTEMPTS = 100

PERIODS_MS = {"six periods": (150, 200, 240, 300, 400, 600), "harmonic periods": (150, 300, 600)}


def study_rounds(per_family: int, candidates: int) -> Iterator[tuple[str, Settings]]:
    """The rounds, family by family, each with sizes from 24 to 200 servers in equal ratios."""
    for load, spanning in LOADS.items():
        for periods, periods_ms in PERIODS_MS.items():
            for index in range(per_family):
                position = index / max(1, per_family - 1)
                servers = LEAST_SERVERS * math.exp(position * math.log(MOST_SERVERS / LEAST_SERVERS))
                racks = round(servers / SERVERS_PER_RACK)
                gpus = SERVERS_PER_RACK * GPUS_PER_SERVER
                settings = Settings(
                    seed=f"prediction {load}, {periods}, {index}",
                    racks=racks,
                    gpus_per_rack=gpus,
                    uplinks=gpus // 8,
                    jobs=int(racks * gpus * JOBS_PER_GPU),
                    spanning=spanning,
                    candidates=candidates,
                    periods_ms=periods_ms,
                )
                yield f"{load}, {periods}", _that_fits(settings)


def _that_fits(settings: Settings) -> Settings:
    """These settings, or with another seed if the jobs drawn do not fit the cluster."""
    for attempt in range(ATTEMPTS):
        tried = replace(settings, seed=f"{settings.seed}, again {attempt}") if attempt else settings
        try:
            current_placement(tried)
        except NoRoomError:
            continue
        return tried
    raise NoRoomError(f"{settings.name}: {ATTEMPTS} times drawn, never did the jobs fit")


def run(
    rounds: Sequence[tuple[str, Settings]], options: TrialOptions, processes: int, progress: Progress
) -> list[Trial]:
    """Run all rounds in parallel; the results are in the order of the rounds and do not depend on ``processes``."""
    progress.study(f"{len(rounds)} rounds on {processes} processes")
    # The largest rounds first, so that no process is left alone with one at the end.
    order = sorted(range(len(rounds)), key=lambda place: -rounds[place][1].jobs * rounds[place][1].spanning)
    if processes == 1:
        done = {}
        for count, place in enumerate(order):
            progress.step(count, len(rounds), rounds[place][1].name)
            done[place] = _trial(rounds[place], options)
        return [done[place] for place in range(len(rounds))]
    # Compiles the simulator once: the processes then find it in the cache.
    run_trial(Settings(racks=3, gpus_per_rack=8, uplinks=1, jobs=4, candidates=1, moves=0), "warm-up", options)
    # A forked process may not use the threads of its parent.
    with ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(_trial, rounds[place], options): place for place in order}
        for count, future in enumerate(as_completed(running)):
            progress.step(count, len(rounds), rounds[running[future]][1].name)
        return [future.result() for future, _ in sorted(running.items(), key=lambda item: item[1])]


def _trial(one: tuple[str, Settings], options: TrialOptions) -> Trial:
    family, settings = one
    return run_trial(settings, family, options)


def main(argv: list[str] | None = None) -> int:
    """Run the study and write its report."""
    options = _parser().parse_args(argv)
    about, progress = machine.about(), Progress()
    per_family, candidates = (3, 5) if options.quick else (options.rounds_per_family, options.candidates)
    how = TrialOptions(loops=options.loops)
    trials = run(list(study_rounds(per_family, candidates)), how, options.processes, progress)
    progress.done()
    options.out.mkdir(parents=True, exist_ok=True)
    name, plot = "ranking-prediction", "ranking-prediction.png"
    draw(trials, how, options.out / plot, reports.footnote(about, options.quick))
    text = markdown(trials, how, about, sum(progress.seconds.values()), options.quick, plot)
    figures = {"format": "cassini-bench-prediction/1", "quick": options.quick, "machine": about, "how": asdict(how)}
    reports.write(options.out, name, text, figures | {"trials": [asdict(trial) for trial in trials]}, [plot])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = reports.parser("bench.ranking.prediction", __doc__, "few rounds and candidates")
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    parser.add_argument("--loops", default="joint", help="as for rank (default joint)")
    parser.add_argument("--rounds-per-family", type=int, default=20, help="of six families (default 20)")
    parser.add_argument("--candidates", type=int, default=10, help="of a round (default 10)")
    parser.add_argument("--processes", type=int, default=cpus, help=f"rounds at a time (default {cpus})")
    return parser
