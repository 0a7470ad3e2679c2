"""The schemes of the paper's comparisons, and what parts of Cassini each of them has; rows of what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from .cases import Case
from .comparison import median_of, ratio_of, total_ratio
from .experiment import Row
from .report import number, times

__all__ = ["CASSINI_OF", "choices", "gains", "marked_by_model", "marks", "named_cases", "overview"]

_VARIANTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "Th+Cassini, placement alone": {"decider": "Th+Cassini", "options": {"holding": "none"}},
        "Th+Cassini, shifts alone": {"decider": "Th+Cassini", "candidates": 1},
    }
)
"""Parts of Cassini: the best candidate, but nobody is held; shifts for what the scheduler would do anyway."""

CASSINI_OF: Mapping[str, str] = MappingProxyType(
    {
        "Th+Cassini": "Themis",
        "Th+Cassini, paper's rule": "Themis",
        "Th+Cassini, placement alone": "Themis",
        "Th+Cassini, shifts alone": "Themis",
        "Po+Cassini": "Pollux",
        "Packed+Cassini": "Packed",
        "Random+Cassini": "Random",
        "Random+Cassini, paper's rule": "Random",
        "Packed+Cassini, paper's rule": "Packed",
        "First fit+Cassini": "First fit",
    }
)
"""What each scheme with Cassini is compared with."""


def named_cases(names: Sequence[str], base: Case) -> dict[str, Case]:
    """The case with each of these schemes."""
    found = {}
    for name in names:
        variant = dict(_VARIANTS.get(name, {"decider": name}))
        options = {**base.options, **variant.pop("options", {})}
        found[name] = replace(base, **variant, options=options)
    return found


def gains(schemes: Mapping[str, Mapping[str, Any]], paper: Mapping[str, tuple[str, str]]) -> list[Row]:
    """By how much iterations are faster with each scheme than without: mean and 99th percentile, and without workers.

    Iteration times are the paper's measure: they do not count restarts. Themis and Pollux may give a task other numbers
    of workers in a cluster that is faster, and those have other iteration times; *slowdown*, over the same workers
    alone, is what the network does.
    """
    rows = []
    for name, without in CASSINI_OF.items():
        if name not in schemes or without not in schemes:
            continue
        one, other = schemes[name], schemes[without]
        mean, tail = paper.get(name, ("", ""))
        for key, what, printed in (("mean", "mean", mean), ("p99", "99th percentile", tail)):
            gain = ratio_of(other["iteration_ms"][key], one["iteration_ms"][key])
            slowdown = ratio_of(other["slowdown"][key], one["slowdown"][key])
            note = f"slowdown {times(slowdown)}"
            rows.append(Row(f"{name} over {without}: {what} iteration time", printed, times(gain), note))
        done = ratio_of(other["completion_s"]["mean"], one["completion_s"]["mean"])
        rows.append(Row(f"{name} over {without}: mean completion, restarts and waits counted", "", times(done)))
    return rows


def overview(schemes: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Of each scheme what its tasks meet: how much slower they are than the same workers alone."""
    rows = []
    for name, one in schemes.items():
        mean, tail = (median_of(one["slowdown"][key]) for key in ("mean", "p99"))
        iteration, completion = median_of(one["iteration_ms"]["mean"]), median_of(one["completion_s"]["mean"])
        restarts = median_of(one["counts"]["restarts"])
        note = (
            f"iterations of {number(iteration, 0, 'ms')}, p99 slowdown {number(tail)}, completion "
            f"{number(completion, 0, 's')}, {restarts[0]:.0f} restarts"
        )
        rows.append(Row(f"{name}: mean slowdown", "", number(mean, 3), note))
    return rows


def choices(schemes: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """What there was to choose from, and what was held, in each scheme with Cassini."""
    rows = []
    for name in CASSINI_OF:
        if name not in schemes:
            continue
        rounds = schemes[name]["ranked"]
        each = median_of([_part(one, "candidates", "rounds") for one in rounds])
        shares = {
            "rounds had a choice": ("with_choice", "rounds"),
            "took another than the first": ("others_taken", "rounds"),
            "tasks were worth holding": ("worth_holding", "jobs"),
            "candidates were discarded": ("discarded", "candidates"),
            "rounds lost all candidates so": ("all_discarded", "rounds"),
        }
        found = {what: median_of([_part(one, *keys) for one in rounds])[0] for what, keys in shares.items()}
        note = ", ".join(f"{100 * share:.0f} % {what}" for what, share in found.items())
        rows.append(Row(f"{name}: candidates per round", "up to 10", number(each, 1), note))
    return rows


def _part(counts: Mapping[str, float], part: str, whole: str) -> float | None:
    return counts[part] / counts[whole] if counts[whole] else None


def marks(
    schemes: Mapping[str, Mapping[str, Any]],
    one: str,
    other: str,
    models: Sequence[str],
    paper: Mapping[str, str],
) -> list[Row]:
    """How many times more packets of each model are marked with one scheme than with the other."""
    rows = []
    for model in models:
        more, less = (_marked(schemes[name], model) for name in (one, other))
        if more is None or less is None:
            continue
        found = total_ratio([more], [less])
        ours = "none with " + other if less == 0 else f"{found:.1f}×"
        if more == less == 0:
            ours = "none"
        note = f"{more:,.1f} and {less:,.1f} packets per iteration, all seeds together"
        rows.append(Row(f"ECN marks of {model}, {one} over {other}", paper.get(model, ""), ours, note))
    return rows


def marked_by_model(scheme: Mapping[str, Any]) -> dict[str, float]:
    """Marked packets per iteration of each model, over all seeds."""
    found = {model: _marked(scheme, model) for model in scheme["models"]}
    return {model: value for model, value in found.items() if value is not None}


def _marked(scheme: Mapping[str, Any], model: str) -> float | None:
    of = scheme["models"].get(model)
    if of is None:
        return None
    pairs = [(mean, n) for mean, n in zip(of["marked"]["mean"], of["n"], strict=True) if mean is not None]
    count = sum(n for _, n in pairs)
    return sum(mean * n for mean, n in pairs) / count if count else None
