"""Networks from files that say what hangs under what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from ...errors import refusal, shown
from ..model import Cable, Host, Switch, Topology

__all__ = ["topology_of"]


def topology_of(
    below: Mapping[str, Iterable[str]], gpus: Mapping[str, int | None] | None = None, oddities: Iterable[str] = ()
) -> Topology:
    """The network of switches and what hangs right under each: one cable each, without capacity.

    Parameters
    ----------
    below : mapping of str to iterable of str
        Switch to switches and hosts; what is no key is a host.
    gpus : mapping of str to (int or None), optional
        GPUs of hosts, or None; those that hang nowhere are hosts too.
    oddities : iterable of str

    Raises
    ------
    InputError
        A switch is above itself, or has the name of a host.

    Notes
    -----
    The tier of a switch is the number of switches on its longest way down, itself included. O(cables), no recursion.
    """
    members = {switch: dict.fromkeys(names) for switch, names in below.items()}
    known = dict(gpus or {})
    both = sorted(known.keys() & members.keys())
    if both:
        raise refusal("", "", "hosts and switches of different names", f"{shown(both[0])} as both")
    switches = {switch: [name for name in names if name in members] for switch, names in members.items()}
    try:
        order = list(TopologicalSorter(switches).static_order())
    except CycleError as error:
        circle = " over ".join(map(shown, reversed(error.args[1][:8])))
        raise refusal("", "switches", "no switch above itself", circle) from None
    tiers: dict[str, int] = {}
    for switch in order:  # what hangs under a switch comes before it
        tiers[switch] = 1 + max((tiers[one] for one in switches[switch]), default=0)
    hosts = dict.fromkeys([*known, *(name for names in members.values() for name in names if name not in members)])
    return Topology(
        [Host(host, known.get(host)) for host in hosts],
        [Switch(switch, tier) for switch, tier in tiers.items()],
        [Cable(name, switch) for switch, names in members.items() for name in names],
        oddities,
    )
