"""Writers of topology files that share nothing with the readers: each says in its own words what a network is.

A writer says what its format can say. Networks for the tree formats come from ``topologies.trees``.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict

from cassini_core.topology.model import Topology

__all__ = [
    "compact",
    "hypernodes",
    "ibnetdiscover",
    "kueue",
    "lingjun",
    "slurm_conf",
    "slurm_yaml",
    "topograph_graph",
    "topograph_model",
]

SPEED = {25.0: "1xEDR", 50.0: "1xHDR", 400.0: "4xNDR", None: ""}


def members(topology: Topology) -> dict[str, tuple[list[str], list[str]]]:
    """Switches and hosts right under each switch."""
    hosts = {host.id for host in topology.hosts}
    below: dict[str, tuple[list[str], list[str]]] = {switch.id: ([], []) for switch in topology.switches}
    for cable in topology.cables:
        below[cable.upper][cable.lower in hosts].append(cable.lower)
    return below


def compact(names: list[str]) -> str:
    """``n1,n2,n3`` as ``n[1-3]``."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for name in names:
        stem = name.rstrip("0123456789")
        numbers[stem].append(int(name[len(stem) :]))
    pieces = []
    for stem, found in numbers.items():
        runs: list[list[int]] = []
        for number in sorted(found):
            if runs and runs[-1][1] == number - 1:
                runs[-1][1] = number
            else:
                runs.append([number, number])
        pieces.append(f"{stem}[{','.join(str(a) if a == b else f'{a}-{b}' for a, b in runs)}]")
    return ",".join(pieces)


def slurm_conf(topology: Topology, rng: random.Random) -> str:
    """``topology.conf``: lines in any order, keys in any case, comments, continued lines, quotes, arbitrary speeds.

    As Slurm reads it: comments go first, so one that ends in a backslash continues nothing.
    """
    lines = ["# topology \\"]
    for name, (switches, hosts) in members(topology).items():
        words = [f"{rng.choice(['SwitchName', 'switchname', 'SWITCHNAME'])}={name}"]
        for key, below in (("Switches", switches), ("Nodes", hosts)):
            if below:
                value = rng.choice([compact, ",".join, ",\\\n".join])(below)
                words.append(rng.choice([f"{key}={value}", f'{key} = "{value}"']))
        if rng.random() < 0.3:
            words.append("LinkSpeed=100")
        lines.append(rng.choice([" ", "\t", " \\\n  ", " \\ \n "]).join(words) + rng.choice(["", "  # here", " # \\"]))
    rng.shuffle(lines)
    return "\n".join(lines) + "\n"


def slurm_yaml(topology: Topology, rng: random.Random) -> str:
    """``topology.yaml`` with the network as the default of the cluster, and others around it."""
    text = [
        "---",
        "- topology: other",
        "  flat: true",
        "- topology: fabric",
        "  cluster_default: True",
        "  tree:",
        "    switches:",
    ]
    for name, (switches, hosts) in members(topology).items():
        text.append(f"      - switch: {name}")
        for key, below in (("children", switches), ("nodes", hosts)):
            if below:
                quote = rng.choice(["", '"'])
            text += [f"        {key}: {quote}{compact(below)}{quote}"] if below else []
    return "\n".join(text) + "\n"


def topograph_model(topology: Topology, rng: random.Random) -> str:
    """Leaf switches under ``blocks``, or with their nodes under ``switches`` as older models have it."""
    below = members(topology)
    text, blocks = ["switches:"], ["blocks:"]
    for name, (switches, hosts) in below.items():
        in_block = bool(hosts) and rng.random() < 0.7
        if switches or not in_block:
            text += [f"  {name}:", "    labels: {zone: 1}"]
            if switches:
                text += ["    switches:", *(f"    - {one}" for one in switches)]
            if hosts and not in_block:
                text.append(f'    nodes: ["{compact(hosts)}"]')
        if in_block:
            blocks += [
                f"- switch: {name}",
                "  nodes:",
                *(f'  - "{one}"' for one in hosts),
                "  annotations: {domain: nvl}",
            ]
    return "\n".join([*text, *(blocks if len(blocks) > 1 else [])]) + "\n"


def parents(topology: Topology) -> dict[str, str]:
    """The one switch above each node."""
    return {cable.lower: cable.upper for cable in topology.cables}


def topograph_graph(topology: Topology, rng: random.Random) -> str:
    above = parents(topology)
    instances = []
    for host in topology.hosts:
        layers, node = [], host.id
        while node in above:
            node = above[node]
            layers.append(node)
        instances.append({"id": host.id, "type": "H100", "network_layers": layers, "attributes": {"nvlink": "x"}})
    rng.shuffle(instances)
    return json.dumps({"instances": instances}, indent=rng.choice([None, 2]))


