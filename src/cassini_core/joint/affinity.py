"""The affinity graph of a placement, and Algorithm 1: one time-shift per job.

A bipartite ``networkx.Graph``: jobs that share a link on one side, links that carry several jobs on the other. The
edge between a job and a link carries the job's time-shift on that link, ``t_j^l``, in whole ticks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:  # networkx is loaded when a graph is built; large rounds build none
    import networkx as nx  # type: ignore[import-untyped]


__all__ = [
    "JOB",
    "LINK",
    "TIME_SHIFT",
    "AffinityGraph",
    "Block",
    "Component",
    "affinity_graph",
    "bfs_time_shifts",
    "blocks",
    "components",
    "has_loop",
    "job_node",
    "link_node",
    "surely_has_loop",
]

AffinityGraph: TypeAlias = "nx.Graph"
Node: TypeAlias = tuple[int, str]

JOB = 0
"""Node attribute ``bipartite`` of jobs."""

LINK = 1
"""Node attribute ``bipartite`` of links."""

TIME_SHIFT = "time_shift_ticks"
"""Edge attribute: ``t_j^l``, the job's time-shift on the link alone, ticks."""


class Component(NamedTuple):
    """One connected component: ids of its jobs and of its links, each sorted."""

    jobs: tuple[str, ...]
    links: tuple[str, ...]


class Block(NamedTuple):
    """Links that loops connect, and the jobs on them; ids, each sorted.

    A link couples all of its jobs, so it lies in one block. Two blocks have at most one job in common.
    """

    jobs: tuple[str, ...]
    links: tuple[str, ...]
    cyclic: bool


def job_node(job_id: str) -> Node:
    """The node of a job. The side is part of the key, so a job and a link may have the same id."""
    return (JOB, job_id)


def link_node(link_id: str) -> Node:
    """The node of a link."""
    return (LINK, link_id)


def affinity_graph(time_shifts: Mapping[str, Mapping[str, int]], jobs: Iterable[str] = ()) -> AffinityGraph:
    """The affinity graph of a placement (paper section 4.1; Algorithm 2, lines 3-14).

    Parameters
    ----------
    time_shifts : mapping of str to mapping of str to int
        Link id to job id to ``t_j^l``, ticks. The caller passes links that several jobs share. To look at the shape
        of a graph before its links are solved, pass 0 everywhere, as Algorithm 2 does.
    jobs : iterable of str
        Jobs that belong to the graph even if no edge touches them.

    Returns
    -------
    networkx.Graph
        Nodes ``(0, job id)`` and ``(1, link id)`` with the attribute ``bipartite``; edges with ``time_shift_ticks``.

    Notes
    -----
    O(jobs + links + edges).
    """
    import networkx as nx

    graph: AffinityGraph = nx.Graph()
    graph.add_nodes_from((job_node(job) for job in jobs), bipartite=JOB)
    for link, shifts in time_shifts.items():
        graph.add_node(link_node(link), bipartite=LINK)
        for job, ticks in shifts.items():
            graph.add_node(job_node(job), bipartite=JOB)
            graph.add_edge(job_node(job), link_node(link), **{TIME_SHIFT: ticks})
    return graph


def components(graph: AffinityGraph) -> list[Component]:
    """Connected components, in the order of their smallest job ids; O(nodes log nodes + edges)."""
    found = []
    import networkx as nx

    for nodes in nx.connected_components(graph):
        ordered = sorted(nodes)
        found.append(
            Component(
                tuple(name for side, name in ordered if side == JOB),
                tuple(name for side, name in ordered if side == LINK),
            )
        )
    return sorted(found)


def has_loop(graph: AffinityGraph) -> bool:
    """Whether some component is not a tree (Algorithm 2, line 15); O(nodes + edges)."""
    n_nodes: int = graph.number_of_nodes()
    n_edges: int = graph.number_of_edges()
    if n_nodes == 0:
        return False
    # A graph is a forest exactly if every edge joins two parts that nothing else joins.
    import networkx as nx

    n_components: int = nx.number_connected_components(graph)
    return n_edges > n_nodes - n_components


