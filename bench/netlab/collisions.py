"""How do two bursts share one FIFO queue? Measured where jobs meet rarely; then a ``Newcomer`` is fitted.

sudo python -m bench.netlab.collisions FILE      (runs go to FILE; those that it has are not made again)
"""

from __future__ import annotations

import json
import statistics
import sys
import threading
from bisect import bisect
from itertools import product
from pathlib import Path
from typing import Any

from bench.control.events import Events
from bench.control.link import Link, Newcomer

from . import marker
from .disturbances import Disturbance
from .network import folder
from .run import run
from .scenarios import RANDOM, Scenario
from .settings import Setting, Size

RARE = Size("rare", 800.0, 8.4)
SLOWER_MS = (127, 143, 159, 171)
"""By so much the iterations of the second job are longer: the jobs meet two or three times in a row, each 8 s."""

ALONE_MS = 168.0
FIRST_S, APART_S = 6.0, 2.0
WEIGHTS, LASTS_MS = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0), (10, 20, 30, 40, 60, 80, 100, 150)


def main() -> int:
    file = Path(sys.argv[1])
    if not file.exists():
        file.write_text("".join(json.dumps(one) + "\n" for one in _runs()))
    met = [one for line in file.read_text().splitlines() for one in _collisions(json.loads(line))]
    for name, some in (
        ("after 2 s apart", [one for one in met if one[0] > APART_S]),
        ("in the iteration after", [one for one in met if one[0] <= APART_S]),
    ):
        fair = [excess - _excess_ms(late, Newcomer(1.0, 0.0)) for _, late, excess in some]
        print(f"{name}: {len(some)}; the older takes {statistics.median(fair):.1f} ms more (mean {fmean(fair):.1f})")
        fits = {
            (weight, lasts): fmean(abs(excess - _excess_ms(late, Newcomer(weight, lasts))) for _, late, excess in some)
            for weight, lasts in product(WEIGHTS, LASTS_MS)
        }
        for (weight, lasts), off in sorted(fits.items(), key=lambda one: one[1])[:8]:
            print(f"  weight {weight:g} for {lasts:g} ms: {off:.2f} ms off")
    return 0


fmean = statistics.fmean


def _runs() -> list[dict[str, Any]]:
    made = []
    with folder() as own:
        compiled, _ = marker.usable(Path(own))
        for number, slower_ms in enumerate(SLOWER_MS):
            slower = Disturbance("slower", options={"b": {"slower_ms": float(slower_ms), "slower_at_s": 0.0}})
            scenario = Scenario("Collisions", Setting(jitter=0.005, size=RARE), RANDOM, 85.0, slower)
            made.append(run(scenario, number, 0.4, None, compiled, 0, threading.Event()))
    return made


def _collisions(record: dict[str, Any]) -> list[tuple[float, float, float]]:
    """When jobs met last before (s ago), how much later the newer burst began, how much longer the older took (ms)."""
    one, other = (job["communication_us"] for job in record["jobs"].values())
    met = []
    for older, newer in ((one, other), (other, one)):
        begins = [begin for begin, _ in newer]
        for begin, end in older:
            k = bisect(begins, begin)
            if k < len(newer) and begin < begins[k] < end:
                met.append((begin, begins[k] - begin, (end - begin) - (newer[k][1] - newer[k][0])))
    found, last = [], -1e12
    for begin, late, excess in sorted(met):
        if begin > FIRST_S * 1e6 and late / 1e3 < ALONE_MS - 8:
            found.append(((begin - last) / 1e6, late / 1e3, excess / 1e3))
        last = begin
    return found


def _excess_ms(late_ms: float, newcomer: Newcomer) -> float:
    """The same on a simulated link."""
    events = Events()
    link = Link(events, newcomer)
    took: dict[str, float] = {}
    link.send(ALONE_MS, lambda: took.setdefault("older", events.now_ms))
    events.at(late_ms, lambda: link.send(ALONE_MS, lambda: took.setdefault("newer", events.now_ms - late_ms)) and None)
    events.run(1e4)
    return took["older"] - took["newer"]


if __name__ == "__main__":
    sys.exit(main())
