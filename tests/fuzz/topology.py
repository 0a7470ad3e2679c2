"""Any bytes, as a topology file: a network that is written, read back and routed, or a refusal in one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cassini_core import InputError
from cassini_core.topology.formats import read_topology, topology_from_bytes
from cassini_core.topology.formats.native import topology_to_json
from cassini_core.topology.overlay import joined, with_capacities
from cassini_core.topology.patterns import ring
from cassini_core.topology.routing import Router
from cassini_core.topology.summary import summarize

_MOST_NODES = 300


def run(data: bytes, scratch: Path) -> None:
    """One input; ``scratch`` is a folder for the file. Anything but a refusal that comes out is a finding."""
    path = scratch / "input"
    path.write_bytes(data)
    try:
        topology = read_topology(path).topology
    except InputError as error:
        _check_refusal(error)
        return
    written = topology_to_json(topology)
    assert topology_from_bytes(written).topology == topology
    if len(topology.hosts) + len(topology.switches) > _MOST_NODES:
        return
    try:
        full = with_capacities(joined(topology, "the root") if len(summarize(topology).parts) > 1 else topology)
    except InputError as error:  # nothing to join, or a capacity beyond all bounds
        _check_refusal(error)
        return
    capacity = {link.id: link.capacity_gbps for link in full.links()}
    for ecmp in ("spread", "hash"):
        try:
            route = Router(full, ecmp=ecmp).route([host.id for host in full.hosts], ring(max(1, len(full.hosts))))
        except InputError as error:
            _check_refusal(error)
            continue
        assert route.keys() <= capacity.keys()
        assert np.isfinite(list(route.values())).all()
        if len(full.hosts) > 1:
            for host in full.hosts:
                out = sum(weight for link, weight in route.items() if link.startswith(f"{host.id}->"))
                assert abs(out - 1.0) < 1e-9


def _check_refusal(error: InputError) -> None:
    text = str(error)
    if not text or not text.isprintable() or len(text) > 1000:
        raise AssertionError(f"expected one printable line, got {text!r}") from error
