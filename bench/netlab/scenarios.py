"""Which runs the study is made of."""

from __future__ import annotations

from dataclasses import dataclass

from .disturbances import DAEMON, NOTHING, PAIR, TRIO, Disturbance
from .settings import LIGHT, Setting
from .topology import LOOP, RACKS

__all__ = ["ALONE", "FIRST_SHIFT", "HELD", "IN_PHASE", "RANDOM", "Scenario", "full", "quick", "with_alone"]

ALONE, IN_PHASE, RANDOM, FIRST_SHIFT, HELD = "alone", "in phase", "random start", "first shift only", "held"
"""How jobs are started. Jobs that are held have an agent that follows a schedule; one alone has one that measures."""

ALONE_RUNS = 3
ALONE_S, LOOSE_S, HELD_S = 40.0, 40.0, 90.0
"""Length of a run: of a job alone, of jobs left to themselves, of jobs that are held."""

SETTLED_S, HELD_SETTLED_S = 10.0, 30.0
"""Measured is from so long after the first start. Jobs that are to be held are first measured by the product."""

AFTER_S = 45.0
"""A run lasts so long after a disturbance: 30 s to be interleaved again, and time to see it."""


@dataclass(frozen=True)
class Scenario:
    """Runs that differ in their seed alone.

    Attributes
    ----------
    group : str
        Of the report.
    setting : Setting
    mode : str
    seconds : float
        From the first start.
    disturbance : Disturbance
    """

    group: str
    setting: Setting
    mode: str
    seconds: float
    disturbance: Disturbance = NOTHING

    @property
    def name(self) -> str:
        """Of this alone."""
        told = f", {self.disturbance.name}" if self.disturbance.name else ""
        return f"{self.setting.name}: {self.mode}{told}"

    @property
    def settled_s(self) -> float:
        """From when on it is measured."""
        return HELD_SETTLED_S if self.mode == HELD else SETTLED_S

    def runs(self, wanted: int) -> int:
        """How many of ``wanted``."""
        return min(wanted, ALONE_RUNS) if self.mode == ALONE else wanted


def full(traffic: str) -> list[Scenario]:
    """All."""
    found = []
    for jitter in (0.0, 0.03):
        for per_job, flows in ((False, 8), (False, 1), (True, 8)):
            for congestion in ("cubic", "reno"):
                setting = Setting(flows=flows, per_job=per_job, congestion=congestion, jitter=jitter, traffic=traffic)
                found += _in_all_modes("Queues", setting)
        two = Setting(topology=LOOP, jitter=jitter, traffic=traffic)
        three = Setting(topology=RACKS, jobs="abc", jitter=jitter, size=LIGHT, traffic=traffic)
        found += _in_all_modes("Topologies", two) + _in_all_modes("Topologies", three)
    pair = Setting(jitter=0.03, traffic=traffic)
    trio = Setting(jitter=0.03, jobs="abc", size=LIGHT, traffic=traffic)
    found += [_disturbed(pair, one) for one in PAIR]
    found += [_disturbed(trio, one) for one in TRIO]
    return with_alone(found)


def quick(traffic: str) -> list[Scenario]:
    """Two minutes: one queue for all, random start against held, and a daemon that is killed."""
    setting = Setting(jitter=0.03, traffic=traffic)
    found = [Scenario("Queues", setting, RANDOM, 20.0), Scenario("Disturbances", setting, HELD, 75.0, DAEMON)]
    return with_alone(found, 15.0)


def _in_all_modes(group: str, setting: Setting) -> list[Scenario]:
    loose = [Scenario(group, setting, mode, LOOSE_S) for mode in (IN_PHASE, RANDOM, FIRST_SHIFT)]
    return [*loose, Scenario(group, setting, HELD, HELD_S)]


def _disturbed(setting: Setting, one: Disturbance) -> Scenario:
    seconds = HELD_S if one.at_s is None else one.at_s + one.lasts_s + AFTER_S
    return Scenario("Disturbances", setting, HELD, seconds, one)


def with_alone(scenarios: list[Scenario], seconds: float = ALONE_S) -> list[Scenario]:
    """Before them, one job alone in each of their settings: what all else is measured against."""
    settings = dict.fromkeys(one.setting for one in scenarios)
    return [Scenario("Alone", setting, ALONE, seconds) for setting in settings] + scenarios
