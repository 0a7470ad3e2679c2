"""Several cases over several seeds, and how they compare: ratios by seed, their median, and an interval of it."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import cassini_core
from cassini_core.simulation.seeds import run_seeds

from .cases import QUANTILES, Case, run_case
from .experiment import Settings

__all__ = ["Estimate", "code_digest", "median_of", "ratio_of", "run_cases", "summary", "total_ratio"]

Estimate = tuple[float, float, float]
"""A median over seeds, and from where to where the median of many seeds lies with 95 % confidence or more."""

BySeed = Sequence[float | None]
"""A figure of each seed; None where there is none."""

_HALF_OUTSIDE = 0.025

_SHOWN = (50, 90, 99)
"""Percentiles of which every seed's is kept."""


def run_cases(cases: Mapping[str, Case], settings: Settings, *, details: bool = False) -> dict[str, dict[str, Any]]:
    """Every case with every seed: a :func:`summary` by name.

    What is in the folder is not run again if cases and code are the same.

    Parameters
    ----------
    cases : mapping of str to Case
    settings : Settings
    details : bool
        Whether curves, models and time series are wanted, which are large.
    """
    names = list(cases)
    experiment = {"cases": {name: asdict(case) for name, case in cases.items()}, "code": code_digest()}
    digest = hashlib.sha256(json.dumps(experiment, sort_keys=True).encode()).hexdigest()[:12]
    numbers = range(settings.seeds * len(names))
    work = functools.partial(_numbered, tuple(cases.values()))
    found = run_seeds(
        work, numbers, settings.folder / digest, experiment, processes=settings.processes, progress=settings.progress
    )
    return {
        name: summary([found[seed * len(names) + at] for seed in range(settings.seeds)], details=details)
        for at, name in enumerate(names)
    }


def _numbered(cases: Sequence[Case], number: int) -> dict[str, Any]:
    """Seeds one after the other, so that more of them later keep the numbers of those before."""
    seed, at = divmod(number, len(cases))
    return run_case(cases[at], seed)


@functools.cache
def code_digest() -> str:
    """Of all code that a record depends on: what was run by other code is run again."""
    here, package = Path(__file__).parent, Path(cassini_core.__file__).parent
    own = [here / f"{name}.py" for name in ("cases", "changed", "deciders", "model_table", "models", "traces")]
    folders = ("joint", "links", "periods", "placement", "profiles", "ranking", "schedulers", "simulation", "topology")
    digest = hashlib.sha256()
    for path in [*own, *(path for name in folders for path in sorted((package / name).rglob("*.py")))]:
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def summary(records: Sequence[Mapping[str, Any]], *, details: bool = True) -> dict[str, Any]:
    """Of the records of a case (:func:`bench.testbed.cases.record_of_run`) what is shown, by seed.

    Keys: of ``iteration_ms``, ``slowdown``, ``completion_s`` and ``waited_s`` ``mean``, ``p50``, ``p90`` and ``p99`` by
    seed; ``marked`` and ``n`` of all together; ``counts`` by seed;
    ``ranked``, sums over rounds by seed; ``bidders``, sums over rounds of Themis' bidders and of tasks by seed;
    with ``details`` also ``curve`` of ``iteration_ms`` and ``slowdown``, the median over seeds of each of
    ``QUANTILES``; ``models``, by model the same as above of ``iteration_ms``, ``slowdown`` and ``marked``, and ``n``;
    ``series`` if a seed has one.
    """
    kinds = ("iteration_ms", "slowdown", "completion_s", "waited_s")
    found: dict[str, Any] = {kind: _by_seed([one[kind] for one in records]) for kind in kinds}
    found["marked"] = [_marked(one) for one in records]
    found["n"] = [one["iteration_ms"]["n"] for one in records]
    keys = ("tasks", "ended", "restarts", "adjusted", "rounds", "now_s", "took_s")
    found["counts"] = {key: [one[key] for one in records] for key in keys}
    found["ranked"] = [_of_rounds(one["ranked"]) for one in records]
    found["bidders"] = [one["bidders"] for one in records]
    return found | (_details(records, found) if details else {})


