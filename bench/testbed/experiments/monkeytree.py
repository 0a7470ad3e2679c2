"""MonkeyTree's Figure 6 at load 1.0: how far do placement and time-shifts get, and paths, if no job is ever moved?

``make paper`` runs it. The published traces have about 2,400 jobs; schemes on traces of another length:
``python -m bench.testbed.experiments.monkeytree --jobs 2400 --seeds 3 --kept FOLDER NAME ...``.

The kinds of jobs are those that the artifact's job files state. To read
them from the files, get github.com/hipersys-team/MonkeyTreeArtifact and name its folder ``jobs`` in the environment
variable ``MONKEYTREE_JOBS``. The artifact has no arrivals and no placements: a script draws them. So are they drawn
here, from the same distribution.
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

JOBS, FEWER, QUICK = 1000, 500, 150
"""Of a trace: the artifact's default; where all jobs have one iteration time; in a hurry."""
SEEDS, FEW = 5, 3
"""At most: as many as the published repetitions, and for what only takes others apart."""
PERIOD_MS = 1000.0


@dataclass(frozen=True, slots=True)
class Scheme:
    """What is compared.

    Parameters
    ----------
    paths : str
        ``ecmp``, ``crux``, ``perfect``, ``chosen``, ``even`` or, with ``flows``, ``sglb``.
    place, shifts : bool
        Whether jobs are put at the calmest of places that are as good, and whether they are shifted.
    seeds : int
        At most.
    published : tuple of float, optional
        Mean and 99th percentile in Figure 6.
    one_period : bool
        Whether all jobs have one iteration time.
    flows : bool
        Whether each flow has a rate of its own (:mod:`bench.testbed.monkeytree.flows`).
    """

    paths: str
    place: bool = False
    shifts: bool = False
    seeds: int = SEEDS
    published: tuple[float, float] | None = None
    one_period: bool = False
    flows: bool = False


SCHEMES: Mapping[str, Scheme] = {
    "ECMP": Scheme("ecmp", published=(1.606, 3.743)),
    "Crux": Scheme("crux", published=(1.259, 2.114)),
    "perfect routing": Scheme("perfect", published=(1.202, 1.911)),
    "ECMP, shifts": Scheme("ecmp", shifts=True, seeds=FEW),
    "placement, ECMP": Scheme("ecmp", place=True, seeds=FEW),
    "placement, ECMP, shifts": Scheme("ecmp", place=True, shifts=True, seeds=FEW),
    "paths chosen": Scheme("chosen", seeds=FEW),
    "paths chosen, shifts": Scheme("chosen", shifts=True, seeds=FEW),
    "placement, perfect routing": Scheme("perfect", place=True),
    "placement, paths chosen": Scheme("chosen", place=True),
    "placement, paths chosen, shifts": Scheme("chosen", place=True, shifts=True, seeds=FEW),
    "even over all spines": Scheme("even"),
    "placement, even over all spines": Scheme("even", place=True),
    "placement, even, shifts": Scheme("even", place=True, shifts=True, seeds=FEW),
}
ONE_PERIOD: Mapping[str, Scheme] = {
    "perfect routing": Scheme("perfect", seeds=FEW, one_period=True),
    "perfect routing, shifts": Scheme("perfect", shifts=True, seeds=FEW, one_period=True),
    "even over all spines": Scheme("even", seeds=FEW, one_period=True),
    "even over all spines, shifts": Scheme("even", shifts=True, seeds=FEW, one_period=True),
}
"""The same, were all iterations equally long."""
FLOWS: Mapping[str, Scheme] = {
    "SGLB, flows": Scheme("sglb", flows=True),
    "ECMP, flows": Scheme("ecmp", flows=True),
    "perfect routing, flows": Scheme("perfect", flows=True),
    "placement, paths chosen, flows": Scheme("chosen", place=True, flows=True),
}
"""With a rate of its own for each flow: minutes a trace, so not part of :func:`run`."""
OTHERS: Mapping[str, tuple[float, float]] = {"SGLB": (1.148, 1.654), "MonkeyTree": (1.004, 1.044)}
"""Published too, mean and 99th percentile, and not run here."""

_NOTES: Mapping[str, str] = {
    "ECMP": "what has to be met before other figures mean anything",
    "Crux": "published: activations count as flows when paths are chosen",
    "ECMP, shifts": "flows of one job meet on one link, which no shift mends",
    "paths chosen": "one path a flow; running jobs get other paths, but stay where they are",
    "placement, paths chosen": "the lowest without splitting flows; SGLB: 1.148 / 1.654",
    "even over all spines": "2 paths for each of 8 flows, 16 for a single one: several queue pairs, or spraying",
    "placement, even over all spines": "MonkeyTree, which moves jobs: 1.004 / 1.044",
}


