"""What a task sends, and to whom, by its number of workers: as callables that say the same in every process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from ..errors import refusal
from ..model import Job
from ..placement.job_request import Hybrid, Pattern
from ..profiles.model.computed import ComputedProfile
from ..profiles.model.profile import profile_model
from ..profiles.model.training_job import TrainingJob

__all__ = ["FixedProfile", "ModelPattern", "ModelProfile"]


@dataclass(frozen=True, slots=True)
class FixedProfile:
    """One profile, for a task whose number of workers does not change.

    Parameters
    ----------
    job : Job
    """

    job: Job

    def __call__(self, workers: int) -> Job:
        return self.job


@dataclass(frozen=True, slots=True)
class ModelProfile:
    """What a model of a training job sends with so many workers (:func:`cassini_core.profiles.model.profile_model`).

    Parameters
    ----------
    model : TrainingJob
        Its workers stand for any number.

    Notes
    -----
    About a millisecond the first time for a number of workers, some ten with pipelines; then a look-up.
    """

    model: TrainingJob

    def __call__(self, workers: int) -> Job:
        return _computed(self.model, workers).job


@dataclass(frozen=True, slots=True)
class ModelPattern:
    """Who sends to whom in a model: a ring, or, with tensor or pipeline parallelism, its groups.

    Parameters
    ----------
    model : TrainingJob
        Its workers stand for any number.

    Raises
    ------
    InputError
        The model has experts: their all-to-all is within groups that no pattern has.
    """

    model: TrainingJob

    def __post_init__(self) -> None:
        if self.model.expert > 1:
            raise refusal("", "pattern", "a pattern, as the model has experts", "nothing")

    def __call__(self, workers: int) -> Pattern:
        sizes = {"tensor": self.model.tensor, "pipeline": self.model.pipeline}
        sizes["data"] = workers // (sizes["tensor"] * sizes["pipeline"])
        if sizes["data"] == workers:
            return "ring"
        sent = dict.fromkeys((kind for kind, size in sizes.items() if size > 1), 0.0)
        for message in _computed(self.model, workers).messages:
            sent[message.name.partition(" ")[0]] += message.network_bytes
        if not any(sent.values()):  # all stays inside servers: whatever the shares, there is nothing to share
            sent = dict.fromkeys(sent, 1.0)
        return Hybrid(**sizes, shares=tuple(sent.items()))


@lru_cache(maxsize=4096)
def _computed(model: TrainingJob, workers: int) -> ComputedProfile:
    return profile_model(replace(model, workers=workers), job_id="model")
