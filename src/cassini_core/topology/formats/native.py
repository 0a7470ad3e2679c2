"""The project's own format, ``cassini-topology/1``: all that a :class:`Topology` holds but oddities."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from ...errors import refusal, shown
from ...formats import json_line
from ..model import Basis, Cable, Host, Switch, Topology

__all__ = ["FORMAT", "topology_from_document", "topology_to_json"]

FORMAT = "cassini-topology/1"


class HostWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """A host."""

    id: str
    gpus: int | None = None


class SwitchWire(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A switch."""

    id: str
    tier: int


class CableWire(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Cables between two nodes; Gbit/s of each direction of each."""

    lower: str
    upper: str
    gbps: float | None = None
    count: int = 1
    rail: str = ""
    storage: bool = False
    basis: Basis | None = None


class TopologyFile(msgspec.Struct, forbid_unknown_fields=True):
    """``cassini-topology/1``."""

    format: Literal["cassini-topology/1"]
    hosts: list[HostWire]
    switches: list[SwitchWire]
    cables: list[CableWire]


def topology_from_document(document: Any) -> Topology:
    """The network of a document, as ``json_document`` read it; a capacity without ``basis`` is the file's.

    Raises
    ------
    InputError
        A key is missing, unknown or of another type, or the network is wrong.
    """
    if document.get("format") != FORMAT:
        raise refusal("", "$.format", repr(FORMAT), shown(document.get("format")))
    try:
        wire = msgspec.convert(document, TopologyFile)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at ")
        raise refusal("", place.strip("`"), "cassini-topology/1", f"the error {shown(reason)}") from None
    cables = []
    for one in wire.cables:
        basis = one.basis or ("file" if one.gbps is not None else None)
        cables.append(Cable(one.lower, one.upper, one.gbps, one.count, one.rail, one.storage, basis))
    switches = [Switch(one.id, one.tier) for one in wire.switches]
    return Topology([Host(one.id, one.gpus) for one in wire.hosts], switches, cables)


def topology_to_json(topology: Topology) -> bytes:
    """A ``cassini-topology/1`` file: one line, the same bytes for equal networks. Reading it gives an equal one."""
    return json_line(
        TopologyFile(
            "cassini-topology/1",
            [HostWire(host.id, host.gpus) for host in topology.hosts],
            [SwitchWire(switch.id, switch.tier) for switch in topology.switches],
            [
                CableWire(one.lower, one.upper, one.gbps, one.count, one.rail, one.storage, one.basis)
                for one in topology.cables
            ],
        )
    )