def _details(records: Sequence[Mapping[str, Any]], found: Mapping[str, Any]) -> dict[str, Any]:
    details: dict[str, Any] = {"models": {}}
    for kind in ("iteration_ms", "slowdown"):
        details[kind] = {**found[kind], "curve": _curve([one[kind] for one in records])}
    for name in sorted({name for one in records for name in one["models"]}):
        of = [one["models"].get(name, {}) for one in records]
        parts = {kind: [one.get(kind, {"n": 0}) for one in of] for kind in ("iteration_ms", "slowdown", "marked")}
        details["models"][name] = {kind: _by_seed(each) for kind, each in parts.items()}
        details["models"][name]["n"] = [one["n"] for one in parts["marked"]]
    series = [one["series"] for one in records if "series" in one]
    return details | ({"series": series[0]} if series else {})


def _by_seed(distributions: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"mean": [one.get("mean") for one in distributions]}
    for percent in _SHOWN:
        at = QUANTILES.index(percent)
        found[f"p{percent}"] = [one["quantiles"][at] if one["n"] else None for one in distributions]
    return found


def _curve(distributions: Sequence[Mapping[str, Any]]) -> list[float]:
    there = [one["quantiles"] for one in distributions if one["n"]]
    return [float(f"{value:.6g}") for value in np.median(there, axis=0)] if there else []


def _marked(record: Mapping[str, Any]) -> float | None:
    """Marked packets per iteration, of all models."""
    parts = [one["marked"] for one in record["models"].values() if one["marked"]["n"]]
    count = sum(one["n"] for one in parts)
    return sum(one["mean"] * one["n"] for one in parts) / count if count else None


def _of_rounds(rounds: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """What the rounds of one run come to: counts, and sums over rounds."""
    chosen = [one for one in rounds if one["candidates"] > 1]
    solved = [one for one in rounds if one["taken"] is not None]
    return {
        "rounds": len(rounds),
        "with_choice": len(chosen),
        "candidates": sum(one["candidates"] for one in rounds),
        "discarded": sum(one["discarded"] for one in rounds),
        "all_discarded": sum(one["taken"] is None for one in rounds),
        "others_taken": sum(one["taken"] not in (None, 0) for one in rounds),
        "worth_holding": sum(one["worth_holding"] for one in solved),
        "jobs": sum(one["jobs"] for one in rounds),
        "score": sum(one["score"] for one in solved),
        "first_score": sum(one["first"] for one in solved if one["first"] is not None),
        "with_first_score": sum(one["first"] is not None for one in solved),
    }


# --- arithmetic ---


def ratio_of(ones: BySeed, others: BySeed) -> Estimate:
    """By how much a figure is larger in the first than in the others, by seed; seeds that lack one are left out."""
    pairs = zip(ones, others, strict=True)
    return median_of([one / other for one, other in pairs if one is not None and other])


def total_ratio(ones: Iterable[float | None], others: Iterable[float | None]) -> float:
    """The same of the sums over seeds: for figures that are 0 in some seeds. NaN if the others are 0 in all."""
    one, other = (math.fsum(value for value in values if value is not None) for values in (ones, others))
    return one / other if other else math.nan


def median_of(values: Iterable[float | None]) -> Estimate:
    """The median, and an interval that holds the median of the population with a confidence of 95 % or more.

    It leaves out as many values at each end as may all lie on one side of that median with a probability of at most
    2.5 %: nothing is assumed of how they are distributed. Fewer than six values say too little; then it is all of them.
    """
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return math.nan, math.nan, math.nan
    outside = _left_out(len(ordered))
    return statistics.median(ordered), ordered[outside], ordered[-1 - outside]


def _left_out(count: int) -> int:
    """How many of so many values are left out at each end of the interval."""
    below, left_out = 1.0 / 2.0**count, 0
    while below + math.comb(count, left_out + 1) / 2.0**count <= _HALF_OUTSIDE:
        left_out += 1
        below += math.comb(count, left_out) / 2.0**count
    return left_out
