"""Goodput: how much a task learns per second, with the batch size that makes it most.

Pollux, sections 3.1 and 3.2: ``goodput = throughput * efficiency``. A batch of ``M`` examples teaches
``(noise_scale + M0) / (noise_scale + M)`` of what as many examples in batches of the initial size ``M0`` teach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Float64Array, Int64Array
from ..state import Goodput, TrainingTask

__all__ = ["BestBatch", "best_batches", "efficiency", "goodput_table", "step_s"]

_BATCHES = 128
"""Batch sizes that are tried, a geometric row from the least to the largest: they differ by 3 % where it spans a factor
of 50, and goodput is flat at its top."""


class BestBatch(NamedTuple):
    """The best batch for each number of GPUs.

    Attributes
    ----------
    goodput : float64 array
        Examples per second that count as those of the initial batch size do; 0 where no batch is possible.
    per_gpu : int64 array
        Examples that a GPU takes at once.
    accumulations : int64 array
        Times that it does so before the last, which ends in a synchronisation.
    """

    goodput: Float64Array
    per_gpu: Int64Array
    accumulations: Int64Array


def efficiency(model: Goodput, batch: Float64Array) -> Float64Array:
    """Of a batch size against the initial one: 1 there, less above."""
    found: Float64Array = (model.noise_scale + model.initial_batch) / (model.noise_scale + batch)
    return found


def step_s(
    model: Goodput, gpus: Int64Array, on_one_node: bool, per_gpu: Int64Array, accumulations: Int64Array
) -> Float64Array:
    """Seconds of a step (:class:`..state.Goodput` has the formula). Arrays are of one shape, or are broadcast."""
    gradient = model.alpha_grad_s + model.beta_grad_s * per_gpu
    alpha = model.alpha_sync_local_s if on_one_node else model.alpha_sync_node_s
    beta = model.beta_sync_local_s if on_one_node else model.beta_sync_node_s
    sync = np.where(gpus > 1, alpha + beta * np.maximum(gpus - 2, 0), 0.0)
    largest = np.maximum(gradient, sync)
    # Powers of the ratio: seconds to the power of a large gamma leave the range of floats.
    scale = np.where(largest > 0, largest, 1.0)
    last = largest * ((gradient / scale) ** model.gamma + (sync / scale) ** model.gamma) ** (1.0 / model.gamma)
    found: Float64Array = accumulations * gradient + last
    return found


def best_batches(model: Goodput, gpus: Int64Array, on_one_node: bool) -> BestBatch:
    """The batch of highest goodput for each number of GPUs, of 1 at least. O(numbers * 128).

    Each GPU takes whole examples, rounded up: with several GPUs a batch may be that little larger than ``max_batch``.
    """
    row = np.linspace(0.0, 1.0, _BATCHES)[:, None]
    least = np.maximum(model.initial_batch, model.min_batch_per_gpu * gpus)
    batch = least * (model.max_batch / least) ** row
    at_once = model.max_batch_per_gpu * gpus
    accumulations = np.maximum(np.ceil(batch / at_once - 1e-9).astype(np.int64) - 1, 0)
    accumulations *= model.accumulation
    per_gpu = np.ceil(batch / (gpus * (accumulations + 1)) - 1e-9).astype(np.int64)
    possible = (batch <= model.max_batch * (1 + 1e-9)) & (per_gpu >= model.min_batch_per_gpu)
    possible &= per_gpu <= model.max_batch_per_gpu
    batch = per_gpu * gpus * (accumulations + 1)
    per_s = batch / np.maximum(step_s(model, gpus, on_one_node, per_gpu, accumulations), 1e-12)
    found = np.where(possible, per_s * efficiency(model, np.maximum(batch, 1)), 0.0)
    best = np.argmax(found, axis=0), np.arange(len(gpus))
    return BestBatch(found[best], per_gpu[best], accumulations[best])


def goodput_table(task: TrainingTask) -> Float64Array:
    """Goodput by whether several hosts are used (row 1) and by number of workers (columns from 0 to ``max_workers``).

    Of a task without a goodput model: the examples that it trains, as its profiles have it, wherever its workers are;
    only ratios to other numbers of workers matter. 0 for numbers that the task may not have.
    """
    counts = np.arange(task.min_workers, task.max_workers + 1)
    table = np.zeros((2, task.max_workers + 1))
    for row in (0, 1):
        if task.goodput is not None:
            table[row, counts] = best_batches(task.goodput, counts, on_one_node=not row).goodput
        else:
            table[row, counts] = [task.rate(int(count)) for count in counts]
    return table
