"""Files of tasks that arrive over time: ``cassini-tasks/1``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, fields, replace
from typing import Any, Literal, TypeVar

from msgspec import UNSET, Struct, UnsetType

from ..errors import InputError, refusal, shown
from ..placement.job_request import JobRequest, Pattern
from ..placement.jobs_file import PatternOfWire, ProfileFiles, ProfileWire, error_at, keys_of, pattern_of
from ..problem_file.decoding import FileWire, decode, file_error, read_file
from ..profiles.model.training_job import TrainingJob
from .state import Goodput, Profiles, Scaling, TrainingTask
from .task_models import FixedProfile, ModelPattern, ModelProfile

__all__ = ["MAX_ELASTIC", "MAX_TASKS", "load_tasks", "tasks_from_bytes"]

MAX_TASKS = 20_000
"""Tasks of one file."""

MAX_ELASTIC = 4_096
"""Workers of a task that may be given more or fewer: each number is checked."""

_SMALLEST = {"int": "a whole number", "float": "a number"}
"""What is expected of a field, by its annotation."""

Made = TypeVar("Made", TrainingJob, Goodput)


class TaskWire(Struct, forbid_unknown_fields=True):
    """A task: what it asks for, and what it sends: a profile, or a model of the job for any number of workers."""

    id: str
    arrival_s: float
    iterations: float
    workers: int
    profile: str | ProfileWire | UnsetType = UNSET
    model: dict[str, Any] | UnsetType = UNSET
    min_workers: int | UnsetType = UNSET
    max_workers: int | UnsetType = UNSET
    gpus_per_worker: int | UnsetType = UNSET
    pattern: PatternOfWire | UnsetType = UNSET
    scaling: Scaling | UnsetType = UNSET
    goodput: dict[str, Any] | UnsetType = UNSET

    def count_keys(self) -> int:
        """Keys of all objects in it."""
        maybe = (self.profile, self.model, self.min_workers, self.max_workers)
        more = (self.gpus_per_worker, self.pattern, self.scaling, self.goodput)
        found = 4 + sum(one is not UNSET for one in (*maybe, *more))
        found += keys_of(self.profile) + keys_of(self.pattern)
        return found + sum(len(one) for one in (self.model, self.goodput) if isinstance(one, dict))


class TasksFile(FileWire):
    """``cassini-tasks/1``."""

    format: Literal["cassini-tasks/1"]
    tasks: list[TaskWire]

    def count_keys(self) -> int:
        """As in :class:`FileWire`."""
        return 2 + sum(task.count_keys() for task in self.tasks)


def load_tasks(path: str | os.PathLike[str]) -> list[TrainingTask]:
    """Read a file of tasks.

    Parameters
    ----------
    path : str or path-like
        JSON, at most 1 GiB. Paths of profiles in it count from its folder.

    Returns
    -------
    list of TrainingTask
        In the order of the file; at least one, at most :data:`MAX_TASKS`, ids all different. They can be pickled, and
        are equal where the files say the same.

    Raises
    ------
    InputError
        The file, or a profile that it names, can't be read or is wrong; one line with file, place, what was expected
        and what came.

    Notes
    -----
    Each profile is read once; what a model sends is computed for the workers asked for, and for others when a scheduler
    asks.
    """
    return tasks_from_bytes(*read_file(path), folder=os.path.dirname(os.fspath(path)))


def tasks_from_bytes(data: bytes, source: str = "tasks", *, folder: str | bytes = "") -> list[TrainingTask]:
    """As :func:`load_tasks`, from bytes.

    ``source`` stands for the file in messages; paths of profiles count from ``folder``, by default the working one.
    """
    files = ProfileFiles(os.fsdecode(folder))
    tasks: dict[str, TrainingTask] = {}
    wires = decode(data, TasksFile, source).tasks
    if not 1 <= len(wires) <= MAX_TASKS:
        raise file_error(source, "$.tasks", f"expected 1 to {MAX_TASKS} tasks, got {len(wires)}")
    for index, wire in enumerate(wires):
        place = f"$.tasks[{index}]"
        with error_at(source, place):
            task = _task(wire, files)
        if task.id in tasks:
            raise file_error(source, f"{place}.id", f"expected an id of its own, got {shown(task.id)} again")
        tasks[task.id] = task
    return list(tasks.values())


def _task(wire: TaskWire, files: ProfileFiles) -> TrainingTask:
    names = ("min_workers", "max_workers", "gpus_per_worker", "scaling")
    given = {name: value for name in names if (value := getattr(wire, name)) is not UNSET}
    for name, value in {"workers": wire.workers, **given}.items():
        if name != "scaling" and value < 1:
            raise refusal("", name, "a whole number of at least 1", shown(value))
    profiles, pattern = _traffic(wire, files)
    if isinstance(wire.goodput, dict):
        given["goodput"] = _made(Goodput, "goodput", wire.goodput)
    try:
        task = TrainingTask(wire.id, wire.arrival_s, wire.iterations, profiles, wire.workers, pattern=pattern, **given)
    except InputError as error:
        place = error.place.replace("requested_workers", "workers")
        raise InputError(str(error), place=place, reason=error.reason) from None
    _check_workers(task)
    return task


def _traffic(wire: TaskWire, files: ProfileFiles) -> tuple[Profiles, Pattern | Callable[[int], Pattern]]:
    """What the task sends, and who to whom."""
    if isinstance(wire.model, dict):
        if wire.profile is not UNSET:
            raise refusal("", "profile", "either this or a model", "both")
        if "workers" in wire.model:
            raise refusal("", "model.workers", "the workers of the task, which stand beside the model", "a key here")
        model = _made(TrainingJob, "model", wire.model, workers=wire.workers)
        return ModelProfile(model), ModelPattern(model) if wire.pattern is UNSET else pattern_of(wire.pattern)
    if isinstance(wire.profile, UnsetType):
        raise refusal("", "profile", "either this or a model", "neither")
    for name in ("min_workers", "max_workers"):
        value = getattr(wire, name)
        if value is not UNSET and value != wire.workers:
            expected = f"the task's {wire.workers} workers, as its profile is of so many (a model is of any number)"
            raise refusal("", name, expected, str(value))
    return FixedProfile(files.of(wire.id, wire.profile)), pattern_of(wire.pattern)


def _check_workers(task: TrainingTask) -> None:
    """Refuse numbers of workers that a scheduler may choose and the task cannot have."""
    if task.min_workers < task.max_workers > MAX_ELASTIC:
        raise refusal("", "max_workers", f"at most {MAX_ELASTIC} for a task that may have fewer", str(task.max_workers))
    with _within("model"):  # what it sends is an error here rather than later
        job = task.profile(task.requested_workers)
    for workers in range(task.min_workers, task.max_workers + 1):
        if isinstance(task.profiles, ModelProfile):
            with _within("model"):
                replace(task.profiles.model, workers=workers)
        if not isinstance(task.pattern, ModelPattern):
            pattern = task.pattern(workers) if callable(task.pattern) else task.pattern
            JobRequest(job, workers, task.gpus_per_worker, pattern)


def _made(kind: type[Made], place: str, values: Mapping[str, Any], **more: Any) -> Made:
    """An object with these fields."""
    known = {one.name: one for one in fields(kind) if one.name not in more}
    for name in values:
        if name not in known:
            raise refusal("", place, f"no keys but {', '.join(map(repr, known))}", shown(name))
    for name, one in known.items():
        if one.default is MISSING and name not in values:
            raise refusal("", f"{place}.{name}", _SMALLEST[str(one.type)], "nothing: the key is missing")
    with _within(place):
        return kind(**values, **more)


@contextmanager
def _within(place: str) -> Iterator[None]:
    """Tell an error by its place in the task."""
    try:
        yield
    except InputError as error:
        whole = f"{place}.{error.place}" if error.place else place
        whole = "workers" if whole == "model.workers" else whole  # they stand beside the model
        raise InputError(f"{whole}: {error.reason}", place=whole, reason=error.reason) from None
