"""Networks as values: what is refused, what is equal, how links are named, which capacities come from where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cassini_core import InputError
from cassini_core.topology import model
from cassini_core.topology.generated import fat_tree, leaf_spine, paper_testbed, paper_two_gpus
from cassini_core.topology.model import Cable, Host, Switch, Topology
from cassini_core.topology.overlay import ASSUMED_HOST_GBPS, TierCables, joined, with_capacities
from topologies import fabrics

TOR = Switch("tor", 1)
SPINE = Switch("spine", 2)


def cables_up(topology: Topology, node: str) -> int:
    return sum(cable.count for cable in topology.cables if cable.lower == node)


def capacity(topology: Topology, node: str, end: str) -> float:
    """Of all cables that have the node as that end, Gbit/s."""
    return sum(cable.count * (cable.gbps or 0.0) for cable in topology.cables if getattr(cable, end) == node)


# --- the model --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Host(""), "host id: expected a non-empty string"),
        (lambda: Host("a->b"), "a name without '->'"),
        (lambda: Host("a", 0), "gpus: expected a whole number"),
        (lambda: Switch("s", 0), "tier: expected a whole number from 1"),
        (lambda: Cable("a", "s", -1.0, basis="file"), "gbps: expected 1e-06 to"),
        (lambda: Cable("a", "s", 1.0), "basis: expected file, given or assumed"),
        (lambda: Cable("a", "s", basis="file"), "basis: expected file, given or assumed"),
        (lambda: Cable("a", "s", count=0), "count: expected a whole number"),
        (lambda: Topology([Host("a"), Host("a")], [], []), "'a' again"),
        (lambda: Topology([Host("tor")], [TOR], []), "'tor' again"),
        (lambda: Topology([Host("a")], [TOR], [Cable("a", "b")]), "ends that are hosts or switches"),
        (lambda: Topology([Host("a"), Host("b")], [], [Cable("a", "b")]), "the upper one a switch"),
        (lambda: Topology([], [TOR, SPINE], [Cable("spine", "tor")]), "the upper one a switch"),
        (lambda: Topology([], [TOR], [Cable("tor", "tor")]), "two nodes"),
        (lambda: Topology([], [TOR, SPINE], [Cable("tor", "spine", rail="0")]), "a rail at hosts only"),
        (lambda: TierCables(gbps=1, oversubscription=2), "gbps or oversubscription"),
        (lambda: TierCables(oversubscription=0.0), "oversubscription: expected"),
        (lambda: with_capacities(leaf_spine(2, 1, 1), {3: TierCables(1)}), "a tier of the network: 1, 2"),
        (lambda: with_capacities(leaf_spine(2, 1, 1), {1: TierCables(oversubscription=2)}), "none at the hosts"),
        (lambda: leaf_spine(0, 1, 1), "leaves: expected a whole number"),
        (lambda: leaf_spine(1000, 1, 1000), "at most 100000 hosts and switches"),
        (lambda: fat_tree(3), "k: expected an even number of ports"),
        (lambda: fat_tree(1000), "at most 100000 hosts and switches"),
        (lambda: fat_tree(4).links(), "a capacity (overlay), got none"),
        (lambda: joined(leaf_spine(2, 1, 1), "root"), "at least two parts with switches, got 1"),
    ],
)
def test_what_is_wrong_is_refused_in_one_line(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        make()
    assert message in str(caught.value)
    assert str(caught.value).isprintable()


def test_more_cables_than_the_limit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MAX_CABLES", 5)
    Topology([Host("a")], [TOR], [Cable("a", "tor", count=2), Cable("a", "tor", count=3)])
    with pytest.raises(InputError, match="at most 5, got more"):
        Topology([Host("a")], [TOR], [Cable("a", "tor", count=3), Cable("a", "tor", count=3)])


@given(st.permutations(paper_testbed().cables), st.permutations(paper_testbed().hosts))
def test_the_order_in_which_a_network_is_told_does_not_matter(cables: list[Cable], hosts: list[Host]) -> None:
    assert Topology(hosts, paper_testbed().switches, cables) == paper_testbed()


def test_equal_cables_are_one_and_cables_of_one_tier_have_no_upper_end() -> None:
    twin = Switch("twin", 1)
    one = Topology([Host("a")], [TOR, twin], [Cable("a", "tor"), Cable("tor", "twin"), Cable("a", "tor")])
    two = Topology([Host("a")], [TOR, twin], [Cable("a", "tor", count=2), Cable("twin", "tor")])
    assert one == two
    assert [cable.count for cable in one.cables] == [2, 1]


def test_parallel_cables_are_links_of_their_own_also_on_different_rails() -> None:
    cables = [Cable("a", "tor", 1, 2, "0", basis="file"), Cable("a", "tor", 2, 1, "1", basis="file")]
    links = Topology([Host("a")], [TOR], cables).links()
    assert [(link.id, link.capacity_gbps) for link in links] == [
        ("a->tor", 1.0),
        ("tor->a", 1.0),
        ("a->tor->2", 1.0),
        ("tor->a->2", 1.0),
        ("a->tor->3", 2.0),
        ("tor->a->3", 2.0),
    ]


@given(st.lists(st.text(min_size=1, max_size=3), min_size=2, max_size=6, unique=True), st.integers(1, 3))
def test_link_names_are_unique_whatever_the_nodes_are_called(names: list[str], count: int) -> None:
    nodes = [name for name in names if "->" not in name and name.isascii()]
    switches = [Switch(name, tier) for tier, name in enumerate(nodes, start=1)]
    pairs = [
        Cable(one.id, two.id, 1, count, basis="file") for one in switches for two in switches if one.tier < two.tier
    ]
    links = [link.id for link in Topology([], switches, pairs).links()]
    assert len(set(links)) == len(links) == 2 * count * len(pairs)


# --- capacities -------------------------------------------------------------------------------------------------------


def test_what_nobody_says_is_assumed_and_said_to_be() -> None:
    full = with_capacities(leaf_spine(4, 2, 8))
    assert {cable.basis for cable in full.cables} == {"assumed"}
    assert capacity(full, "leaf1", "upper") == 8 * ASSUMED_HOST_GBPS == capacity(full, "leaf1", "lower")


def test_the_file_goes_before_assumptions_and_what_is_given_before_the_file() -> None:
    cables = [Cable("a", "tor", 25, basis="file"), Cable("tor", "spine", 10, basis="file")]
    network = Topology([Host("a")], [TOR, SPINE], cables)
    assert with_capacities(network) == network
    given_uplink = with_capacities(network, {2: TierCables(40)})
    assert [(cable.gbps, cable.basis) for cable in given_uplink.cables] == [(25, "file"), (40, "given")]
    ratio = with_capacities(network, {2: TierCables(oversubscription=5)})
    assert [(cable.gbps, cable.basis) for cable in ratio.cables] == [(25, "file"), (5, "given")]


@given(st.integers(1, 5), st.integers(1, 4), st.integers(1, 6), st.sampled_from([1.0, 2.0, 4.0]), st.integers(1, 3))
def test_oversubscription_is_what_comes_in_from_below_over_what_goes_up(
    leaves: int, spines: int, hosts: int, ratio: float, parallel: int
) -> None:
    said = {1: TierCables(50), 2: TierCables(oversubscription=ratio, parallel=parallel)}
    full = with_capacities(leaf_spine(leaves, spines, hosts), said)
    assert cables_up(full, "leaf1") == spines * parallel
    assert capacity(full, "leaf1", "lower") * ratio == pytest.approx(capacity(full, "leaf1", "upper"))


def test_a_switch_with_nothing_below_gets_the_largest_capacity_of_its_tier() -> None:
    network = Topology(
        [Host("a")], [TOR, Switch("idle", 1), SPINE], [Cable("a", "tor"), *(Cable(s, "spine") for s in ("tor", "idle"))]
    )
    full = with_capacities(network, {2: TierCables(oversubscription=2)})
    assert {(cable.lower, cable.gbps, cable.basis) for cable in full.cables} == {
        ("a", 100.0, "assumed"),
        ("tor", 50.0, "given"),
        ("idle", 50.0, "assumed"),
    }


@given(fabrics())
def test_parts_are_what_cables_join(network: Topology) -> None:
    assert sorted(map(sorted, network.parts())) == sorted(map(sorted, nx.connected_components(network.graph())))


def test_parts_are_joined_under_a_root() -> None:
    parts = Topology([Host("a"), Host("b")], [TOR, Switch("other", 2)], [Cable("a", "tor"), Cable("b", "other")])
    whole = joined(parts, "root")
    assert whole.tiers()["root"] == 3
    assert {(cable.lower, cable.upper) for cable in whole.cables if cable.upper == "root"} == {
        ("tor", "root"),
        ("other", "root"),
    }
    assert whole.oddities == ("2 parts were joined under 'root'",)
    with pytest.raises(InputError, match="'tor' again"):
        joined(parts, "tor")


# --- generated --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 4, 8])
def test_a_fat_tree_has_full_bisection_and_k_ports_everywhere(k: int) -> None:
    tree = fat_tree(k)
    assert (len(tree.hosts), len(tree.switches)) == (k**3 // 4, 5 * k**2 // 4)
    graph = tree.graph()
    assert {graph.degree(switch.id) for switch in tree.switches} == {k}
    full = with_capacities(tree)
    assert {cable.gbps for cable in full.cables} == {ASSUMED_HOST_GBPS}


def test_the_testbed_has_the_numbers_of_the_paper() -> None:
    testbed = paper_testbed()
    assert (len(testbed.hosts), len(testbed.switches)) == (24, 13)
    assert sum(cable.count for cable in testbed.cables) == 48
    assert {cable.gbps for cable in testbed.cables} == {50.0}
    for tor in (switch.id for switch in testbed.switches if switch.tier == 1):
        assert capacity(testbed, tor, "upper") == 2 * capacity(testbed, tor, "lower") == 200.0
    for aggregation in (switch.id for switch in testbed.switches if switch.tier == 2):
        assert capacity(testbed, aggregation, "upper") == capacity(testbed, aggregation, "lower") == 150.0


def test_the_servers_with_two_gpus_are_those_of_the_paper() -> None:
    servers = paper_two_gpus()
    assert [host.gpus for host in servers.hosts] == [2] * 6
    assert capacity(servers, "tor1", "upper") == 2 * capacity(servers, "tor1", "lower") == 100.0
