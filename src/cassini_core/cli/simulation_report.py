"""A comparison of schedulers for people: tables, and what they say in sentences."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from ..formats import counted
from ..simulation.comparison import GAINS, Comparison
from ..simulation.estimate import CONFIDENCE, Estimate
from .tables import Listing

__all__ = ["simulation_report", "simulation_warnings"]


def simulation_report(comparison: Comparison, hosts: int) -> Iterator[RenderableType]:
    """Times, what became of the tasks, and the gains."""
    sizes = f"{counted(comparison.tasks, 'task')} on {counted(hosts, 'host')}"
    yield Text(f"{sizes}, {counted(len(comparison.seeds), 'seed')}{_meant(comparison)}\n")
    yield _times(comparison)
    yield _tasks(comparison)
    augmented = [one.scheduler for one in comparison.compared if one.cassini]
    if augmented:
        yield _gains(comparison, augmented)
        yield Text("\n".join(_conclusion(comparison, scheduler) for scheduler in augmented))


def simulation_warnings(comparison: Comparison) -> Iterator[str]:
    """What a reader of the tables must know."""
    for one in comparison.compared:
        done = [value for value in one.values("tasks_done") if value is not None]
        if min(done) < comparison.tasks:
            span = f"{min(done):g}" if min(done) == max(done) else f"{min(done):g} to {max(done):g}"
            yield f"under {one.name} {span} of {counted(comparison.tasks, 'task')} ended; completion is that of these"
        discarded = sum(value or 0 for value in one.values("discarded_rounds"))
        if discarded:
            rounds = sum(run["rounds"] for run in one.runs.values())
            yield (
                f"under {one.name} all candidates were discarded in {discarded:g} of {rounds} rounds: there the "
                "scheduler went on without shifts"
            )


def _times(comparison: Comparison) -> Listing:
    table = Listing("Times", ("scheduler", "iteration, mean ms", "p99 ms", "completion s"), "lrrr")
    for one in comparison.compared:
        mean, p99, completion = (one.estimate(name) for name in ("mean_ms", "p99_ms", "completion_s"))
        # Whole seconds, so that a row stays within 80 columns.
        digits = 0 if completion is not None and completion.high >= 100 else 1
        spread = ((mean, 1), (p99, 1), (completion, digits))
        table.add(one.name, *(_spread(each, places, len(comparison.seeds)) for each, places in spread))
    return table


def _tasks(comparison: Comparison) -> Listing:
    marks = any(one.estimate("marked") is not None for one in comparison.compared)
    more = ["marks/iteration"] if marks else []
    headers = ("scheduler", "ended", "waited s", "restarts", "adjustments/min", *more)
    table = Listing("Tasks", headers, f"l{'r' * (len(headers) - 1)}")
    forms = {"tasks_done": "g", "waited_s": ".1f", "restarts": "g", "adjustments_per_min": ".2f"}
    for one in comparison.compared:
        cells = [
            _middle(one.estimate(name), form) for name, form in (forms | ({"marked": ".1f"} if marks else {})).items()
        ]
        table.add(one.name, *cells)
    return table


def _gains(comparison: Comparison, schedulers: list[str]) -> Listing:
    headers = ("scheduler", "iteration, mean", "p99", "completion")
    table = Listing("Time without Cassini over time with it", headers, "lrrr")
    for scheduler in schedulers:
        table.add(scheduler, *(_spread(comparison.gain(scheduler, name), 3, len(comparison.seeds)) for name in GAINS))
    return table


def _meant(comparison: Comparison) -> str:
    """What the numbers of the tables are."""
    if len(comparison.seeds) == 1:
        return ""
    if comparison.confidence < CONFIDENCE:
        return ": medians [least, most]"
    return f": medians [{100 * comparison.confidence:.0f} % interval]"


def _conclusion(comparison: Comparison, scheduler: str) -> str:
    """What Cassini does to the mean iteration time."""
    gain = comparison.gain(scheduler, "mean_ms")
    if gain is None:
        return f"Of {scheduler} nothing can be said: in a run no iteration ended."
    with_or_without, times = ("without", gain.median) if gain.median > 1 else ("with", 1 / gain.median)
    said = f"{times:.3f} times as long {with_or_without} Cassini, on average"
    if times < 1.0005:
        said = "as long with Cassini as without"
    if comparison.confidence < CONFIDENCE:
        few = counted(len(comparison.seeds), "seed")
        return f"In {few} iterations of {scheduler} take {said}; nothing is sure with fewer than 6."
    if gain.low <= 1 <= gain.high:
        return f"Iterations of {scheduler} take as long with Cassini as without, as far as these seeds tell."
    return f"Iterations of {scheduler} take {said}."


def _spread(one: Estimate | None, digits: int, seeds: int) -> str:
    if one is None:
        return "-"
    interval = f" [{one.low:.{digits}f}, {one.high:.{digits}f}]" if seeds > 1 else ""
    return f"{one.median:.{digits}f}{interval}"


def _middle(one: Estimate | None, form: str) -> str:
    return "-" if one is None else f"{one.median:{form}}"
