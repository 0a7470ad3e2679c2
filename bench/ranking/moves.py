"""How often running jobs are moved from round to round, by ``rank`` alone and by ``rank`` that is told where they run.

``python -m bench.ranking.moves [--quick] [--out FOLDER]`` writes ``ranking-moves.md`` and its figures as JSON. A full
run takes some ten minutes of processor time.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from bench.measuring import machine, reports
from bench.measuring.progress import Progress
from bench.measuring.tables import ratio, seconds, table
from cassini_core import Problem, RankedCandidate, Ranker, Ranking
from cassini_core.joint.turning import least_moves, that_meet
from cassini_core.units import TICKS_PER_MS, ticks_from_ms

from .replay import CHANGED, ROUNDS, replay
from .replay_report import MEDIUM, SMALL
from .rounds import Settings

TOLERANCES = (0.01, 0.03)


@dataclass(frozen=True, slots=True)
class Study:
    """Successive rounds."""

    name: str
    settings: Settings
    rounds: int


@dataclass(frozen=True, slots=True)
class Round:
    """One round after the first, ranked one way.

    Attributes
    ----------
    running : int
        Jobs that ran before and share a link in the best placement.
    moved : int
        Of these, those that must move, after the turn with which the fewest do.
    waiting : float
        Iterations that they wait together.
    score, best_score : float
        Of the best placement, and without regard to running jobs in the same round.
    cpu_s : float
        Processor time of all threads.
    """

    running: int
    moved: int
    waiting: float
    score: float
    best_score: float
    cpu_s: float


@dataclass(slots=True)
class Way:
    """Ranks round after round, each from where the round before left the jobs."""

    name: str
    tolerance: float | None
    ranker: Ranker = field(default_factory=Ranker)
    shifts_ms: Mapping[str, float] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)

    def rank(self, problem: Problem) -> tuple[Ranking, Mapping[str, float], float]:
        """The ranking, where jobs ran before, and the processor time that it took."""
        here = {job.id for job in problem.jobs}
        running = {job: shift_ms for job, shift_ms in self.shifts_ms.items() if job in here}
        options: dict[str, Any] = {}
        if self.tolerance is not None:
            options = {"running_shifts_ms": running, "running_tolerance": self.tolerance}
        cpu = time.process_time()
        return self.ranker.rank(problem, **options), running, time.process_time() - cpu


def run(study: Study, progress: Progress) -> list[Way]:
    """All rounds of a study, ranked in turns."""
    ways = [Way("without", None), *(Way(f"`running_tolerance={one:g}`", one) for one in TOLERANCES)]
    for index, problem in enumerate(replay(study.settings, study.rounds)):
        progress.step(index, study.rounds, study.name)
        best_score = 0.0
        for way in ways:
            ranking, running, cpu_s = way.rank(problem)
            best = ranking.best
            assert best is not None
            assert best.score is not None
            if best.disturbance is None:
                shifts_ms, wait = turned(problem, best, ranking.paces_ms, running)
            else:
                shifts_ms, wait = dict(best.shifts_ms), dict(best.disturbance.moves_ms)
            if way.tolerance is None:
                best_score = best.score
            way.shifts_ms = shifts_ms
            waiting = sum(ms / ranking.paces_ms[job] for job, ms in sorted(wait.items()))
            share = len(running.keys() & best.shifts_ms.keys())
            if index:
                way.rounds.append(Round(share, len(wait), waiting, best.score, best_score, cpu_s))
    return ways


def turned(
    problem: Problem, best: RankedCandidate, paces_ms: Mapping[str, float], running: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, float]]:
    """Shifts of a placement turned so that the fewest running jobs move, ms, and how long these wait."""
    names = sorted(best.shifts_ms)
    number = {job: k for k, job in enumerate(names)}
    period = np.array([ticks_from_ms(paces_ms[job]) for job in names])
    shift = np.array([ticks_from_ms(best.shifts_ms[job]) for job in names])
    at = np.array([ticks_from_ms(running[job]) if job in running else -1 for job in names])
    at = np.where(at < 0, at, at % period)
    routes = next(one for one in problem.candidates if one.id == best.id).routes
    matters = [job for job in names if job not in best.free_jobs]
    links = ([number[job] for job in matters if link.id in routes[job]] for link in best.links)
    found = [least_moves(one, shift, at, period) for one in that_meet(links, period)]
    to = {k: ticks for one in found for k, ticks in one.shift.items()}
    wait = {names[k]: ticks / TICKS_PER_MS for one in found for k, ticks in one.wait.items()}
    return {job: to.get(k, int(shift[k])) / TICKS_PER_MS for job, k in number.items()}, wait


def studies(quick: bool) -> list[Study]:
    """What is replayed."""
    if quick:
        return [Study("48 jobs x 6 candidates", SMALL, 3)]
    some = replace(SMALL, seed="moves", candidates=12)
    return [Study("48 jobs x 12 candidates", some, ROUNDS), Study("300 jobs x 50 candidates", MEDIUM, ROUNDS)]


def main(argv: list[str] | None = None) -> int:
    """Run all studies and write the report."""
    options = reports.parser("bench.ranking.moves", __doc__, "few small rounds").parse_args(argv)
    about, progress = machine.about(), Progress()
    found = []
    for study in studies(options.quick):
        progress.study(study.name)
        found.append((study, run(study, progress)))
    progress.done()
    options.out.mkdir(parents=True, exist_ok=True)
    text = markdown(found, about, sum(progress.seconds.values()), options.quick)
    figures: dict[str, Any] = {"format": "cassini-bench-moves/1", "quick": options.quick, "machine": about}
    figures["studies"] = {
        study.name: {"study": asdict(study), "ways": {way.name: list(map(asdict, way.rounds)) for way in ways}}
        for study, ways in found
    }
    reports.write(options.out, "ranking-moves", text, figures, [])
    return 0


def markdown(found: Sequence[tuple[Study, Sequence[Way]]], about: Mapping[str, str], took_s: float, quick: bool) -> str:
    """The whole report."""
    parts = reports.heading("Running jobs that are moved, round after round", about, quick)
    parts.append(
        f"Written by `python -m bench.ranking.moves` in {seconds(took_s)}. Rounds of `bench/ranking/replay.py`: from "
        f"one to the next {CHANGED:.0%} of the jobs leave, arrive or move, and all candidates are drawn anew. Each way "
        "ranks every round with a `Ranker` of its own, from where its own round before left the jobs; *without* is a "
        "ranking that is not told of running jobs. *Moved*: of the jobs that ran and share a link in the best "
        "placement, those that get another shift, after the turn of all jobs with which the fewest do. *Waiting*: "
        "iterations that these wait, together. *Score*: how far the best placement is below that of *without*, mean "
        "and worst round. Means over the rounds after the first.\n"
    )
    head = ["rounds", "way", "run and share", "moved", "share", "waiting", "rounds without moves", "score", "worst"]
    rows = [_row(study, way, ways[0]) for study, ways in found for way in ways]
    parts.append(table([*head, "processor time, median", "of without"], rows))
    return "\n".join(parts)


def _row(study: Study, way: Way, without: Way) -> list[str]:
    rounds = way.rounds

    def mean(of: Callable[[Round], float]) -> float:
        return statistics.fmean(map(of, rounds))

    lost = [one.best_score - one.score for one in rounds]
    return [
        study.name,
        way.name,
        f"{mean(lambda one: one.running):.0f}",
        f"{mean(lambda one: one.moved):.1f}",
        f"{_share(rounds):.0%}",
        f"{mean(lambda one: one.waiting):.1f}",
        f"{sum(one.moved == 0 for one in rounds)} of {len(rounds)}",
        f"{statistics.fmean(lost):.5f}",
        f"{max(lost):.5f}",
        seconds(statistics.median(one.cpu_s for one in rounds)),
        ratio(statistics.median(a.cpu_s / b.cpu_s for a, b in zip(rounds, without.rounds, strict=True))),
    ]


def _share(rounds: Iterable[Round]) -> float:
    some = list(rounds)
    return sum(one.moved for one in some) / max(1, sum(one.running for one in some))


if __name__ == "__main__":
    sys.exit(main())
