"""Routes against shortest paths of networkx, split by fractions; hashed paths against the hash in whole numbers."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import cycle, islice, pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cassini_core as cc
from cassini_core import InputError
from cassini_core.topology import fabric
from cassini_core.topology.generated import fat_tree, leaf_spine, paper_testbed
from cassini_core.topology.model import Cable, Host, Switch, Topology
from cassini_core.topology.patterns import Flows, all_to_all, hybrid, pipeline, ring, tree
from cassini_core.topology.routing import Router, in_order_of_placement
from topologies import fabrics
from work import works_less_than

MASK = 2**64 - 1


class Oracle:
    """One flow at a time, in a graph whose hosts are split into their rails and that holds one cable per edge."""

    def __init__(self, topology: Topology) -> None:
        self.graph = nx.MultiGraph()
        self.graph.add_nodes_from(switch.id for switch in topology.switches)
        self.rails: dict[str, list[str]] = defaultdict(list)
        hosts = {host.id for host in topology.hosts}
        numbers: Counter[frozenset[str]] = Counter()
        for cable in topology.cables:
            for _ in range(cable.count):
                ends = frozenset((cable.lower, cable.upper))
                numbers[ends] += 1
                if cable.storage:
                    continue
                lower: Any = cable.lower
                if cable.lower in hosts:
                    lower = (cable.lower, cable.rail)
                    if cable.rail not in self.rails[cable.lower]:
                        self.rails[cable.lower].append(cable.rail)
                self.graph.add_edge(lower, cable.upper, number=numbers[ends])

    def ports(self, source: str, target: str) -> list[tuple[Any, Any]]:
        mine, theirs = sorted(self.rails[source]), sorted(self.rails[target])
        both = [rail for rail in mine if rail in theirs]
        most = max(len(mine), len(theirs))
        pairs = [(rail, rail) for rail in both] or list(islice(zip(cycle(mine), cycle(theirs), strict=False), most))
        return [((source, one), (target, two)) for one, two in pairs]

    def hops(self, node: Any, source: Any, target: Any) -> Iterator[tuple[Any, int]]:
        """Cables from a node on shortest paths, in the stated order. Hosts other than the two ends do not exist."""
        alive = [one for one in self.graph if isinstance(one, str) or one in (source, target)]
        view = self.graph.subgraph(alive)
        length = nx.shortest_path_length(view, target=target)
        found = []
        for near in view[node]:
            if length[near] == length[node] - 1:
                name = near if isinstance(near, str) else near[0]
                found += [(name, near, data["number"]) for data in view[node][near].values()]
        for _, near, number in sorted(found, key=lambda one: (one[0], one[2])):
            yield near, number

    def spread(self, source: str, target: str, share: Fraction, load: dict[str, Fraction]) -> None:
        pairs = self.ports(source, target)
        for one, two in pairs:
            volume = defaultdict(Fraction, {one: share / len(pairs)})
            waiting = [one]
            while waiting:  # breadth first: a node's volume is complete before it is split
                node = waiting.pop(0)
                hops = list(self.hops(node, one, two)) if node != two else []
                for near, number in hops:
                    load[name(node, near, number)] += volume[node] / len(hops)
                    volume[near] += volume[node] / len(hops)
                    if near not in waiting:
                        waiting.append(near)

    def hashed(self, source: str, target: str, count: int, seed: int) -> Iterator[tuple[str, Fraction]]:
        pairs = self.ports(source, target)
        for one, two in pairs:
            key = mix((mix((digest(label(one)) + 3 * digest(label(two))) & MASK) + count) & MASK)
            node = one
            while node != two:
                hops = list(self.hops(node, one, two))
                near, number = hops[mix(key ^ digest(label(node)) ^ seed) % len(hops)]
                yield name(node, near, number), Fraction(1, len(pairs))
                node = near


def name(one: Any, two: Any, number: int) -> str:
    text = "->".join(end if isinstance(end, str) else end[0] for end in (one, two))
    return text if number == 1 else f"{text}->{number}"


def label(node: Any) -> str:
    return node if isinstance(node, str) else "/".join(part for part in node if part)


def digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def mix(x: int) -> int:
    x = (x + 0x9E3779B97F4A7C15) & MASK
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def has_path(oracle: Oracle, source: str, target: str) -> bool:
    def joined(one: Any, two: Any) -> bool:
        alive = [node for node in oracle.graph if isinstance(node, str) or node in (one, two)]
        return bool(nx.has_path(oracle.graph.subgraph(alive), one, two))

    return all(joined(one, two) for one, two in oracle.ports(source, target))


def at_hosts(route: dict[str, float], hosts: set[str]) -> tuple[Counter[str], Counter[str]]:
    """What each host sends and gets."""
    out: Counter[str] = Counter()
    into: Counter[str] = Counter()
    for link, weight in route.items():
        one, two = link.split("->")[:2]
        if one in hosts:
            out[one] += weight  # type: ignore[assignment]
        if two in hosts:
            into[two] += weight  # type: ignore[assignment]
    return out, into


@st.composite
def flows_on(draw: st.DrawFn, topology: Topology) -> tuple[list[str], list[tuple[int, int, int]]]:
    """Workers on hosts with cables, and flows between some of them with whole shares."""
    cabled = sorted(
        {cable.lower for cable in topology.cables if not cable.storage} & {host.id for host in topology.hosts}
    )
    assume(cabled)
    workers = draw(st.lists(st.sampled_from(cabled), min_size=1, max_size=6))
    number = st.integers(0, len(workers) - 1)
    return workers, draw(st.lists(st.tuples(number, number, st.integers(1, 4)), max_size=6))


def as_flows(triples: list[tuple[int, int, int]]) -> Flows:
    columns = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    return Flows(columns[0], columns[1], columns[2].astype(np.float64))


# --- against the oracle -----------------------------------------------------------------------------------------------


@given(fabrics(), st.data())
def test_traffic_is_spread_over_all_shortest_paths_hop_by_hop(topology: Topology, data: st.DataObject) -> None:
    workers, triples = data.draw(flows_on(topology))
    oracle = Oracle(topology)
    router = Router(topology)
    if not all(has_path(oracle, workers[a], workers[b]) for a, b, _ in triples if workers[a] != workers[b]):
        with pytest.raises(InputError, match="hosts that a path joins"):
            router.route(workers, as_flows(triples))
        return
    expected: dict[str, Fraction] = defaultdict(Fraction)
    for one, two, share in triples:
        if workers[one] != workers[two]:
            oracle.spread(workers[one], workers[two], Fraction(share), expected)
    found = router.route(workers, as_flows(triples))
    assert found == pytest.approx({link: float(load) for link, load in expected.items()})


@given(fabrics(), st.data(), st.integers(0, 2**63 - 1))
def test_hashed_flows_take_the_path_that_the_stated_hash_says(
    topology: Topology, data: st.DataObject, seed: int
) -> None:
    workers, triples = data.draw(flows_on(topology))
    oracle = Oracle(topology)
    assume(all(has_path(oracle, workers[a], workers[b]) for a, b, _ in triples if workers[a] != workers[b]))
    expected: dict[str, Fraction] = defaultdict(Fraction)
    between: Counter[tuple[str, str]] = Counter()
    for one, two, share in triples:
        ends = workers[one], workers[two]
        if ends[0] != ends[1]:
            for link, part in oracle.hashed(*ends, between[ends], seed):
                expected[link] += share * part
            between[ends] += 1
    found = Router(topology, ecmp="hash", seed=seed).route(workers, as_flows(triples))
    assert found == pytest.approx({link: float(load) for link, load in expected.items()})


def two_planes() -> Topology:
    """Hosts with a NIC at two ToRs, another on a rail of its own; double cables up; a spine by name before its twin."""
    hosts = [Host(f"h{index}") for index in range(6)]
    switches = [Switch(f"tor{index}", 1) for index in range(4)] + [Switch(name, 2) for name in ("s2", "s10")]
    cables = []
    for index, host in enumerate(hosts):
        pod = index // 3 * 2
        cables += [Cable(host.id, f"tor{pod + plane}", count=1 + plane, rail="nic0") for plane in (0, 1)]
        cables.append(Cable(host.id, f"tor{pod}", rail="nic1" if index else "odd"))
    cables += [Cable(f"tor{tor}", spine, count=2 + (spine == "s2")) for tor in range(4) for spine in ("s2", "s10")]
    return Topology(hosts, switches, cables)


@pytest.mark.parametrize("network", [fat_tree(4), paper_testbed(), two_planes()], ids=["fat-tree", "testbed", "planes"])
@pytest.mark.parametrize("seed", [0, 7])
def test_all_pairs_of_ordinary_fabrics_are_as_the_oracle_says(network: Topology, seed: int) -> None:
    workers = [host.id for host in network.hosts][::2] * 2
    flows = all_to_all(len(workers))
    oracle = Oracle(network)
    spread: dict[str, Fraction] = defaultdict(Fraction)
    hashed: dict[str, Fraction] = defaultdict(Fraction)
    between: Counter[tuple[str, str]] = Counter()
    for one, two in zip(flows.source, flows.target, strict=True):
        ends = workers[one], workers[two]
        if ends[0] != ends[1]:
            share = Fraction(1, len(workers) - 1)
            if seed == 0 and not between[ends]:  # the same for each of the flows between two hosts
                oracle.spread(*ends, 4 * share, spread)
            for link, part in oracle.hashed(*ends, between[ends], seed):
                hashed[link] += share * part
            between[ends] += 1
    assert Router(network, ecmp="hash", seed=seed).route(workers, flows) == pytest.approx(hashed)
    if seed == 0:
        assert Router(network).route(workers, flows) == pytest.approx(spread)


@given(fabrics(), st.data(), st.sampled_from(["spread", "hash"]))
def test_what_hosts_send_is_what_leaves_them_and_what_they_get_arrives(
    topology: Topology, data: st.DataObject, ecmp: Any
) -> None:
    workers, triples = data.draw(flows_on(topology))
    try:
        route = Router(topology, ecmp=ecmp).route(workers, as_flows(triples))
    except InputError:
        assume(False)
    hosts = {host.id for host in topology.hosts}
    sent, got = Counter(), Counter()
    for one, two, share in triples:
        if workers[one] != workers[two]:
            sent[workers[one]] += share
            got[workers[two]] += share
    out, into = at_hosts(route, hosts)
    assert (out, into) == (pytest.approx(sent), pytest.approx(got))


# --- patterns ---------------------------------------------------------------------------------------------------------


PATTERNS = [ring, tree, all_to_all, pipeline]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(workers=st.integers(1, 40))
def test_the_busiest_worker_sends_the_jobs_demand_and_each_gets_what_it_sends(pattern: Any, workers: int) -> None:
    flows = pattern(workers)
    sent = np.bincount(flows.source, flows.share, workers)
    assert np.allclose(sent, np.bincount(flows.target, flows.share, workers))
    assert sent.max() == pytest.approx(float(workers > 1))
    assert (flows.source != flows.target).all()
    if pattern in (ring, all_to_all):
        assert np.allclose(sent, float(workers > 1))


def test_patterns_are_what_their_names_say() -> None:
    def pairs(flows: Flows) -> dict[tuple[int, int], float]:
        return dict(
            zip(zip(flows.source.tolist(), flows.target.tolist(), strict=True), flows.share.tolist(), strict=True)
        )

    assert pairs(pipeline(3)) == {(0, 1): 0.5, (1, 0): 0.5, (1, 2): 0.5, (2, 1): 0.5}
    assert pairs(tree(4)).keys() == {(1, 0), (0, 1), (2, 0), (0, 2), (3, 1), (1, 3)}
    assert pairs(all_to_all(3)) == {(a, b): 0.5 for a in range(3) for b in range(3) if a != b}
    assert pairs(ring(2)) == {(0, 1): 1.0, (1, 0): 1.0}


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.data())
def test_hybrid_parallelism_joins_neighbours_within_groups(d: int, t: int, p: int, data: st.DataObject) -> None:
    sizes = {"data": d, "tensor": t, "pipeline": p}
    shares = {kind: data.draw(st.integers(1, 9)) for kind, size in sizes.items() if size > 1}
    flows = hybrid(d, t, p, shares)
    count = d * t * p
    place = [(index // (d * t), index // t % d, index % t) for index in range(count)]
    volume: Counter[str] = Counter()
    for one, two, share in zip(*flows, strict=True):
        differing = [k for k in range(3) if place[one][k] != place[two][k]]
        assert len(differing) == 1
        volume[("pipeline", "data", "tensor")[differing[0]]] += share
    sent = np.bincount(flows.source, flows.share, count)
    assert np.allclose(sent, np.bincount(flows.target, flows.share, count))
    assert sent.max() == pytest.approx(float(count > 1))
    if {"data", "tensor"} <= set(shares):
        assert volume["data"] / volume["tensor"] == pytest.approx(shares["data"] / shares["tensor"])
    assert set(volume) == set(shares)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ring(0), "workers: expected a whole number"),
        (lambda: all_to_all(10_000), "at most 50000000 flows"),
        (lambda: hybrid(2, 2, 1, {"data": 1}), "shares: expected one of each of ['data', 'tensor']"),
        (lambda: hybrid(2, 1, 1, {"data": -1}), "shares['data']: expected 0.0 to"),
        (lambda: Router(leaf_spine(1, 1, 1), ecmp="random"), "ecmp: expected spread or hash"),
        (lambda: Router(leaf_spine(1, 1, 1), seed=-1), "seed: expected a whole number"),
        (lambda: Router(leaf_spine(1, 1, 1)).route(["x"], ring(1)), "workers[0]: expected a host of the network"),
        (lambda: Router(leaf_spine(1, 1, 1)).route(["h1-1"], ring(2)), "flows.source: expected workers from 0 to 0"),
        (lambda: Router(leaf_spine(1, 1, 1)).route(["h1-1"], as_flows([(0, 0, 0)])), "flows.share: expected finite"),
        (
            lambda: Router(leaf_spine(1, 1, 1)).route(["h1-1"], Flows(*as_flows([(0, 0, 1)])[:2], np.ones(2))),
            "flows.source: expected as many as shares, 2, got 1",
        ),
        (lambda: in_order_of_placement(leaf_spine(1, 1, 1), ["leaf1"]), "workers[0]: expected a host"),
    ],
)
def test_what_is_wrong_is_refused(call: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        call()
    assert message in str(caught.value)


# --- examples ---------------------------------------------------------------------------------------------------------


def test_a_network_without_hosts_has_no_routes() -> None:
    assert Router(Topology([], [Switch("alone", 1)], [])).route([], ring(1)) == {}


def test_flows_inside_a_server_use_no_link() -> None:
    assert Router(leaf_spine(1, 1, 2)).route(["h1-1"] * 8, all_to_all(8)) == {}


def test_hosts_forward_nothing() -> None:
    two = [Switch("left", 1), Switch("right", 1)]
    cables = [Cable("a", "left"), Cable("both", "left"), Cable("both", "right"), Cable("b", "right")]
    with pytest.raises(InputError, match="in different parts"):
        Router(Topology([Host("a"), Host("both"), Host("b")], two, cables)).route(["a", "b"], ring(2))


@pytest.mark.unsanitized(reason="Python's own time, with an allocator that looks at every block")
def test_a_chain_of_switches_takes_time_in_proportion() -> None:
    switches = [Switch(f"s{index:05}", 1) for index in range(20_000)]
    cables = [Cable(one.id, two.id) for one, two in pairwise(switches)]
    ends = [Cable("a", switches[0].id), Cable("b", switches[-1].id)]
    with works_less_than(10.0):
        route = Router(Topology([Host("a"), Host("b")], switches, [*cables, *ends])).route(["a", "b"], ring(2))
    assert len(route) == 2 * (len(cables) + 2)


def test_storage_cables_make_no_short_cut() -> None:
    network = leaf_spine(2, 1, 1)
    shared = [Cable(host.id, "storage", rail="mlx5_9", storage=True) for host in network.hosts]
    more = Topology(network.hosts, [*network.switches, Switch("storage", 1)], [*network.cables, *shared])
    workers = ["h1-1", "h2-1"]
    assert Router(more).route(workers, ring(2)) == Router(network).route(workers, ring(2))


def test_two_planes_share_what_one_cable_would_carry() -> None:
    """A NIC with a cable to each of two ToRs, as in dual-plane fabrics."""
    hosts = [Host("a"), Host("b")]
    switches = [Switch("tor1", 1), Switch("tor2", 1)]
    route = Router(Topology(hosts, switches, [Cable(h.id, s.id) for h in hosts for s in switches])).route(
        ["a", "b"], ring(2)
    )
    assert len(route) == 8
    assert set(route.values()) == {0.5}


def test_rails_do_not_cross() -> None:
    hosts = [Host("a"), Host("b")]
    switches = [Switch("leaf0", 1), Switch("leaf1", 1), Switch("spine", 2)]
    cables = [Cable(host.id, f"leaf{rail}", rail=str(rail)) for host in hosts for rail in (0, 1)]
    route = Router(Topology(hosts, switches, [*cables, Cable("leaf0", "spine"), Cable("leaf1", "spine")])).route(
        ["a", "b"], ring(2)
    )
    assert not any("spine" in link for link in route)


def test_a_ring_in_order_of_placement_leaves_each_rack_once() -> None:
    network = leaf_spine(3, 1, 4)
    shuffled = [host.id for host in network.hosts][::5] + [host.id for host in network.hosts][2::5]
    ordered = in_order_of_placement(network, shuffled)
    assert Counter(ordered) == Counter(shuffled)
    route = Router(network).route(ordered, ring(len(ordered)))
    assert {weight for link, weight in route.items() if "spine" in link} == {1.0}


def test_paths_that_were_forgotten_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    network = leaf_spine(4, 2, 2)
    hosts = [host.id for host in network.hosts]
    expected = [Router(network).route(hosts[:count], ring(count)) for count in (2, 4, 8, 2)]
    kept = Router(network)
    assert [kept.route(hosts[:count], ring(count)) for count in (2, 4, 8, 2)] == expected
    monkeypatch.setattr(fabric, "_MOST_KEPT", 1)
    assert [kept.route(hosts[:count], ring(count)) for count in (2, 4, 8, 2)] == expected


def test_a_route_and_the_links_make_a_problem() -> None:
    testbed = paper_testbed()
    route = Router(testbed).route([f"server{index}" for index in (1, 5, 13)], ring(3))
    problem = cc.Problem([cc.Job("a", 40, [cc.Phase(0, 20, 50)])], testbed.links(), [cc.Candidate("c", {"a": route})])
    assert dict(problem.candidates[0].routes["a"]) == route


def test_all_to_all_in_a_fat_tree_is_the_same_on_all_links_of_a_tier_by_symmetry() -> None:
    network = fat_tree(4)
    route = Router(network).route([host.id for host in network.hosts], all_to_all(16))
    edges = {round(weight, 9) for link, weight in route.items() if link.count("h") and "edge" in link}
    # Of 15 others, 14 hang under other edge switches, which two cables share, and 12 in other pods.
    assert edges == {1.0}
    assert {round(w, 9) for link, w in route.items() if link.startswith("edge") and "agg" in link} == {
        round(14 / 15, 9)
    }
    assert {round(w, 9) for link, w in route.items() if link.startswith("agg") and "core" in link} == {
        round(12 / 15, 9)
    }


@pytest.mark.unsanitized(reason="Python's own time, with an allocator that looks at every block")
@pytest.mark.parametrize("ecmp", ["spread", "hash"])
def test_a_thousand_hosts_all_to_all_take_a_second(ecmp: Any) -> None:
    network = fat_tree(16)
    router, flows = Router(network, ecmp=ecmp), all_to_all(1024)
    workers = [host.id for host in network.hosts]
    with works_less_than(2.0):
        route = router.route(workers, flows)
    assert len(route) == 6144
