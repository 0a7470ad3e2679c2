"""NVIDIA topograph: its YAML models, and the JSON of its graph engine."""

from __future__ import annotations

from typing import Any

from ...errors import refusal, shown
from ...formats import counted
from ..model import Topology
from .documents import list_at, mapping_at, text_at
from .hostlists import Hostlists
from .tree import topology_of

__all__ = ["topology_from_graph", "topology_from_model"]


def topology_from_model(document: dict[str, Any]) -> Topology:
    """A model: ``switches`` with the switches and nodes below, ``blocks`` with a leaf switch and its nodes.

    A switch that is only named as another's child has nothing below.

    Raises
    ------
    InputError
        The file has another shape, a leaf switch is given twice, or a switch is above itself.
    """
    below: dict[str, list[str]] = {}
    hosts: dict[str, None] = {}
    hostlists = Hostlists()
    for name, entry in mapping_at(document.get("switches"), "$.switches").items():
        place = f"$.switches[{shown(name)}]"
        fields = mapping_at(entry, place)
        children = hostlists.at(fields.get("switches"), f"{place}.switches")
        nodes = hostlists.at(fields.get("nodes"), f"{place}.nodes")
        below[name] = below.get(name, []) + children + nodes
        hosts |= dict.fromkeys(nodes)
        for child in children:
            below.setdefault(child, [])
    seen: set[str] = set()
    for index, entry in enumerate(list_at(document.get("blocks"), "$.blocks")):
        place = f"$.blocks[{index}]"
        fields = mapping_at(entry, place)
        leaf = text_at(fields.get("switch"), f"{place}.switch")
        if leaf in seen:
            raise refusal("", f"{place}.switch", "each leaf switch once", f"{shown(leaf)} again")
        seen.add(leaf)
        nodes = hostlists.at(fields.get("nodes"), f"{place}.nodes")
        below.setdefault(leaf, []).extend(nodes)
        hosts |= dict.fromkeys(nodes)
    hosts |= dict.fromkeys(mapping_at(document.get("nodes"), "$.nodes"))
    notes = ["capacity blocks were not taken: they are no part of the network"] if "capacity_blocks" in document else []
    return topology_of(below, hosts, notes)


def topology_from_graph(document: dict[str, Any]) -> Topology:
    """What the graph engine writes: ``instances`` with ``id`` and ``network_layers``, the nearest switch first.

    Raises
    ------
    InputError
        The file has another shape, an instance is given twice, or a switch is above itself.
    """
    below: dict[str, dict[str, None]] = {}
    hosts: dict[str, None] = {}
    for index, entry in enumerate(list_at(document.get("instances"), "$.instances")):
        place = f"$.instances[{index}]"
        fields = mapping_at(entry, place)
        name = text_at(fields.get("id"), f"{place}.id")
        if name in hosts:
            raise refusal("", f"{place}.id", "each instance once", f"{shown(name)} again")
        hosts[name] = None
        under = name
        for tier, switch in enumerate(list_at(fields.get("network_layers"), f"{place}.network_layers")):
            above = text_at(switch, f"{place}.network_layers[{tier}]")
            below.setdefault(above, {})[under] = None
            under = above
    bare = len(hosts.keys() - {name for names in below.values() for name in names})
    notes = [f"{counted(bare, 'instance')} without network_layers"] if bare else []
    return topology_of(below, hosts, notes)
