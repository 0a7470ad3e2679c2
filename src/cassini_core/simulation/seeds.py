"""The same experiment with many seeds, in parallel, and gone on with where it was interrupted: one file per seed."""

from __future__ import annotations

import json
import multiprocessing
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import refusal, shown
from .cluster import ClusterResult, TaskResult

__all__ = ["record_of", "run_seeds"]

_PERCENTILES = (50, 90, 99)


def run_seeds(
    work: Callable[[int], Mapping[str, Any]],
    seeds: Iterable[int],
    folder: Path,
    experiment: Mapping[str, Any],
    *,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, dict[str, Any]]:
    """Run what has not been run yet.

    Parameters
    ----------
    work : callable of int
        What one seed gives, as something that JSON can say (:func:`record_of`). Other processes import it, so it is a
        function of a module, or a ``functools.partial`` of one.
    seeds : iterable of int
    folder : Path
        Made if need be. Seed 3 is in ``seed-3.json``, which is there as a whole or not at all: several processes may
        work in one folder, though not know of each other.
    experiment : mapping of str to anything that JSON can say
        Names the experiment, all parameters included: what a folder has of another one is not taken for this.
    processes : int, optional
        As many as there are processors, if left out; 1 runs all in this one.
    progress : callable, optional
        Told how many seeds are done, and of how many.

    Returns
    -------
    dict of int to dict
        Records by seed, in the order of ``seeds``.

    Raises
    ------
    InputError
        A file in the folder is of another experiment, or is none.
    """
    wanted = list(dict.fromkeys(seeds))
    folder.mkdir(parents=True, exist_ok=True)
    name = json.loads(json.dumps(dict(experiment)))
    found: dict[int, dict[str, Any]] = {}
    for seed in wanted:
        path = _path(folder, seed)
        if path.exists():
            found[seed] = _read(path, name)
    left = [seed for seed in wanted if seed not in found]
    count = processes if processes is not None else _processors()

    def done(seed: int, record: Mapping[str, Any]) -> None:
        found[seed] = _write(_path(folder, seed), name, record)
        if progress is not None:
            progress(len(found), len(wanted))

    if count == 1 or len(left) <= 1:
        for seed in left:
            done(seed, work(seed))
    else:
        # A forked process may not use the threads of its parent.
        with ProcessPoolExecutor(min(count, len(left)), mp_context=multiprocessing.get_context("spawn")) as pool:
            running = {pool.submit(work, seed): seed for seed in left}
            try:
                for future in as_completed(running):
                    done(running[future], future.result())
            except BaseException:
                pool.shutdown(cancel_futures=True)  # else all that wait would be run, and lost
                raise
    return {seed: found[seed] for seed in wanted}


def record_of(result: ClusterResult) -> dict[str, Any]:
    """A result in figures: of each task when it came, began and ended, s, and of its iterations, ms, what counts.

    Keys of a task: ``id``, ``arrival_s``, ``first_start_s``, ``end_s`` (None for what did not happen), ``restarts``,
    ``adjusted``, ``solo_ms``, ``iterations``, and, where there are some, ``mean_ms``, ``p50_ms``, ``p90_ms``,
    ``p99_ms`` and ``marked``, the mean of marked packets per iteration.
    """
    return {"now_s": result.now_s, "rounds": result.rounds, "tasks": [_task(one) for one in result.tasks]}


def _task(one: TaskResult) -> dict[str, Any]:
    lengths = one.iterations.length_ms
    found: dict[str, Any] = {"id": one.id}
    for key in ("arrival_s", "first_start_s", "end_s", "solo_ms"):
        value = getattr(one, key)
        found[key] = value if np.isfinite(value) else None
    found |= {"restarts": one.restarts, "adjusted": one.adjusted, "iterations": len(lengths)}
    if len(lengths):
        percentiles = np.percentile(lengths, _PERCENTILES).tolist()
        found |= {"mean_ms": float(lengths.mean())}
        found |= {f"p{percent}_ms": value for percent, value in zip(_PERCENTILES, percentiles, strict=True)}
        found |= {"marked": float(one.iterations.marked.mean())}
    return found


def _path(folder: Path, seed: int) -> Path:
    return folder / f"seed-{seed}.json"


def _read(path: Path, experiment: Any) -> dict[str, Any]:
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        same, record = kept["experiment"] == experiment, kept["record"]
    except (ValueError, KeyError, TypeError):
        raise refusal(str(path), "", "a record of a seed", "something else") from None
    if not same:
        raise refusal(str(path), "experiment", shown(experiment), shown(kept["experiment"]))
    found: dict[str, Any] = record
    return found


def _write(path: Path, experiment: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps({"experiment": experiment, "record": dict(record)})
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_text(text + "\n", encoding="utf-8")
    beside.replace(path)
    found: dict[str, Any] = json.loads(text)["record"]
    return found


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
