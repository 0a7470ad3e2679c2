"""The affinity graph of a candidate: jobs, the links that several of them share, and the loops that these make."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import InputError, shown
from ..formats import listed
from ..joint.affinity import JOB, AffinityGraph, affinity_graph, blocks, job_node, link_node
from ..kernel.prepared_link import PreparedLink
from ..units import ms_from_ticks, ticks_from_ms
from .placed_links import PlacedLink

__all__ = ["MOST_ROWS", "affinity_plot_data"]

MOST_ROWS = 24
"""Jobs, and distinct links, that a picture can hold; of a larger graph what is nearest is taken."""


def affinity_plot_data(
    links: Sequence[PlacedLink],
    *,
    near_job: str | None = None,
    near_link: str | None = None,
) -> dict[str, Any]:
    """The numbers of :func:`~cassini_core.plots.affinity_drawing.affinity_figure`, ready for JSON.

    Parameters
    ----------
    links : sequence of PlacedLink
        Those of one candidate, the worst first; links of one job are left out.
    near_job, near_link : str, optional
        Show the component of this job or link only. Without either all is shown if it is at most 24 jobs and 24 links,
        else what is nearest to the worst link.

    Returns
    -------
    dict
        ``jobs`` with their ``shift_ms`` in the whole candidate, ``is_free`` where it matters on no link; ``links``, of
        which those that pose the same problem to the same jobs are one entry with all ``ids``, and the index of their
        block; ``edges`` with ``shift_ms``, the job's time-shift on the link (t_j^l, modulo what matters there, the
        first job at 0), null where the job is free or nothing was solved; ``blocks``, cyclic where loops connect links;
        ``left_out``, how many jobs and links are not shown.

    Raises
    ------
    InputError
        No link is shared, or the job or link named is not among them, or both are named.

    Notes
    -----
    O(nodes log nodes + edges + phases of the jobs on the links).
    """
    if near_job is not None and near_link is not None:
        raise InputError("affinity: expected a job or a link to show what is near, got both")
    shared = [link for link in links if len(link.jobs) > 1]
    if not shared:
        raise InputError("affinity: expected a candidate whose jobs share a link, got one without")
    groups = _merged(shared)
    whole = affinity_graph({link: dict.fromkeys(_ids(group[0]), 0) for link, group in groups.items()})
    root = _root(shared, groups, near_job, near_link)
    near = _nearest(whole, root, everything=near_job is None and near_link is None)
    kept = {link: group for link, group in groups.items() if link_node(link) in near}
    held = {link: [job for job in _ids(group[0]) if job not in group[0].free_jobs] for link, group in groups.items()}
    found = blocks(affinity_graph({link: dict.fromkeys(jobs, 0) for link, jobs in held.items() if len(jobs) > 1}))
    found = [block for block in found if not kept.keys().isdisjoint(block.links)]
    block_of = {link: at for at, block in enumerate(found) for link in block.links}
    shifts = {job: shift for link in shared for job, shift in link.shifts_ms.items()}
    jobs = sorted(name for side, name in near if side == JOB)
    edges = [edge for group in kept.values() for edge in _edges(group[0], jobs)]
    holding = {job for jobs_held in held.values() for job in jobs_held}
    n_shown = sum(len(group) for group in kept.values())
    is_solved = all(link.score is not None for link in shared)
    return {
        "jobs": [
            {"id": job, "shift_ms": shifts[job] if is_solved else None, "is_free": job not in holding} for job in jobs
        ],
        "links": [
            {
                "id": link,
                "ids": [one.id for one in group],
                "score": group[0].score,
                "upper_bound": group[0].upper_bound,
                "block": block_of.get(link),
            }
            for link, group in kept.items()
        ],
        "edges": edges,
        "blocks": [{"jobs": block.jobs, "links": block.links, "is_cyclic": block.cyclic} for block in found],
        "left_out": {"jobs": len(shifts) - len(jobs), "links": len(shared) - n_shown},
    }


def _ids(link: PlacedLink) -> list[str]:
    return [job.id for job in link.jobs]


def _merged(shared: Sequence[PlacedLink]) -> dict[str, list[PlacedLink]]:
    """Links that pose the same problem to the same jobs, by the first id of each group; ids in order."""
    groups: dict[Any, list[PlacedLink]] = {}
    for link in sorted(shared, key=lambda one: one.id):
        problem = PreparedLink.from_jobs(link.jobs, link.capacity_gbps)
        rates = problem.phase_rate.tolist()
        divisor = math.gcd(problem.capacity, *rates)
        times = (problem.period, problem.phase_offset, problem.phase_start, problem.phase_length)
        content = (
            tuple(_ids(link)),
            *(column.tobytes() for column in times),
            *(rate // divisor for rate in rates),
            problem.capacity // divisor,
        )
        groups.setdefault(content, []).append(link)
    return {group[0].id: group for group in groups.values()}


def _root(
    shared: Sequence[PlacedLink],
    groups: Mapping[str, Sequence[PlacedLink]],
    near_job: str | None,
    near_link: str | None,
) -> tuple[int, str]:
    """The node from which on the graph is shown."""
    if near_job is not None:
        jobs = {job for link in shared for job in _ids(link)}
        if near_job not in jobs:
            raise InputError(f"job: expected one that shares a link ({listed(jobs)}), got {shown(near_job)}")
        return job_node(near_job)
    wanted = shared[0].id if near_link is None else near_link
    for first, group in groups.items():
        if any(link.id == wanted for link in group):
            return link_node(first)
    ids = [link.id for link in shared]
    raise InputError(f"link: expected one that several jobs share ({listed(ids)}), got {shown(wanted)}")


def _nearest(graph: AffinityGraph, root: tuple[int, str], *, everything: bool) -> set[tuple[int, str]]:
    """All nodes if they fit, else those nearest to ``root``, as many as fit; nodes of one distance by id."""
    n_links = sum(side for _, side in graph.nodes(data="bipartite"))
    if everything and max(n_links, len(graph) - n_links) <= MOST_ROWS:
        return set(graph)
    room = [MOST_ROWS, MOST_ROWS]
    found: set[tuple[int, str]] = set()
    queue = deque([root])
    while queue:
        node = queue.popleft()
        if node in found or not room[node[0]]:
            continue
        found.add(node)
        room[node[0]] -= 1
        queue.extend(sorted(graph[node]))
    return found


def _edges(link: PlacedLink, jobs: Sequence[str]) -> list[dict[str, Any]]:
    """The jobs of a link with their time-shifts on it, the first that is not free at 0."""
    held = {job.id: ticks_from_ms(job.iteration_ms) for job in link.jobs if job.id not in link.free_jobs}
    ticks = {job: ticks_from_ms(link.shifts_ms[job]) for job in held}
    shifts: dict[str, float] = {}
    if link.score is not None and len(held) > 1:
        for job, period in held.items():
            repeats = math.lcm(*(math.gcd(period, other) for name, other in held.items() if name != job))
            shifts[job] = ms_from_ticks((ticks[job] - ticks[min(held)]) % repeats)
    return [
        {"job": job, "link": link.id, "shift_ms": shifts.get(job), "is_free": job in link.free_jobs}
        for job in _ids(link)
        if job in jobs
    ]
