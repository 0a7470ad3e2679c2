"""How many search nodes each link and each cyclic block may take: fewer, the more of them there are.

A scheduler must have its answer whatever it asks. A few hard links get what they need to be proven; in a round of
thousands each gets enough for a good answer with a bound. The limits are counted in nodes, and depend on the problem
alone: the same input gives the same answer.
"""

from __future__ import annotations

from typing import Final, Literal

from ..kernel.prepared_link import DEFAULT_NODE_LIMIT

__all__ = ["AUTO", "NodeLimit", "all_candidates_limit", "all_links_limit", "block_limit", "link_limit"]

AUTO: Final = "auto"
NodeLimit = int | Literal["auto"] | None

LINK_NODES = 400_000
"""Of all links together; a node takes some microseconds."""

LEAST_LINK_NODES = 256
"""Of a link of up to four jobs. A link of more gets fewer, by the fifth power of their number: a node costs more there,
and so few move its bound little (of five jobs by 0.0003 from 100 to 300 nodes, of four by 0.005).
"""

BLOCK_NODES = 100_000
"""Of all candidates' blocks together."""

LEAST_BLOCK_NODES, MOST_BLOCK_NODES = 500, 20_000

ALL_LINK_NODES, LINK_NODES_OF_A_ROUTE = 2**18, 2
"""What all links of a round may take together, whatever the least of each says: so many, or so many for each placed job
of each candidate if that is more. A file of 1 MB has some 100,000 of these."""

ALL_CANDIDATE_NODES, CANDIDATE_NODES_OF_A_ROUTE = 3 * 2**18, 4
"""What all candidates of a round may take together, counted in the same way. Those that are left then have their bounds
only."""

CANDIDATE_NODES, PLACE_NODES, PLACES_OF_A_NODE = 200, 10, 16
"""In the time of so many nodes a candidate is answered, whose blocks take none. More for each place of a job on a
shared link where a graph is built, and one for so many places where none is."""


def link_limit(asked: NodeLimit, n_problems: int, n_jobs: int = 1) -> int | None:
    """Nodes of one link problem of ``n_problems``, with ``n_jobs`` jobs."""
    if asked == AUTO:
        least = LEAST_LINK_NODES * 4**5 // max(4, n_jobs) ** 5
        share = LINK_NODES // max(1, n_problems)
        return max(1, least, DEFAULT_NODE_LIMIT if share >= DEFAULT_NODE_LIMIT else _in_steps(share))
    return asked


def _in_steps(nodes: int) -> int:
    """The three leading binary digits, at least four fifths: the next round, with some links more or fewer, mostly has
    the same limit, and answers that it cut short serve again.
    """
    last = max(0, nodes.bit_length() - 3)
    return nodes >> last << last


def block_limit(asked: NodeLimit, n_candidates: int, *, affordable: bool = True) -> int | None:
    """Nodes of one cyclic block where ``n_candidates`` are ranked; the least where looking at links costs too much."""
    if asked == AUTO and not affordable:
        return LEAST_BLOCK_NODES
    if asked == AUTO:
        return max(LEAST_BLOCK_NODES, min(MOST_BLOCK_NODES, BLOCK_NODES // max(1, n_candidates)))
    return asked


def all_links_limit(asked: NodeLimit, n_routes: int) -> int | None:
    """Nodes of all link problems together, where candidates place ``n_routes`` jobs in all."""
    return max(ALL_LINK_NODES, LINK_NODES_OF_A_ROUTE * n_routes) if asked == AUTO else None


def all_candidates_limit(asked: NodeLimit, n_routes: int) -> int | None:
    """Nodes of all candidates' blocks together, and of what is done beside."""
    return max(ALL_CANDIDATE_NODES, CANDIDATE_NODES_OF_A_ROUTE * n_routes) if asked == AUTO else None
