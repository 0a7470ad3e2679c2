"""Networks by a few parameters: leaf-spine, fat-tree, and the testbed of the paper."""

from __future__ import annotations

from ..checks import whole_number
from ..errors import refusal
from .model import MAX_NODES, Cable, Host, Switch, Topology
from .overlay import TierCables, with_capacities

__all__ = ["fat_tree", "leaf_spine", "paper_testbed", "paper_two_gpus"]

TESTBED_GBPS = 50.0
"""Every port of the paper's testbed."""


def leaf_spine(leaves: int, spines: int, hosts_per_leaf: int) -> Topology:
    """Leaf switches with hosts, each joined to every spine by one cable.

    Parameters
    ----------
    leaves, spines, hosts_per_leaf : int
        At least 1. The hosts are ``h1-1`` to ``hL-H``, the leaves ``leaf1`` on, the spines ``spine1`` on.

    Returns
    -------
    Topology
        Without capacities; :func:`~cassini_core.topology.overlay.with_capacities` gives them.

    Raises
    ------
    InputError
        A number is wrong, or there are too many nodes.

    Examples
    --------
    >>> from cassini_core.topology.generated import leaf_spine
    >>> leaf_spine(4, 2, 8)
    <Topology: 32 hosts, 6 switches, 40 cables>
    """
    leaves = whole_number(leaves, "leaves", most=MAX_NODES)
    spines = whole_number(spines, "spines", most=MAX_NODES)
    hosts_per_leaf = whole_number(hosts_per_leaf, "hosts_per_leaf", most=MAX_NODES)
    _check_size(leaves * (hosts_per_leaf + 1) + spines)
    names = {f"leaf{one}": [f"h{one}-{two}" for two in range(1, hosts_per_leaf + 1)] for one in range(1, leaves + 1)}
    tops = [f"spine{one}" for one in range(1, spines + 1)]
    return Topology(
        [Host(host) for below in names.values() for host in below],
        [Switch(leaf, 1) for leaf in names] + [Switch(spine, 2) for spine in tops],
        [Cable(host, leaf) for leaf, below in names.items() for host in below]
        + [Cable(leaf, spine) for leaf in names for spine in tops],
    )


def fat_tree(k: int) -> Topology:
    """The fat-tree of switches with ``k`` ports: ``k`` pods, ``k**3 / 4`` hosts (Al-Fares et al., SIGCOMM 2008).

    Parameters
    ----------
    k : int
        Even, at least 2. Each pod has ``k / 2`` edge and ``k / 2`` aggregation switches. Each edge switch has ``k / 2``
        hosts. Core ``core1-2`` is the second of those that the first aggregation switch of every pod is joined to.

    Returns
    -------
    Topology
        Without capacities.

    Raises
    ------
    InputError
        ``k`` is odd or too large.

    Examples
    --------
    >>> from cassini_core.topology.generated import fat_tree
    >>> fat_tree(16)
    <Topology: 1024 hosts, 320 switches, 3072 cables>
    """
    k = whole_number(k, "k", most=MAX_NODES)
    if k % 2:
        raise refusal("", "k", "an even number of ports", str(k))
    _check_size(k**3 // 4 + 5 * k**2 // 4)
    half = range(1, k // 2 + 1)
    hosts, switches, cables = [], [Switch(f"core{one}-{two}", 3) for one in half for two in half], []
    for pod in range(1, k + 1):
        for one in half:
            edge, aggregation = f"edge{pod}-{one}", f"agg{pod}-{one}"
            switches += [Switch(edge, 1), Switch(aggregation, 2)]
            cables += [Cable(edge, f"agg{pod}-{two}") for two in half]
            cables += [Cable(aggregation, f"core{one}-{two}") for two in half]
            below = [f"h{pod}-{one}-{two}" for two in half]
            hosts += [Host(host) for host in below]
            cables += [Cable(host, edge) for host in below]
    return Topology(hosts, switches, cables)


def paper_testbed() -> Topology:
    """The paper's testbed: 24 servers of one GPU, 13 switches, 48 cables of 50 Gbit/s, 2:1 above the ToRs.

    The paper gives these numbers; its drawing is not in the text. Six ToRs of four servers with two uplinks are the
    part that the ratio settles (24 + 12 cables). Seven switches and 12 cables are left. Four aggregation switches and
    three cores fit: two pods of three ToRs and two aggregation switches, each aggregation switch joined to every core.
    Six aggregation switches and one core with double cables fit too. The former is taken: no cable of it is double, and
    every tier offers a choice of paths, as in the Clos networks that the testbed stands for. Either way only the ToRs'
    uplinks are oversubscribed.

    Examples
    --------
    >>> from cassini_core.topology.generated import paper_testbed
    >>> paper_testbed()
    <Topology: 24 hosts, 13 switches, 48 cables>
    """
    hosts, switches = [], [Switch(f"core{one}", 3) for one in (1, 2, 3)]
    cables = []
    for tor in range(1, 7):
        below = [Host(f"server{4 * (tor - 1) + one}", 1) for one in (1, 2, 3, 4)]
        hosts += below
        switches.append(Switch(f"tor{tor}", 1))
        cables += [Cable(host.id, f"tor{tor}") for host in below]
        cables += [Cable(f"tor{tor}", f"agg{one}") for one in ((1, 2) if tor <= 3 else (3, 4))]
    for aggregation in range(1, 5):
        switches.append(Switch(f"agg{aggregation}", 2))
        cables += [Cable(f"agg{aggregation}", f"core{core}") for core in (1, 2, 3)]
    return _of_ports(Topology(hosts, switches, cables), 3)


def paper_two_gpus() -> Topology:
    """The paper's servers with two GPUs: six of them, one port of 50 Gbit/s each.

    The paper says no more of their network. Assumed: three ToRs of two servers with one uplink to one switch, which
    keeps the 2:1 of the testbed.

    Examples
    --------
    >>> from cassini_core.topology.generated import paper_two_gpus
    >>> paper_two_gpus()
    <Topology: 6 hosts, 4 switches, 9 cables>
    """
    hosts = [Host(f"server{one}", 2) for one in range(1, 7)]
    switches = [Switch("core1", 2), *(Switch(f"tor{one}", 1) for one in (1, 2, 3))]
    cables = [Cable(host.id, f"tor{(index // 2) + 1}") for index, host in enumerate(hosts)]
    cables += [Cable(f"tor{one}", "core1") for one in (1, 2, 3)]
    return _of_ports(Topology(hosts, switches, cables), 2)


def _of_ports(topology: Topology, tiers: int) -> Topology:
    return with_capacities(topology, {tier: TierCables(TESTBED_GBPS) for tier in range(1, tiers + 1)})


def _check_size(nodes: int) -> None:
    if nodes > MAX_NODES:
        raise refusal("topology", "", f"at most {MAX_NODES} hosts and switches", str(nodes))
