"""Which namespaces, links and queues a lab is made of: a plan, and the commands that make it. Nothing is run here.

Hosts hang on routers, routers are a tree, and some links between routers are bottlenecks, shaped in both directions.
Every host has a second interface to the management network, where daemons, coordinator and the jobs' stores talk: they
do not wait behind the traffic that is measured.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DUMBBELL", "LOOP", "RACKS", "TOPOLOGIES", "Queue", "Topology", "setup"]

MTU = 9000
MANAGEMENT = "m"
"""Role of the namespace of the management network."""
MANAGEMENT_ADDRESS = "10.78.0.254"


@dataclass(frozen=True)
class Topology:
    """Where jobs and bottlenecks are.

    Attributes
    ----------
    name : str
    jobs : mapping of str to pair of str
        Per job the routers of its two ranks; a rank's host is named by job and rank: ``a0``.
    links : mapping of str to pair of str
        Links between routers by id. All are bottlenecks.
    """

    name: str
    jobs: Mapping[str, tuple[str, str]]
    links: Mapping[str, tuple[str, str]]

    @property
    def routers(self) -> list[str]:
        """All, sorted."""
        return sorted({router for pair in self.links.values() for router in pair})

    @property
    def hosts(self) -> list[str]:
        """``a0``, ``a1``, ``b0``, ..."""
        return [f"{job}{rank}" for job in self.jobs for rank in range(2)]

    def router(self, host: str) -> str:
        """On which a host hangs."""
        return self.jobs[host[:-1]][int(host[-1])]

    def address(self, host: str) -> str:
        """On the network that is measured."""
        return f"10.77.{self.hosts.index(host) + 1}.2"

    def gateway(self, host: str) -> str:
        """The router's address there."""
        return f"10.77.{self.hosts.index(host) + 1}.1"

    def management(self, host: str) -> str:
        """Address on the management network."""
        return f"10.78.0.{self.hosts.index(host) + 1}"

    def next_hops(self, router: str) -> dict[str, str]:
        """By every other router the link to take."""
        neighbours: dict[str, dict[str, str]] = {one: {} for one in self.routers}
        for link, (one, other) in self.links.items():
            neighbours[one][other], neighbours[other][one] = link, link
        found: dict[str, str] = {}
        waiting = deque((other, link) for other, link in neighbours[router].items())
        while waiting:
            at, link = waiting.popleft()
            if at == router or at in found:
                continue
            found[at] = link
            waiting.extend((other, link) for other in neighbours[at])
        return found

    def route(self, job: str) -> list[str]:
        """Links that the job's traffic crosses."""
        at, end = self.jobs[job]
        crossed = []
        while at != end:
            link = self.next_hops(at)[end]
            crossed.append(link)
            at = next(one for one in self.links[link] if one != at)
        return crossed


DUMBBELL = Topology("dumbbell", {job: ("l", "r") for job in "abc"}, {"core": ("l", "r")})
LOOP = Topology("two racks", {job: ("l", "r") for job in "ab"}, {"left": ("l", "s"), "right": ("s", "r")})
RACKS = Topology(
    "three racks",
    {"a": ("x", "y"), "b": ("y", "z"), "c": ("z", "x")},
    {"xs": ("x", "s"), "ys": ("y", "s"), "zs": ("z", "s")},
)
TOPOLOGIES = {one.name: one for one in (DUMBBELL, LOOP, RACKS)}


@dataclass(frozen=True)
class Queue:
    """What stands before a bottleneck.

    Attributes
    ----------
    rate_mbit : int
    per_job : bool
        A queue for each job, served in turn; else one for all.
    limit_bytes : int
        Of each queue.
    """

    rate_mbit: int
    per_job: bool = False
    limit_bytes: int = 500_000


def setup(topology: Topology, queue: Queue, congestion: str, marker: str | None, prefix: str) -> list[list[str]]:
    """Commands that make the network, in order.

    Parameters
    ----------
    topology : Topology
    queue : Queue
    congestion : str
        Congestion control of all connections between hosts: ``cubic`` or ``reno``.
    marker : str or None
        Object file of the ECN marker; None: no ECN.
    prefix : str
        Of the namespaces' names.
    """
    spaces = [*topology.hosts, *topology.routers, MANAGEMENT]
    commands = []
    for space in spaces:
        commands += [["ip", "netns", "add", prefix + space], _ip(prefix, space, "link set lo up")]
    commands += [
        _ip(prefix, MANAGEMENT, "link add br0 type bridge"),
        _ip(prefix, MANAGEMENT, f"addr add {MANAGEMENT_ADDRESS}/24 dev br0"),
        _ip(prefix, MANAGEMENT, "link set br0 up"),
    ]
    for host in topology.hosts:
        commands += _host(topology, host, queue.rate_mbit, congestion, marker is not None, prefix)
    for index, (link, ends) in enumerate(topology.links.items()):
        commands += _link(link, ends, index, prefix)
        for end in ends:
            commands += _shaped(topology, queue, f"{prefix}{end}", link, marker)
    for router in topology.routers:
        commands += _routes(topology, router, prefix)
    return commands


