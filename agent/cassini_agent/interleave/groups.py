"""Which jobs meet on links, directly or through others. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["groups"]


def groups(routes: Mapping[str, Iterable[str]]) -> list[frozenset[str]]:
    """Jobs by the links that they share; also those that meet nobody. In the order of their first ids."""
    of_link: dict[str, set[str]] = {}
    found: list[set[str]] = []
    for job, route in routes.items():
        mine = {job}
        for link in route:
            mine |= of_link.get(link, set())
        merged = [one for one in found if one & mine]
        mine.update(*merged)
        found = [one for one in found if not one & mine] + [mine]
        for link, there in of_link.items():
            if there & mine:
                of_link[link] = mine
        for link in route:
            of_link[link] = mine
    return sorted((frozenset(one) for one in found), key=min)
