"""Search nodes: the table of all limits on them, and how many searches share what they may take together.

A search node is one partial placement of jobs that the kernel looks at; it takes some microseconds. Other work is
counted in the nodes that take as long. A scheduler must have its answer whatever it asks, and the same answer to the
same question: so every limit is a count that depends on the problem alone, and no clock is read.
"""

from __future__ import annotations

from typing import Final, Literal

from .arrays import Int64Array, int64

__all__ = [
    "AUTO",
    "NO_LIMIT",
    "Allowance",
    "NodeLimit",
    "all_candidates_limit",
    "all_links_limit",
    "block_limit",
    "enlarged",
    "link_limit",
    "link_limits",
    "smaller",
]

AUTO: Final = "auto"
NodeLimit = int | Literal["auto"] | None
"""What a caller may ask for: a number of nodes, ``"auto"`` for what this table says, or None for no limit."""

NO_LIMIT: Final = 2**63 - 1
"""Stands for None in arrays."""

# One link.

DEFAULT_NODE_LIMIT = 50_000
"""Nodes of a link that is solved alone: some tenths of a second."""

UNINTERRUPTED_NODES = 4_000
"""Nodes of a link that is solved in the calling thread, which Ctrl-C cannot interrupt: milliseconds. A longer search
runs in a thread of its own."""

LINK_NODES = 400_000
"""Nodes that the links of a round share evenly, each up to ``DEFAULT_NODE_LIMIT``."""

LEAST_LINK_NODES = 256
"""Nodes that a link of up to four jobs has at least. A link of more jobs has fewer, by the fifth power of their number:
a node costs more there, and so few nodes move its bound little (of five jobs by 0.0003 from 100 to 300 nodes, of four
by 0.005)."""

FIRST_NODES = 300
"""Nodes that every link gets before any gets more, where there is a deadline: enough to prove three jobs."""

ALL_LINK_NODES, LINK_NODES_OF_A_ROUTE = 2**18, 2
"""Nodes of all links of a round together, whatever the least of each says: so many, or so many for each placed job of
each candidate if that is more. A file of 1 MB has some 100,000 of these."""

# Candidates, and the cyclic blocks of links that are solved jointly.

BLOCK_NODES = 100_000
"""Nodes that the candidates of a round share evenly, for each of their blocks."""

LEAST_BLOCK_NODES, MOST_BLOCK_NODES = 500, 20_000
"""Nodes of one block: at least and at most."""

ALL_CANDIDATE_NODES, CANDIDATE_NODES_OF_A_ROUTE = 3 * 2**18, 4
"""Nodes of all candidates of a round together, counted as for all links. Candidates that are left then keep their
bounds."""

BASE_EFFORT, BASE_NODES = 200, 100_000
"""The base placement gets so many times the nodes of one block, up to so many: every large candidate begins there."""

IMPROVED_EFFORT, IMPROVED_NODES = 20, 5_000
"""The same for each of the best large candidates, which are searched once more."""

# Iteration times.

PACE_WORK = 2**19
"""Nodes of all that is done to choose the iteration times of one problem; usual rounds take a tenth of them."""

PACE_LINK_NODES = 300
"""Nodes of a link that iteration times are judged by: proves three jobs. With more jobs the score is one that is
reached, never a hope."""

PACE_NODES, PACE_NODES_OF_MANY = 2_000, 200
"""Nodes of one assignment that ``harmonize`` scores: up to four jobs are proven in a millisecond or two. With more a
proof can take seconds, and what a search finds later differs in the third digit."""

CAREFUL_PACE_NODES = 20_000
"""Nodes of a link when the chosen assignment is compared with changing nothing; fewer with more than 20 links."""

# What other work costs.

CANDIDATE_COST, CROSSING_COST, CROSSINGS_OF_A_NODE = 200, 10, 16
"""Nodes in the time of which a candidate is answered whose blocks take none. More for each job on each of its shared
links where a graph is built, and one for so many of these where none is."""

LEVELS_OF_A_NODE = 512
"""So many demand levels are added up in the time of a node."""

PHASES_OF_A_NODE = 32
"""So many phases are read in the time of a node."""

MANY_EDGES = 64
"""From this product on of the phases on a link and the most phases of one of its jobs, a node takes twice as long."""

AHEAD = 4
"""A search may take so many times its even share of what is left: most take less."""


def link_limit(asked: NodeLimit, n_problems: int, n_jobs: int = 1) -> int | None:
    """Nodes of one of ``n_problems`` link problems, with ``n_jobs`` jobs."""
    if asked == AUTO:
        least = LEAST_LINK_NODES * 4**5 // max(4, n_jobs) ** 5
        share = LINK_NODES // max(1, n_problems)
        return max(1, least, DEFAULT_NODE_LIMIT if share >= DEFAULT_NODE_LIMIT else _in_steps(share))
    return asked


def link_limits(asked: NodeLimit, n_jobs: Int64Array) -> Int64Array:
    """Nodes of each link problem, by the number of its jobs; ``NO_LIMIT`` where there is no limit."""
    limits = (link_limit(asked, len(n_jobs), jobs) for jobs in range(int(n_jobs.max(initial=0)) + 1))
    return int64(NO_LIMIT if limit is None else limit for limit in limits)[n_jobs]


def _in_steps(nodes: int) -> int:
    """The three leading binary digits, at least four fifths: the next round, with some links more or fewer, mostly has
    the same limit, and answers that it cut short serve again.
    """
    last = max(0, nodes.bit_length() - 3)
    return nodes >> last << last


def block_limit(asked: NodeLimit, n_candidates: int, *, with_slack: bool = True) -> int | None:
    """Nodes of one cyclic block where ``n_candidates`` are ranked.

    Where evaluating links takes so long that slack is not asked for, a block gets the least.
    """
    if asked == AUTO and not with_slack:
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


def smaller(one: int | None, other: int | None) -> int | None:
    """The smaller of two limits, where None is no limit."""
    return other if one is None else one if other is None else min(one, other)


def enlarged(limit: int | None, times: int, most: int) -> int | None:
    """A limit for a search on which more depends: so many times as much up to ``most``, never less than ``limit``."""
    return None if limit is None else max(limit, min(times * limit, most))


class Allowance:
    """Nodes that some searches share, which begin one after the other or in groups.

    What a search takes is known only afterwards, and mostly it is far less than its limit. So each may take more than
    its even share: the allowance cuts only those that come after too many that took much.

    Parameters
    ----------
    nodes : int or None
        Of all searches together; None for no limit. The searches of one group can exceed what is left by what they were
        allowed, so that the answer does not depend on which of them ends first.
    parts : int
        How many searches there are.

    Attributes
    ----------
    nodes : int
        Taken until now.
    """

    def __init__(self, nodes: int | None, parts: int) -> None:
        self._left = nodes
        self._parts = parts
        self.nodes = 0

    def limit(self, most: int | None) -> int | None:
        """What each of the next searches may take, at least 1 and at most ``most``."""
        if self._left is None:
            return most
        return smaller(most, max(1, AHEAD * self._left // max(1, self._parts)))

    def spend(self, nodes: int, parts: int = 1) -> None:
        """Count what some searches took."""
        self.nodes += nodes
        self._parts -= parts
        if self._left is not None:
            self._left = max(0, self._left - nodes)

    @property
    def spent(self) -> bool:
        """Whether nothing is left."""
        return self._left == 0
