"""What each format says of a network is read back, whoever wrote it; real files give what is known of them."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import topology_files as files
from cassini_core.topology.formats import read_topology, topology_from_bytes
from cassini_core.topology.formats.native import topology_to_json
from cassini_core.topology.model import Cable, Host, Switch, Topology
from topologies import fabrics, trees

DATA = Path(__file__).parents[1] / "data" / "topology"

randoms = st.integers(0, 2**32).map(random.Random)


def read(text: str) -> Topology:
    return topology_from_bytes(text.encode()).topology


# --- trees ------------------------------------------------------------------------------------------------------------


def recognised(text: str, format: str) -> Topology:
    reading = topology_from_bytes(text.encode())
    assert reading.format == format
    return reading.topology


@given(trees(parents=3), randoms)
def test_slurm_conf(topology: Topology, rng: random.Random) -> None:
    assert recognised(files.slurm_conf(topology, rng), "Slurm topology.conf") == topology


@given(trees(parents=3), randoms)
def test_slurm_yaml(topology: Topology, rng: random.Random) -> None:
    assert recognised(files.slurm_yaml(topology, rng), "Slurm topology.yaml") == topology


@given(trees(parents=3), randoms)
def test_topograph_models(topology: Topology, rng: random.Random) -> None:
    assert recognised(files.topograph_model(topology, rng), "topograph model") == topology


@given(trees(), randoms)
def test_topograph_graphs(topology: Topology, rng: random.Random) -> None:
    assert recognised(files.topograph_graph(topology, rng), "topograph graph") == topology


@given(trees(parents=3, gpus=True), randoms)
def test_hypernodes(topology: Topology, rng: random.Random) -> None:
    assert recognised(files.hypernodes(topology, rng), "Kubernetes objects") == topology


paths = st.lists(st.tuples(*(st.sampled_from([f"{kind}{index}" for index in range(3)]) for kind in "GPS")), max_size=12)


def of_paths(rows: list[tuple[str, str, str]], gpus: int | None = None) -> Topology:
    """Switches are named by their paths: their own names repeat."""
    cables = set()
    for index, (core, pod, access) in enumerate(rows):
        names = [f"h{index}", f"{core}/{pod}/{access}", f"{core}/{pod}", core]
        cables |= set(itertools.pairwise(names))
    switches = {above: 3 - above.count("/") for _, above in cables}
    return Topology(
        [Host(f"h{index}", gpus) for index in range(len(rows))],
        [Switch(*one) for one in switches.items()],
        [Cable(*one) for one in cables],
    )


@given(paths)
def test_lingjun(rows: list[tuple[str, str, str]]) -> None:
    assert recognised(files.lingjun(rows), "Lingjun topo.csv") == of_paths(rows)


@given(paths.filter(len), st.none() | st.integers(1, 8), randoms)
def test_kueue(rows: list[tuple[str, str, str]], gpus: int | None, rng: random.Random) -> None:
    topology = of_paths(rows, gpus)
    assert recognised(files.kueue(topology, rng), "Kubernetes objects") == topology


# --- fabrics ----------------------------------------------------------------------------------------------------------


@given(fabrics())
def test_our_own_format_says_all_and_is_the_same_bytes_again(topology: Topology) -> None:
    written = topology_to_json(topology)
    reading = topology_from_bytes(written)
    assert reading == (topology, "cassini-topology/1")
    assert topology_to_json(reading.topology) == written


@given(fabrics(), randoms)
def test_ibnetdiscover(topology: Topology, rng: random.Random) -> None:
    expected = as_discovered(topology)
    assume(expected.switches)
    reading = topology_from_bytes(files.ibnetdiscover(expected, rng).encode(), storage="_9$")
    assert reading == (expected, "ibnetdiscover")
    assert reading.topology.oddities == ()


def as_discovered(topology: Topology) -> Topology:
    """The part of a network that ``ibnetdiscover`` can see, with tiers by distance from hosts."""
    hosts = {host.id for host in topology.hosts}
    graph = nx.Graph()
    for cable in topology.cables:
        if not cable.storage:
            graph.add_edge(cable.lower, cable.upper)
    distance = nx.multi_source_dijkstra_path_length(graph, hosts & set(graph)) if hosts & set(graph) else {}
    tiers = {switch.id: int(distance.get(switch.id, 1)) for switch in topology.switches}
    cables = []
    for cable in topology.cables:
        rail = "" if cable.lower not in hosts else "mlx5_9" if cable.storage else f"mlx5_{cable.rail or 2}"
        basis = None if cable.gbps is None else "file"
        lower, upper = cable.lower, cable.upper
        if lower in tiers and tiers[lower] > tiers[upper]:
            lower, upper = upper, lower
        cables.append(replace(cable, lower=lower, upper=upper, rail=rail, basis=basis))  # type: ignore[arg-type]
    cabled = sorted({cable.lower for cable in cables} & hosts)
    return Topology(map(Host, cabled), [Switch(*one) for one in tiers.items()], cables)


# --- examples ---------------------------------------------------------------------------------------------------------


def test_slurm_blocks() -> None:
    expected = Topology(
        [Host("a1"), Host("a2"), Host("b1")],
        [Switch("x", 1), Switch("y", 1)],
        [Cable("a1", "x"), Cable("a2", "x"), Cable("b1", "y")],
    )
    assert read("BlockName=x Nodes=a[1-2]\nBlockName=y Nodes=b1\nBlockSizes=1,2\n") == expected
    blocks = "[{block: x, nodes: 'a[1-2]'}, {block: y, nodes: b1}]"
    assert read(f"- topology: t\n  block: {{block_sizes: [1], blocks: {blocks}}}\n") == expected


def test_the_topology_of_a_slurm_file_is_chosen_by_name_or_default() -> None:
    text = "".join(
        f"- topology: {name}\n  tree: {{switches: [{{switch: s, nodes: {name}}}]}}\n" for name in ("t1", "t2")
    )
    assert [host.id for host in topology_from_bytes(text.encode(), name="t2").topology.hosts] == ["t2"]
    chosen = topology_from_bytes((text + "  cluster_default: true\n").encode()).topology
    assert [host.id for host in chosen.hosts] == ["t2"]
    assert chosen.oddities == ("1 other topologies of the file were not read",)


def test_a_host_under_two_switches_is_one_host() -> None:
    network = read("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1\n")
    assert len(network.hosts) == 1
    assert len(network.cables) == 2


def test_unknown_things_are_left_out_and_said() -> None:
    text = (
        'Switch\t3 "S-1"\t\t# "SwitchIB Mellanox Technologies" base port 0 lid 1 lmc 0\n'
        '[1]\t"H-1"[1](1) \t\t# "node1 HCA-1" lid 1 4xEDR\n'
        '[2]\t"H-2"[1](2) \t\t# "MT4129 ConnectX7   Mellanox Technologies" lid 2 4xEDR\n'
        '[3]\t"H-3"[1](3) \t\t# "Mellanox Technologies Aggregation Node" lid 3 4xHDR\n'
        '[4]\t"R-4"[1](4) \t\t# "router" lid 3 4xHDR\n'
    )
    network = read(text)
    assert network.hosts == (Host("node1"),)
    assert network.oddities == (
        "adapters without a host's name left out: 1",
        "aggregation nodes left out: 1",
        "router ports left out: 1",
    )


def test_switches_of_one_name_are_told_apart() -> None:
    names = ["MF0;big:CS8500/L1/U1", "MF0;big:CS8500/L2/U1", "Quantum", "Quantum", "MF0;one:X/U1"]
    text = "".join(
        f'Switch\t1 "S-{guid}"\t\t# "{name}" base port 0 lid 1 lmc 0\n'
        f'[1]\t"H-{guid}"[1]({guid}) \t\t# "n{guid} HCA-1" lid 1\n'
        for guid, name in enumerate(names)
    )
    assert {switch.id for switch in read(text).switches} == {
        "MF0;big:CS8500/L1/U1",
        "MF0;big:CS8500/L2/U1",
        "S-2",
        "S-3",
        "one",
    }


def test_adapters_of_one_description_are_left_out_and_said() -> None:
    """Two servers that nobody named are not one with two adapters; an adapter with two ports is one."""
    text = """
