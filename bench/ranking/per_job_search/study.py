"""Shifts searched for ``per_job`` beside shifts searched for the mean: score, bound, simulated slowdown, time.

``python -m bench.ranking.per_job_search [--quick]`` prints Markdown. A full run takes some twenty minutes on two cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from bench.measuring.tables import seconds, table
from bench.ranking.prediction.agreement import SAME, bootstrap, correlations, regret
from bench.ranking.prediction.study import study_rounds
from bench.ranking.prediction.trial import SHIFTED, TrialOptions, paced_at, simulated
from bench.ranking.rounds import Settings, generate
from cassini_core import RankedCandidate
from cassini_core.arrays import Int64Array
from cassini_core.units import TICKS_PER_MS

from . import loops
from .search import PerJobSearch, Ranked, ranked

PASSES = (1, 4, 16)
RANDOM = -1
"""Stands for shifts at random where numbers of passes stand; 0 is the search for the mean."""
NAME = {0: "mean", 1: "per_job, 1 pass", 4: "per_job, 4 passes", 16: "per_job, 16 passes", RANDOM: "random shifts"}

OPTIONS = TrialOptions(random_starts=1)
WAYS = (paced_at(OPTIONS.margins[0]), SHIFTED)


@dataclass(frozen=True, slots=True)
class Seen:
    """One candidate: score and slowdown by passes; of joint ones the bound and the time too."""

    round_name: str
    family: str
    status: str
    ties: tuple[float, int, int]
    score: dict[int, float]
    slowdown: dict[int, dict[str, float]]
    upper_bound: dict[int, float]
    cpu_s: dict[int, float]


def see(one: tuple[str, Settings]) -> list[Seen]:
    """All candidates of a round."""
    family, settings = one
    problem = generate(settings)
    paces = {job.id: job.iteration_ms for job in problem.jobs}
    found = ranked(problem, OPTIONS.node_limit)
    seen = []
    for entry in found.entries:
        answer, candidate = entry.answer, problem.candidates[entry.number]
        shifts, score = {0: entry.candidate}, {0: entry.candidate.score or 0.0}
        bound, cpu_s = {0: entry.candidate.upper_bound}, dict[int, float]()
        if answer.status == "joint":
            search = PerJobSearch(found.context, answer)
            begun = time.process_time()
            found.search.answer(entry.number, None)
            cpu_s[0] = time.process_time() - begun
            for passes in PASSES:
                begun = time.process_time()
                better = search.run(passes)
                cpu_s[passes] = time.process_time() - begun
                score[passes], bound[passes] = better.score, better.upper_bound
                shifts[passes] = _at(entry.candidate, found, better.shift)
            anywhere = _random_shift(found, settings.name)
            score[RANDOM], shifts[RANDOM] = search.scores(anywhere)[0], _at(entry.candidate, found, anywhere)
        slowdown = {way: simulated(problem, candidate, at, paces, settings.name, OPTIONS) for way, at in shifts.items()}
        ties = -answer.least_slack, len(answer.placement.links), entry.number
        seen.append(Seen(settings.name, family, answer.status, ties, score, slowdown, bound, cpu_s))
    return seen


def _at(candidate: RankedCandidate, found: Ranked, shift: Int64Array) -> RankedCandidate:
    ms = dict(zip(found.context.flat.jobs, (shift / TICKS_PER_MS).tolist(), strict=True))
    return replace(candidate, shifts_ms={job: ms[job] for job in candidate.shifts_ms})


def _random_shift(found: Ranked, name: str) -> Int64Array:
    flat = found.context.flat
    fraction = np.array([random.Random(f"{name}, {job}").random() for job in flat.jobs])
    return np.asarray((fraction * flat.period).astype(np.int64))


def shifts_table(seen: Sequence[Seen]) -> str:
    """What joint candidates score and how slow they are, against the shifts for the mean."""
    rows = []
    families = list(dict.fromkeys(one.family for one in seen))
    for family in [*families, "all"]:
        joint = [one for one in seen if one.status == "joint" and family in (one.family, "all")]
        if len({one.round_name for one in joint}) < 3:
            continue
        for passes in (0, *PASSES, RANDOM):
            rows.append([family, str(len(joint)), *_shifts_row(joint, passes)])
    head = ["rounds", "joint", "searched for", "per_job", "proven", *(f"slowdown, {way}" for way in WAYS), "time"]
    return table(head, rows)


def _shifts_row(joint: Sequence[Seen], passes: int) -> list[str]:
    name = NAME[passes]
    scores = statistics.fmean(one.score[passes] - (one.score[0] if passes else 0.0) for one in joint)
    slower = []
    for way in WAYS:
        by_round = defaultdict(list)
        for one in joint:
            by_round[one.round_name].append(one.slowdown[passes][way] - (one.slowdown[0][way] if passes else 0.0))
        means = bootstrap([statistics.fmean(each) for each in by_round.values()])
        slower.append(f"{means.mean:+.4f} ({means.low:+.4f} to {means.high:+.4f})" if passes else f"{means.mean:.4f}")
    if passes == RANDOM:
        return [name, f"{scores:+.4f}", "–", *slower, "–"]
    proven = statistics.fmean(one.upper_bound[passes] - one.score[passes] < 1e-9 for one in joint)
    took = statistics.fmean(one.cpu_s[passes] for one in joint)
    return [name, f"{scores:+.5f}" if passes else f"{scores:.4f}", f"{proven:.0%}", *slower, seconds(took)]


def ranking_table(seen: Sequence[Seen]) -> str:
    """How well candidates are ranked by what each search says, run with its shifts."""
    rounds = defaultdict(list)
    for one in seen:
        rounds[one.round_name].append(one)
    rows = []
    for passes in (0, *PASSES):
        row = [NAME[passes]]
        picks = [_first(ones, passes) for ones in rounds.values()]
        before = [_first(ones, 0) for ones in rounds.values()]
        row.append(f"{sum(a != b for a, b in zip(picks, before, strict=True))} of {len(rounds)}")
        for way in WAYS:
            measured = [[one.slowdown.get(passes, one.slowdown[0])[way] for one in ones] for ones in rounds.values()]
            said = [[one.score.get(passes, one.score[0]) for one in ones] for ones in rounds.values()]
            telling = [k for k, each in enumerate(measured) if max(each) - min(each) > SAME]
            rho = bootstrap([correlations(said[k], measured[k])[0] for k in telling])
            of_first = [each[pick] for each, pick in zip(measured, picks, strict=True)]
            today = [ones[pick].slowdown[0][way] for ones, pick in zip(rounds.values(), before, strict=True)]
            change = bootstrap([a - b for a, b in zip(of_first, today, strict=True)])
            lost = statistics.fmean(regret(each, pick) for each, pick in zip(measured, picks, strict=True))
            row += [f"{rho.mean:.3f}", f"{lost:.2%}", f"{change.mean:+.4f} ({change.low:+.4f} to {change.high:+.4f})"]
        rows.append(row)
    head = ["searched for", "another first"]
    for way in WAYS:
        head += [f"Spearman, {way}", "mean regret", "slowdown of the first"]
    return table(head, rows)


def _first(ones: Sequence[Seen], passes: int) -> int:
    return min(
        range(len(ones)), key=lambda k: (-round(ones[k].score.get(passes, ones[k].score[0]) / 1e-9), ones[k].ties)
    )


def loops_table(quick: bool) -> str:
    """Small loops: distance from the best, proofs, slowdown, time."""
    rows = []
    for n_jobs, number in ((3, 400), (4, 400), (5, 200), (7, 200)):
        found = loops.drawn(n_jobs, n_jobs, 20 if quick else number, PASSES)
        for passes in (0, *PASSES):
            missed, at_best, proven, gap, slower, error, cpu_s = loops.row(found, passes)
            name = NAME[passes]
            more = [f"{slower:+.4f} ± {error:.4f}", seconds(cpu_s)] if passes else ["0", "–"]
            said = [f"{missed:.4f}", f"{at_best:.0%}", f"{proven:.0%}", f"{gap:.4f}"]
            rows.append([str(n_jobs), str(len(found)), name, *said, *more])
        slower, error = loops.random_row(found)
        rows.append([str(n_jobs), str(len(found)), "random shifts", *["–"] * 4, f"{slower:+.4f} ± {error:.4f}", "–"])
    head = ["jobs", "loops", "searched for", "missed", "at best", "proven", "gap", "slowdown", "more time"]
    return table(head, rows)


def main(argv: list[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds and loops")
    parser.add_argument("--rounds-per-family", type=int, default=10, help="of six families (default 10)")
    parser.add_argument("--processes", type=int, default=2, help="rounds at a time (default 2)")
    options = parser.parse_args(argv)
    rounds = list(study_rounds(2 if options.quick else options.rounds_per_family, 10))
    see(rounds[0])  # compiles the simulator once
    with ProcessPoolExecutor(options.processes, mp_context=multiprocessing.get_context("spawn")) as pool:
        seen = [one for ones in pool.map(see, rounds) for one in ones]
    print(shifts_table(seen), ranking_table(seen), loops_table(options.quick), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
