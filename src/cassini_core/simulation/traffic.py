"""Jobs and their links as arrays: what the simulator in :mod:`cassini_core.simulation.max_min` runs on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..arrays import Float64Array, Int64Array, offsets
from ..model import Candidate, Job, Problem


@dataclass(frozen=True, slots=True, eq=False)
class Traffic:
    """The jobs of a placement that cross a link.

    An iteration is a sequence of segments from its time 0 on, of a constant rate each; one without rate is compute.

    Attributes
    ----------
    job_ids : tuple of str
    segment_offset : int64 array, shape (n_jobs + 1,)
        Job ``j`` owns the segments ``segment_offset[j]`` up to ``segment_offset[j + 1]``.
    segment_ms, segment_gbps : float64 array, shape (n_segments,)
    link_offset : int64 array, shape (n_jobs + 1,)
    link : int64 array, shape (n_crossings,)
        Links of job ``j`` at ``link_offset[j]`` up to ``link_offset[j + 1]``.
    multiplier : float64 array, shape (n_crossings,)
        Flows of the job there: at a rate ``x`` it takes ``multiplier * x`` of the link.
    capacity_gbps : float64 array, shape (n_links,)
    link_ids : tuple of str
    """

    job_ids: tuple[str, ...]
    segment_offset: Int64Array
    segment_ms: Float64Array
    segment_gbps: Float64Array
    link_offset: Int64Array
    link: Int64Array
    multiplier: Float64Array
    capacity_gbps: Float64Array
    link_ids: tuple[str, ...]

    def jobs_on_link(self) -> tuple[Int64Array, Int64Array, Float64Array]:
        """The crossings seen from the links: an offset per link, then jobs and multipliers link by link."""
        jobs = np.repeat(np.arange(len(self.job_ids)), np.diff(self.link_offset))
        order = np.argsort(self.link, kind="stable")
        counts = np.bincount(self.link, minlength=len(self.capacity_gbps))
        return offsets(counts), jobs[order].astype(np.int64), self.multiplier[order]

    def solo_ms(self) -> Float64Array:
        """Iteration time of each job alone: longer than its own only where it asks for more than a link has."""
        own = np.full(len(self.job_ids), np.inf)
        jobs = np.repeat(np.arange(len(self.job_ids)), np.diff(self.link_offset))
        np.minimum.at(own, jobs, self.capacity_gbps[self.link] / self.multiplier)
        rate = np.minimum(self.segment_gbps, np.repeat(own, np.diff(self.segment_offset)))
        stretch = np.divide(self.segment_gbps, rate, out=np.ones_like(rate), where=rate > 0)
        found: Float64Array = np.add.reduceat(self.segment_ms * stretch, self.segment_offset[:-1])
        return found

    def volume_gbit(self) -> Float64Array:
        """What each job sends per iteration along its ring, Gbit."""
        found: Float64Array = np.add.reduceat(self.segment_ms * self.segment_gbps, self.segment_offset[:-1]) * 1e-3
        return found


def traffic_of(problem: Problem, candidate: Candidate) -> Traffic:
    """The traffic of one candidate, jobs by id."""
    jobs = {job.id: job for job in problem.jobs}
    routes = {job_id: candidate.routes[job_id] for job_id in sorted(candidate.routes) if candidate.routes[job_id]}
    return traffic(
        [(jobs[job_id], route) for job_id, route in routes.items()],
        {link.id: link.capacity_gbps for link in problem.links},
    )


def traffic(placed: Iterable[tuple[Job, Mapping[str, float]]], capacity_gbps: Mapping[str, float]) -> Traffic:
    """Jobs with the links that they cross and the multipliers there."""
    placed = list(placed)
    place = {link: index for index, link in enumerate(sorted({link for _, route in placed for link in route}))}
    segments = [segments_of(job) for job, _ in placed]
    crossings = [(place[link], multiplier) for _, route in placed for link, multiplier in route.items()]
    return Traffic(
        job_ids=tuple(job.id for job, _ in placed),
        segment_offset=offsets([len(one) for one in segments]),
        segment_ms=np.array([length for one in segments for length, _ in one], dtype=np.float64),
        segment_gbps=np.array([rate for one in segments for _, rate in one], dtype=np.float64),
        link_offset=offsets([len(route) for _, route in placed]),
        link=np.array([link for link, _ in crossings], dtype=np.int64),
        multiplier=np.array([multiplier for _, multiplier in crossings], dtype=np.float64),
        capacity_gbps=np.array([capacity_gbps[link] for link in place], dtype=np.float64),
        link_ids=tuple(place),
    )


def segments_of(job: Job) -> list[tuple[float, float]]:
    """``(ms, Gbit/s)`` from time 0 of the iteration to its end; a phase that wraps is cut in two there."""
    period = job.iteration_ms
    up = [(p.start_ms, p.start_ms + p.duration_ms, p.gbps) for p in job.phases if p.duration_ms > 0 and p.gbps > 0]
    up += [(start - period, end - period, rate) for start, end, rate in up if end > period]
    edges = sorted({0.0, period, *(min(max(edge, 0.0), period) for start, end, _ in up for edge in (start, end))})
    segments: list[tuple[float, float]] = []
    for start, end in pairwise(edges):
        middle = (start + end) / 2
        rate = sum(rate for begin, stop, rate in up if begin <= middle < stop)
        if segments and segments[-1][1] == rate:
            segments[-1] = segments[-1][0] + end - start, rate
        else:
            segments.append((end - start, rate))
    return segments
