"""InfiniBand: the output of ``ibnetdiscover``, which has every port, cable, speed and adapter."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ...errors import refusal, shown
from ..model import Cable, Host, Switch, Topology

__all__ = ["GBPS_PER_LANE", "IS_IBNETDISCOVER", "topology_from_ibnetdiscover"]

IS_IBNETDISCOVER = re.compile(r'^(?:Switch|Ca)\s+\d+\s+"[SH]-', re.MULTILINE)
"""Found in every output."""

_LANES = "SDR 2, DDR 4, QDR 8, FDR10 10, FDR 13.64, EDR 25, HDR 50, NDR 100, XDR 200"
GBPS_PER_LANE = {name: float(rate) for name, rate in (lane.split() for lane in _LANES.split(", "))}
"""Data of one lane by the name of its speed, Gbit/s."""

_NODE = re.compile(r'(Switch|Ca|Rt)\s+\d+\s+"([SHR]-\w+)"\s*(?:#\s*"([^"]*)")?')
_PORT = re.compile(
    r'\[(\d{1,4})\](?:\[ext [^\]]*\])?(?:\(\w+\))?\s+"([SHR]-\w+)"\[(\d{1,4})\](?:\[ext [^\]]*\])?\s*(?:\(\w+\))?'
    r'\s*#(?:\s*lid \d+ lmc \d+)?\s*"([^"]*)"(?:.*?\s(\d{1,2})x([A-Z]+\d*)(?:\s|$))?'
)
_ADAPTER = re.compile(r"(\S+)\s+(HCA-\d+|[a-z]\w*_\d+)")
_AGGREGATION = "Aggregation Node"  # a switch's own port for reductions in the network

Port = tuple[str, str]
"""Id of a node, and number of one of its ports."""


def topology_from_ibnetdiscover(text: str, storage: str | None = None) -> Topology:
    """The fabric: switches by name where it tells them apart, hosts by the first word of their adapters' descriptions.

    Parameters
    ----------
    text : str
    storage : str, optional
        Regular expression for the names of adapters (``mlx5_4``) that belong to a storage network.

    Returns
    -------
    Topology
        Capacities are those of the links' speeds. A rail is an adapter's name. Tiers are distances from the nearest
        host. Adapters without a host's name, those described like others, aggregation nodes and routers are left out,
        and it is said.

    Raises
    ------
    InputError
        A line is wrong, a port is joined to two others, or ``storage`` is no regular expression.
    """
    try:
        is_storage = re.compile(storage) if storage is not None else None
    except re.error as error:
        raise refusal("", "storage", "a regular expression", f"{shown(storage)} ({shown(str(error))})") from None
    scan = _Scan()
    for number, line in enumerate(text.splitlines(), start=1):
        scan.take(line, f"line {number}")
    return scan.topology(is_storage)


@dataclass
class _Scan:
    """What was read so far: descriptions of nodes, and both ends and Gbit/s of every cable."""

    described: dict[str, str] = field(default_factory=dict)
    peers: dict[Port, Port] = field(default_factory=dict)
    gbps: dict[Port, float | None] = field(default_factory=dict)
    current: str = ""

    def take(self, line: str, place: str) -> None:
        if line.startswith(("Switch", "Ca", "Rt")):
            node = _NODE.match(line)
            if node is None:
                raise refusal("", place, 'KIND PORTS "GUID" # "DESCRIPTION"', shown(line))
            self.current = node[2]
            self.described[node[2]] = node[3] or ""
        elif line.startswith("["):
            port = _PORT.match(line)
            if port is None or not self.current:
                raise refusal("", place, '[PORT] "GUID"[PORT] # "DESCRIPTION" lid LID SPEED', shown(line))
            mine, theirs = (self.current, port[1]), (port[2], port[3])
            for one, two in ((mine, theirs), (theirs, mine)):
                if self.peers.setdefault(one, two) != two:
                    got = f"port {one[1]} of {shown(one[0])} at {shown(two[0])} and {shown(self.peers[one][0])}"
                    raise refusal("", place, "each port at one other", got)
            lane = GBPS_PER_LANE.get(port[6] or "")
            rate = None if lane is None else round(lane * int(port[5]), 6)
            if rate is not None and rate > 0:
                self.gbps[mine] = self.gbps[theirs] = rate
            self.described.setdefault(port[2], port[4])

    def topology(self, is_storage: re.Pattern[str] | None) -> Topology:
        names = _switch_names({node: text for node, text in self.described.items() if node.startswith("S-")})
        ends: list[tuple[str, str, str, bool, float | None]] = []
        hosts: set[str] = set()
        left_out: Counter[str] = Counter()
        described = Counter(text for node, text in self.described.items() if node.startswith("H-"))
        for one, two in self.peers.items():
            if two[0] not in names:
                left_out["adapters joined to no switch"] += one[0] not in names
            elif one[0] in names:
                if one < two:  # the other end tells the same
                    ends.append((names[one[0]], names[two[0]], "", False, self.gbps.get(one)))
            elif described[self.described[one[0]]] > 1 and _ADAPTER.fullmatch(self.described[one[0]]):
                left_out["adapters described alike"] += 1  # Nobody can tell which host each is in.
            elif one[0].startswith("H-") and (adapter := _ADAPTER.fullmatch(self.described[one[0]])) is not None:
                hosts.add(adapter[1])
                kept_apart = is_storage is not None and is_storage.search(adapter[2]) is not None
                ends.append((adapter[1], names[two[0]], adapter[2], kept_apart, self.gbps.get(one)))
            else:
                left_out[_kind_of(one[0], self.described[one[0]])] += 1
        tiers = _tiers(hosts, names.values(), [(near, far) for near, far, _, apart, _ in ends if not apart])
        cables = []
        for near, far, rail, apart, rate in ends:
            lower, upper = (near, far) if tiers[near] <= tiers[far] else (far, near)
            cables.append(Cable(lower, upper, rate, 1, rail, apart, None if rate is None else "file"))
        notes = [f"{kind} left out: {count}" for kind, count in sorted(left_out.items()) if count]
        return Topology(map(Host, hosts), [Switch(name, tiers[name]) for name in names.values()], cables, notes)


def _switch_names(described: Mapping[str, str]) -> dict[str, str]:
    """A name for each switch: that of ``MF0;NAME:MODEL/U1``, the description, or the GUID, the first that is unique."""
    short = {
        node: match[1] if (match := re.match(r"[^;]*;([^:]+):", text)) else text for node, text in described.items()
    }
    times, times_short = Counter(described.values()), Counter(short.values())
    names = {}
    for node, text in described.items():
        if times_short[short[node]] == 1 and short[node]:
            names[node] = short[node]
        else:
            names[node] = text if times[text] == 1 and text else node
    return names


def _kind_of(node: str, description: str) -> str:
    if not node.startswith("H-"):
        return "router ports"
    return "aggregation nodes" if _AGGREGATION in description else "adapters without a host's name"


def _tiers(hosts: Iterable[str], switches: Iterable[str], pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Cables to the nearest host, 0 for hosts; 1 for switches that no host reaches."""
    beside: dict[str, list[str]] = {}
    for one, two in pairs:
        beside.setdefault(one, []).append(two)
        beside.setdefault(two, []).append(one)
    tiers = dict.fromkeys(hosts, 0)
    reached = list(tiers)
    while reached:
        near = {two: tiers[one] + 1 for one in reached for two in beside.get(one, ()) if two not in tiers}
        tiers |= near
        reached = list(near)
    return dict.fromkeys(switches, 1) | tiers
