"""Who sends to whom in a training job, and how much: flows between workers, by the collective or parallelism.

The demand of a job is what its busiest worker sends. A flow's ``share`` is its part of that, so the shares of the
busiest worker's flows add up to 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..arrays import Float64Array, Int64Array
from ..checks import number_between, whole_number
from ..errors import refusal, shown

__all__ = ["MAX_FLOWS", "Flows", "all_to_all", "hybrid", "pipeline", "ring", "tree"]

MAX_FLOWS = 50_000_000
"""Flows of one pattern, about 1.2 GB; all-to-all among 7,000 workers."""


class Flows(NamedTuple):
    """Flows between workers, one per entry of the arrays.

    Attributes
    ----------
    source, target : ndarray of int64, shape (n_flows,)
        Numbers of workers, from 0.
    share : ndarray of float64, shape (n_flows,)
        Above 0; part of the job's demand.
    """

    source: Int64Array
    target: Int64Array
    share: Float64Array


def ring(workers: int) -> Flows:
    """Each worker sends all it sends to the next one, the last to the first: ring all-reduce.

    Parameters
    ----------
    workers : int
        At least 1; a single worker sends nothing.

    Raises
    ------
    InputError
        ``workers`` is wrong.

    Examples
    --------
    >>> from cassini_core.topology.patterns import ring
    >>> flows = ring(3)
    >>> flows.source.tolist(), flows.target.tolist(), flows.share.tolist()
    ([0, 1, 2], [1, 2, 0], [1.0, 1.0, 1.0])
    """
    one = np.arange(_checked(workers), dtype=np.int64)
    return _shared(one, np.roll(one, -1), np.ones(workers)) if workers > 1 else _nothing()


def tree(workers: int) -> Flows:
    """Each worker and its parent send each other the same: a reduction to worker 0 and a broadcast from it.

    The parent of worker ``i`` is ``(i - 1) // 2``. Parameters and errors as in :func:`ring`.
    """
    child = np.arange(1, _checked(workers), dtype=np.int64)
    return _both_ways(child, (child - 1) // 2)


def all_to_all(workers: int) -> Flows:
    """Each worker sends the same to every other: mixture of experts, embedding tables.

    Parameters and errors as in :func:`ring`; also an error if there are more than :data:`MAX_FLOWS` flows.
    """
    n = _checked(workers)
    if n * (n - 1) > MAX_FLOWS:
        raise refusal("", "workers", f"at most {MAX_FLOWS} flows", f"{n * (n - 1)} of an all-to-all")
    one, two = (part.ravel() for part in np.divmod(np.arange(n * n, dtype=np.int64), n))
    apart = one != two
    return _shared(one[apart], two[apart], np.ones(n * (n - 1)))


def pipeline(workers: int) -> Flows:
    """Each worker and the next one send each other the same: activations forward, gradients backward.

    Parameters and errors as in :func:`ring`.
    """
    stage = np.arange(_checked(workers) - 1, dtype=np.int64)
    return _both_ways(stage, stage + 1)


def hybrid(data: int, tensor: int, pipeline: int, shares: Mapping[str, float]) -> Flows:
    """Three kinds of parallelism at once: each worker is in a data, a tensor and a pipeline group.

    Parameters
    ----------
    data, tensor, pipeline : int
        Sizes of the groups, at least 1. There are ``data * tensor * pipeline`` workers; worker
        ``(p * data + d) * tensor + t`` is number ``t`` of its tensor group, ``d`` of its data group, stage ``p``.
    shares : mapping of str to float
        Part of the job's demand that belongs to ``"data"``, ``"tensor"`` and ``"pipeline"``: at least 0, one for each
        kind with groups of more than one. They are scaled so that the busiest worker sends 1 in all.

    Returns
    -------
    Flows
        Rings in data and tensor groups (:func:`ring`), neighbours in pipelines (:func:`pipeline`).

    Raises
    ------
    InputError
        A number is wrong, or a share is missing or too much: how traffic splits cannot be known from the sizes.

    Examples
    --------
    >>> from cassini_core.topology.patterns import hybrid
    >>> flows = hybrid(data=2, tensor=1, pipeline=2, shares={"data": 3, "pipeline": 1})
    >>> sorted(zip(flows.source.tolist(), flows.target.tolist(), flows.share.tolist()))[:2]
    [(0, 1, 0.75), (0, 2, 0.25)]
    """
    sizes = {"pipeline": _checked(pipeline), "data": _checked(data), "tensor": _checked(tensor)}
    count = _checked(sizes["data"] * sizes["tensor"] * sizes["pipeline"])
    wanted = {name for name, size in sizes.items() if size > 1}
    if not isinstance(shares, Mapping) or set(shares) != wanted:
        raise refusal("", "shares", f"one of each of {sorted(wanted)}", shown(shares))
    order = np.arange(count, dtype=np.int64).reshape(tuple(sizes.values()))
    kinds = {"pipeline": _PIPELINE, "data": _RING, "tensor": _RING}
    parts = []
    for axis, name in enumerate(sizes):
        if name in wanted:
            share = number_between(shares[name], 0.0, 1e12, "", f"shares[{name!r}]")
            groups = np.moveaxis(order, axis, -1).reshape(-1, sizes[name])
            flows = kinds[name](sizes[name])
            if share > 0:
                parts.append(
                    (
                        groups[:, flows.source],
                        groups[:, flows.target],
                        np.broadcast_to(share * flows.share, (len(groups), len(flows.share))),
                    )
                )
    if not parts:
        return _nothing()
    source, target, share_of = (
        np.concatenate([part.ravel() for part in column]) for column in zip(*parts, strict=True)
    )
    return _shared(source, target, share_of)


_RING, _PIPELINE = ring, pipeline


def _checked(workers: int) -> int:
    return whole_number(workers, "workers", most=MAX_FLOWS)


def _nothing() -> Flows:
    none = np.zeros(0, dtype=np.int64)
    return Flows(none, none, np.zeros(0))


def _both_ways(one: Int64Array, two: Int64Array) -> Flows:
    return _shared(np.concatenate([one, two]), np.concatenate([two, one]), np.ones(2 * len(one)))


def _shared(source: Int64Array, target: Int64Array, amount: Float64Array) -> Flows:
    """Amounts scaled so that the busiest worker sends 1."""
    if not len(source):
        return _nothing()
    return Flows(source, target, amount / np.bincount(source, amount).max())
