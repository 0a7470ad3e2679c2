"""What a scheduling round looks like: how many jobs share how many links, and how often link problems repeat."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import networkx as nx  # type: ignore[import-untyped]

from bench.tables import table
from cassini_core import Problem
from cassini_core.joint.joint_shifts import merge_links
from cassini_core.links.shared_links import LinkCatalog, Placement


@dataclass(frozen=True, slots=True)
class Census:
    """Counts of a round; those of a placement are means over its candidates.

    Attributes
    ----------
    jobs, candidates : int
    iteration_times : int
        Different ones among the jobs.
    routed_jobs : float
        Jobs that cross a link.
    used_links, shared_links : float
        Links crossed by a job, and by several.
    links_by_jobs : mapping of int to float
        Number of jobs to the shared links with so many.
    block_jobs, block_links : float
        Of the largest cyclic block, after links that pose the same problem were merged.
    link_problems : int
        Different ones over all candidates.
    asked : int
        Shared links over all candidates: so many problems are asked.
    """

    jobs: int
    candidates: int
    iteration_times: int
    routed_jobs: float
    used_links: float
    shared_links: float
    links_by_jobs: Mapping[int, float]
    block_jobs: float
    block_links: float
    link_problems: int
    asked: int


BLOCKS_OF = 20
"""Candidates whose blocks are looked for: they differ little, and looking takes longer than all the rest."""


def census(problem: Problem) -> Census:
    """Count what a round holds."""
    catalog = LinkCatalog(problem)
    placements = catalog.placements()
    by_jobs = Counter(len(link.jobs) for placement in placements for link in placement.shared)
    routes = [[route for route in candidate.routes.values() if route] for candidate in problem.candidates]
    blocks = [largest_block(placement) for placement in placements[:BLOCKS_OF]]
    asked = sum(by_jobs.values())
    return Census(
        jobs=len(problem.jobs),
        candidates=len(placements),
        iteration_times=len({job.iteration_ms for job in problem.jobs}),
        routed_jobs=statistics.fmean(len(one) for one in routes),
        used_links=statistics.fmean(len(set().union(*one)) for one in routes),
        shared_links=asked / len(placements),
        links_by_jobs={jobs: count / len(placements) for jobs, count in sorted(by_jobs.items())},
        block_jobs=statistics.fmean(jobs for jobs, _ in blocks),
        block_links=statistics.fmean(links for _, links in blocks),
        link_problems=len(catalog.problems),
        asked=asked,
    )


def largest_block(placement: Placement) -> tuple[int, int]:
    """Jobs and merged links of the largest cyclic block; zeros if the affinity graph has no loop.

    Blocks hang together at single jobs only: a link couples all of its jobs and is never split.
    """
    links = [frozenset(group[0].jobs) for group in merge_links(placement.shared)]
    coupled = nx.Graph()
    for jobs in links:
        coupled.add_edges_from(itertools.combinations(sorted(jobs), 2))
    sizes = []
    for block in nx.biconnected_components(coupled):
        inside = sum(jobs <= block for jobs in links)
        if inside > 1:
            sizes.append((len(block), inside))
    return max(sizes, default=(0, 0))


def census_table(columns: Mapping[str, Census]) -> str:
    """A Markdown table, one column per round."""
    found = list(columns.values())
    most = max((max(one.links_by_jobs, default=2) for one in found), default=2)
    rows = [
        _row("jobs", (f"{one.jobs:,}" for one in found)),
        _row("different iteration times", (f"{one.iteration_times:,}" for one in found)),
        _row("candidates", (f"{one.candidates:,}" for one in found)),
        _row("jobs that cross a link", (_mean(one.routed_jobs) for one in found)),
        _row("links that carry a job", (_mean(one.used_links) for one in found)),
        _row("shared links", (_mean(one.shared_links) for one in found)),
        *(
            _row(f"shared links with {jobs} jobs", (_share(one, jobs) for one in found))
            for jobs in range(2, most + 1)
            if any(jobs in one.links_by_jobs for one in found)
        ),
        _row("jobs in the largest cyclic block", (_mean(one.block_jobs) for one in found)),
        _row("its links, merged", (_mean(one.block_links) for one in found)),
        _row("link problems asked, all candidates", (f"{one.asked:,}" for one in found)),
        _row("different ones", (f"{one.link_problems:,}" for one in found)),
    ]
    return table(["mean over the candidates", *columns], rows)


def _row(what: str, values: Iterable[str]) -> list[str]:
    return [what, *values]


def _mean(value: float) -> str:
    return f"{value:,.1f}"


def _share(one: Census, jobs: int) -> str:
    links = one.links_by_jobs.get(jobs, 0.0)
    return f"{links:,.1f} ({links / one.shared_links:.0%})" if one.shared_links else "0"
