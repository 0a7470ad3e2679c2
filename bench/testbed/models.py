"""The paper's 13 models as jobs and tasks, of any number of workers.

A data parallel job computes, then sends: the product's model of a job
(:func:`cassini_core.profiles.model.profile_model`) without overlap, with a ring all-reduce of all gradients. That is
the shape that the paper draws: one Down, one Up phase. The paper's Up phase begins with the backward pass, so part of
it cannot be stretched by others: here all of it can. The numbers are those of :mod:`.model_table`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache, partial

from cassini_core import Job, Phase
from cassini_core.placement.job_request import Hybrid, Pattern
from cassini_core.profiles.model import ComputedProfile, TrainingJob, profile_model
from cassini_core.schedulers.state import Goodput, TrainingTask

from .model_table import CAPACITY_GBPS, LOADING_SHARE, MIB, MICROBATCHES, MODELS, MOST_WORKERS, Model, Shape

__all__ = ["CAPACITY_GBPS", "MODELS", "pattern_of", "profile_of", "training_task"]


def profile_of(name: str, workers: int, batch: int | None = None) -> Job:
    """A model's job when it is alone, with one worker in each server.

    Parameters
    ----------
    name : str
        One of :data:`MODELS`; it is the job's id, too.
    workers : int
        At least 1; one alone sends nothing.
    batch : int, optional
        Samples of a worker, or of the workers that the model is spread over; its usual ones if left out. Whatever the
        number of workers, each keeps its part.

    Raises
    ------
    KeyError
        An unknown name.
    InputError
        A number that cannot be.

    Notes
    -----
    Kept: the same arguments give the same object.
    """
    return _profile(name, workers, batch)[0]


def pattern_of(name: str, workers: int, batch: int | None = None) -> Pattern:
    """Who of a model's workers sends to whom: a ring, or groups with their shares of the bytes."""
    return _profile(name, workers, batch)[1]


@lru_cache(maxsize=4096)
def _profile(name: str, workers: int, batch: int | None) -> tuple[Job, Pattern]:
    model = MODELS[name]
    samples = int(model.usual_batch.value) if batch is None else batch
    if model.exchanged_mib is not None:
        return _recommendation(model, workers, samples), "ring"
    shape = model.shape
    if shape is None or workers % 2 or shape.workers == 1:
        one = TrainingJob(
            workers=workers,
            compute_ms=_compute_ms(model, samples),
            gbps=model.gbps.value,
            gradient_bytes=model.gradient_mib.value * MIB,
            overlap=False,
        )
        return _bare(profile_model(one, job_id=name).job), "ring"
    return _spread(model, shape, workers, samples)


def _recommendation(model: Model, workers: int, samples: int) -> Job:
    """DLRM: each worker looks up its tables for all, exchanges what it found, and computes; so backward; then a ring.

    An all-to-all of ``S`` bytes takes ``(n-1)/n S``. A third of the computation is the forward pass, and half of each
    pass lies before its exchange.
    """
    assert model.exchanged_mib is not None  # called for such models
    compute_ms, gbps = _compute_ms(model, samples), model.gbps.value
    others = (workers - 1) / workers
    exchange_ms = _ms(others * model.exchanged_mib.value * samples / 1000, gbps)
    reduce_ms = _ms(2 * others * model.gradient_mib.value, gbps)
    steps = [(compute_ms / 6, exchange_ms), (compute_ms / 2, exchange_ms), (compute_ms / 3, reduce_ms)]
    now_ms, phases = 0.0, []
    for computes_ms, sends_ms in steps:
        now_ms = round(now_ms + computes_ms, 6)
        if sends_ms:
            phases.append(Phase(now_ms, round(sends_ms, 6), gbps))
        now_ms = round(now_ms + round(sends_ms, 6), 6)
    return Job(model.name, now_ms, phases)


def _spread(model: Model, shape: Shape, workers: int, samples: int) -> tuple[Job, Pattern]:
    """A transformer over groups of servers: as much of its parallelism as the number of workers is a multiple of.

    Of GPT-3 on two servers only tensor parallelism is left, as in figure 1(c). The embedding's gradients go between the
    first and the last stage (section 2.1, figure 1(b)).
    """
    tensor = shape.tensor
    pipeline = shape.pipeline if workers % (tensor * shape.pipeline) == 0 else 1
    data = workers // (tensor * pipeline)
    micro = MICROBATCHES if pipeline > 1 else 1
    each = max(1, round(samples * tensor * pipeline / shape.workers / micro))
    found = profile_model(
        TrainingJob(
            workers=workers,
            compute_ms=_compute_ms(model, samples),
            gbps=model.gbps.value,
            gradient_bytes=model.gradient_mib.value * MIB,
            tensor=tensor,
            pipeline=pipeline,
            overlap=False,
            microbatches=micro,
            layers=shape.layers,
            batch=each,
            sequence=shape.sequence,
            hidden=shape.hidden,
        ),
        job_id=model.name,
    )
    job, embedding_mib = _bare(found.job), 0.0
    if pipeline > 1:
        embedding_mib = 2 * shape.vocabulary * shape.hidden / tensor / MIB
        job = _also_sends(job, _ms(embedding_mib, model.gbps.value), model.gbps.value)
    if tensor > 1:
        job = _loads_first(job, LOADING_SHARE)
    sizes = {"data": data, "tensor": tensor, "pipeline": pipeline}
    shares = _shares(found, {kind for kind, size in sizes.items() if size > 1}, embedding_mib * MIB)
    return job, Hybrid(data, tensor, pipeline, tuple(sorted(shares.items())))


