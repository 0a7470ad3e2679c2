"""``cassini-core simulate``: what Cassini would win on a cluster, by running its tasks with and without it."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ..errors import InputError, shown
from ..schedulers.named import SchedulerName
from .console import Waiting, check_output_path, emit_bytes, emit_renderables, one_line, write_file
from .inputs import STREAM, read_input
from .options import JsonFlag, PositiveCount, number_from, whole_number_from

if TYPE_CHECKING:
    from ..schedulers.state import TrainingTask
    from ..simulation.comparison import Comparison

__all__ = ["simulate"]


def simulate(
    source: str,
    /,
    *,
    tasks: str,
    scheduler: Annotated[tuple[SchedulerName, ...], Parameter(negative=(), show_default=False)] = ("packed", "ideal"),
    seeds: Annotated[int, Parameter(converter=whole_number_from(1))] = 6,
    json: JsonFlag = False,
    plot: str | None = None,
    out: str | None = None,
    candidates: Annotated[int, Parameter(converter=whole_number_from(1))] = 10,
    papers_rule: Annotated[bool, Parameter(negative="")] = False,
    marks: Annotated[bool, Parameter(negative="")] = False,
    until_s: Annotated[float | None, Parameter(converter=number_from(0, above=True))] = None,
    holding: Literal["agent", "grid", "none"] = "agent",
    margin: Annotated[float | None, Parameter(converter=number_from(0))] = None,
    jitter: Literal["normal", "exponential", "lognormal", "autocorrelated"] = "normal",
    jitter_share: Annotated[float, Parameter(converter=number_from(0))] = 0.01,
    restart_s: Annotated[float, Parameter(converter=number_from(0))] = 30.0,
    gpus: PositiveCount = None,
    ecmp: Literal["spread", "hash"] = "spread",
    processes: PositiveCount = None,
) -> None:
    """Simulate tasks on a network under schedulers, each as it is and with Cassini, and tell what Cassini wins.

    Prints iteration and completion times, medians over the seeds with intervals, and how many times less they are with
    Cassini.

    Parameters
    ----------
    source
        The network: a file as cassini-core topology takes it, - for standard input, testbed or testbed-two-gpus.
    tasks
        File of tasks that arrive over time (cassini-tasks/1), or - for standard input.
    scheduler
        Who proposes placements; several, if given several times. ideal runs each task alone: the best that can be.
        Default: packed and ideal.
    seeds
        Runs of each. They differ in phases at which tasks start, in jitter and in what schedulers draw. With fewer
        than 6, intervals have less than 95 % confidence.
    plot
        Picture to write of how long iterations take; its name ends in .png, .svg or .pdf.
    out
        Folder that keeps each run, made if need be: what was interrupted goes on, and more seeds or schedulers are
        added to what is there.
    candidates
        Placements that Cassini ranks in a round, at most.
    papers_rule
        Rank as the paper does: placements with loops are discarded, the mean over links decides.
    marks
        Count ECN marks, as the paper's switches and transport would make them.
    until_s
        When simulations end, s, whatever is left to do. Default: when all tasks are done.
    holding
        What holds tasks at their time-shifts: the agent's own controller, a simple rule that is quicker to simulate, or
        nothing.
    margin
        By how much longer held iterations are than without others, relative. Default: the agent's own margin, from the
        jitter and from what there is room for.
    jitter
        Distribution of computing times.
    jitter_share
        Their standard deviation, relative to their mean.
    restart_s
        What a task takes to train again after it was moved, s.
    gpus
        GPUs of each host of which the network does not say how many it has.
    ecmp
        What is done where several paths are equally short: traffic is spread over them, or each flow takes one by a
        hash.
    processes
        Runs at a time; the answer does not depend on it. Default: one per core.
    """
    if source == STREAM and tasks == STREAM:
        raise InputError("--tasks: expected a file, as the network is read from standard input, got -")
    inputs = tuple(one for one in (source, tasks) if one != STREAM)
    _check_targets(plot, out, inputs)
    from ..schedulers.augmented import PAPERS_RULE
    from ..simulation.cluster import ClusterOptions
    from ..simulation.comparison import compare_schedulers
    from ..simulation.marking import Marking
    from .place import network_with_capacities

    with Waiting("simulating tasks") as waiting:
        network, assumed = network_with_capacities(source)
        found, name = _tasks(tasks)
        options = ClusterOptions(
            restart_s=restart_s,
            holding=holding,
            margin=margin,
            jitter=jitter,
            jitter_share=jitter_share,
            marking=Marking() if marks else None,
            until_s=math.inf if until_s is None else until_s,
        )
        try:
            compared = compare_schedulers(
                network,
                found,
                scheduler,
                seeds=seeds,
                candidates=candidates,
                rank_options=PAPERS_RULE if papers_rule else {},
                options=options,
                gpus_per_host=gpus,
                ecmp=ecmp,
                folder=None if out is None else Path(out),
                processes=processes,
                progress=lambda done, total: waiting.update(int(done * len(found)), total * len(found)),
            )
        except InputError as error:
            raise InputError(f"{name}: {error}") if str(error).startswith("task ") else error from None
    if plot is not None:
        _draw(compared, plot)
    if json:
        emit_bytes(compared.to_json())
    else:
        from rich.text import Text

        from .simulation_report import simulation_report, simulation_warnings
        from .topology import ASSUMED

        warnings = [*simulation_warnings(compared)]
        if assumed:
            warnings.append(f"{ASSUMED}; say what you know with cassini-core topology --tier, and pipe its -o -.")
        written = [f"Wrote {one_line(plot)}."] if plot is not None else []
        lines = [Text(one) for one in [*(f"Warning: {warning}" for warning in warnings), *written]]
        emit_renderables(*simulation_report(compared, len(network.hosts)), *lines)


def _check_targets(plot: str | None, out: str | None, inputs: tuple[str, ...]) -> None:
    """Refuse what cannot be written to, before any time is spent."""
    if plot is not None:
        from ..plots.figures import new_figure, plot_format

        try:
            plot_format(plot.replace(STREAM, "-"))
            new_figure(1.0, 1.0)  # matplotlib may be missing
        except InputError as error:
            raise InputError(f"--{error}") from None
        check_output_path(plot, inputs, "--plot")
    if out is not None and (out in ("", STREAM) or (os.path.exists(out) and not os.path.isdir(out))):
        raise InputError(f"--out: expected a folder, got {shown(out.replace(STREAM, '-'))}")


def _tasks(tasks: str) -> tuple[list[TrainingTask], str]:
    """The tasks, and the name of the file for messages."""
    from ..schedulers.tasks_file import tasks_from_bytes

    data, name = read_input(tasks)
    return tasks_from_bytes(data, name, folder="" if tasks == STREAM else os.path.dirname(tasks)), name


def _draw(compared: Comparison, path: str) -> None:
    from ..plots.figures import figure_bytes, plot_format
    from ..plots.iteration_times import iteration_times_figure, iteration_times_plot_data

    write_file(path, figure_bytes(iteration_times_figure(iteration_times_plot_data(compared)), plot_format(path)))
