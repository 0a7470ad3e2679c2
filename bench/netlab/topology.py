"""Which namespaces, links and queues a lab is made of: a plan, and the commands that make it. Nothing is run here.

Hosts hang on routers, routers are a tree, and some links between routers are bottlenecks, shaped in both directions.
Every host has a second interface to the management network, where daemons, coordinator and DDP's store talk: they
do not wait behind the traffic that is measured. Each end of a bottleneck has one marker, also where each job has a
queue.

Nobody asks for hardware addresses (ARP): they follow from the IP addresses and are written down. The kernel has one
table of asked ones for all namespaces, 1024 long, and thirty labs would fill it: packets are lost then.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DUMBBELL", "LOOP", "RACKS", "TOPOLOGIES", "Queue", "Topology", "marked", "setup"]

MTU = 9000
MANAGEMENT = "m"
"""Role of the namespace of the management network."""
MANAGEMENT_ADDRESS = "10.78.0.254"


@dataclass(frozen=True, eq=False)
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


DUMBBELL = Topology("dumbbell", dict.fromkeys("abc", ("l", "r")), {"core": ("l", "r")})
LOOP = Topology("two racks", dict.fromkeys("ab", ("l", "r")), {"left": ("l", "s"), "right": ("s", "r")})
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
    commands = []
    for space in (*topology.hosts, *topology.routers, MANAGEMENT):
        commands += [["ip", "netns", "add", prefix + space], _ip(prefix + space, "link set lo up")]
    management = prefix + MANAGEMENT
    commands += [
        _ip(management, f"link add br0 address {_hardware(MANAGEMENT_ADDRESS)} type bridge"),
        _ip(management, f"addr add {MANAGEMENT_ADDRESS}/24 dev br0"),
        _ip(management, "link set br0 up"),
    ]
    for host in topology.hosts:
        commands += _host(topology, host, queue.rate_mbit, congestion, marker is not None, prefix)
    for index, (link, ends) in enumerate(topology.links.items()):
        commands += _link(link, ends, index, prefix)
        for end in ends:
            commands += _shaped(topology, queue, prefix + end, link)
            commands += marked(prefix + end, link, marker) if marker is not None else []
    for router in topology.routers:
        commands += _routes(topology, router, prefix + router)
    return commands + _known(topology, prefix)


def marked(space: str, device: str, marker: str) -> list[list[str]]:
    """Commands that have a marker see every packet before the queue of a device."""
    return [
        _tc(space, f"qdisc add dev {device} clsact"),
        [*_tc(space, f"filter add dev {device} egress bpf da obj"), marker, "sec", "tc"],
    ]


def _ip(space: str, words: str) -> list[str]:
    return ["ip", "-n", space, *words.split()]


def _tc(space: str, words: str) -> list[str]:
    return ["tc", "-n", space, *words.split()]


def _set(space: str, **values: int) -> list[str]:
    """Settings of a namespace's IPv4."""
    written = "; ".join(f"echo {value} > /proc/sys/net/ipv4/{name}" for name, value in values.items())
    return ["ip", "netns", "exec", space, "sh", "-e", "-c", written]


def _hardware(address: str) -> str:
    """The hardware address of the interface that has an IP address."""
    return "02:00:" + ":".join(f"{int(part):02x}" for part in address.split("."))


def _known(topology: Topology, prefix: str) -> list[list[str]]:
    """Every namespace knows the hardware address of those it talks to."""
    pairs = []
    for host in topology.hosts:
        own = (prefix + host, "m0", topology.management(host))
        others = [(prefix + MANAGEMENT, "br0", MANAGEMENT_ADDRESS)]
        others += [(prefix + one, "m0", topology.management(one)) for one in topology.hosts if one[:-1] == host[:-1]]
        pairs += [(own, other) for other in others if other != own]
        pairs += [
            (
                (prefix + host, "e0", topology.address(host)),
                (prefix + topology.router(host), host, topology.gateway(host)),
            )
        ]
    for index, (link, ends) in enumerate(topology.links.items()):
        one, other = ((prefix + end, link, _link_address(index, number)) for number, end in enumerate(ends, 1))
        pairs.append((one, other))
    told = {
        (space, device, peer)
        for one, other in pairs
        for (space, device, _), (_, _, peer) in ((one, other), (other, one))
    }
    return [
        _ip(space, f"neigh add {peer} lladdr {_hardware(peer)} nud permanent dev {device}")
        for space, device, peer in sorted(told)
    ]


