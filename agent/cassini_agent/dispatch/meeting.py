"""Which jobs meet on links, directly or through others."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

__all__ = ["that_meet"]


def that_meet(routes: Mapping[str, Iterable[Hashable]]) -> list[frozenset[str]]:
    """Jobs by the links that they share; also those that meet nobody. In the order of their first ids.

    O(jobs * groups) comparisons of sets of links.
    """
    found: list[tuple[set[str], set[Hashable]]] = []
    for job, route in routes.items():
        jobs, links = {job}, set(route)
        for met in [one for one in found if not links.isdisjoint(one[1])]:
            found.remove(met)
            jobs |= met[0]
            links |= met[1]
        found.append((jobs, links))
    return sorted((frozenset(jobs) for jobs, _ in found), key=min)
