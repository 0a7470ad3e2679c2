"""A network as frozen types: hosts, switches, and the cables between them.

A cable carries its rate in each direction at once, so it makes two links of a problem (:class:`cassini_core.Link`).
Hosts never forward traffic. The tier of a host is 0; a switch stands one tier above what hangs under it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..checks import identifier, items_of, whole_number
from ..errors import refusal, shown
from ..formats import counted
from ..model import Link, checked_capacity_gbps
from .parts import parts_of

if TYPE_CHECKING:  # networkx is loaded when a graph is built
    import networkx as nx  # type: ignore[import-untyped]

__all__ = ["ARROW", "MAX_CABLES", "MAX_NODES", "MAX_TIERS", "Basis", "Cable", "Host", "Switch", "Topology", "link_name"]

MAX_NODES = 100_000
"""Hosts and switches of one network; a file that asks for more is refused before memory is spent."""

MAX_CABLES = 300_000
"""Cables of one network, each of several parallel ones counted: those of the largest fat-tree of so many nodes."""

ARROW = "->"
"""Stands between the two ends in the name of a link, and in no name of a host or switch."""

MAX_TIERS = 64
"""Tiers of switches; real networks have three or four."""

Basis = Literal["file", "given", "assumed"]
"""Where a capacity comes from: the file, whoever asked, or nobody, so that a default was taken."""

_BASES = (None, *get_args(Basis))
# Within the bounds of checked_capacity_gbps.
_LEAST_GBPS, _MOST_GBPS = 1e-3, 1e6


@dataclass(frozen=True, slots=True)
class Host:
    """A server.

    Parameters
    ----------
    id : str
        Non-empty, without ``->``.
    gpus : int, optional
        At least 1; None where it is not known.
    """

    id: str
    gpus: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", _node_id(self.id, "host"))
        if self.gpus is not None:
            object.__setattr__(self, "gpus", whole_number(self.gpus, f"host {shown(self.id)} gpus"))


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch.

    Parameters
    ----------
    id : str
        Non-empty, without ``->``.
    tier : int
        From 1, for a leaf (ToR) switch, to :data:`MAX_TIERS`.
    """

    id: str
    tier: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", _node_id(self.id, "switch"))
        object.__setattr__(self, "tier", whole_number(self.tier, f"switch {shown(self.id)} tier", most=MAX_TIERS))


@dataclass(frozen=True, slots=True)
class Cable:
    """One or several equal cables between a node and a switch that stands above it or beside it.

    Parameters
    ----------
    lower, upper : str
        Ids of the ends; ``upper`` is a switch.
    gbps : float, optional
        Capacity of each direction of each cable, Gbit/s; None where it is not known.
    count : int
        Parallel cables, at least 1.
    rail : str
        Which adapter of the host, empty for the only one and between switches. Adapters of one name on different
        hosts form a rail.
    storage : bool
        Whether the cable belongs to a storage network; training traffic does not use it.
    basis : {"file", "given", "assumed"}, optional
        Where ``gbps`` comes from; None where it is not known.
    """

    lower: str
    upper: str
    gbps: float | None = None
    count: int = 1
    rail: str = ""
    storage: bool = False
    basis: Basis | None = None

    def __post_init__(self) -> None:
        # The usual case first: networks have hundreds of thousands.
        if type(self.count) is not int or not 1 <= self.count <= MAX_CABLES:
            count = whole_number(self.count, f"{_title(self)} count", most=MAX_CABLES)
            object.__setattr__(self, "count", count)
        if self.gbps is not None and (type(self.gbps) is not float or not _LEAST_GBPS <= self.gbps <= _MOST_GBPS):
            object.__setattr__(self, "gbps", checked_capacity_gbps(self.gbps, _title(self), "gbps"))
        if not isinstance(self.rail, str):
            raise refusal(_title(self), "rail", "a string", shown(self.rail))
        if (self.gbps is None) != (self.basis is None) or self.basis not in _BASES:
            raise refusal(_title(self), "basis", "file, given or assumed, just where gbps is known", shown(self.basis))


