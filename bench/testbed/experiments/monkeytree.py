"""MonkeyTree's Figure 6 at load 1.0: how far do placement and time-shifts get, and paths, if no job is ever moved?

``make paper`` runs it. Single schemes, on traces of any length, and SGLB, with a rate of its own for each flow:
``python -m bench.testbed.experiments.monkeytree --jobs 1000 --seeds 1 --kept FOLDER "SGLB, flows"``.

The kinds of jobs are those that the artifact's job files state. To read them from the files, get
github.com/hipersys-team/MonkeyTreeArtifact and name its folder ``jobs`` in the environment variable
``MONKEYTREE_JOBS``. The artifact has no arrivals and no placements: a script draws them. So are they drawn here, from
the same distribution.
"""

from __future__ import annotations

import argparse
import functools
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot

from bench.measuring.plots import SERIES, saved
from cassini_core.simulation.seeds import run_seeds

from ..experiment import Row, Settings
from ..monkeytree import routing
from ..monkeytree.chosen import Chosen
from ..monkeytree.flows import FlowNetwork
from ..monkeytree.jobs import KINDS, Kind, of_one_period, read_kinds
from ..monkeytree.placing import best_fit, calmest
from ..monkeytree.shifts import Shifts
from ..monkeytree.simulate import Choose, Policy, slowdowns
from ..monkeytree.trace import trace

__all__ = ["TITLE", "plot", "rows", "run"]

TITLE = "MonkeyTree's Figure 6: 1,024 GPUs, 4:1 oversubscribed, load 1.0, without moving a job"

QUICK = 150
"""Jobs of a trace in a hurry."""
PERIOD_MS = 1000.0
SEEDS = 10
"""Traces of a group; the published figures are of five."""


@dataclass(frozen=True, slots=True)
class Scheme:
    """What is compared.

    Parameters
    ----------
    paths : str
        ``ecmp``, ``crux``, ``perfect``, ``chosen``, ``even`` or, with ``flows``, ``sglb``.
    place, shifts : bool
        Whether jobs are put at the calmest of places that are as good, and whether they are shifted.
    one_period : bool
        Whether all jobs have one iteration time.
    flows : bool
        Whether each flow has a rate of its own (:mod:`bench.testbed.monkeytree.flows`).
    """

    paths: str
    place: bool = False
    shifts: bool = False
    one_period: bool = False
    flows: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """Schemes that are compared with each other, on traces of so many jobs."""

    what: str
    jobs: int
    seeds: int
    schemes: Mapping[str, Scheme]


GROUPS: Mapping[str, Group] = {
    "published": Group(
        "as long as the published traces",
        2400,
        SEEDS,
        {
            "ECMP": Scheme("ecmp"),
            "perfect routing": Scheme("perfect"),
            "placement, perfect routing": Scheme("perfect", place=True),
            "placement, paths chosen": Scheme("chosen", place=True),
            "even over all spines": Scheme("even"),
            "placement, even over all spines": Scheme("even", place=True),
        },
    ),
    "parts": Group(
        "what each part does, on shorter traces",
        1000,
        SEEDS,
        {
            "ECMP": Scheme("ecmp"),
            "ECMP, shifts": Scheme("ecmp", shifts=True),
            "placement, ECMP": Scheme("ecmp", place=True),
            "placement, ECMP, shifts": Scheme("ecmp", place=True, shifts=True),
            "Crux": Scheme("crux"),
            "perfect routing": Scheme("perfect"),
            "placement, perfect routing": Scheme("perfect", place=True),
            "paths chosen": Scheme("chosen"),
            "paths chosen, shifts": Scheme("chosen", shifts=True),
            "placement, paths chosen": Scheme("chosen", place=True),
            "placement, paths chosen, shifts": Scheme("chosen", place=True, shifts=True),
            "even over all spines": Scheme("even"),
            "placement, even over all spines": Scheme("even", place=True),
            "placement, even, shifts": Scheme("even", place=True, shifts=True),
        },
    ),
    "one period": Group(
        "were all iterations equally long",
        500,
        SEEDS,
        {
            "perfect routing": Scheme("perfect", one_period=True),
            "perfect routing, shifts": Scheme("perfect", shifts=True, one_period=True),
            "even over all spines": Scheme("even", one_period=True),
            "even over all spines, shifts": Scheme("even", shifts=True, one_period=True),
        },
    ),
}
FLOWS: Mapping[str, Scheme] = {
    "SGLB, flows": Scheme("sglb", flows=True),
    "ECMP, flows": Scheme("ecmp", flows=True),
    "perfect routing, flows": Scheme("perfect", flows=True),
    "placement, paths chosen, flows": Scheme("chosen", place=True, flows=True),
}
"""With a rate of its own for each flow: minutes a trace, so not part of :func:`run`."""
PUBLISHED: Mapping[str, tuple[float, float]] = {
    "ECMP": (1.606, 3.743),
    "Crux": (1.259, 2.114),
    "perfect routing": (1.202, 1.911),
    "SGLB": (1.148, 1.654),
    "MonkeyTree": (1.004, 1.044),
}
"""Figure 6 at load 1.0: mean and 99th percentile, of five traces of some 2,400 jobs."""

