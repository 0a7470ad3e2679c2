"""Which tasks come to a cluster, and when: the paper's traces, arrivals of published clusters, and published jitter.

Each trace is a function of a seed and of its parameters that gives tasks of :mod:`.models`, named ``MODEL-NUMBER``.
What the paper says of them (section 5.1): all models are equally likely; 200 to 1,000 iterations; 1 to 12 workers;
batch sizes out of the ranges of its table. What it does not say is a parameter here, and its default is assumed.
"""

from __future__ import annotations

import csv
import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from cassini_core.profiles.kineto.trace import read_trace
from cassini_core.schedulers.state import TrainingTask

from .models import MODELS, training_task

__all__ = [
    "DATA_PARALLEL",
    "MODEL_PARALLEL",
    "PUBLISHED",
    "Batches",
    "dynamic",
    "model_parallel",
    "multi_gpu",
    "offered_load",
    "poisson",
    "published",
    "published_jitter_share",
]

MODEL_PARALLEL = ("GPT-1", "GPT-2", "GPT-3", "DLRM")
"""Table of models, appendix B.2."""

DATA_PARALLEL = tuple(name for name in MODELS if name not in MODEL_PARALLEL)

PUBLISHED = ("pollux-1", "pollux-2", "pollux-6", "muri")
"""Traces of :func:`published`; ``data/SOURCES.md`` says whose they are."""

Batches = Literal["any", "usual"]
"""``any``: each task's own, out of its model's range. ``usual``: its model's usual one, so that tasks of one model and
of one number of workers take equally long."""

_ARRIVALS = Path(__file__).with_name("data") / "arrivals.csv"
_STEPS = Path(__file__).parents[2] / "tests/data/kineto"
_ITERATIONS = (200, 1000)  # the paper, section 5.1
_WORKERS = (1, 12)  # the paper, section 5.1


def poisson(
    seed: int,
    *,
    load: float = 0.9,
    count: int = 60,
    gpus: int = 24,
    names: Sequence[str] = tuple(MODELS),
    workers: tuple[int, int] = _WORKERS,
    iterations: tuple[int, int] = _ITERATIONS,
    batches: Batches = "any",
) -> list[TrainingTask]:
    """Tasks whose arrivals are a Poisson process.

    Parameters
    ----------
    seed : int
        Of all draws.
    load : float
        What the tasks' workers take, alone on the network, over the GPUs' time until the last one comes; above 0.
    count : int
        Tasks, at least 1. The paper's number is not printed.
    gpus : int
        Of the cluster.
    names : sequence of str
        Models, equally likely.
    workers, iterations : tuple of two ints
        Least and most, evenly drawn.
    batches : {"any", "usual"}

    Notes
    -----
    The mean time between two arrivals is what the drawn tasks take together, by the load and their number: so the load
    is met but for the arrivals' own randomness.
    """
    rng = random.Random(f"poisson, {seed}")
    drawn = [_drawn(rng, names, workers, iterations, batches, number) for number in range(count)]
    between_s = sum(map(_gpu_seconds, drawn)) / (count * gpus * load)
    at_s = itertools.accumulate((rng.expovariate(1 / between_s) for _ in drawn[1:]), initial=0.0)
    return [replace(task, arrival_s=at) for task, at in zip(drawn, at_s, strict=True)]


def published(
    seed: int,
    *,
    trace: str = "pollux-1",
    load: float = 0.9,
    count: int = 60,
    gpus: int = 24,
    names: Sequence[str] = tuple(MODELS),
    iterations: tuple[int, int] = _ITERATIONS,
    batches: Batches = "any",
) -> list[TrainingTask]:
    """Arrivals and sizes of a published trace, with the paper's models.

    The seed chooses which ``count`` tasks in a row of the trace come, and draws models, batches and iterations. A task
    asks for as many workers as there, at most 12. Times are shrunk evenly, so that the load until the last one comes is
    the one asked for: the trace's own tasks run for hours. Other parameters as in :func:`poisson`.

    Raises
    ------
    ValueError
        No such trace, or it has fewer tasks.
    """
    with _ARRIVALS.open(newline="") as file:
        rows = [(float(row["at_s"]), int(row["gpus"])) for row in csv.DictReader(file) if row["trace"] == trace]
    if count > len(rows):
        raise ValueError(f"trace {trace!r}: expected at least {count} tasks, got {len(rows)}")
    rng = random.Random(f"published, {trace}, {seed}")
    first = rng.randrange(len(rows) - count + 1)
    rows = rows[first : first + count]
    drawn = []
    for number, (_, wanted) in enumerate(rows):
        workers = min(wanted, _WORKERS[1])
        drawn.append(_drawn(rng, names, (workers, workers), iterations, batches, number))
    long_s = rows[-1][0] - rows[0][0]
    shrunk = sum(map(_gpu_seconds, drawn)) / (gpus * load) / long_s if long_s > 0 else 1.0
    return [replace(task, arrival_s=(at - rows[0][0]) * shrunk) for task, (at, _) in zip(drawn, rows, strict=True)]