@dataclass(frozen=True, slots=True, repr=False)
class Topology:
    """A network.

    Parameters
    ----------
    hosts : iterable of Host
    switches : iterable of Switch
    cables : iterable of Cable
        Cables that are equal but for ``count`` are put together.
    oddities : iterable of str
        What whoever built the network found strange in its source, or left out; not compared.

    Raises
    ------
    InputError
        An id occurs twice, a cable names an unknown node or goes down, or there are more nodes or cables than
        :data:`MAX_NODES` and :data:`MAX_CABLES`.

    Notes
    -----
    Everything is kept sorted, so that networks are equal however they were put together.

    Examples
    --------
    >>> from cassini_core.topology.model import Cable, Host, Switch, Topology
    >>> hosts = [Host("a"), Host("b")]
    >>> network = Topology(hosts, [Switch("tor", 1)], [Cable(host.id, "tor", 50, basis="given") for host in hosts])
    >>> network
    <Topology: 2 hosts, 1 switch, 2 cables>
    >>> [link.id for link in network.links()]
    ['a->tor', 'tor->a', 'b->tor', 'tor->b']
    """

    hosts: tuple[Host, ...]
    switches: tuple[Switch, ...]
    cables: tuple[Cable, ...]
    oddities: tuple[str, ...] = field(default=(), compare=False)

    if TYPE_CHECKING:  # what may be given is wider than what is kept

        def __init__(
            self,
            hosts: Iterable[Host],
            switches: Iterable[Switch],
            cables: Iterable[Cable],
            oddities: Iterable[str] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        hosts = sorted(items_of(self.hosts, Host, "topology", "hosts"), key=lambda host: host.id)
        switches = sorted(items_of(self.switches, Switch, "topology", "switches"), key=lambda switch: switch.id)
        if len(hosts) + len(switches) > MAX_NODES:
            raise refusal("topology", "", f"at most {MAX_NODES} hosts and switches", str(len(hosts) + len(switches)))
        tiers: dict[str, int] = {}
        for node in (*hosts, *switches):
            if node.id in tiers:
                raise refusal("topology", "", "an id of its own for each host and switch", f"{shown(node.id)} again")
            tiers[node.id] = getattr(node, "tier", 0)
        object.__setattr__(self, "hosts", tuple(hosts))
        object.__setattr__(self, "switches", tuple(switches))
        object.__setattr__(self, "cables", _together(items_of(self.cables, Cable, "topology", "cables"), tiers))
        object.__setattr__(self, "oddities", tuple(self.oddities))

    def __repr__(self) -> str:
        cables = sum(cable.count for cable in self.cables)
        counts = counted(len(self.hosts), "host"), _switches(len(self.switches)), counted(cables, "cable")
        return f"<Topology: {', '.join(counts)}>"

    def tiers(self) -> dict[str, int]:
        """Tier by id, 0 for hosts."""
        return {host.id: 0 for host in self.hosts} | {switch.id: switch.tier for switch in self.switches}

    def links(self) -> tuple[Link, ...]:
        """Both directions of every cable, in the order of the cables, as links of a problem.

        Raises
        ------
        InputError
            A capacity is not known.
        """
        links = []
        for cable, number in numbered(self.cables):
            if cable.gbps is None:
                raise refusal(_title(cable), "gbps", "a capacity (overlay)", "none")
            links.append(Link(link_name(cable.lower, cable.upper, number), cable.gbps))
            links.append(Link(link_name(cable.upper, cable.lower, number), cable.gbps))
        return tuple(links)

    def graph(self) -> nx.Graph:
        """Nodes by id with ``tier``; neighbours by edges that hold all ``cables`` between them."""
        import networkx as nx

        graph = nx.Graph()
        for node, tier in self.tiers().items():
            graph.add_node(node, tier=tier)
        for cable in self.cables:
            if graph.has_edge(cable.lower, cable.upper):
                graph.edges[cable.lower, cable.upper]["cables"].append(cable)
            else:
                graph.add_edge(cable.lower, cable.upper, cables=[cable])
        return graph

    def parts(self) -> list[set[str]]:
        """Ids of the nodes that cables join to each other, those of a storage network included."""
        found: dict[str, set[str]] = {}
        for node, part in parts_of(self.tiers(), ((cable.lower, cable.upper) for cable in self.cables)).items():
            found.setdefault(part, set()).add(node)
        return list(found.values())

    def with_cables(self, cables: Iterable[Cable]) -> Topology:
        """The same nodes with other cables."""
        return replace(self, cables=tuple(cables))


def numbered(cables: Iterable[Cable]) -> Iterable[tuple[Cable, int]]:
    """Each single cable with its number among those that join the same two nodes, from 1."""
    last: dict[tuple[str, str], int] = {}
    for cable in cables:
        ends = min(cable.lower, cable.upper), max(cable.lower, cable.upper)
        for _ in range(cable.count):
            last[ends] = last.get(ends, 0) + 1
            yield cable, last[ends]


def link_name(source: str, target: str, number: int) -> str:
    """Id of one direction of a cable: ``a->b``, and ``a->b->2`` for the second cable between the two."""
    return f"{source}{ARROW}{target}" if number == 1 else f"{source}{ARROW}{target}{ARROW}{number}"


def _switches(number: int) -> str:
    return f"{number} switch{'es' * (number != 1)}"


def _node_id(value: Any, kind: str) -> str:
    found = identifier(value, kind, "id")
    if ARROW in found:
        raise refusal(kind, "id", f"a name without {ARROW!r}", shown(found))
    return found


def _together(cables: Iterable[Cable], tiers: Mapping[str, int]) -> tuple[Cable, ...]:
    """The cables sorted, equal ones as one; all checked against the nodes."""
    found: dict[tuple[str, str, str, bool, float, str], Cable] = {}
    total = 0
    for cable in cables:
        lower, upper = cable.lower, cable.upper
        for end in (lower, upper):
            if end not in tiers:
                raise refusal(_title(cable), "", "ends that are hosts or switches of the network", shown(end))
        if tiers[upper] == 0 or tiers[lower] > tiers[upper] or lower == upper:
            expected = "two nodes, the upper one a switch that stands no lower"
            raise refusal(_title(cable), "", expected, f"tiers {tiers[lower]} and {tiers[upper]}")
        if cable.rail and tiers[lower] > 0:
            raise refusal(_title(cable), "", "a rail at hosts only", shown(cable.rail))
        total += cable.count
        if total > MAX_CABLES:
            raise refusal("topology", "cables", f"at most {MAX_CABLES}", "more")
        if tiers[lower] == tiers[upper] and lower > upper:
            # Neither is the upper one: told apart by name.
            cable = replace(cable, lower=upper, upper=lower)
        kind = (cable.lower, cable.upper, cable.rail, cable.storage, cable.gbps or 0.0, str(cable.basis))
        known = found.get(kind)
        found[kind] = cable if known is None else replace(known, count=known.count + cable.count)
    return tuple(found[kind] for kind in sorted(found))


def _title(cable: Cable) -> str:
    return f"cable {shown(cable.lower)} to {shown(cable.upper)}"
