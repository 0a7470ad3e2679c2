"""Slurm's ``topology.conf`` and ``topology.yaml``: switches or blocks, and the nodes below them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ...errors import refusal, shown
from ...formats import counted
from ..model import Topology
from .documents import list_at, mapping_at, text_at
from .hostlists import Hostlists
from .tree import topology_of

__all__ = ["IS_CONF", "topology_from_conf", "topology_from_yaml"]

IS_CONF = re.compile(r"^[ \t]*(SwitchName|BlockName)[ \t]*=", re.IGNORECASE | re.MULTILINE)
"""Found in every ``topology.conf`` of a tree or of blocks."""

_PAIR = re.compile(r'\s*(\w+)\s*=\s*(?:"([^"]*)"|(\S+))(?!\S)')
_KEYS = {"switchname", "switches", "nodes", "linkspeed", "blockname", "blocksizes"}


def topology_from_conf(text: str) -> Topology:
    """A ``topology.conf`` of the tree or block plugin.

    Raises
    ------
    InputError
        A line or hostlist is wrong, a name is defined twice, a child is not defined, or a switch is above itself.
    """
    switches: dict[str, tuple[str, list[str], list[str]]] = {}
    hostlists, speeds = Hostlists(), 0
    for number, line in _lines(text):
        place = f"line {number}"
        found = _pairs(line, place)
        if not found or set(found) == {"blocksizes"}:
            continue
        speeds += "linkspeed" in found
        name = found.get("switchname", found.get("blockname"))
        if name is None:
            raise refusal("", place, "SwitchName or BlockName", shown(line.strip()))
        _define(
            switches, name, place, hostlists.at(found.get("switches"), place), hostlists.at(found.get("nodes"), place)
        )
    notes = [f"LinkSpeed of {counted(speeds, 'line')} was not taken: Slurm gives it no unit"] if speeds else []
    return _network(switches, notes)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and with what continues them, and the number of the first. A comment continues nothing."""
    begin, kept = 1, ""
    for number, line in enumerate(text.split("\n"), start=1):
        begin = begin if kept else number
        line = line.partition("#")[0]
        if line.rstrip().endswith("\\"):
            kept += line.rstrip()[:-1] or " "
        else:
            yield begin, kept + line
            kept = ""
    yield begin, kept


def _pairs(line: str, place: str) -> dict[str, str]:
    """Values by key."""
    found: dict[str, str] = {}
    at = 0
    while rest := line[at:].strip():
        pair = _PAIR.match(line, at)
        key = "" if pair is None else pair[1].lower()
        if pair is None or key not in _KEYS or key in found:
            raise refusal("", place, f"each of {', '.join(sorted(_KEYS))} once, as KEY=VALUE", shown(rest.split()[0]))
        found[key] = pair[2] or pair[3] or ""
        at = pair.end()
    return found


def topology_from_yaml(document: Any, name: str | None = None) -> Topology:
    """One of the topologies of a ``topology.yaml``.

    Parameters
    ----------
    document : list
        As ``yaml_documents`` or ``json_document`` read it.
    name : str, optional
        Which topology; default: the one for the cluster, or the only one.

    Raises
    ------
    InputError
        As :func:`topology_from_conf`; or no topology is meant, or it is neither a tree nor blocks.
    """
    known: dict[str, dict[str, Any]] = {}
    for index, entry in enumerate(list_at(document, "$")):
        fields = mapping_at(entry, f"$[{index}]")
        title = text_at(fields.get("topology"), f"$[{index}].topology")
        if title in known:
            raise refusal("", f"$[{index}].topology", "a name of its own", f"{shown(title)} again")
        known[title] = fields
    defaults = [title for title, fields in known.items() if str(fields.get("cluster_default")).lower() in _TRUE]
    chosen = name
    if name is None and (defaults or len(known) == 1):
        chosen = [*defaults, *known][0]
    if chosen not in known:
        raise refusal("", "name", f"one of the file's topologies: {', '.join(map(shown, known))}", shown(chosen))
    fields = known[chosen]
    place = f"$[{list(known).index(chosen)}]"
    switches: dict[str, tuple[str, list[str], list[str]]] = {}
    hostlists = Hostlists()
    if not {"tree", "block"} & set(fields):
        raise refusal(
            "", place, "a tree or block topology", shown(sorted(set(fields) - {"topology", "cluster_default"}))
        )
    for kind, entries, title in (("tree", "switches", "switch"), ("block", "blocks", "block")):
        listed = list_at(mapping_at(fields.get(kind), f"{place}.{kind}").get(entries), f"{place}.{kind}.{entries}")
        for index, entry in enumerate(listed):
            here = f"{place}.{kind}.{entries}[{index}]"
            parts = mapping_at(entry, here)
            switch = text_at(parts.get(title), f"{here}.{title}")
            children = hostlists.at(parts.get("children"), f"{here}.children")
            _define(switches, switch, here, children, hostlists.at(parts.get("nodes"), f"{here}.nodes"))
    others = len(known) - 1
    return _network(switches, [f"{others} other topologies of the file were not read"] if others else [])


_TRUE = ("true", "yes", "on")


def _define(
    switches: dict[str, tuple[str, list[str], list[str]]], name: str, place: str, children: list[str], nodes: list[str]
) -> None:
    if name in switches:
        raise refusal("", place, "each switch once", f"{shown(name)} again")
    switches[name] = place, children, nodes


def _network(switches: dict[str, tuple[str, list[str], list[str]]], oddities: list[str]) -> Topology:
    for place, children, _ in switches.values():
        for child in children:
            if child not in switches:
                raise refusal("", place, "child switches that the file defines", shown(child))
    below = {name: [*children, *nodes] for name, (_, children, nodes) in switches.items()}
    hosts = dict.fromkeys(node for _, _, nodes in switches.values() for node in nodes)
    return topology_of(below, hosts, oddities)
