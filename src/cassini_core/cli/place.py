"""``cassini-core place``: candidate placements of the jobs that wait, as a problem file to rank."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ..errors import InputError, shown
from ..formats import counted
from .console import Waiting, check_output_path, emit_bytes, emit_notes, emit_renderables, one_line, write_file
from .inputs import STREAM, read_input
from .options import PositiveCount, whole_number_from

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..placement.job_request import JobRequest
    from ..placement.place import Placements
    from ..topology.model import Topology

__all__ = ["network_with_capacities", "place"]

_MOST_NAMED = 10
"""Jobs that one line names."""


def place(
    source: str,
    /,
    *,
    jobs: str,
    output: Annotated[str | None, Parameter(name=("--output", "-o"))] = None,
    gpus: PositiveCount = None,
    candidates: Annotated[int, Parameter(converter=whole_number_from(1))] = 64,
    seed: Annotated[int, Parameter(converter=whole_number_from(0))] = 0,
    move_running: Annotated[bool, Parameter(negative="")] = False,
    ecmp: Literal["spread", "hash"] = "spread",
) -> None:
    """Make candidate placements of jobs on the free GPUs of a network: a problem file for cassini-core rank.

    The jobs that wait are packed, spread and placed at random, and what is packed is changed by local swaps. A job for
    which there is no room is left out.

    Parameters
    ----------
    source
        The network: a file as cassini-core topology takes it, - for standard input, testbed or testbed-two-gpus.
    jobs
        File of jobs with their workers (cassini-jobs/1, or CSV), or - for standard input. Jobs with hosts run, the
        others wait.
    output
        File to write the problem to (cassini-problem/2), - for standard output. Default: standard output, unless that
        is a terminal.
    gpus
        GPUs of each host of which the network does not say how many it has.
    candidates
        How many placements, at most.
    seed
        Other placements at random and other swaps for other seeds; also of --ecmp hash.
    move_running
        Let swaps move jobs that run; the name of a candidate says how many it moves.
    ecmp
        What is done where several paths are equally short: traffic is spread over them, or each flow takes one by a
        hash.
    """
    from ..placement.place import place as place_jobs

    if source == STREAM and jobs == STREAM:
        raise InputError("--jobs: expected a file, as the network is read from standard input, got -")
    if output is not None and output != STREAM:
        check_output_path(output, tuple(one for one in (source, jobs) if one != STREAM))
    with Waiting("placing jobs"):
        network, assumed = network_with_capacities(source)
        requests, name = _requests(jobs)
        try:
            made = place_jobs(
                network,
                requests,
                gpus_per_host=gpus,
                candidates=candidates,
                seed=seed,
                move_running=move_running,
                ecmp=ecmp,
            )
        except InputError as error:
            raise InputError(f"{name}: {error}") if error.place.startswith("jobs") else error from None
    _deliver(made, output, [*_report(made, requests), *_warnings(made, requests, assumed)])


def network_with_capacities(source: str) -> tuple[Topology, bool]:
    """The network with capacities, and whether some are assumed."""
    from ..topology.overlay import with_capacities
    from .topology import SIZED, read_network

    if source in SIZED:
        expected = f"a file; cassini-core topology {source} makes one, and with -o - pipes it into cassini-core place -"
        raise InputError(f"{source}: expected {expected}")
    network, _ = read_network(source, {}, None, None)
    network = with_capacities(network)
    return network, any(cable.basis == "assumed" for cable in network.cables)


def _requests(jobs: str) -> tuple[list[JobRequest], str]:
    """The jobs, and the name of the file for messages."""
    from ..placement.jobs_file import jobs_from_bytes

    data, name = read_input(jobs)
    folder = "" if jobs == STREAM else os.path.dirname(jobs)
    return jobs_from_bytes(data, name, folder=folder), name


def _deliver(made: Placements, output: str | None, report: Sequence[RenderableType]) -> None:
    """Write the problem, and tell people about it where that is in nobody's way."""
    from rich.text import Text

    from ..problem_file import problem_to_json

    if output is None and sys.stdout is not None and sys.stdout.isatty():
        emit_renderables(*report, Text("Nothing was written: say -o FILE, or pipe into cassini-core rank -."))
        return
    data = problem_to_json(made.problem, differences=True)
    if output is None or output == STREAM:
        emit_notes(*report)
        emit_bytes(data)
    else:
        write_file(output, data)
        emit_renderables(*report, Text(f"Wrote {one_line(output)}."))


def _report(made: Placements, requests: Sequence[JobRequest]) -> Iterator[RenderableType]:
    from rich.text import Text

    from .tables import Listing

    problem = made.problem
    table = Listing("Candidates", ("strategy", "candidates", "jobs placed", "running jobs moved"), "lrrr")
    for strategy in dict.fromkeys(one.strategy for one in made.placed):
        of = [one for one in made.placed if one.strategy == strategy]
        placed = [len(requests) - len(one.left_out) for one in of]
        table.add(strategy, str(len(of)), _span(placed), _span([len(one.moved) for one in of]))
    yield table
    waiting = sum(one.hosts is None for one in requests)
    yield Text(
        f"{counted(len(requests) - waiting, 'job')} on {made.running_gpus} GPUs run, {counted(waiting, 'job')} for "
        f"{made.waiting_gpus} wait; {made.gpus - made.running_gpus} of {made.gpus} GPUs are free."
    )
    patterns = Counter(one.pattern if isinstance(one.pattern, str) else "hybrid" for one in requests)
    shown_patterns = (f"{name} ({counted(of, 'job')})" for name, of in sorted(patterns.items()))
    yield Text(f"Traffic: {', '.join(shown_patterns)}.")
    shared = [_shared(candidate.routes.values()) for candidate in problem.candidates]
    yield Text(f"{counted(len(problem.links), 'link')} used; {_span(shared)} shared in a candidate.")


def _span(numbers: Sequence[int]) -> str:
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def _shared(routes: Iterable[Mapping[str, float]]) -> int:
    """Links that several jobs cross."""
    jobs_on: Counter[str] = Counter()
    for route in routes:
        jobs_on.update(route.keys())
    return sum(count > 1 for count in jobs_on.values())


def _warnings(made: Placements, requests: Sequence[JobRequest], assumed: bool) -> Iterator[RenderableType]:
    from .profile.job_output import warning_lines
    from .topology import ASSUMED

    if assumed:
        yield from warning_lines(
            [f"{ASSUMED}; say what you know with cassini-core topology --tier, and pipe its -o -."]
        )
    if made.cut_short:
        few = counted(len(made.placed), "candidate")
        yield from warning_lines([f"no more than {few}: others would take long in so large a cluster"])
    first = set(made.placed[0].left_out)
    never = first.intersection(*(one.left_out for one in made.placed))
    for ids, where in ((never, "any candidate"), (first - never, f"{made.placed[0].id!r}, but in others")):
        left_out = [one for one in requests if one.job.id in ids]
        if left_out:
            more = f" and {len(left_out) - _MOST_NAMED} more" if len(left_out) > _MOST_NAMED else ""
            named = ", ".join(f"{shown(one.job.id)} ({_asked(one)})" for one in left_out[:_MOST_NAMED])
            yield from warning_lines([f"no room for {named}{more} in {where}"])


def _asked(request: JobRequest) -> str:
    """The GPUs that a job asks for; where a worker has several, they must be on one host."""
    if request.gpus_per_worker == 1:
        return counted(request.workers, "GPU")
    return f"{counted(request.workers, 'worker')} of {request.gpus_per_worker} GPUs"
