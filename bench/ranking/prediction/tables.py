"""The study of predictions as Markdown."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from bench.measuring import reports
from bench.measuring.tables import seconds, table
from bench.measuring.timing import percentile

from .agreement import Agreement, Interval, agreement, blind_regrets
from .trial import PREDICTORS, Trial, TrialOptions, paced_at, ways


def markdown(
    trials: Sequence[Trial],
    options: TrialOptions,
    about: Mapping[str, str],
    took_s: float,
    quick: bool,
    plot: str,
) -> str:
    """The whole report."""
    found = {(name, way): agreement(trials, name, way) for way in ways(options) for name in PREDICTORS}
    parts = reports.heading("Does the ranking predict?", about, quick)
    parts.append(_introduction(trials, options, took_s))
    parts.append(_conclusion(found, paced_at(options.margins[0])))
    for way in ways(options):
        parts.append(f"## Run with {way}\n")
        parts.append(_way_table(trials, found, way))
    parts.append(f"![correlation, regret, and every candidate]({plot})\n")
    parts.append("## What shifts are worth\n")
    parts.append(_worth_table(trials, options))
    parts.append("## By family\n")
    parts.append(_family_tables(trials, options))
    return "\n".join(parts)


def _introduction(trials: Sequence[Trial], options: TrialOptions, took_s: float) -> str:
    status = Counter(status for trial in trials for status in trial.status)
    said = ", ".join(f"{count:,} {name}" for name, count in status.most_common())
    racks = [trial.racks for trial in trials]
    return (
        f"Written by `python -m bench.ranking.prediction` in {seconds(took_s)}. {len(trials)} rounds of {min(racks)} "
        f"to {max(racks)} racks of four servers, {len(trials[0].status)} candidates each, ranked with "
        f"`loops={options.loops!r}` and {options.node_limit:,} search nodes per link. Candidates by status: {said}. "
        "Each is then simulated with a flow-level max-min model (`cassini_core.simulation.max_min.py`), and its "
        "*slowdown* is the mean, over the jobs that use the network, of iteration time over iteration time alone, "
        f"after {options.warm_up} iterations of warm-up and over at least {options.iterations}.\n\n"
        "Ways to run: with the shifts of the ranking and every job that has one *paced*, a little above its iteration "
        "time; with the shifts, then left alone; and from random start phases (mean of "
        f"{options.random_starts} runs). The model is ideal: no jitter, no queues, no marks, and rates change at "
        "once.\n\n"
        "*Spearman*, *Kendall*: rank correlation of the score with less slowdown, among the candidates of a round; "
        "mean over the rounds and its 95 % bootstrap interval. *Over mean*: Spearman less that of `mean`, round by "
        "round. *Regret*: slowdown of the candidate ranked first over that of the best one, less 1. `total excess` "
        "is not an aggregate of `rank` but a number it reports, with the sign turned. A candidate the ranking gave up "
        "counts with its bounds, and starts at random.\n"
    )


def _conclusion(found: Mapping[tuple[str, str], Agreement], way: str) -> str:
    """What the tables say of the aggregates, in words; from the numbers alone."""
    by_correlation = max(PREDICTORS, key=lambda name: found[name, way].spearman.mean)
    by_regret = min(PREDICTORS, key=lambda name: found[name, way].mean_regret)
    best, first = found[by_correlation, way], found[PREDICTORS[0], way]
    surely = "more than" if best.gain.low > 0 else "not surely more than"
    text = f"With {way}, `{by_correlation}` correlates best: {best.spearman.mean:.2f}"
    if by_correlation != PREDICTORS[0]:
        text += f", {surely} `{PREDICTORS[0]}` with {first.spearman.mean:.2f}"
    return (
        f"{text}. The first of `{by_regret}` is on average {found[by_regret, way].mean_regret:.2%} slower than the "
        f"best, that of `{PREDICTORS[0]}` {first.mean_regret:.2%}.\n"
    )


def _way_table(trials: Sequence[Trial], found: Mapping[tuple[str, str], Agreement], way: str) -> str:
    rows = []
    for name in PREDICTORS:
        one = found[name, way]
        gain = "–" if name == PREDICTORS[0] else _interval(one.gain, "+")
        rows.append([name, _interval(one.spearman), _interval(one.kendall), gain, *_regret(one)])
    blind = blind_regrets(trials, way)
    rows.append(["any candidate", "0", "0", "–", f"{statistics.fmean(blind):.2%}", f"{percentile(blind, 95):.2%}", "–"])
    head = ["score", "Spearman", "Kendall", "over mean", "mean regret", "95th percentile", "best found"]
    rounds = found[PREDICTORS[0], way].rounds
    return f"{rounds} of {len(trials)} rounds have candidates that differ.\n\n" + table(head, rows)


def _regret(one: Agreement) -> list[str]:
    return [f"{one.mean_regret:.2%}", f"{one.p95_regret:.2%}", f"{one.found_best:.0%}"]


def _interval(one: Interval, sign: str = "") -> str:
    return f"{one.mean:{sign}.2f} ({one.low:{sign}.2f} to {one.high:{sign}.2f})"


WORST_LINK = (1.0, 0.95, 0.85, 0.7)
"""Candidates are told apart by the score of their worst link: at least the first, the second, ..."""


def _worth_table(trials: Sequence[Trial], options: TrialOptions) -> str:
    groups: dict[str, list[list[float]]] = {}
    names = [f"at least {least:g}" for least in WORST_LINK] + [f"below {WORST_LINK[-1]:g}"]
    for trial in trials:
        for place, worst in enumerate(trial.predicted["min"]):
            at = next((k for k, least in enumerate(WORST_LINK) if worst >= least - 1e-9), len(WORST_LINK))
            groups.setdefault(names[at], []).append([trial.measured[way][place] for way in ways(options)])
    rows = [
        [name, str(len(groups[name])), *(f"{statistics.fmean(one):.4f}" for one in zip(*groups[name], strict=True))]
        for name in names
        if name in groups
    ]
    return (
        "Mean slowdown by the score of the candidate's worst link. At 1 demand never exceeds a link while the shifts "
        "are held.\n\n" + table(["worst link", "candidates", *ways(options)], rows)
    )


def _family_tables(trials: Sequence[Trial], options: TrialOptions) -> str:
    families: dict[str, list[Trial]] = {}
    for trial in trials:
        families.setdefault(trial.family, []).append(trial)
    way = paced_at(options.margins[0])
    slowdowns, correlated = [], []
    for family, members in families.items():
        score = statistics.fmean(score for trial in members for score in trial.predicted["mean"])
        jobs = [trial.routed_jobs for trial in members]
        slowdowns.append([family, str(len(members)), f"{min(jobs)}-{max(jobs)}", f"{score:.3f}"])
        slowdowns[-1] += [
            f"{statistics.fmean(one for trial in members for one in trial.measured[name]):.3f}"
            for name in ways(options)
        ]
        found = [agreement(members, name, way) for name in PREDICTORS]
        correlated.append([family, *(f"{one.spearman.mean:.2f} / {one.mean_regret:.2%}" for one in found)])
    head = ["family", "rounds", "jobs on the network", "mean score", *ways(options)]
    return (
        "Mean slowdown over all candidates:\n\n"
        + table(head, slowdowns)
        + f"\nSpearman / mean regret with {way}:\n\n"
        + table(["family", *PREDICTORS], correlated)
    )
