"""The scenarios of the study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cassini_core.simulation.jitter import KINDS

from .job import JobModel
from .scenario import RULES, Scenario

__all__ = [
    "PAIR",
    "changed",
    "coming_and_going",
    "crowded",
    "disturbed",
    "jittered",
    "more_jobs",
    "of_ranks",
    "pair_rules",
    "patterned",
    "skewed",
    "sweeps",
]

PAIR = (JobModel("a"), JobModel("b", start_ms=30.0))
"""Two jobs of 197 ms: 110 ms of compute, 87 ms of communication at line rate."""


def jittered(models: Sequence[JobModel], share: float, kind: str = "normal") -> tuple[JobModel, ...]:
    return tuple(replace(model, jitter=kind, jitter_share=share) for model in models)


def skewed(models: Sequence[JobModel], clock_ms: float, ppm: float) -> tuple[JobModel, ...]:
    """Every second clock is ahead and fast, the others are behind and slow."""
    signs = [1 if i % 2 == 0 else -1 for i in range(len(models))]
    return tuple(replace(m, clock_ms=s * clock_ms, clock_ppm=s * ppm) for m, s in zip(models, signs, strict=True))


def pair_rules(minutes: float) -> list[Scenario]:
    """The pair with 3 % jitter under each rule, on the paced grid and on a grid of the uncontrolled iteration time."""
    models = jittered(PAIR, 0.03)
    found = [Scenario("3 % jitter", models, rule, minutes=minutes) for rule in RULES]
    return found + [Scenario("3 % jitter", models, rule, headroom=False, minutes=minutes) for rule in list(RULES)[1:]]


def sweeps(minutes: float) -> list[Scenario]:
    """Jitter from none to 5 %, its kinds, clocks, ranks."""
    found = [
        Scenario(f"{100 * share:g} % jitter" if share else "no jitter", jittered(PAIR, share), minutes=minutes)
        for share in (0.0, 0.003, 0.01, 0.02, 0.03, 0.05)
    ]
    found += [Scenario(f"3 % jitter, {kind}", jittered(PAIR, 0.03, kind), minutes=minutes) for kind in list(KINDS)[1:]]
    for clock_ms, ppm in ((1.0, 10.0), (5.0, 50.0), (20.0, 200.0)):
        models = skewed(jittered(PAIR, 0.03), clock_ms, ppm)
        found.append(Scenario(f"3 % jitter, clocks ±{clock_ms:g} ms ±{ppm:g} ppm", models, minutes=minutes))
    return found + of_ranks(minutes)


def of_ranks(minutes: float) -> list[Scenario]:
    """Ranks that come apart, that compute for different times in each iteration, or of which rank 0 always differs."""
    four = tuple(replace(model, ranks=4) for model in jittered(PAIR, 0.03))
    name = "3 % jitter, several ranks"
    found = {name: four, f"{name}, 2 ms apart": tuple(replace(model, skew_ms=2.0) for model in four)}
    for count, share in ((4, 0.03), (16, 0.03), (4, 0.1)):
        own = tuple(replace(model, ranks=count, own_share=share) for model in PAIR)
        found[f"{count} ranks, each {100 * share:g} % jitter of its own"] = own
    for factor in (0.97, 0.95, 0.9, 1.05):
        models = (replace(four[0], first_factor=factor), four[1])
        found[f"{name}, rank 0 of one job computes for {100 * factor:.0f} % of the others' time"] = models
    return [Scenario(name, models, minutes=minutes) for name, models in found.items()]


def more_jobs(minutes: float) -> list[Scenario]:
    """Three jobs, and paces of 100 and 200 ms."""
    three = tuple(JobModel(n, 150.0, 40.0, start_ms=s) for n, s in (("a", 0), ("b", 30), ("c", 77)))
    mixed = (JobModel("a", 70.0, 28.0), JobModel("b", 140.0, 56.0, start_ms=30.0))
    return [
        Scenario(name, jittered(models, share), minutes=minutes)
        for name, models, share in (
            ("three jobs of 150 + 40 ms, 1 % jitter", three, 0.01),
            ("three jobs of 150 + 40 ms, 3 % jitter", three, 0.03),
            ("70 + 28 and 140 + 56 ms, 1 % jitter", mixed, 0.01),
            ("70 + 28 and 140 + 56 ms, 3 % jitter", mixed, 0.03),
        )
    ]


def disturbed(minutes: float) -> list[Scenario]:
    """A collective of 17 s in one job, with and without a coordinator."""
    models = jittered(PAIR, 0.01)
    stalled = (replace(models[0], stalls=((60e3, 17e3),)), models[1])
    always = (0.0, 60.0 * minutes)
    return [
        Scenario("a collective of 17 s", stalled, minutes=minutes),
        Scenario("a collective of 17 s, no coordinator", stalled, minutes=minutes, absent_s=always),
        Scenario("3 % jitter, no coordinator", jittered(PAIR, 0.03), minutes=minutes, absent_s=always),
        *(
            Scenario(f"one iteration longer by {late:g} ms each minute", _stalled(late, minutes), minutes=minutes)
            for late in (20, 60, 110, 170)
        ),
        Scenario("3 % jitter, the coordinator is restarted", jittered(PAIR, 0.03), minutes=minutes, restart_s=60.0),
        Scenario("3 % jitter, applied again each minute", jittered(PAIR, 0.03), minutes=minutes, applied_every_s=60.0),
    ]


def _stalled(late_ms: float, minutes: float) -> tuple[JobModel, ...]:
    first, second = jittered(PAIR, 0.01)
    return (replace(first, stalls=tuple((60e3 * (0.5 + k), late_ms) for k in range(int(minutes)))), second)


def crowded(minutes: float) -> list[Scenario]:
    """Three jobs of two ranks with little room between their bursts, that stall in turn."""
    starts_ms = {"a": 0.0, "b": 60.0, "c": 150.0}
    models = jittered([JobModel(name, 300.0, 112.0, ranks=2, start_ms=at) for name, at in starts_ms.items()], 0.03)
    stalls_ms = [20e3 + 12e3 * k for k in range(int(5 * minutes))]
    stalled = [replace(model, stalls=tuple((at, 100.0) for at in stalls_ms[k::3])) for k, model in enumerate(models)]
    name = "three jobs that fill 80 %, 3 % jitter"
    return [
        Scenario(name, models, minutes=minutes),
        Scenario(f"{name}, each 12 s one stalls for 100 ms", tuple(stalled), minutes=minutes),
    ]


def patterned(minutes: float) -> list[Scenario]:
    """Iterations that differ in turn."""
    patterns = {
        "iterations of ±5 % in turn": (0.95, 1.05),
        "every fourth iteration with an evaluation": (1.0, 1.0, 1.0, 2.0),
    }
    return [
        Scenario(
            name + (f", {100 * share:g} % jitter" if share else ""),
            tuple(replace(model, pattern=pattern) for model in jittered(PAIR, share)),
            minutes=minutes,
        )
        for name, pattern in patterns.items()
        for share in (0.0, 0.01)
    ]


def coming_and_going(minutes: float) -> list[Scenario]:
    """One of two or three jobs ends, or begins, after a minute."""
    three = tuple(JobModel(name, 150.0, 40.0, start_ms=start) for name, start in (("a", 0), ("b", 30), ("c", 77)))
    joining = (*three[:2], replace(three[2], start_ms=60e3))
    leaving = (*three[:2], replace(three[2], ends_ms=60e3))
    alone = (PAIR[0], replace(PAIR[1], ends_ms=60e3))
    return [
        Scenario("of two jobs one ends", jittered(alone, 0.01), minutes=minutes),
        Scenario("of three jobs one ends", jittered(leaving, 0.01), minutes=minutes),
        Scenario("to two jobs comes a third", jittered(joining, 0.01), minutes=minutes, ranks_again=True),
    ]


def changed(minutes: float) -> list[Scenario]:
    """From the first minute on one job computes longer or shorter; the scheduler ranks again when it is told."""
    models = jittered(PAIR, 0.01)
    return [
        Scenario(
            f"one job's computing takes {100 * (factor - 1):+.0f} %",
            (replace(models[0], change=(60e3, factor)), models[1]),
            minutes=minutes,
            ranks_again=True,
        )
        for factor in (1.04, 1.09, 0.91)
    ]
