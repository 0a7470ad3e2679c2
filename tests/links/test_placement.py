"""The shared links of a placement, told by what it has otherwise than the base placement."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cassini_core.arrays import int64
from cassini_core.links.placement import BaseLinks, Placement


@given(st.data())
def test_links_are_those_of_the_base_less_what_is_dropped_and_what_is_added_by_id(data: st.DataObject) -> None:
    """Several shared links, other jobs on one link of the network, have the same place in the order."""
    order = np.array(data.draw(st.lists(st.integers(0, 9), min_size=1, max_size=30)))
    some = data.draw(st.permutations(range(len(order))))

    def by_id(links: list[int]) -> list[int]:
        return sorted({int(order[link]): link for link in links}.values(), key=order.__getitem__)

    base = by_id(some[: data.draw(st.integers(0, len(some)))])
    dropped = sorted(data.draw(st.sets(st.integers(0, max(0, len(base) - 1))))) if base else []
    kept = [link for place, link in enumerate(base) if place not in dropped]
    others = set(range(len(order))) - set(base)
    taken = {int(order[link]) for link in kept}
    added = by_id([link for link in others if int(order[link]) not in taken])[: data.draw(st.integers(0, 9))]
    links = BaseLinks(int64(base), order, np.ones(len(order), dtype=np.int64), [])
    placement = Placement("c", 0, links, int64(dropped), int64(added))
    assert placement.links.tolist() == sorted([*kept, *added], key=order.__getitem__)
    assert placement.links.dtype == np.int64
    assert placement.n_links == len(placement.links)