def hypernodes(topology: Topology, rng: random.Random) -> str:
    """Volcano, with nodes by name, by pattern and by label; nodes with GPUs beside them."""
    objects = []
    labels: dict[str, dict[str, str]] = {host.id: {"kubernetes.io/hostname": host.id} for host in topology.hosts}
    for name, (switches, hosts) in members(topology).items():
        chosen: list[dict[str, object]] = [
            {"type": "HyperNode", "selector": {"exactMatch": {"name": one}}} for one in switches
        ]
        way = rng.randrange(3)
        if way == 0 and hosts:
            for host in hosts:
                labels[host][f"under-{name}"] = "yes"
            chosen.append({"type": "Node", "selector": {"labelMatch": {"matchLabels": {f"under-{name}": "yes"}}}})
        for host in hosts if way else ():
            selector = {"regexMatch": {"pattern": f"^{host}$"}} if way == 1 else {"exactMatch": {"name": host}}
            chosen.append({"type": "Node", "selector": selector})
        tier = {switch.id: switch.tier for switch in topology.switches}[name]
        spec = {"tier": rng.choice([tier, str(tier)]), "members": chosen}
        objects.append(
            {
                "apiVersion": "topology.volcano.sh/v1alpha1",
                "kind": "HyperNode",
                "metadata": {"name": name},
                "spec": spec,
            }
        )
    objects += [node(host.id, host.gpus, labels[host.id]) for host in topology.hosts]
    rng.shuffle(objects)
    return as_list(objects, rng)


def kueue(topology: Topology, rng: random.Random) -> str:
    """For networks whose hosts all lie equally deep under a single root."""
    above = parents(topology)
    nodes, levels = [], 0
    for host in topology.hosts:
        path, name = [], host.id
        while name in above:
            name = above[name]
            path.append(name)
        path.reverse()
        levels = len(path)
        labels = {f"example.com/level{depth}": one.rpartition("/")[2] for depth, one in enumerate(path)}
        nodes.append(node(host.id, host.gpus, labels | {"kubernetes.io/hostname": host.id}))
    listed = [{"nodeLabel": f"example.com/level{depth}"} for depth in range(levels)]
    if rng.random() < 0.5:
        listed.append({"nodeLabel": "kubernetes.io/hostname"})
    kind = {"apiVersion": rng.choice(["kueue.x-k8s.io/v1alpha1", "kueue.x-k8s.io/v1beta1"]), "kind": "Topology"}
    objects = [{**kind, "metadata": {"name": "default"}, "spec": {"levels": listed}}, *nodes]
    rng.shuffle(objects)
    return as_list(objects, rng)


def node(name: str, gpus: int | None, labels: dict[str, str]) -> dict[str, object]:
    allocatable = {} if gpus is None else {"nvidia.com/gpu": str(gpus), "cpu": "4"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"allocatable": allocatable},
    }


def as_list(objects: list[dict[str, object]], rng: random.Random) -> str:
    """A ``List`` in JSON, or YAML documents; JSON is YAML."""
    if rng.random() < 0.5:
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}, indent=rng.choice([None, 1]))
    return "---\n" + "\n---\n".join(json.dumps(one) for one in objects) + "\n"


def lingjun(paths: list[tuple[str, str, str]]) -> str:
    """One row per host: core, pod and access switch."""
    return "".join(["ip,DSW,PSW,ASW\n", *(f"h{index},{','.join(path)}\n" for index, path in enumerate(paths))])


def ibnetdiscover(topology: Topology, rng: random.Random) -> str:
    """What ``ibnetdiscover`` prints, ports in any order; adapters of hosts are ``mlx5_RAIL``."""
    ids = [f"{kind}-{rng.getrandbits(64):016x}" for kind in "S" * len(topology.switches)]
    guid = {switch.id: one for switch, one in zip(topology.switches, ids, strict=True)}
    text = {guid[switch.id]: f"MF0;{switch.id}:MQM8700/U1" for switch in topology.switches}
    ports: dict[str, int] = defaultdict(int)
    lines: dict[str, list[str]] = {one: [] for one in ids}
    for cable in topology.cables:
        for _ in range(cable.count):
            lower = guid.get(cable.lower)
            if lower is None:  # an adapter, with as many ports as it has cables
                lower = guid.setdefault(f"{cable.lower} {cable.rail}", f"H-{rng.getrandbits(64):016x}")
                text[lower] = f"{cable.lower} {cable.rail}"
                lines.setdefault(lower, [])
            upper = guid[cable.upper]
            ports[lower] += 1
            ports[upper] += 1
            speed = SPEED[cable.gbps]
            for one, two in ((lower, upper), (upper, lower)):
                port = f"({two[2:]})" if two.startswith("H-") else ""
                before = f"[{ports[one]}]" + (f"({one[2:]})" if one.startswith("H-") else "")
                after = (
                    f'lid 1 lmc 0 "{text[two]}" lid 4 {speed}'
                    if one.startswith("H-")
                    else f'"{text[two]}" lid 4 {speed}'
                )
                full = rng.choice(["", " s=4 w=2 v=4"])  # option -f
                lines[one].append(f'{before}\t"{two}"[{ports[two]}]{port}\t\t# {after}'.rstrip() + full)
    out = ["#", "# Topology file: generated on Sun Nov 29 08:00:00 2026", "#", "# Initiated from node 1 port 1", ""]
    blocks = list(lines.items())
    rng.shuffle(blocks)
    for one, found in blocks:
        rng.shuffle(found)
        kind = f'Switch\t{len(found)} "{one}"\t\t# "{text[one]}" enhanced port 0 lid 1 lmc 0'
        out += [
            "vendid=0x2c9",
            "devid=0xd2f2",
            kind if one[0] == "S" else f'Ca\t{len(found)} "{one}"\t\t# "{text[one]}"',
            *found,
            "",
        ]
    return "\n".join(out)
