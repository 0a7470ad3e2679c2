"""Experiments with many seeds, in parallel, and gone on with where they were interrupted: one file per seed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import refusal, shown
from .cluster import ClusterResult, TaskResult
from .side_by_side import run_side_by_side

__all__ = ["Experiment", "record_of", "run_experiments", "run_seeds"]

_PERCENTILES = (50, 90, 99)


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is run with many seeds.

    Parameters
    ----------
    work : callable of int
        What one seed gives, as something that JSON can say (:func:`record_of`). Other processes import it, so it is a
        function of a module, or a ``functools.partial`` of one.
    folder : Path or None
        Made if need be. Seed 3 is in ``seed-3.json``, which is there as a whole or not at all: several
        processes may work in one folder, though not know of each other. None: nothing is kept.
    parameters : mapping of str to anything that JSON can say
        Name the experiment, all of them: what a folder has of another one is not taken for this.
    """

    work: Callable[[int], Mapping[str, Any]]
    folder: Path | None
    parameters: Mapping[str, Any]


def run_seeds(
    work: Callable[[int], Mapping[str, Any]],
    seeds: Iterable[int],
    folder: Path,
    experiment: Mapping[str, Any],
    *,
    processes: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[int, dict[str, Any]]:
    """Run what has not been run yet of one experiment: as :func:`run_experiments`."""

    def whole(done: float, total: int) -> None:
        if progress is not None and done == int(done):
            progress(int(done), total)

    (found,) = run_experiments([Experiment(work, folder, experiment)], seeds, processes=processes, progress=whole)
    return found


def run_experiments(
    experiments: Sequence[Experiment],
    seeds: Iterable[int],
    *,
    processes: int | None = None,
    progress: Callable[[float, int], None] | None = None,
) -> list[dict[int, dict[str, Any]]]:
    """Run what has not been run yet: all experiments with the first seed, then with the second, and so on.

    Parameters
    ----------
    experiments : sequence of Experiment
        Each with a folder of its own.
    seeds : iterable of int
    processes : int, optional
        As many as there are processors, if left out; 1 runs all in this one. Others import the main module, so that a
        script needs its ``if __name__ == "__main__"``.
    progress : callable, optional
        Told how many runs are done, and of how many; of those under way what they report
        (:func:`cassini_core.simulation.side_by_side.report_share`).

    Returns
    -------
    list of dict of int to dict
        Records by experiment and seed, in the order of ``seeds``.

    Raises
    ------
    InputError
        A file in a folder is of another experiment, or is none.
    Exception
        What a run raises; those that have not begun are not begun any more.
    """
    wanted = list(dict.fromkeys(seeds))
    names = [json.loads(json.dumps(dict(one.parameters))) for one in experiments]
    found: list[dict[int, dict[str, Any]]] = [{} for _ in experiments]
    for number, one in enumerate(experiments):
        if one.folder is not None:
            one.folder.mkdir(parents=True, exist_ok=True)
            kept = {seed: _path(one.folder, seed) for seed in wanted}
            found[number] = {seed: _read(path, names[number]) for seed, path in kept.items() if path.exists()}
    left = [(number, seed) for seed in wanted for number in range(len(experiments)) if seed not in found[number]]
    kept_before = sum(map(len, found))

    def done(at: int, record: Mapping[str, Any]) -> None:
        number, seed = left[at]
        found[number][seed] = _kept(experiments[number].folder, seed, names[number], record)

    def tell(ended: float) -> None:
        if progress is not None:
            progress(kept_before + ended, len(wanted) * len(experiments))

    runs = [partial(experiments[number].work, seed) for number, seed in left]
    run_side_by_side(runs, done, processes=processes, progress=tell)
    return [{seed: records[seed] for seed in wanted} for records in found]


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
        parameters, record = dict(kept["experiment"]), kept["record"]
    except (ValueError, KeyError, TypeError):
        raise refusal(str(path), "", "a record of a seed", "something else") from None
    for key in dict.fromkeys([*experiment, *parameters]):
        if key not in experiment or key not in parameters or experiment[key] != parameters[key]:
            expected, got = (shown(one[key]) if key in one else "nothing" for one in (experiment, parameters))
            raise refusal(str(path), f"experiment.{key}", expected, f"{got}: it is of another experiment")
    found: dict[str, Any] = record
    return found


def _kept(folder: Path | None, seed: int, experiment: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """A record as it is read again."""
    text = json.dumps({"experiment": experiment, "record": dict(record)})
    if folder is not None:
        path = _path(folder, seed)
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(path)
    found: dict[str, Any] = json.loads(text)["record"]
    return found
