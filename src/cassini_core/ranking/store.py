"""What rankings keep for later ones."""

from __future__ import annotations

from typing import NamedTuple

from ..joint.kept_searches import SearchStore
from ..links.solution_cache import KeptCounts, LinkStore

__all__ = ["CacheInfo", "Store"]


class CacheInfo(NamedTuple):
    """Counts of link problems, with the names of ``functools.lru_cache``; of joint searches; and of evaluations.

    Attributes
    ----------
    hits, misses : int
        Distinct link problems, added up over all rankings, whose answer was known, and was not.
    size : int
        Answers of link problems that are kept.
    max_links : int
        The most that are.
    searches : KeptCounts
        Of the searches of joint shifts; ``size`` and ``most`` in kilobytes.
    evaluations : KeptCounts
        Of links scored at the shifts of a candidate, each counted once in a ranking.
    """

    hits: int
    misses: int
    size: int
    max_links: int
    searches: KeptCounts
    evaluations: KeptCounts


class Store:
    """Answers of links, joint searches and evaluations.

    Parameters
    ----------
    max_links : int
        At least 1.

    Attributes
    ----------
    links : LinkStore
    searches : SearchStore
    """

    def __init__(self, max_links: int) -> None:
        self.links = LinkStore(max_links)
        self.searches = SearchStore(max_links)

    def info(self) -> CacheInfo:
        """The counts, and how much is kept."""
        searches = self.searches
        return CacheInfo(*self.links.answers.info(), searches.searches.info(), searches.evaluations.info())

    def clear(self) -> None:
        """Forget everything."""
        self.links.clear()
        self.searches.clear()