def _shares(found: ComputedProfile, kinds: set[str], embedding_bytes: float) -> dict[str, float]:
    """Of the bytes of a worker, those of each kind of groups."""
    shares = dict.fromkeys(kinds, 0.0)
    for message in found.messages:
        kind = message.name.split()[0]
        if kind in shares:
            shares[kind] += message.network_bytes
    if embedding_bytes:
        shares["pipeline"] += embedding_bytes
    whole = sum(shares.values())
    return {kind: amount / whole for kind, amount in shares.items()}


def _compute_ms(model: Model, samples: int) -> float:
    """Of a worker in an iteration, whatever the number of workers."""
    return samples * model.ms_per_sample.value / (model.shape.workers if model.shape else 1)


def _bare(job: Job) -> Job:
    """Only what schedules need, and no phase that lasts beyond the iteration's end: those are cut there."""
    phases = []
    for one in job.phases:
        left_ms = round(one.start_ms + one.duration_ms - job.iteration_ms, 6)
        phases.append(replace(one, duration_ms=round(one.duration_ms - max(left_ms, 0.0), 6)))
        if left_ms > 0:
            phases.append(Phase(0.0, left_ms, one.gbps))
    return Job(job.id, job.iteration_ms, sorted(phases, key=lambda one: one.start_ms))


def _also_sends(job: Job, length_ms: float, gbps: float) -> Job:
    phase = Phase(job.iteration_ms, round(length_ms, 6), gbps)
    return Job(job.id, round(job.iteration_ms + length_ms, 6), [*job.phases, phase])


def _loads_first(job: Job, share: float) -> Job:
    """The same iteration after a Down phase that is this share of both."""
    loading_ms = job.iteration_ms * share / (1 - share)
    phases = [replace(phase, start_ms=round(phase.start_ms + loading_ms, 6)) for phase in job.phases]
    return Job(job.id, round(job.iteration_ms + loading_ms, 6) + 1e-6, phases)


def _ms(mib: float, gbps: float) -> float:
    return 8e-6 * MIB * mib / gbps


def training_task(
    name: str, id: str, *, arrival_s: float, iterations: float, workers: int, batch: int | None = None
) -> TrainingTask:
    """A task of a scheduler that trains a model, on 1 to 12 workers (or as many as it asks for, if more).

    Parameters
    ----------
    name, batch
        As in :func:`profile_of`.
    id : str
        The task's own.
    arrival_s, iterations : float
        When it comes, and what it trains, counted in iterations of the requested workers.
    workers : int
        Requested.

    Raises
    ------
    KeyError, InputError
        As :func:`profile_of`.

    Notes
    -----
    A worker keeps its batch (weak scaling). What Pollux needs is fitted to the profiles: no overlap, and a time to
    synchronise that grows with the workers; the noise scale of the gradients is assumed (four initial batches), since
    the paper does not print it.
    """
    model, most = MODELS[name], max(MOST_WORKERS, workers)
    samples = int(model.usual_batch.value) if batch is None else batch
    compute_ms, share = _compute_ms(model, samples), model.shape.workers if model.shape else 1
    two_s, most_s = ((profile_of(name, count, batch).iteration_ms - compute_ms) / 1e3 for count in (2, most))
    growth_s = max(most_s - two_s, 0.0) / max(most - 2, 1)
    each = max(1, round(samples / share))
    return TrainingTask(
        id,
        arrival_s,
        iterations,
        partial(profile_of, name, batch=batch),
        workers,
        min_workers=1,
        max_workers=most,
        pattern=partial(pattern_of, name, batch=batch),
        goodput=Goodput(
            0.0,
            compute_ms / 1e3 / each,
            two_s,
            growth_s,
            two_s,
            growth_s,
            1.0,
            4.0 * each * workers,
            each * workers,
            max(model.batch[1] // share, each) * most,
            max(model.batch[1] // share, each),
            min(max(1, model.batch[0] // share), each),
        ),
    )
