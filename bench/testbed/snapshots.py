"""The paper's five snapshots (section 5.5): which jobs share a link, and what the paper prints of them.

The paper prints how long jobs communicate, not their iteration times, on which scores and shifts depend more than on
anything else. So jobs are made in three ways (:data:`PERIODS`), and what comes out is shown for each.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, get_args

from cassini_core import Job, Phase

from .model_table import MIB
from .models import MODELS, profile_of

__all__ = ["PERIODS", "SNAPSHOTS", "Member", "Periods", "Snapshot", "drawn_jobs", "jobs_of", "up_ms", "with_times"]

Periods = Literal["own", "parts", "equal"]
PERIODS: tuple[Periods, ...] = get_args(Periods)
"""``own``: a job computes as long as its model does at its batch. ``parts``: all take the longest of these iteration
times, or a half, a third, ... of it, whichever is the shortest that leaves the job its time. ``equal``: all take the
longest. What is added is computing."""


_DIVISIBLE_NS = 420
"""A multiple of 1 to 7: parts of an iteration time are whole ns, so that they do have it in common."""

_MOST_PARTS = 7


@dataclass(frozen=True, slots=True)
class Member:
    """A job of a snapshot as the paper prints it.

    Parameters
    ----------
    model : str
    batch : int
    cassini_ms, themis_ms : float
        Mean communication time with Th+Cassini and with Themis.
    shift_ms : float
    """

    model: str
    batch: int
    cassini_ms: float
    themis_ms: float
    shift_ms: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Jobs on one link.

    Parameters
    ----------
    number : int
        The paper's.
    score : float
        The paper's, to one digit.
    members : tuple of Member
    workers : int
        Of each job. Not printed: with four the communication times of snapshot 1 follow from the models' sizes. Two
        RoBERTa jobs of four would take 224 ms alone, and communicate for 164 and 180 beside each other: they have two.
    alone : bool
        Whether the communication times with Th+Cassini are taken for those of the jobs alone. At a score of 1.0 they
        are; at 0.9 that is assumed. Otherwise the model's are taken.
    """

    number: int
    score: float
    members: tuple[Member, ...]
    workers: int = 4
    alone: bool = True

    @property
    def ids(self) -> tuple[str, ...]:
        """Of the jobs: their models, numbered where there are two of one."""
        models = [member.model for member in self.members]
        return tuple(
            name if models.count(name) == 1 else f"{name}-{models[: at + 1].count(name)}"
            for at, name in enumerate(models)
        )

    @property
    def shifts_ms(self) -> dict[str, float]:
        """The paper's, by job."""
        return dict(zip(self.ids, (member.shift_ms for member in self.members), strict=True))


SNAPSHOTS: Mapping[int, Snapshot] = MappingProxyType(
    {
        one.number: one
        for one in (
            Snapshot(1, 1.0, (Member("WideResNet101", 800, 138, 205, 0), Member("VGG16", 1400, 148, 199, 150))),
            Snapshot(
                2,
                1.0,
                (
                    Member("VGG19", 1400, 168, 220, 0),
                    Member("VGG16", 1700, 163, 220, 158),
                    Member("ResNet50", 1600, 59, 55, 46),
                ),
            ),
            Snapshot(3, 0.9, (Member("VGG19", 1024, 166, 176, 0), Member("VGG16", 1200, 168, 177, 100))),
            Snapshot(
                4,
                0.8,
                (Member("RoBERTa", 12, 164, 210, 0), Member("RoBERTa", 12, 180, 208, 60)),
                workers=2,
                alone=False,
            ),
            Snapshot(
                5,
                0.6,
                (
                    Member("BERT", 8, 209, 213, 0),
                    Member("VGG19", 1400, 294, 292, 42),
                    Member("WideResNet101", 800, 265, 266, 191),
                ),
                alone=False,
            ),
        )
    }
)
"""The snapshot table, by number."""


def jobs_of(snapshot: Snapshot, periods: Periods = "own", longest_ms: float | None = None) -> list[Job]:
    """The jobs of a snapshot: each computes, then sends once.

    Parameters
    ----------
    snapshot : Snapshot
    periods : {"own", "parts", "equal"}
        Which iteration times, see :data:`PERIODS`.
    longest_ms : float, optional
        In place of the longest iteration time; long enough for every job's communication.
    """
    alone = [_alone(snapshot, member) for member in snapshot.members]
    named = [Job(name, job.iteration_ms, job.phases) for name, job in zip(snapshot.ids, alone, strict=True)]
    return with_times(named, periods, longest_ms)


def with_times(jobs: Sequence[Job], periods: Periods, longest_ms: float | None = None) -> list[Job]:
    """The jobs with these iteration times: what is added or taken away is computing at the beginning.

    Parameters and meaning as in :func:`jobs_of`.
    """
    longest = max(job.iteration_ms for job in jobs) if longest_ms is None else longest_ms
    longest_ns = math.ceil(1e6 * longest / _DIVISIBLE_NS) * _DIVISIBLE_NS
    found = []
    for job in jobs:
        iteration_ms = round(job.iteration_ms, 6)
        if periods != "own":
            parts = min(_MOST_PARTS, max(1, math.floor(longest / iteration_ms))) if periods == "parts" else 1
            iteration_ms = longest_ns // parts / 1e6
        later_ms = iteration_ms - job.iteration_ms
        phases = [Phase(round(one.start_ms + later_ms, 6), one.duration_ms, one.gbps) for one in job.phases]
        found.append(Job(job.id, iteration_ms, phases))
    return found


def drawn_jobs(seed: str, jobs: int, count: int, periods: Periods = "parts") -> list[list[Job]]:
    """So many links with so many jobs of the paper's models each, on four workers, with batches out of their ranges."""
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        names = [rng.choice(list(MODELS)) for _ in range(jobs)]
        drawn = [profile_of(name, 4, rng.randint(*MODELS[name].batch)) for name in names]
        named = [Job(f"{job.id}-{at}", job.iteration_ms, job.phases) for at, job in enumerate(drawn)]
        found.append(with_times(named, periods))
    return found


def up_ms(jobs: Sequence[Job]) -> dict[str, float]:
    """How long each communicates alone."""
    return {job.id: sum(phase.duration_ms for phase in job.phases) for job in jobs}


def _alone(snapshot: Snapshot, member: Member) -> Job:
    """As the model has it; where the paper prints how long it communicates alone, with that and the same bytes."""
    job = profile_of(member.model, snapshot.workers, member.batch)
    if not snapshot.alone:
        return job
    (phase,) = job.phases
    others = (snapshot.workers - 1) / snapshot.workers
    gbps = 8e-6 * MIB * 2 * others * MODELS[member.model].gradient_mib.value / member.cassini_ms
    return Job(job.id, phase.start_ms + member.cassini_ms, [Phase(phase.start_ms, member.cassini_ms, round(gbps, 6))])
