"""Successive scheduling rounds: between two of them a few jobs arrive, leave or move.

For a ranking that remembers what it solved in the round before.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import replace

from bench.measuring import draw
from cassini_core import Candidate, Problem

from .cluster import Cluster, NoRoomError
from .rounds import JobMaker, Settings, candidates_from, current_placement, place

ROUNDS = 100
CHANGED = 0.02
ATTEMPTS = 100


def replay(settings: Settings, rounds: int = ROUNDS, changed: float = CHANGED) -> Iterator[Problem]:
    """Successive rounds, the first as :func:`bench.ranking.rounds.generate` makes it.

    Before each later round ``changed`` of the jobs leave, arrive or have a part moved, a third each (what is left over
    moves); as many arrive as leave, and of those that use the network too. Ids are never used twice.

    Parameters
    ----------
    settings : Settings
        Of every round.
    rounds : int
    changed : float
        Share of the jobs, at least one job.

    Raises
    ------
    NoRoomError
        The jobs do not fit, or none can be moved.
    """
    maker, current = JobMaker(settings), current_placement(settings)
    links, ids = settings.fabric().links(), itertools.count(settings.jobs)
    for index in range(rounds):
        name = settings.name if index == 0 else f"{settings.name}, {index} later"
        if index:
            count = max(1, round(changed * settings.jobs))
            _change(random.Random(f"{name}, changes"), current, ids, count)
        yield Problem(maker.jobs(current), links, candidates_from(settings, current, name))


def other_candidates(settings: Settings, rounds: int = ROUNDS, changed: float = CHANGED) -> Iterator[Problem]:
    """Successive rounds between which no job arrives, leaves or moves; the first is that of :func:`replay`.

    Before each later round ``changed`` of the candidates, one after the other, make way for others, drawn anew.

    Parameters
    ----------
    settings : Settings
        Of every round.
    rounds : int
    changed : float
        Share of the candidates, at least one.

    Raises
    ------
    NoRoomError
        The jobs do not fit, or none can be moved.
    """
    maker, current = JobMaker(settings), current_placement(settings)
    jobs, links = maker.jobs(current), settings.fabric().links()
    candidates = candidates_from(settings, current, settings.name)
    count = max(1, round(changed * settings.candidates))
    for index in range(rounds):
        if index:
            some = replace(settings, candidates=count)
            new = candidates_from(some, current, f"{settings.name}, {index} later")
            for k, candidate in enumerate(new):
                at = ((index - 1) * count + k) % len(candidates)
                candidates[at] = Candidate(candidates[at].id, candidate.routes)
        yield Problem(jobs, links, candidates)


def _change(rng: random.Random, cluster: Cluster, ids: Iterator[int], count: int) -> None:
    """A third of ``count`` leave, as many arrive, and parts of the others move."""
    before, leaving = list(cluster.jobs), count // 3
    for _ in range(leaving):
        job_id = before.pop(draw.below(rng, len(before)))
        spans = len(cluster.jobs[job_id].racks) > 1
        cluster.remove(job_id)
        _arrive(rng, cluster, f"job{next(ids):05d}", spans=spans)
    cluster.move_parts(rng, count - 2 * leaving)


def _arrive(rng: random.Random, cluster: Cluster, job_id: str, *, spans: bool) -> None:
    """Place a new job; one that finds no room waits, and the next in line, of another size, is placed instead."""
    for _ in range(ATTEMPTS):
        try:
            return place(rng, cluster, job_id, spans=spans)
        except NoRoomError:
            continue
    raise NoRoomError(f"{job_id}: no room for any size")