Ca\t1 "H-1"\t# "localhost mlx5_0"
[1](1)\t"S-9"[1]\t# lid 1 lmc 0 "sw" lid 9 4xHDR
Ca\t1 "H-2"\t# "localhost mlx5_0"
[1](2)\t"S-9"[2]\t# lid 1 lmc 0 "sw" lid 9 4xHDR
Ca\t2 "H-3"\t# "a HCA-1"
[1](3)\t"S-9"[3]\t# lid 1 lmc 0 "sw" lid 9 4xHDR
[2](3)\t"S-9"[4]\t# lid 1 lmc 0 "sw" lid 9 4xHDR
Ca\t1 "H-4"\t# "b HCA-1"
[1](4) \t"H-5"[1] (5) \t\t# lid 4 lmc 0 "c HCA-1" lid 5 4xEDR
"""
    network = read(text)
    assert [host.id for host in network.hosts] == ["a"]
    assert [cable.count for cable in network.cables] == [2]
    assert network.oddities == ("adapters described alike left out: 2", "adapters joined to no switch left out: 2")


def test_a_name_of_digits_keeps_its_zeros_in_yaml() -> None:
    assert [host.id for host in read("blocks: [{switch: no, nodes: [0012, 1e3]}]").hosts] == ["0012", "1e3"]


# --- real files -------------------------------------------------------------------------------------------------------


REAL = [
    ("topograph-small-tree.yaml", 6, 3),
    ("topograph-medium.yaml", 8, 7),
    ("topograph-large.yaml", 96, 19),
    ("topograph-dual-xclr-irregular.yaml", 255, 34),
]


@pytest.mark.parametrize(("name", "hosts", "switches"), REAL)
def test_models_of_topograph(name: str, hosts: int, switches: int) -> None:
    network = read_topology(DATA / name).topology
    assert (len(network.hosts), len(network.switches)) == (hosts, switches)
    graph = network.graph()
    assert nx.is_tree(graph.subgraph([node for node in graph if graph.degree(node)]))


def test_a_real_fabric_with_four_rails() -> None:
    """Eight leaf switches of a cluster; the spines are known from their cables."""
    reading = read_topology(DATA / "ibnetdiscover-leaves.txt")
    network = reading.topology
    assert reading.format == "ibnetdiscover"
    leaves = [switch.id for switch in network.switches if switch.tier == 1]
    assert all("IBLEAF" in leaf for leaf in leaves)
    assert all("IBSPINE" in switch.id for switch in network.switches if switch.tier == 2)
    assert {cable.gbps for cable in network.cables} == {400.0}
    assert any("aggregation node" in oddity for oddity in network.oddities)


def test_the_whole_lingjun_cluster() -> None:
    network = read_topology(DATA / "lingjun-topo.csv").topology
    with (DATA / "lingjun-topo.csv").open(newline="") as file:
        rows = [tuple(row[1:]) for row in csv.reader(file)][1:]
    assert len(network.hosts) == len(rows) == 847
    assert len(network.switches) == len({row[:depth] for row in rows for depth in (1, 2, 3)})
    assert nx.is_tree(network.graph())


WRITERS: list[Callable[[Topology, random.Random], str]] = [files.slurm_conf, files.slurm_yaml, files.topograph_model]


@given(trees(), randoms, st.sampled_from(WRITERS))
def test_line_ends_of_other_systems_change_nothing(
    topology: Topology, rng: random.Random, write: Callable[..., str]
) -> None:
    text = write(topology, rng).replace("\n", "\r\n")
    assert topology_from_bytes(b"\xef\xbb\xbf" + text.encode()).topology == topology