def _ip(prefix: str, space: str, words: str) -> list[str]:
    return ["ip", "-n", prefix + space, *words.split()]


def _sysctl(prefix: str, space: str, *settings: str) -> list[str]:
    return ["ip", "netns", "exec", prefix + space, "sysctl", "-qw", *settings]


def _host(topology: Topology, host: str, rate_mbit: int, congestion: str, ecn: bool, prefix: str) -> list[list[str]]:
    router = prefix + topology.router(host)
    # Packets of one segment: what is queued and marked are packets, as on a switch, not bundles of 64 KiB.
    data = f"link add e0 mtu {MTU} gso_max_segs 1 type veth peer name {host} mtu {MTU} netns {router}"
    return [
        _ip(prefix, host, data),
        _ip(prefix, host, f"addr add {topology.address(host)}/24 dev e0"),
        _ip(prefix, host, "link set e0 up"),
        # A host's own port is as fast as the bottleneck: a job that is alone there does not fill its queue.
        ["tc", "-n", prefix + host, *f"qdisc add dev e0 root tbf rate {rate_mbit}mbit burst 20k limit 20m".split()],
        ["ip", "-n", router, *f"addr add {topology.gateway(host)}/24 dev {host}".split()],
        ["ip", "-n", router, *f"link set {host} up".split()],
        # A route may name any congestion control; the namespace's own setting only those that users may choose.
        _ip(prefix, host, f"route add default via {topology.gateway(host)} congctl {congestion}"),
        _ip(prefix, host, f"link add m0 type veth peer name {host} netns {prefix}{MANAGEMENT}"),
        _ip(prefix, host, f"addr add {topology.management(host)}/24 dev m0"),
        _ip(prefix, host, "link set m0 up"),
        _ip(prefix, MANAGEMENT, f"link set {host} master br0 up"),
        _sysctl(
            prefix,
            host,
            f"net.ipv4.tcp_ecn={int(ecn)}",
            "net.ipv4.tcp_slow_start_after_idle=0",
            "net.ipv4.tcp_no_metrics_save=1",
        ),
    ]


def _link(link: str, ends: tuple[str, str], index: int, prefix: str) -> list[list[str]]:
    one, other = ends
    commands = [
        _ip(prefix, one, f"link add {link} mtu {MTU} type veth peer name {link} mtu {MTU} netns {prefix}{other}")
    ]
    for number, end in enumerate(ends, 1):
        commands += [
            _ip(prefix, end, f"addr add 10.77.{200 + index}.{number}/30 dev {link}"),
            _ip(prefix, end, f"link set {link} up"),
        ]
    return commands


def _routes(topology: Topology, router: str, prefix: str) -> list[list[str]]:
    commands = [_sysctl(prefix, router, "net.ipv4.ip_forward=1")]
    hops = topology.next_hops(router)
    order = list(topology.links)
    for host in topology.hosts:
        at = topology.router(host)
        if at == router:
            continue
        link = hops[at]
        number = 2 if topology.links[link][0] == router else 1
        via = f"10.77.{200 + order.index(link)}.{number}"
        network = topology.gateway(host).removesuffix(".1") + ".0/24"
        commands.append(_ip(prefix, router, f"route add {network} via {via}"))
    return commands


def _shaped(topology: Topology, queue: Queue, space: str, device: str, marker: str | None) -> list[list[str]]:
    """A token bucket, or one class of a hierarchy per job, and above it what marks packets."""
    tc = ["tc", "-n", space]
    rate, burst = f"{queue.rate_mbit}mbit", "130k"
    if queue.per_job:
        commands = [
            [*tc, *f"qdisc add dev {device} root handle 1: htb default 1".split()],
            [
                *tc,
                *f"class add dev {device} parent 1: classid 1:ff htb rate {rate} ceil {rate}".split(),
                *f"burst {burst} cburst {burst} quantum 60000".split(),
            ],
        ]
        share = queue.rate_mbit // len(topology.jobs)
        for number, job in enumerate(topology.jobs, 1):
            commands.append(
                [
                    *tc,
                    *f"class add dev {device} parent 1:ff classid 1:{number} htb rate {share}mbit ceil {rate}".split(),
                    *f"burst 65k cburst {burst} quantum 60000".split(),
                ]
            )
            commands.append([*tc, *f"qdisc add dev {device} parent 1:{number} bfifo limit {queue.limit_bytes}".split()])
            for rank in range(2):
                match = f"match ip src {topology.address(f'{job}{rank}')}/32 flowid 1:{number}"
                commands.append([*tc, *f"filter add dev {device} parent 1: protocol ip prio 1 u32 {match}".split()])
    else:
        bucket = f"qdisc add dev {device} root tbf rate {rate} burst {burst} limit {queue.limit_bytes}"
        commands = [[*tc, *bucket.split()]]
    if marker is not None:
        commands += [
            [*tc, *f"qdisc add dev {device} clsact".split()],
            [*tc, *f"filter add dev {device} egress bpf da obj {marker} sec tc".split()],
        ]
    return commands
