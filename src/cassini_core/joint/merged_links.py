"""Links of one candidate that pose the same problem to the same jobs, taken as one (DESIGN section 4, step 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..links.shared_links import SharedLink

__all__ = ["MergedLink", "merge_links"]


@dataclass(frozen=True, slots=True)
class MergedLink:
    """Links of one candidate that pose the same problem to the same jobs; ``ids`` are sorted, the first names all."""

    ids: tuple[str, ...]
    link: SharedLink


def merge_links(shared: Sequence[SharedLink]) -> list[MergedLink]:
    """Links that pose the same problem to the same jobs, as one each, in the order of their first ids; O(links).

    The same jobs at the same places of the same problem: demands divided by capacity are then equal, exactly.
    """
    groups: dict[tuple[tuple[str, ...], int], list[SharedLink]] = {}
    for link in shared:
        groups.setdefault((link.jobs, link.problem), []).append(link)
    return [MergedLink(tuple(link.id for link in group), group[0]) for group in groups.values()]
