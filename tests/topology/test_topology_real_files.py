"""Each format with a real file of it: what other programs write, and what clusters have."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from cassini_core.topology.formats import read_topology
from cassini_core.topology.model import Topology
from cassini_core.topology.overlay import with_capacities
from cassini_core.topology.patterns import ring
from cassini_core.topology.routing import Router, in_order_of_placement

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "topology"

FILES = [
    # file, read as, hosts, switches by tier
    ("slurm-tree.conf", "Slurm topology.conf", 96, {1: 12, 2: 6, 3: 1}),
    ("slurm-block.conf", "Slurm topology.conf", 96, {1: 12}),
    ("slurm-topology.yaml", "Slurm topology.yaml", 2, {1: 1, 2: 1}),
    ("topograph-medium.yaml", "topograph model", 8, {1: 4, 2: 2, 3: 1}),
    ("topograph-graph.json", "topograph graph", 2, {1: 1, 2: 1}),
    ("ibnetdiscover-leaves.txt", "ibnetdiscover", 28, {1: 8, 2: 9}),
    ("kueue-topology.yaml", "Kubernetes objects", 8, {1: 4, 2: 2}),
    ("volcano-hypernodes.yaml", "Kubernetes objects", 16, {1: 4, 2: 2}),
    ("lingjun-topo.csv", "Lingjun topo.csv", 847, {1: 119, 2: 3, 3: 1}),
]


def leaves(network: Topology) -> set[frozenset[str]]:
    """The hosts that hang together under one switch."""
    below: dict[str, set[str]] = defaultdict(set)
    hosts = {host.id for host in network.hosts}
    for cable in network.cables:
        if cable.lower in hosts:
            below[cable.upper].add(cable.lower)
    return {frozenset(one) for one in below.values()}


@pytest.mark.parametrize(("file", "format_name", "hosts", "switches"), FILES)
def test_a_real_file_is_read(file: str, format_name: str, hosts: int, switches: dict[int, int]) -> None:
    reading = read_topology(DATA / file)
    tiers = [switch.tier for switch in reading.topology.switches]
    assert reading.format == format_name
    assert len(reading.topology.hosts) == hosts
    assert {tier: tiers.count(tier) for tier in sorted(set(tiers))} == switches


@pytest.mark.parametrize("file", [row[0] for row in FILES])
def test_a_job_on_a_real_network_gets_a_route(file: str) -> None:
    network = with_capacities(read_topology(DATA / file).topology, {})
    # Under one switch, since some of the files have parts that no cable joins.
    hosts = sorted(max(leaves(network), key=lambda one: (len(one), sorted(one))))
    route = Router(network).route(in_order_of_placement(network, hosts), ring(len(hosts)))
    assert sum(route.values()) >= 2 * len(hosts) * (len(hosts) > 1)
    assert route.keys() <= {link.id for link in network.links()}


def test_two_formats_of_one_cluster_have_the_same_leaves() -> None:
    # What topograph wrote for Slurm of the model that is read here itself.
    assert leaves(read_topology(DATA / "slurm-tree.conf").topology) == leaves(
        read_topology(DATA / "topograph-large.yaml").topology
    )


def test_every_format_of_the_page_names_a_real_file() -> None:
    page = (ROOT / "docs" / "topologies.md").read_text()
    table = page.split("## Files that are read")[1].split("\n## ")[0]
    named = re.findall(r"`tests/data/topology/([^`]+)`", table)
    assert sorted(named) == sorted(row[0] for row in FILES)
