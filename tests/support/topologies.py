"""Hypothesis strategies for networks: trees, and fabrics of any shape."""

from __future__ import annotations

import functools

from hypothesis import strategies as st

from cassini_core.topology.model import Cable, Host, Switch, Topology
from strategies import one_of, some_of

__all__ = ["fabrics", "trees"]


@functools.cache
@st.composite
def trees(draw: st.DrawFn, *, parents: int = 1, gpus: bool = False) -> Topology:
    """Forests of switches, each as many tiers above its hosts as there are switches on its longest way down.

    No switch stands without a host below. A switch has at most ``parents`` above it. Hosts may hang under switches of
    any tier and, where ``parents`` allows, under several.
    """
    below: dict[str, set[str]] = {}
    tier: dict[str, int] = {}
    hosts: list[str] = []
    tops: list[str] = []
    for index in range(draw(st.integers(1, 6))):
        name = f"sw{index}"
        chosen = set(draw(some_of(tuple(tops), max_size=3, unique=True))) if tops else set()
        if parents == 1:
            tops = [top for top in tops if top not in chosen]
        new = [f"n{len(hosts) + one}" for one in range(draw(st.integers(0 if chosen else 1, 3)))]
        old = set(draw(some_of(tuple(hosts), max_size=2))) if hosts and parents > 1 else set()
        hosts += new
        below[name] = chosen | set(new) | old
        tier[name] = 1 + max((tier.get(one, 0) for one in below[name]), default=0)
        tops.append(name)
    return Topology(
        [Host(host, draw(st.integers(1, 8)) if gpus else None) for host in hosts],
        [Switch(name, level) for name, level in tier.items()],
        [Cable(one, name) for name, members in below.items() for one in members],
    )


CAPACITIES = st.none() | st.sampled_from([25.0, 50.0, 400.0])
GPUS = st.none() | st.integers(1, 8)


@functools.cache
@st.composite
def fabrics(draw: st.DrawFn) -> Topology:
    """Any network: parallel and double cables, cables within a tier, rails, planes, storage, several parts."""
    hosts = [Host(f"h{index}", draw(GPUS)) for index in range(draw(st.integers(2, 5)))]
    switches = [Switch(f"s{index}", draw(st.integers(1, 3))) for index in range(draw(st.integers(1, 6)))]
    tier = {switch.id: switch.tier for switch in switches}
    names = one_of(tuple(tier))
    cables = []
    for host in hosts:
        for _ in range(draw(st.integers(0 if draw(st.booleans()) else 1, 4))):
            gbps = draw(CAPACITIES)
            rail, storage = draw(one_of(("", "0", "1"))), draw(one_of((False,) * 7 + (True,)))
            basis = None if gbps is None else draw(one_of(("file", "given", "assumed")))
            switch = draw(names)
            cables.append(Cable(host.id, switch, gbps, draw(st.integers(1, 2)), rail, storage, basis))
    for _ in range(draw(st.integers(0, 8))):
        one, two = (draw(names) for _ in range(2))
        if one != two:
            gbps = draw(CAPACITIES)
            basis = None if gbps is None else "file"
            lower, upper = sorted((one, two), key=lambda name: tier[name])
            cables.append(Cable(lower, upper, gbps, draw(st.integers(1, 2)), basis=basis))
    return Topology(hosts, switches, cables)
