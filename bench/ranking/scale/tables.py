"""The report at cluster scale as Markdown."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from bench.measuring import reports
from bench.measuring.tables import ratio, seconds, table
from bench.measuring.timing import percentile

from .targets import cold_adds_s, targets_table

Found = Mapping[str, Any]


def markdown(found: Found, about: Mapping[str, str], took_s: float, quick: bool, plot: str) -> str:
    """The whole report."""
    parts = reports.heading("Ranking at the scale of a cluster", about, quick)
    parts.append(_introduction(took_s))
    parts += ["## Asked and found\n", targets_table(found)]
    parts += ["## Sizes\n", _sizes(found)]
    parts.append(f"![time by candidates, score and lateness by deadline]({plot})\n")
    parts += ["## Small problems in cold processes\n", _small(found)]
    parts += ["## Deadlines\n", _deadlines(found)]
    parts += ["## Loops\n", _loops(found)]
    return "\n".join(parts)


def _introduction(took_s: float) -> str:
    return (
        f"Written by `python -m bench.ranking.scale` in {seconds(took_s)}. Rounds are those of `bench.ranking.rounds`, "
        "ranked by `cassini_core.rank` with its defaults on two threads unless said otherwise; each row is measured in "
        "a process of its own. Every answer was checked when it was measured: scores against bounds, the candidate's "
        "score against its links', the links of the best candidate scored again at its shifts and paces, and "
        "repeated calls byte for byte. Where the load average at the start is near the number of cores or above, "
        "others used the machine too: wall times are then those of a busy machine, CPU times are less affected.\n"
    )


def _sizes(found: Found) -> str:
    head = ["candidates × jobs", "racks", "shared links", "link problems", "runs", "wall", "links", "CPU", "1 thread"]
    head += ["2 over 1", "cold adds", "peak MiB", "best score", "its bound", "highest bound", "answered"]
    rows = [
        [
            row["name"],
            str(row["racks"]),
            f"{row['shared_links']:.0f}",
            f"{row['link_problems']:,}",
            str(row["runs"]),
            seconds(row["wall_2_s"]),
            seconds(row["links_s"]),
            seconds(row["cpu_2_s"]),
            seconds(row["wall_1_s"]),
            ratio(row["wall_1_s"] / row["wall_2_s"]),
            seconds(cold_adds_s(row)) if cold_adds_s(row) > 0 else "nothing",
            f"{row['peak_mib']:.0f} ({row['loaded_mib']:.0f})",
            _score(row["score"]),
            _score(row["upper_bound"]),
            _score(row["highest_bound"]) + (", proven best" if row["best_proven"] else ""),
            f"{row['answered']:,}",
        ]
        for row in found["sizes"]
    ]
    uplinks, moves = ({row[key] for row in found["sizes"]} for key in ("uplinks", "moves"))
    return (
        "Iteration times are round ones; *±1%* marks rounds in which those of every kind of job differ from them by at "
        "most so much, so that they must be harmonised. Racks are those of the large round, "
        f"64 GPUs under {_said(uplinks)} uplinks, as many for each job as there (1000 jobs have 64), so that as many "
        f"jobs share a link; a candidate differs from the current placement in {_said(moves)} job parts at every "
        "size.\n\n"
        "*Shared links*: of a candidate, mean. *Link problems*: different ones over all candidates. *Links*: time "
        "from the call until all are solved, harmonising included. *Wall*, *CPU*, *1 thread*: medians over *runs* "
        "calls after a warm-up call, links and CPU with two threads. *2 over 1*: how many times "
        "faster two threads are. *Cold adds*: importing the package with "
        "NumPy and the first call, less a later call. *Peak*: of a process that loads the round and ranks it once; in "
        "parentheses before the call. *Highest bound*: of any candidate. *Answered*: candidates with a score; the "
        "others cannot win.\n\n" + table(head, rows)
    )


def _said(values: set[int]) -> str:
    return " or ".join(map(str, sorted(values)))


def _small(found: Found) -> str:
    rows = [
        [
            row["name"],
            str(row["candidates"]),
            ", ".join(row["status"]),
            *(_median_and_most(row[step]) for step in ("import_s", "load_s", "first_s", "first_cpu_s", "warm_s")),
            _loaded(row),
        ]
        for row in found["small"]
    ]
    return (
        f"Fresh processes, {found['small'][0]['processes']} for each file: median (most). *Import*: the package, "
        "networkx and NumPy. *Load*: `load_problem`. *First call*: `rank`, with what it loads itself; *CPU*: of its "
        "threads. *Networkx*, *numba*: the step that loaded them.\n\n"
        + table(
            ["file", "candidates", "status", "import", "load", "first call", "CPU", "later call", "networkx, numba"],
            rows,
        )
        + "".join(
            f"\n`{row['name']}`: the first call loads {_modules(row['loaded_by_call'])}.\n" for row in found["small"]
        )
    )


def _median_and_most(value: Mapping[str, float]) -> str:
    return f"{seconds(value['median'])} ({seconds(value['most'])})"


def _loaded(row: Found) -> str:
    return ", ".join(step or "never" for step in row["libraries"].values())


def _modules(names: Sequence[str]) -> str:
    packages: dict[str, int] = {}
    for name in names:
        package = name.partition(".")[0]
        packages[package] = packages.get(package, 0) + 1
    if not packages:
        return "no module"
    return ", ".join(f"{count} of `{package}`" if count > 1 else f"`{package}`" for package, count in packages.items())


def _deadlines(found: Found) -> str:
    one = found["deadlines"]
    rows = []
    by_deadline: dict[float, list[Found]] = {}
    for call in one["calls"]:
        by_deadline.setdefault(call["deadline_s"], []).append(call)
    for deadline_s, own in by_deadline.items():
        late = [call["late_ms"] for call in own]
        answered = [call["answered"] for call in own]
        shares = [call["share"] for call in own]
        rows.append(
            [
                f"{deadline_s:g} s",
                str(len(own)),
                *(f"{value:+.1f}" for value in (statistics.median(late), percentile(late, 99), max(late))),
                f"{statistics.median(answered):,.0f} ({min(answered):,})",
                f"{statistics.median(shares):.2%} ({min(shares):.2%})",
            ]
        )
    head = ["deadline", "calls", "late, ms: median", "99th percentile", "most", "answered (least)", "score (least)"]
    return (
        f"A round of {one['candidates']:,} candidates, two threads, deadlines in turns. *Late*: end of the call after "
        "the deadline; below 0 it came before. *Answered*: candidates with a score, median. *Score*: of the best "
        "candidate as a share of the reference, median; where no candidate was answered it is 0. The reference is the "
        f"better of {_reference(one['long'])} with `deadline_s={one['long']['deadline_s']:g}` and "
        f"{one['node_limit']:,} nodes per link and block, and {_reference(one['default'])} without a deadline.\n\n"
        + table(head, rows)
    )


def _reference(one: Found) -> str:
    return f"{_score(one['score'])} ({one['answered']:,} candidates answered in {seconds(one['wall_s'])})"


def _loops(found: Found) -> str:
    rows = []
    for row in found["loops"]:
        limited, free = row["default"], row["no limit"]
        rows.append(
            [
                row["name"],
                f"{row['jobs']}, {row['links']}",
                *(_score(row[key]) for key in ("bound", "reached_by_local_search")),
                _score(limited["score"]),
                _proof(limited),
                seconds(limited["median_s"]),
                _score(free["score"]),
                _proof(free),
                seconds(free["median_s"]),
            ]
        )
    shares = [row["default"]["score"] / row["bound"] for row in found["loops"]]
    head = ["instance", "jobs, links", "bound", "local search", "default", "proof", "time"]
    head += ["no limit", "proof", "time"]
    return (
        "`tests/data/loops.json`. *Bound*: mean of each link's own optimum. *Local search*: 20 restarts of coordinate "
        "descent on a 1 ms grid. *Default*, *no limit*: `rank(aggregate='mean', period_tolerance=0)`, without and with "
        f"`node_limit=None, block_node_limit=None`. By default they score {statistics.fmean(shares):.2%} of their "
        "bounds on average.\n\n" + table(head, rows)
    )


def _proof(one: Found) -> str:
    return "proven" if one["optimal"] else f"gap {one['upper_bound'] - one['score']:.4f}"


def _score(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.4f}"
