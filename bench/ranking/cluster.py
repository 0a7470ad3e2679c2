"""Who is where: jobs on the GPUs of racks, and parts of them moved from one rack to another."""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from bench.measuring import draw
from cassini_core import Candidate

from .fabric import Fabric


class NoRoomError(ValueError):
    """Not enough free GPUs for what was asked."""


@dataclass(frozen=True, slots=True)
class PlacedJob:
    """A job of one part per rack, each of ``gpus`` GPUs; ``racks`` in the order of the ring."""

    gpus: int
    racks: tuple[int, ...]


class Cluster:
    """Jobs placed on a fabric.

    Parameters
    ----------
    fabric : Fabric
    ecmp : str
        What path hashing starts from: another string, other paths.

    Attributes
    ----------
    jobs : dict of str to PlacedJob
        By id, in the order they came.
    """

    def __init__(self, fabric: Fabric, ecmp: str) -> None:
        self.jobs: dict[str, PlacedJob] = {}
        self.fabric = fabric
        self._ecmp = ecmp
        self._free = [fabric.gpus_per_rack] * fabric.racks
        self._routes: dict[tuple[str, tuple[int, ...]], list[str]] = {}

    def copy(self) -> Cluster:
        """A cluster that can be changed without changing this one."""
        other = Cluster(self.fabric, self._ecmp)
        other.jobs, other._free = dict(self.jobs), list(self._free)
        # A route depends on the job and its racks alone: all copies may remember for each other.
        other._routes = self._routes
        return other

    def free_gpus(self) -> list[int]:
        """Free GPUs of each rack."""
        return list(self._free)

    def place(self, rng: random.Random, job_id: str, *, gpus: int, racks: int) -> None:
        """Put a new job on racks drawn from those with room.

        Raises
        ------
        NoRoomError
            Fewer than ``racks`` racks have ``gpus`` free GPUs.
        """
        rooms = self._with_room(gpus)
        if len(rooms) < racks:
            raise NoRoomError(f"{job_id}: {racks} racks with {gpus} free GPUs are needed, {len(rooms)} have them")
        chosen = [rooms.pop(draw.below(rng, len(rooms))) for _ in range(racks)]
        for rack in chosen:
            self._free[rack] -= gpus
        self.jobs[job_id] = PlacedJob(gpus, tuple(chosen))

    def remove(self, job_id: str) -> None:
        """Take a job away."""
        job = self.jobs.pop(job_id)
        for rack in job.racks:
            self._free[rack] += job.gpus

    def spanning(self) -> list[str]:
        """Ids of the jobs that use the network."""
        return [job_id for job_id, job in self.jobs.items() if len(job.racks) > 1]

    def move_part(self, rng: random.Random, job_id: str) -> bool:
        """Move one part of a job, drawn at random, to a rack with room that the job is not on; False if none is."""
        job = self.jobs[job_id]
        rooms = [rack for rack in self._with_room(job.gpus) if rack not in job.racks]
        if not rooms:
            return False
        part, target = draw.below(rng, len(job.racks)), rooms[draw.below(rng, len(rooms))]
        self._free[job.racks[part]] += job.gpus
        self._free[target] -= job.gpus
        self.jobs[job_id] = replace(job, racks=(*job.racks[:part], target, *job.racks[part + 1 :]))
        return True

    def move_parts(self, rng: random.Random, count: int, spanning: Sequence[str] | None = None) -> set[str]:
        """Move ``count`` parts of jobs that use the network, one after the other; one job can be met twice.

        Returns the ids of jobs that were moved. Who knows the ids of :meth:`spanning` can give them.

        Raises
        ------
        NoRoomError
            Time and again there was nowhere to move to.
        """
        spanning = self.spanning() if spanning is None else spanning
        found = set()
        moved = failed = 0
        while moved < count:
            if not spanning or failed > 100 * count:
                raise NoRoomError(f"{count} parts were to be moved, {moved} could be")
            job = spanning[draw.below(rng, len(spanning))]
            if self.move_part(rng, job):
                found.add(job)
                moved += 1
            else:
                failed += 1
        return found

    def candidate(self, name: str) -> Candidate:
        """The placement as a candidate: every job with the links it crosses, none for a job inside one rack."""
        return Candidate(name, {job_id: self._route(job_id, job.racks) for job_id, job in self.jobs.items()})

    def moved_candidate(self, name: str, base: Candidate, moved: Collection[str]) -> Candidate:
        """The placement as a candidate, told by the jobs that are not where ``base`` has them."""
        return Candidate.moved(name, base, {job: self._route(job, self.jobs[job].racks) for job in sorted(moved)})

    def _route(self, job_id: str, racks: tuple[int, ...]) -> list[str]:
        key = job_id, racks
        if key not in self._routes:
            self._routes[key] = self.fabric.ring_route(f"{self._ecmp} {job_id}", racks)
        return self._routes[key]

    def _with_room(self, gpus: int) -> list[int]:
        return [rack for rack, free in enumerate(self._free) if free >= gpus]