def _host(topology: Topology, host: str, rate_mbit: int, congestion: str, ecn: bool, prefix: str) -> list[list[str]]:
    own, router, management = prefix + host, prefix + topology.router(host), prefix + MANAGEMENT
    gateway = topology.gateway(host)
    near, far = f"address {_hardware(topology.address(host))}", f"address {_hardware(gateway)}"
    return [
        # Packets of one segment: what is queued and marked are packets, as on a switch, not bundles of 64 KiB.
        _ip(
            own,
            f"link add e0 {near} mtu {MTU} gso_max_segs 1 type veth peer name {host} {far} mtu {MTU} netns {router}",
        ),
        _ip(own, f"addr add {topology.address(host)}/24 dev e0"),
        _ip(own, "link set e0 up"),
        # A host's own port is as fast as the bottleneck: a job that is alone there does not fill its queue.
        _tc(own, f"qdisc add dev e0 root tbf rate {rate_mbit}mbit burst 20k limit 20m"),
        _ip(router, f"addr add {gateway}/24 dev {host}"),
        _ip(router, f"link set {host} up"),
        # A route may name any congestion control; the namespace's own setting only those that users may choose.
        _ip(own, f"route add default via {gateway} congctl {congestion}"),
        _ip(
            own,
            f"link add m0 address {_hardware(topology.management(host))} type veth peer name {host} netns {management}",
        ),
        _ip(own, f"addr add {topology.management(host)}/24 dev m0"),
        _ip(own, "link set m0 up"),
        _ip(management, f"link set {host} master br0 up"),
        _set(own, tcp_ecn=int(ecn), tcp_slow_start_after_idle=0, tcp_no_metrics_save=1),
    ]


def _link(link: str, ends: tuple[str, str], index: int, prefix: str) -> list[list[str]]:
    one, other = (prefix + end for end in ends)
    near, far = (f"address {_hardware(_link_address(index, number))} mtu {MTU}" for number in (1, 2))
    commands = [_ip(one, f"link add {link} {near} type veth peer name {link} {far} netns {other}")]
    for number, end in enumerate((one, other), 1):
        commands += [
            _ip(end, f"addr add {_link_address(index, number)}/30 dev {link}"),
            _ip(end, f"link set {link} up"),
        ]
    return commands


def _link_address(index: int, number: int) -> str:
    """Of the first or the second end of a link between routers."""
    return f"10.77.{200 + index}.{number}"


def _routes(topology: Topology, router: str, space: str) -> list[list[str]]:
    commands = [_set(space, ip_forward=1)]
    hops = topology.next_hops(router)
    for host in topology.hosts:
        at = topology.router(host)
        if at != router:
            link = hops[at]
            far_end = 2 if topology.links[link][0] == router else 1
            via = _link_address(list(topology.links).index(link), far_end)
            network = topology.gateway(host).removesuffix(".1") + ".0/24"
            commands.append(_ip(space, f"route add {network} via {via}"))
    return commands


def _shaped(topology: Topology, queue: Queue, space: str, device: str) -> list[list[str]]:
    """A token bucket, or one class of a hierarchy per job."""
    rate, burst = f"{queue.rate_mbit}mbit", "130k"
    if not queue.per_job:
        bucket = f"tbf rate {rate} burst {burst} limit {queue.limit_bytes}"
        return [_tc(space, f"qdisc add dev {device} root {bucket}")]
    whole = f"htb rate {rate} ceil {rate} burst {burst} cburst {burst} quantum 60000"
    share = f"htb rate {queue.rate_mbit // len(topology.jobs)}mbit ceil {rate} burst 65k cburst {burst} quantum 60000"
    commands = [
        _tc(space, f"qdisc add dev {device} root handle 1: htb default 1"),
        _tc(space, f"class add dev {device} parent 1: classid 1:ff {whole}"),
    ]
    for number, job in enumerate(topology.jobs, 1):
        commands += [
            _tc(space, f"class add dev {device} parent 1:ff classid 1:{number} {share}"),
            _tc(space, f"qdisc add dev {device} parent 1:{number} bfifo limit {queue.limit_bytes}"),
        ]
        for rank in range(2):
            match = f"match ip src {topology.address(f'{job}{rank}')}/32 flowid 1:{number}"
            commands.append(_tc(space, f"filter add dev {device} parent 1: protocol ip prio 1 u32 {match}"))
    return commands