def run(settings: Settings) -> dict[str, Any]:
    """Mean and percentiles of slowdowns of all jobs of all seeds, and by seed, for each scheme."""
    data: dict[str, Any] = {}
    for group, schemes in (("schemes", SCHEMES), ("one_period", ONE_PERIOD)):
        data[group] = {}
        for name, scheme in schemes.items():
            jobs = QUICK if settings.quick else FEWER if scheme.one_period else JOBS
            data[group][name] = _run(name, scheme, jobs, settings)
    return data


def _run(name: str, scheme: Scheme, jobs: int, settings: Settings) -> dict[str, Any]:
    folder = os.environ.get("MONKEYTREE_JOBS")
    kinds = tuple(KINDS if folder is None else read_kinds(Path(folder)))
    found = run_seeds(
        functools.partial(_one, scheme, jobs, kinds),
        range(min(settings.seeds, scheme.seeds)),
        settings.folder
        / f"{name}, {jobs} jobs{', one period' * scheme.one_period}".replace(", ", "-").replace(" ", "-"),
        {"scheme": asdict(scheme), "jobs": jobs, "kinds": [asdict(kind) for kind in kinds]},
        processes=settings.processes,
        progress=settings.progress,
    )
    by_seed = [one["slowdowns"] for one in found.values()]
    pooled = _figures([slowdown for one in by_seed for slowdown in one])
    return {"jobs": jobs, "pooled": pooled, "by_seed": [_figures(one) for one in by_seed]}


def rows(data: dict[str, Any]) -> list[Row]:
    """Mean and 99th percentile, published and ours."""
    found = []
    for name, one in data["schemes"].items():
        published = SCHEMES[name].published
        paper = "" if published is None else f"{published[0]:.3f} / {published[1]:.3f}"
        found.append(Row(f"{name}: slowdown, mean / p99", paper, _shown(one), _NOTES.get(name, "")))
    for name, (mean, p99) in OTHERS.items():
        found.append(Row(f"{name}: slowdown, mean / p99", f"{mean:.3f} / {p99:.3f}", "", "not run here"))
    for name, one in data["one_period"].items():
        note = "the same jobs, were all iterations equally long"
        found.append(Row(f"one period, {name}: slowdown, mean / p99", "", _shown(one), note))
    return found


def plot(data: dict[str, Any], path: Path) -> None:
    """Bars with the range of the seeds, and diamonds where something is published."""
    published = {name: scheme.published for name, scheme in SCHEMES.items() if scheme.published} | dict(OTHERS)
    names = [*data["schemes"], *OTHERS]
    place = np.arange(len(names))[::-1]
    seeds = max(len(one["by_seed"]) for one in data["schemes"].values())
    with saved(path, f"Bars: all jobs of {FEW} to {seeds} traces; lines: from the lowest to the highest trace."):
        _, axes = pyplot.subplots(1, 2, figsize=(10, 5), sharey=True)
        for at, (axis, kind) in enumerate(zip(axes, ("mean", "p99"), strict=True)):
            for y, name in zip(place, names, strict=True):
                one = data["schemes"].get(name)
                if one is not None:
                    value, spread = one["pooled"][kind], [seed[kind] for seed in one["by_seed"]]
                    ours = SCHEMES[name].published is None
                    axis.barh(y, value - 1, left=1, height=0.65, color=SERIES[0] if ours else "#a9b4bd")
                    axis.plot([min(spread), max(spread)], [y, y], color="black", linewidth=1.2)
                if name in published:
                    axis.plot(published[name][at], y, "D", color=SERIES[1], markersize=5)
            axis.axvline(published["SGLB"][at], color=SERIES[1], linewidth=0.8, linestyle=":")
            axis.set(xlabel=f"slowdown, {'mean' if kind == 'mean' else '99th percentile'}")
            axis.grid(axis="x", color="#dddddd", linewidth=0.6)
            axis.set_axisbelow(True)
        axes[0].set_yticks(place, names)
        axes[1].plot([], [], "D", color=SERIES[1], label="published")
        axes[1].plot([], [], ":", color=SERIES[1], label="SGLB, published")
        axes[1].legend(loc="lower right")


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
    all_schemes = {**SCHEMES, **FLOWS}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schemes", nargs="*", default=list(SCHEMES), metavar="NAME", help="; ".join(all_schemes))
    parser.add_argument("--jobs", type=int, default=JOBS, help="of a trace")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--processes", type=int)
    parser.add_argument("--kept", type=Path, required=True, help="folder for what has been run")
    options = parser.parse_args(argv)
    settings = Settings(options.seeds, options.kept, options.processes)
    for name in options.schemes:
        print(f"{name}: {_shown(_run(name, all_schemes[name], options.jobs, settings))}", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