def surely_has_loop(time_shifts: Mapping[str, Collection[str]]) -> bool:
    """Whether counting is enough to see a loop in :func:`affinity_graph`: a forest has fewer edges than nodes.

    Crowded placements are told apart by this without building their graphs. O(edges).
    """
    n_edges = sum(len(jobs) for jobs in time_shifts.values())
    jobs = {job for on_link in time_shifts.values() for job in on_link}
    return n_edges > 0 and n_edges >= len(time_shifts) + len(jobs)


def blocks(graph: AffinityGraph) -> list[Block]:
    """Cut the graph at every job that alone connects two groups of links.

    Parameters
    ----------
    graph : networkx.Graph
        As made by :func:`affinity_graph`; its time-shifts are not read.

    Returns
    -------
    list of Block
        In the order of their smallest link ids. A block that is not cyclic has one link. If each block is taken as one
        link, the :func:`affinity_graph` has no loop, and :func:`bfs_time_shifts` composes the shifts of the blocks.

    Notes
    -----
    These are the blocks (biconnected components) of the hypergraph whose edges are links: the blocks of the bipartite
    graph, joined where they meet in a link. O(nodes log nodes + edges).
    """
    # Blocks of a graph meet in cut nodes only. Once those that meet in a link are joined, all cut nodes are jobs.
    import networkx as nx

    pieces: nx.utils.UnionFind = nx.utils.UnionFind(
        node for node, side in graph.nodes(data="bipartite") if side == LINK
    )
    for component in nx.biconnected_components(graph):
        pieces.union(*(node for node in component if node[0] == LINK))
    found = []
    for group in pieces.to_sets():
        links = sorted(name for _, name in group)
        jobs = {job for link in links for _, job in graph[link_node(link)]}
        n_edges = sum(graph.degree(node) for node in group)
        found.append(Block(tuple(sorted(jobs)), tuple(links), n_edges > len(jobs) + len(links) - 1))
    return sorted(found, key=lambda block: block.links)


def bfs_time_shifts(graph: AffinityGraph, iteration_time: Mapping[str, int]) -> dict[str, int]:
    """One time-shift per job from the time-shifts on each link (paper, Algorithm 1).

    Parameters
    ----------
    graph : networkx.Graph
        As made by :func:`affinity_graph`. Where it has a loop the answer keeps the links on a breadth-first spanning
        tree, and nothing is promised for the others.
    iteration_time : mapping of str to int
        ``T_j`` of every job of the graph, ticks.

    Returns
    -------
    dict of str to int
        Job id to ``t_j`` in ``[0, T_j)``, ticks, by component and then in the order of the visit.

    Raises
    ------
    KeyError
        A job of the graph has no iteration time.

    Notes
    -----
    Where the graph has no loop, for every link and every two jobs on it ``t_n - t_m`` and ``t_n^l - t_m^l`` are
    congruent modulo ``gcd(T_n, T_m)``, which is all that the score of the link depends on. (Theorem 1 says modulo the
    perimeter; that does not survive the reduction modulo the iteration time in line 22.)

    The paper starts at a random job; here it is the smallest id of each component, and neighbours are visited in the
    order of their ids, so the answer depends on nothing else. O(nodes log nodes + edges log edges).
    """
    shifts: dict[str, int] = {}
    for component in components(graph):
        if not component.jobs:
            continue
        root = component.jobs[0]
        shifts[root] = 0
        queue = deque([root])  # only jobs are queued: time-shifts belong to jobs
        seen: set[Node] = set()  # links all of whose jobs have a shift
        while queue:
            job = queue.popleft()
            for link in sorted(graph[job_node(job)]):
                if link in seen:
                    continue
                seen.add(link)
                to_link = -_weight(graph, job_node(job), link)  # minus from a job to a link
                for neighbour in sorted(graph[link]):
                    other = neighbour[1]
                    if other in shifts:
                        continue
                    from_link = _weight(graph, link, neighbour)  # plus from a link to a job
                    shifts[other] = (shifts[job] + to_link + from_link) % iteration_time[other]
                    queue.append(other)
    return shifts


def _weight(graph: AffinityGraph, one: Node, other: Node) -> int:
    return int(graph[one][other][TIME_SHIFT])
