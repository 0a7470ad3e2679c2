"""How finely rotation angles are tried, against time and accuracy (section 5.7), and the exact solver beside it."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib import pyplot

import cassini_core as cc
from bench.measuring.plots import SERIES, saved

from ..experiment import Row, Settings
from ..models import CAPACITY_GBPS
from ..snapshots import SNAPSHOTS, drawn_jobs, jobs_of

TITLE = "Precision of rotation angles against time and accuracy"

DEGREES = (1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 15.0, 30.0, 45.0, 60.0, 90.0)
THE_PAPERS = 5.0
GROUPS = ("two jobs", "three jobs", "four jobs")
_COUNTS = {"two jobs": 2, "three jobs": 3, "four jobs": 4}
_LINKS = 40  # of each group
_CALLS = 5
_NEAR = 0.01  # of the score


def run(settings: Settings) -> dict[str, Any]:
    """Scores and times of each precision, on links of the paper's models."""
    count, calls = (3, 1) if settings.quick else (_LINKS, _CALLS)
    found: dict[str, Any] = {}
    for done, group in enumerate(GROUPS):
        found[group] = [_measured(jobs, calls) for jobs in drawn_jobs(f"angles, {group}", _COUNTS[group], count)]
        if settings.progress is not None:
            settings.progress(done + 1, len(GROUPS))
    return {
        "links": found,
        "without a common time": [_claimed(jobs) for jobs in drawn_jobs("angles", 3, count, "own")],
        "snapshots": [_measured(jobs_of(one, "parts"), calls) for one in SNAPSHOTS.values()],
    }


def _measured(jobs: Sequence[cc.Job], calls: int) -> dict[str, Any]:
    """By degrees, and "exact": claimed score, score, seconds; what is compared is called in turns."""
    methods: dict[str, dict[str, Any]] = {"exact": {}}
    methods |= {f"{degrees:g}": {"method": "angles", "angles": round(360 / degrees)} for degrees in DEGREES}
    taken: dict[str, list[float]] = {name: [] for name in methods}
    found: dict[str, Any] = {"at_random": cc.solve_link(jobs, CAPACITY_GBPS, resolution_ms=1e6).score}
    for _ in range(calls):
        for name, arguments in methods.items():
            start = time.perf_counter()
            solution = cc.solve_link(jobs, CAPACITY_GBPS, **arguments)
            taken[name].append(time.perf_counter() - start)
            found[name] = {
                "claimed": solution.claimed_score,
                "score": solution.score,
                "stopped_by": solution.stopped_by,
            }
    for name, seconds in taken.items():
        found[name]["s"] = statistics.median(seconds)
    return found


def _claimed(jobs: Sequence[cc.Job]) -> dict[str, float]:
    """What 72 angles claim on the circle of all iteration times' LCM, and what their shifts score."""
    solution = cc.solve_link(jobs, CAPACITY_GBPS, method="angles", angles=72)
    return {"claimed": solution.claimed_score, "score": solution.score, "perimeter_ms": float(solution.perimeter_ms)}


def rows(data: dict[str, Any]) -> list[Row]:
    """At 5 degrees: accuracy and time; the exact solver's; and what angles claim where there is no common time."""
    found = []
    for group, links in data["links"].items():
        at = f"{THE_PAPERS:g}"
        ours = f"{100 * _near(links, at):.0f} % of links"
        note = (
            f"of what shifts can win over random phases it gets {100 * _won(links, at):.1f} %; "
            f"at 1° {100 * _won(links, '1'):.1f} %, at 15° {100 * _won(links, '15'):.1f} %, "
            f"at 45° {100 * _won(links, '45'):.1f} %; proven within the limit of nodes of {len(links)} links: exact "
            f"{_proven(links, 'exact')}, 5° {_proven(links, at)}, 1° {_proven(links, '1')}"
        )
        found.append(Row(f"{group}: within 0.01 of the best score at 5°", "100 % accurate", ours, note))
        slower = statistics.median(one[at]["s"] / one["exact"]["s"] for one in links)
        finer = statistics.median(one["1"]["s"] / one["exact"]["s"] for one in links)
        note = f"ratio of times to the exact solver's, median: 5° {slower:.2f}, 1° {finer:.2f}"
        ours = f"{_us(links, at):,.0f} µs; exact {_us(links, 'exact'):,.0f} µs"
        found.append(Row(f"{group}: time of a link at 5°, median", "low", ours, note))
    snapshots = data["snapshots"]
    worst = max(one["exact"]["score"] - one[f"{THE_PAPERS:g}"]["score"] for one in snapshots)
    found.append(Row("snapshots: most that 5° lose of the score", "", f"{worst:.3f}"))
    links = data["without a common time"]
    over = statistics.median(one["claimed"] - one["score"] for one in links)
    most = max(one["claimed"] - one["score"] for one in links)
    note = "jobs at their own iteration times: 72 points of a circle as long as the LCM of all sample nothing"
    ours = f"by {over:.2f} too much, at most {most:.2f}"
    return [*found, Row("three jobs without a common time: what 5° claim", "", ours, note)]


def _proven(links: Sequence[Mapping[str, Any]], name: str) -> int:
    """How many links' best shifts, on the grid of this precision, are proven."""
    return sum(one[name]["stopped_by"] == "complete" for one in links)


def _near(links: Sequence[Mapping[str, Any]], name: str) -> float:
    return sum(1 for one in links if one[name]["score"] >= one["exact"]["score"] - _NEAR) / len(links)


def _won(links: Sequence[Mapping[str, Any]], name: str) -> float:
    """Of what the exact solver's shifts win over random phases, all links together."""
    most: float = sum(one["exact"]["score"] - one["at_random"] for one in links)
    won: float = sum(one[name]["score"] - one["at_random"] for one in links)
    return won / most


def _us(links: Sequence[Mapping[str, Any]], name: str) -> float:
    found: float = 1e6 * statistics.median(one[name]["s"] for one in links)
    return found


def plot(data: dict[str, Any], path: Path) -> None:
    """Accuracy and time over the precision; the exact solver as lines."""
    with saved(path, "links of the paper's models with a common iteration time; dotted: the exact solver"):
        _, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
        for (group, links), color in zip(data["links"].items(), SERIES, strict=False):
            left.plot(DEGREES, [100 * _won(links, f"{one:g}") for one in DEGREES], "o-", color=color, label=group)
            right.plot(DEGREES, [_us(links, f"{one:g}") for one in DEGREES], "o-", color=color, label=group)
            right.axhline(_us(links, "exact"), color=color, linestyle=":")
        for axes in (left, right):
            axes.axvline(THE_PAPERS, color="#333333", linewidth=0.7, linestyle="--")
            axes.set(xscale="log", xlabel="precision, degrees (dashed: the paper's)")
            axes.set_xticks(DEGREES, [f"{one:g}" for one in DEGREES])
            axes.minorticks_off()
        left.set(ylabel="of what shifts can win, %", ylim=(None, 101))
        right.set(ylabel="time of a link, µs", yscale="log")
        left.legend(fontsize=8)