_NOTES: Mapping[str, str] = {
    "ECMP": "what has to be met before other figures mean anything",
    "perfect routing": "the same",
    "placement, perfect routing": "jobs put elsewhere when they start, and nothing else",
    "placement, paths chosen": "one path a flow, as for SGLB: 1.148 / 1.654 published",
    "even over all spines": "2 paths for each of 8 flows, 16 for a single one: several queue pairs, or spraying",
    "placement, even over all spines": "MonkeyTree, which moves jobs: 1.004 / 1.044",
}


def run(settings: Settings) -> dict[str, Any]:
    """Mean and percentiles of slowdowns of all jobs of all seeds, and by seed, for each group and scheme."""
    return {
        key: {
            name: _run(name, scheme, QUICK if settings.quick else group.jobs, group.seeds, settings)
            for name, scheme in group.schemes.items()
        }
        for key, group in GROUPS.items()
    }


def rows(data: dict[str, Any]) -> list[Row]:
    """Mean and 99th percentile, published and ours."""
    found = []
    for key, schemes in data.items():
        for name, one in schemes.items():
            here = key == "published"
            paper = _both(PUBLISHED[name]) if here and name in PUBLISHED else ""
            what = f"{name}: slowdown, mean / p99" if here else f"{GROUPS[key].what}: {name}"
            found.append(Row(what, paper, _shown(one), _NOTES.get(name, "") if here else ""))
        if key == "published":
            for name in ("SGLB", "MonkeyTree"):
                found.append(Row(f"{name}: slowdown, mean / p99", _both(PUBLISHED[name]), "", "not run here"))
    return found


def plot(data: dict[str, Any], path: Path) -> None:
    """Bars with the range of the seeds, and diamonds where something is published."""
    schemes = data["published"]
    names = [*schemes, "SGLB", "MonkeyTree"]
    place = np.arange(len(names))[::-1]
    with saved(path, "Bars: all jobs of all traces; lines: from the lowest to the highest trace. No job is moved."):
        _, axes = pyplot.subplots(1, 2, figsize=(10, 3.6), sharey=True)
        for at, (axis, kind) in enumerate(zip(axes, ("mean", "p99"), strict=True)):
            for y, name in zip(place, names, strict=True):
                if name in schemes:
                    value = schemes[name]["pooled"][kind]
                    spread = [seed[kind] for seed in schemes[name]["by_seed"]]
                    color = "#a9b4bd" if name in PUBLISHED else SERIES[0]
                    axis.barh(y, value - 1, left=1, height=0.65, color=color)
                    axis.plot([min(spread), max(spread)], [y, y], color="black", linewidth=1.2)
                if name in PUBLISHED:
                    axis.plot(PUBLISHED[name][at], y, "D", color=SERIES[1], markersize=5)
            axis.axvline(PUBLISHED["SGLB"][at], color=SERIES[1], linewidth=0.8, linestyle=":")
            axis.set(xlabel=f"slowdown, {'mean' if kind == 'mean' else '99th percentile'}")
            axis.grid(axis="x", color="#dddddd", linewidth=0.6)
            axis.set_axisbelow(True)
        axes[0].set_yticks(place, names)
        axes[1].plot([], [], "D", color=SERIES[1], label="published")
        axes[1].plot([], [], ":", color=SERIES[1], label="SGLB, published")
        axes[1].legend(loc="lower right")


