"""Runs with what was measured of them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from . import measures
from .scenarios import ALONE, Scenario

__all__ = ["Row", "rows"]


@dataclass(frozen=True)
class Row:
    """A run with what was measured of it."""

    scenario: Scenario
    number: int
    found: Mapping[str, Any]
    events: Sequence[Mapping[str, Any]]

    def worst(self, key: str) -> float:
        """The largest value of a job."""
        values = [job[key] for job in self.found["jobs"].values() if not math.isnan(job.get(key, math.nan))]
        return max(values, default=math.nan)

    def told(self) -> str:
        """Events of the scheduler's side, counted."""
        counts = Counter(one["event"] for one in self.events)
        return ", ".join(f"{count} {event}" for event, count in sorted(counts.items()))


def rows(scenarios: Iterable[tuple[Scenario, int]], records: Mapping[tuple[str, int], Mapping[str, Any]]) -> list[Row]:
    """Those runs that there are, in order."""
    found = []
    for scenario, number in scenarios:
        record = records.get((scenario.name, number))
        alone = [one for key, one in records.items() if key[0] == f"{scenario.setting.name}: {ALONE}"]
        if record is not None and alone:
            measured = measures.measured(record, measures.alone_ms(alone))
            found.append(Row(scenario, number, measured, record["events"]))
    return found
