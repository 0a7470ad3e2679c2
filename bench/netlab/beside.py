"""The same scenarios in simulation and on the network, side by side.

python -m bench.netlab.beside [--runs N] [--out FOLDER]      (what bench/results/netlab.json lacks is "not run")
"""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.control.link import Newcomer
from bench.measuring import reports
from bench.measuring.machine import about
from bench.measuring.progress import Progress
from bench.measuring.tables import table

from . import scenarios
from .measures import alone_ms
from .report import NAME, targets
from .rows import Row, rows
from .scenarios import ALONE, Scenario, with_alone
from .settings import Setting
from .simulated import simulate
from .topology import LOOP

__all__ = ["main"]

OUT = "control-both"
NETWORK = Path("bench/results") / f"{NAME}.json"

FIFO = Newcomer(2.5, 30.0)
"""As bursts of eight flows were seen to share one queue that had not met for some seconds (answered.md)."""

NOT_RUN = "not run"

SAME = ", FIFO, 8 flows, cubic"
"""What the settings of all have in common."""

_ABOUT = """\
Scenarios of [the study on a kernel's network]({name}.md), which says what is measured and how, and the same in
simulation: the jobs start as far apart and compute as long, and all of the product is what runs on the network too
(agents, daemons, coordinator, `cassini_agent.interleave`). Simulated are time, the link, and what lies between
processes. The link is fluid, without packets or marks:
{sharing}.
Two racks are one link there: both jobs cross both. On the network there is one FIFO queue, eight cubic flows a job, and
ECN.

`python -m bench.netlab.beside`: {runs} simulated runs of each in {took_s:.0f} s, commit {commit}; network: the runs of
[{name}.md]({name}.md), commit {network}.

*Slower*, *p99*, *adjustments* (a minute and job): mean over runs and jobs (the worst). *First after*, *interleaved
after*, *apart after*: median over runs (the worst). *Meanwhile*: mean over runs (the worst)."""


def main() -> int:
    """Always 0."""
    parser = reports.parser("bench.netlab.beside", __doc__, "one simulated run of each")
    parser.add_argument("--runs", type=int, default=10, metavar="N", help="simulated, of each scenario (10; quick: 1)")
    parser.add_argument("--fair", action="store_true", help="a link that all share evenly, whoever came first")
    parser.add_argument("--network", type=Path, default=NETWORK, metavar="FILE", help="written by the network's study")
    options = parser.parse_args()
    newcomer = None if options.fair else FIFO
    wanted = chosen()
    begun_s = time.monotonic()
    simulated = _simulated(wanted, 1 if options.quick else options.runs, newcomer)
    took_s = time.monotonic() - begun_s
    network, commit = on_network(options.network, wanted)
    machine = about()
    said = _ABOUT.format(
        name=NAME,
        sharing=_sharing(newcomer),
        runs=1 if options.quick else options.runs,
        took_s=took_s,
        commit=machine["commit"],
        network=commit,
    )
    options.out.mkdir(parents=True, exist_ok=True)
    text = markdown(wanted, simulated, network, said, options.quick)
    figures = {"machine": machine, "simulated": [_figures(one) for one in simulated]}
    reports.write(options.out, OUT, text, figures, [])
    return 0


def _sharing(newcomer: Newcomer | None) -> str:
    if newcomer is None:
        return "whoever sends gets an equal share"
    return (
        f"a burst that begins gets {newcomer.weight:g} times the share of one under way, for "
        f"{newcomer.lasts_ms:g} ms ([why](answered.md#two-bursts-in-one-queue))"
    )


def chosen() -> list[Scenario]:
    """Those that the simulation can tell: one queue for all, eight flows; two racks; all disturbances."""
    settings = (Setting(), Setting(jitter=0.03), Setting(topology=LOOP), Setting(topology=LOOP, jitter=0.03))
    found = [one for one in scenarios.full("plain") if one.setting in settings or one.disturbance.name]
    return [one for one in found if one.mode != ALONE]


def _simulated(wanted: Sequence[Scenario], runs: int, newcomer: Newcomer | None) -> list[Row]:
    """With the jobs alone before them."""
    tasks = [(one, number) for one in with_alone(list(wanted)) for number in range(one.runs(runs))]
    records: dict[tuple[str, int], Mapping[str, Any]] = {}
    progress = Progress()
    progress.study("simulated runs")
    for done, (one, number) in enumerate(tasks):
        progress.step(done, len(tasks), one.name)
        alone = [record for key, record in records.items() if key[0] == f"{one.setting.name}: {ALONE}"]
        alone_s = alone_ms(alone) / 1e3 if alone else 0.0
        records[one.name, number] = simulate(one, number, alone_s, newcomer)
    progress.done()
    return [one for one in rows(tasks, records) if one.scenario.mode != ALONE]


def on_network(file: Path, wanted: Sequence[Scenario]) -> tuple[list[Row], str]:
    """Those runs that a report of the study has, in the order of the scenarios, and their commit."""
    if not file.exists():
        return [], "none"
    told = json.loads(file.read_text(encoding="utf-8"))
    found = []
    for scenario in wanted:
        for run in told["runs"]:
            if run["scenario"] == scenario.name:
                found.append(Row(scenario, run["number"], _measured(run, scenario), run["events"]))
    return found, str(told["sessions"][-1]["commit"])


