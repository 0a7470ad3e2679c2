"""Capacities for networks whose files say none: by tier, given or assumed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..checks import number_between, whole_number
from ..errors import refusal, shown
from ..model import checked_capacity_gbps
from .model import Basis, Cable, Switch, Topology

__all__ = ["ASSUMED_HOST_GBPS", "ASSUMED_OVERSUBSCRIPTION", "TierCables", "joined", "with_capacities"]

ASSUMED_HOST_GBPS = 100.0
"""Capacity of a host's cable where nobody says one, Gbit/s."""

ASSUMED_OVERSUBSCRIPTION = 1.0
"""Of a switch where nobody says one: no claim of a bottleneck that may not be there."""


@dataclass(frozen=True, slots=True)
class TierCables:
    """What is known of the cables from one tier up to the next: tier 1 from hosts to leaf switches, 2 from there on.

    Parameters
    ----------
    gbps : float, optional
        Capacity of each direction of each cable, Gbit/s; goes before what the file says.
    oversubscription : float, optional
        For tiers from 2 on: capacity of all cables down from a switch, over that of all its cables up. At most one of
        this and ``gbps``.
    parallel : int, optional
        Cables where the file shows one. Their capacities are ``gbps`` each, or they share what the oversubscription
        leaves.
    """

    gbps: float | None = None
    oversubscription: float | None = None
    parallel: int | None = None

    def __post_init__(self) -> None:
        if self.gbps is not None and self.oversubscription is not None:
            raise refusal("tier", "", "gbps or oversubscription", "both")
        if self.gbps is not None:
            object.__setattr__(self, "gbps", checked_capacity_gbps(self.gbps, "tier", "gbps"))
        if self.oversubscription is not None:
            least, most = 1e-6, 1e6
            checked = number_between(self.oversubscription, least, most, "tier", "oversubscription")
            object.__setattr__(self, "oversubscription", checked)
        if self.parallel is not None:
            object.__setattr__(self, "parallel", whole_number(self.parallel, "tier parallel", most=10_000))


def with_capacities(topology: Topology, tiers: Mapping[int, TierCables] | None = None) -> Topology:
    """The network with a capacity for every cable.

    Parameters
    ----------
    topology : Topology
    tiers : mapping of int to TierCables, optional
        By tier of the cable: 1 above the tier of its lower end. What is neither given nor in the file is assumed:
        :data:`ASSUMED_HOST_GBPS` for hosts, :data:`ASSUMED_OVERSUBSCRIPTION` for switches. A switch with nothing below
        gets the largest capacity of its tier.

    Returns
    -------
    Topology
        Each cable's ``basis`` says where its capacity comes from.

    Raises
    ------
    InputError
        A tier that the network does not have, or an oversubscription of tier 1.

    Notes
    -----
    O(cables). From the bottom up: what a switch gets depends on what hangs under it.
    """
    given = dict(tiers or {})
    level = topology.tiers()
    by_tier: dict[int, list[Cable]] = defaultdict(list)
    for cable in topology.cables:
        by_tier[level[cable.lower] + 1].append(cable)
    for tier, said in given.items():
        if tier not in by_tier:
            expected = "a tier of the network: " + (", ".join(map(str, sorted(by_tier))) or "it has none")
            raise refusal("", "tier", expected, shown(tier))
        if tier == 1 and said.oversubscription is not None:
            raise refusal("tier 1", "oversubscription", "none at the hosts", shown(said.oversubscription))
    down: dict[str, float] = defaultdict(float)
    done: list[Cable] = []
    for tier in sorted(by_tier):
        filled = _filled(by_tier[tier], given.get(tier, TierCables()), tier, down)
        for cable in filled:
            if level[cable.upper] > level[cable.lower] and not cable.storage:
                down[cable.upper] += (cable.gbps or 0.0) * cable.count
        done += filled
    return topology.with_cables(done)


def joined(topology: Topology, name: str) -> Topology:
    """The parts of a network under one more switch, above all that have nothing above: for files without a root.

    Raises
    ------
    InputError
        The name is taken, or fewer than two parts have switches.
    """
    switches = {switch.id: switch.tier for switch in topology.switches}
    parts = sum(not switches.keys().isdisjoint(part) for part in topology.parts())
    if parts < 2:
        raise refusal("", "join", "at least two parts with switches", str(parts))
    tops = sorted(switches.keys() - {cable.lower for cable in topology.cables})
    root = Switch(name, max(switches.values()) + 1)
    cables = [*topology.cables, *(Cable(switch, root.id) for switch in tops)]
    note = f"{parts} parts were joined under {shown(root.id)}"
    return Topology(topology.hosts, [*topology.switches, root], cables, [*topology.oddities, note])


def _filled(cables: list[Cable], said: TierCables, tier: int, down: Mapping[str, float]) -> list[Cable]:
    """The cables of one tier with capacities."""
    counted = [
        cable if said.parallel is None else replace(cable, count=cable.count * said.parallel) for cable in cables
    ]
    if said.gbps is not None:
        return [replace(cable, gbps=said.gbps, basis="given") for cable in counted]
    if tier == 1:
        return [_or(cable, ASSUMED_HOST_GBPS, "assumed") for cable in counted]
    up: dict[str, int] = defaultdict(int)
    for cable in counted:
        up[cable.lower] += cable.count
    basis: Basis = "assumed" if said.oversubscription is None else "given"
    ratio = said.oversubscription or ASSUMED_OVERSUBSCRIPTION
    each = {switch: down[switch] / ratio / number for switch, number in up.items() if down.get(switch)}
    if said.oversubscription is not None:  # goes before the file, as gbps does
        counted = [replace(cable, gbps=None, basis=None) for cable in counted]
    most = max(each.values(), default=ASSUMED_HOST_GBPS)
    return [_or(cable, each.get(cable.lower, most), basis if cable.lower in each else "assumed") for cable in counted]


def _or(cable: Cable, gbps: float, basis: Basis) -> Cable:
    if cable.gbps is not None:
        return cable
    return Cable(cable.lower, cable.upper, gbps, cable.count, cable.rail, cable.storage, basis)