def _run(name: str, scheme: Scheme, jobs: int, seeds: int, settings: Settings) -> dict[str, Any]:
    folder = os.environ.get("MONKEYTREE_JOBS")
    kinds = tuple(KINDS if folder is None else read_kinds(Path(folder)))
    found = run_seeds(
        functools.partial(_one, scheme, jobs, kinds),
        range(min(settings.seeds, seeds)),
        settings.folder
        / f"{name}, {jobs} jobs{', one period' * scheme.one_period}".replace(", ", "-").replace(" ", "-"),
        {"scheme": asdict(scheme), "jobs": jobs, "kinds": [asdict(kind) for kind in kinds]},
        processes=settings.processes,
        progress=settings.progress,
    )
    by_seed = [one["slowdowns"] for one in found.values()]
    pooled = _figures([slowdown for one in by_seed for slowdown in one])
    return {"jobs": jobs, "pooled": pooled, "by_seed": [_figures(one) for one in by_seed]}


def _one(scheme: Scheme, jobs: int, kinds: tuple[Kind, ...], seed: int) -> dict[str, Any]:
    arrivals = trace(seed, jobs, kinds=of_one_period(kinds, PERIOD_MS) if scheme.one_period else kinds)
    paths: dict[str, Choose] = {
        "ecmp": functools.partial(routing.ecmp, seed=seed),
        "crux": routing.crux,
        "perfect": routing.perfect,
        "chosen": Chosen(seed=seed),
        "even": routing.even,
        "sglb": routing.ecmp,  # until they begin
    }
    network = FlowNetwork(sglb=scheme.paths == "sglb", seed=seed) if scheme.flows else None
    policy = Policy(paths[scheme.paths], Shifts() if scheme.shifts else None, calmest if scheme.place else best_fit)
    return {"slowdowns": [round(slowdown, 6) for slowdown in slowdowns(arrivals, policy, network).values()]}


def _both(figures: tuple[float, float]) -> str:
    return f"{figures[0]:.3f} / {figures[1]:.3f}"


def _figures(found: list[float]) -> dict[str, float]:
    p50, p90, p99 = np.percentile(found, (50, 90, 99)).tolist()
    return {"mean": float(np.mean(found)), "p50": p50, "p90": p90, "p99": p99}


def _shown(one: dict[str, Any]) -> str:
    parts = []
    for kind in ("mean", "p99"):
        spread = [seed[kind] for seed in one["by_seed"]]
        parts.append(f"{one['pooled'][kind]:.3f} ({min(spread):.3f} to {max(spread):.3f})")
    return " / ".join(parts)


def main(argv: list[str] | None = None) -> int:
    """Some schemes on traces of another length: a line for each."""
    schemes = {**GROUPS["published"].schemes, **GROUPS["parts"].schemes, **FLOWS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schemes", nargs="+", choices=schemes, metavar="NAME", help="; ".join(schemes))
    parser.add_argument("--jobs", type=int, default=1000, help="of a trace")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--kept", type=Path, required=True, help="folder for what has been run")
    options = parser.parse_args(argv)
    settings = Settings(options.seeds, options.kept, options.processes)
    for name in options.schemes:
        print(f"{name}: {_shown(_run(name, schemes[name], options.jobs, options.seeds, settings))}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
