"""Which jobs meet on links, directly or through others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cassini_core.joint.affinity import affinity_graph, components

__all__ = ["that_meet"]


def that_meet(routes: Mapping[str, Iterable[str]]) -> list[frozenset[str]]:
    """Jobs by the links that they share; also those that meet nobody. In the order of their first ids."""
    on_link: dict[str, dict[str, int]] = {}
    for job, route in routes.items():
        for link in route:
            on_link.setdefault(link, {})[job] = 0
    return [frozenset(one.jobs) for one in components(affinity_graph(on_link, routes))]