def _measured(run: Mapping[str, Any], scenario: Scenario) -> dict[str, Any]:
    """As it was before it was written: JSON has no infinity, and no nan."""
    never = None if scenario.disturbance.at_s is None else math.inf
    found = {key: never if run[key] is None else run[key] for key in ("interleaved_s", "apart_s")}
    jobs = {
        name: {key: math.nan if value is None else value for key, value in job.items()}
        for name, job in run["jobs"].items()
    }
    first_s = math.inf if run["first_s"] is None else run["first_s"]
    return {"jobs": jobs, "first_s": first_s, "meanwhile": run["meanwhile"], **found}


def _figures(one: Row) -> dict[str, Any]:
    return {"scenario": one.scenario.name, "number": one.number, **one.found}


def markdown(
    wanted: Sequence[Scenario], simulated: Sequence[Row], network: Sequence[Row], said: str, quick: bool = False
) -> str:
    """The report: scenarios in their order, and what is known of each."""
    title = "Control in simulation and on a kernel's network"
    parts = [*filter(None, reports.heading(title, {}, quick)), said + "\n"]
    for title, disturbed, figures in (("Undisturbed", False, _UNDISTURBED), ("Disturbed", True, _AFTER)):
        some = [one for one in wanted if bool(one.disturbance.name) == disturbed]
        parts += [f"## {title}\n", _side_by_side(some, simulated, network, figures)]
    parts += ["## How far apart\n", _distances(wanted, simulated, network), "## Targets\n"]
    return "\n".join([*parts, _targets(simulated, network)])


@dataclass(frozen=True)
class _Figure:
    """What is said of some runs: of their values (of each job, or of each run) the typical one, and the worst."""

    values: Callable[[Sequence[Row]], Sequence[float]]
    typical: Callable[[Sequence[float]], float]
    shown: Callable[[float], str]

    def text(self, runs: Sequence[Row]) -> str:
        """Empty where there is nothing to say."""
        values = self.values(runs)
        return f"{self.shown(self.typical(values))} ({self.shown(max(values))})" if values else ""

    def apart(self, some: Sequence[Row], others: Sequence[Row]) -> float:
        """By how much the typical values differ; nan where it cannot be said."""
        both = [self.values(some), self.values(others)]
        if not all(both):
            return math.nan
        one, other = map(self.typical, both)
        return abs(one - other) if math.isfinite(one) and math.isfinite(other) else math.nan


def _side_by_side(
    wanted: Sequence[Scenario], simulated: Sequence[Row], network: Sequence[Row], figures: Mapping[str, _Figure]
) -> str:
    """A line a scenario; of each figure what was simulated, and beside it what was seen on the network."""
    head = ["scenario", "runs: simulated", "network"]
    for what in figures:
        head += [f"{what}: simulated", "network"]
    lines = []
    for scenario in wanted:
        both = _of(scenario, simulated), _of(scenario, network)
        line = [scenario.name.replace(SAME, ""), *(str(len(some)) if some else NOT_RUN for some in both)]
        for figure in figures.values():
            line += [figure.text(some) for some in both]
        lines.append(line)
    return table(head, lines)


def _distances(wanted: Sequence[Scenario], simulated: Sequence[Row], network: Sequence[Row]) -> str:
    """How well the simulation tells what the network shows."""
    lines = []
    for what, figure in (_UNDISTURBED | _AFTER).items():
        found = [figure.apart(_of(one, simulated), _of(one, network)) for one in wanted]
        known = [value for value in found if not math.isnan(value)]
        if known:
            lines.append((what, str(len(known)), figure.shown(statistics.fmean(known)).lstrip("+")))
    return table(("figure", "scenarios", "mean distance"), lines)


def _targets(simulated: Sequence[Row], network: Sequence[Row]) -> str:
    """How often what is wanted was reached."""
    both = [{words: f"{reached} of {of}" for words, reached, of in targets(some)} for some in (simulated, network)]
    lines = [(words, *(each.get(words, NOT_RUN) for each in both)) for words in both[0] | both[1]]
    return table(("wanted", "simulated", "network"), lines)


def _of(scenario: Scenario, runs: Sequence[Row]) -> list[Row]:
    return [one for one in runs if one.scenario == scenario]


def _of_jobs(key: str) -> Callable[[Sequence[Row]], Sequence[float]]:
    """Of each job of each run; one that was not there while it was measured has none."""
    return lambda runs: [
        job[key] for one in runs for job in one.found["jobs"].values() if key in job and not math.isnan(job[key])
    ]


def _of_runs(key: str) -> Callable[[Sequence[Row]], Sequence[float]]:
    return lambda runs: [one.found[key] for one in runs if one.found[key] is not None]


def _seconds(value: float) -> str:
    return "never" if math.isinf(value) else f"{value:.1f} s"


_BOTH = {
    "slower": _Figure(_of_jobs("slower"), statistics.fmean, "{:+.1%}".format),
    "p99": _Figure(_of_jobs("p99"), statistics.fmean, "{:.2f}".format),
    "adjustments": _Figure(_of_jobs("adjustments"), statistics.fmean, "{:.1f}".format),
}
_UNDISTURBED = {**_BOTH, "first after": _Figure(_of_runs("first_s"), statistics.median, _seconds)}
_AFTER = {
    **_BOTH,
    "interleaved after": _Figure(_of_runs("interleaved_s"), statistics.median, _seconds),
    "apart after": _Figure(_of_runs("apart_s"), statistics.median, _seconds),
    "meanwhile": _Figure(_of_runs("meanwhile"), statistics.fmean, "{:+.1%}".format),
}


if __name__ == "__main__":
    sys.exit(main())