def dynamic(
    seed: int,
    *,
    arriving: Sequence[str] = ("DLRM", "ResNet50"),
    names: Sequence[str] = DATA_PARALLEL,
    gpus: int = 24,
    workers: tuple[int, int] = (3, 6),
    arriving_workers: int = 4,
    arrival_s: float = 60.0,
    iterations: int = 1000,
    batches: Batches = "any",
    fixed: bool = True,
) -> list[TrainingTask]:
    """Tasks that fill the cluster but for the room of those that arrive while they train.

    Parameters
    ----------
    seed : int
        Of all draws.
    arriving : sequence of str
        Models that come at ``arrival_s``: DLRM and ResNet50 in the paper's section 5.3.
    names : sequence of str
        Models that are there at first, equally likely.
    gpus : int
        Of the cluster; as many workers come in all.
    workers : tuple of two ints
        Least and most of the tasks at first; the last one takes what is left. Assumed.
    arriving_workers : int
        Of each that arrives. Assumed.
    arrival_s : float
        Assumed.
    iterations : int
        Of each task: the paper's most.
    batches : {"any", "usual"}
    fixed : bool
        Whether tasks keep the workers that they ask for. Assumed: where schedulers choose, more is compared than the
        network.
    """
    rng = random.Random(f"dynamic, {seed}")
    left = gpus - arriving_workers * len(arriving)
    sizes = []
    while left > 0:
        size = min(rng.randint(*workers), left)
        sizes.append(size if left - size == 0 or left - size >= workers[0] else left)
        left -= sizes[-1]
    there = [_drawn(rng, names, (size, size), (iterations, iterations), batches, at) for at, size in enumerate(sizes)]
    come = [
        _drawn(rng, [name], (arriving_workers, arriving_workers), (iterations, iterations), batches, len(there) + at)
        for at, name in enumerate(arriving)
    ]
    tasks = [*there, *(replace(task, arrival_s=arrival_s) for task in come)]
    return [_fixed(task) for task in tasks] if fixed else tasks


def model_parallel(
    seed: int,
    *,
    arriving: Sequence[str] = ("GPT-1", "GPT-3", "DLRM"),
    names: Sequence[str] = MODEL_PARALLEL,
    gpus: int = 24,
    arrival_s: float = 60.0,
    iterations: int = 1000,
    batches: Batches = "any",
    fixed: bool = True,
) -> list[TrainingTask]:
    """As :func:`dynamic`, with models that are spread over servers: "multiple GPT and DLRM" come (section 5.4).

    Which of them, and that all have four workers, is assumed: GPT-3 of figure 1(d) needs groups of four.
    """
    return dynamic(
        seed,
        arriving=arriving,
        names=names,
        gpus=gpus,
        workers=(4, 4),
        arrival_s=arrival_s,
        iterations=iterations,
        batches=batches,
        fixed=fixed,
    )


def multi_gpu(
    seed: int,
    *,
    present: Sequence[str] = ("XLM", "ResNet50"),
    arriving: Sequence[str] = ("DLRM",),
    names: Sequence[str] = tuple(MODELS),
    gpus: int = 12,
    workers: int = 3,
    arrival_s: float = 60.0,
    iterations: int = 1000,
    batches: Batches = "any",
    fixed: bool = True,
) -> list[TrainingTask]:
    """As :func:`dynamic`, on servers with two GPUs: XLM and ResNet50 are there, DLRM comes, all on three GPUs.

    That is the instant that the paper describes (section 5.6); what else is there, to fill the cluster, is drawn out of
    ``names``.
    """
    rng = random.Random(f"multi GPU, {seed}")
    others = [rng.choice(names) for _ in range(gpus // workers - len(present) - len(arriving))]
    tasks = []
    for at, name in enumerate([*present, *others, *arriving]):
        task = _drawn(rng, [name], (workers, workers), (iterations, iterations), batches, at)
        is_there = at < len(present) + len(others)
        tasks.append(replace(task, arrival_s=0.0 if is_there else arrival_s))
    return [_fixed(task) for task in tasks] if fixed else tasks


def offered_load(tasks: Sequence[TrainingTask], gpus: int = 24) -> float:
    """What the tasks' workers take, alone on the network, over the GPUs' time until the last one comes."""
    return sum(map(_gpu_seconds, tasks)) / (gpus * max(task.arrival_s for task in tasks))


def published_jitter_share() -> float:
    """Standard deviation of step times in published profiler traces, relative to their mean: 1.4 %.

    From begin to begin of the annotated steps of two traces of real training (``tests/data/kineto/SOURCES.md``), pooled
    over the traces: seven times in all, which is enough for a size and not for the shape of a distribution. It holds of
    whole steps; simulations apply it to computing times.
    """
    spreads = []
    for name in ("allreduce_3steps.json", "rank3_of_8.json.gz"):
        steps = [step.start_ms for step in read_trace(_STEPS / name).steps]
        lengths = [after - before for before, after in itertools.pairwise(sorted(steps))]
        mean = fmean(lengths)
        spreads.append((sum((one / mean - 1) ** 2 for one in lengths), len(lengths) - 1))
    return math.sqrt(sum(squares for squares, _ in spreads) / sum(free for _, free in spreads))


def _drawn(
    rng: random.Random,
    names: Sequence[str],
    workers: tuple[int, int],
    iterations: tuple[int, int],
    batches: Batches,
    number: int,
) -> TrainingTask:
    """A task that comes at time 0."""
    name = rng.choice(names)
    size, length = rng.randint(*workers), rng.randint(*iterations)
    batch = rng.randint(*MODELS[name].batch)
    return training_task(
        name,
        f"{name}-{number}",
        arrival_s=0.0,
        iterations=length,
        workers=size,
        batch=batch if batches == "any" else None,
    )


def _gpu_seconds(task: TrainingTask) -> float:
    """What a task takes alone, by its GPUs."""
    workers = task.requested_workers
    return workers * task.iterations * task.profiles(workers).iteration_ms / 1e3


def _fixed(task: TrainingTask) -> TrainingTask:
    return replace(task, min_workers=task.requested_workers, max_workers=task.requested_workers)
