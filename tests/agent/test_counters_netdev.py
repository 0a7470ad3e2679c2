"""Network devices: tables and trees that the test writes, and real ones in a namespace of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cassini_agent.counters.netdev import find_devices, open_device, open_tcp
from cassini_agent.counters.sources import CounterSource, TableSource
from cassini_agent.counters.unwrap import BREAK, MISSING

MS = 1_000_000
HEAD = (
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|"
    "bytes    packets errs drop fifo colls carrier compressed\n"
)


class FakeHost:
    """``/proc/net`` and ``/sys/class/net`` below a root of the test's."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.net = root / "proc/self/net"
        self.sys = root / "sys/class/net"
        self.net.mkdir(parents=True)
        self.table({})

    def table(self, devices: dict[str, tuple[int, int]]) -> None:
        """``/proc/net/dev``: received and sent bytes of each device; a packet for each thousand."""
        lines = [
            f"{name:>6}: {rx} {rx // 1000} 0 0 0 0 0 0 {tx} {tx // 1000} 0 3 0 0 0 0\n"
            for name, (rx, tx) in devices.items()
        ]
        (self.net / "dev").write_text(HEAD + "".join(lines))

    def tree(self, name: str, rx: int, tx: int) -> None:
        """``/sys/class/net/NAME/statistics``, and a speed."""
        folder = self.sys / name / "statistics"
        folder.mkdir(parents=True, exist_ok=True)
        for file, value in (
            ("rx_bytes", rx),
            ("tx_bytes", tx),
            ("rx_packets", rx // 1000),
            ("tx_packets", tx // 1000),
            ("tx_dropped", 3),
        ):
            (folder / file).write_text(f"{value}\n")
        (self.sys / name / "speed").write_text("25000\n")


@pytest.fixture
def host(tmp_path: Path) -> FakeHost:
    return FakeHost(tmp_path)


def test_a_table_gives_the_bytes_of_the_device_named(host: FakeHost) -> None:
    host.table({"lo": (1, 2), "veth0": (5, 6), "eth0": (1000, 2000), "eth01": (7, 8)})
    (fast,), slow = open_device("eth0", root=host.root)
    assert [channel.name for channel in fast.channels] == ["rx_bytes", "tx_bytes"]
    assert list(fast.sample(0)) == [0, 0]
    host.table({"lo": (1, 2), "veth0": (500, 600), "eth0": (1500, 9000), "eth01": (700, 800)})
    assert list(fast.sample(MS)) == [500, 7000]
    assert all(value == 0 for source in slow for value in source.sample(0))


def test_a_name_glued_to_its_number_is_read(host: FakeHost) -> None:
    # Some kernels left no space after the colon.
    (host.net / "dev").write_text(HEAD + "  eth0:100 1 0 0 0 0 0 0 200 2 0 0 0 0 0 0\n")
    (fast,), _ = open_device("eth0", root=host.root)
    assert list(fast.sample(0)) == [0, 0]


def test_a_device_that_is_away_for_a_time_starts_anew(host: FakeHost) -> None:
    host.table({"eth0": (1000, 2000)})
    (fast,), _ = open_device("eth0", root=host.root)
    fast.sample(0)
    host.table({})
    assert list(fast.sample(MS)) == [MISSING, MISSING]
    assert "eth0" in (fast.problem or "")
    host.table({"eth0": (5000, 5000)})
    assert list(fast.sample(2 * MS)) == [BREAK, BREAK]
    assert fast.problem is None


def test_a_reset_is_no_traffic(host: FakeHost) -> None:
    host.table({"eth0": (1 << 40, 4_000_000_000)})
    (fast,), _ = open_device("eth0", root=host.root)
    fast.sample(0)
    host.table({"eth0": (100, 100)})
    assert list(fast.sample(MS)) == [BREAK, BREAK]


def test_sysfs_is_used_where_it_shows_this_namespace(host: FakeHost) -> None:
    host.table({"eth0": (1_000_000, 2_000_000)})
    host.tree("eth0", 1_000_000, 2_000_000)
    fast, slow = open_device("eth0", root=host.root)
    assert [type(source) for source in fast] == [CounterSource] * 2
    assert [list(source.sample(0)) for source in slow if source.channels[0].name == "rate"] == [[25_000]]


@pytest.mark.parametrize("shown", [(0, 0), (1_000_000, 1_999_999), (5_000_000, 9_000_000)])
def test_sysfs_of_another_namespace_is_not_believed(host: FakeHost, shown: tuple[int, int]) -> None:
    host.table({"eth0": (1_000_000, 2_000_000)})
    host.tree("eth0", *shown)
    fast, _ = open_device("eth0", root=host.root)
    assert [type(source) for source in fast] == [TableSource]


def test_devices_that_never_carried_anything_look_alike_and_the_table_is_read(host: FakeHost) -> None:
    host.table({"eth0": (0, 0)})
    host.tree("eth0", 0, 0)
    fast, _ = open_device("eth0", root=host.root)
    assert [type(source) for source in fast] == [TableSource]


def test_which_devices_a_job_uses(host: FakeHost) -> None:
    host.table({"lo": (1, 1), "eth0": (1, 1), "eth1": (1, 1), "bond0": (1, 1)})
    (host.sys / "bond0/lower_eth0").mkdir(parents=True)
    (host.net / "route").write_text(
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n"
        "eth1\t0000A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
        "bond0\t00000000\t0100A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
    )
    zero = "0" * 32
    (host.net / "ipv6_route").write_text(
        f"{zero} 00 {zero} 00 {'fe80' + '0' * 28} 00000400 00000001 00000000 00000003     eth1\n"
        f"{zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n"
    )
    assert find_devices("default", root=host.root) == ["bond0", "eth1"]
    assert find_devices("all", root=host.root) == ["eth0", "eth1"]
    assert find_devices(["eth9", "eth9"], root=host.root) == ["eth9"]


def test_nothing_is_there(tmp_path: Path) -> None:
    assert find_devices("default", root=str(tmp_path)) == []
    assert find_devices("all", root=str(tmp_path)) == []
    (fast,), _ = open_device("eth0", root=str(tmp_path))
    assert list(fast.sample(0)) == [MISSING, MISSING]
    assert "No such file" in (fast.problem or "")
    assert [list(source.sample(0)) for source in open_tcp(root=str(tmp_path))] == [[MISSING], [MISSING]]


def test_congestion_marks_and_retransmissions(host: FakeHost) -> None:
    def show(marks: int, again: int) -> None:
        (host.net / "netstat").write_text(
            f"TcpExt: SyncookiesSent InCEPkts\nTcpExt: 4 9\nIpExt: InNoRoutes InCEPkts InOctets\nIpExt: 1 {marks} 3\n"
        )
        (host.net / "snmp").write_text(f"Ip: A B\nIp: 1 2\nTcp: OutSegs RetransSegs\nTcp: 5 {again}\n")

    show(10, 20)
    marks, again = open_tcp(root=host.root)
    assert [source.channels[0].name for source in (marks, again)] == ["ecn_marked", "retransmits"]
    assert (list(marks.sample(0)), list(again.sample(0))) == ([0], [0])
    show(15, 27)
    assert (list(marks.sample(MS)), list(again.sample(MS))) == ([5], [7])
    (host.net / "netstat").write_text("IpExt: InNoRoutes\nIpExt: 1\n")
    assert list(marks.sample(2 * MS)) == [MISSING]


def test_a_table_longer_than_a_page_is_read_to_its_end(host: FakeHost) -> None:
    host.table({f"veth{n:04}": (n, n) for n in range(400)} | {"eth0": (10, 20)})
    parts: list[int] = []

    def pread(descriptor: int, size: int, offset: int) -> bytes:
        # As the kernel hands out tables: whole lines, as many as fit into a page.
        data = os.pread(descriptor, min(size, 4096), offset)
        parts.append(offset)
        return data if len(data) < 4096 else data[: data.rindex(b"\n") + 1]

    (fast,), _ = open_device("eth0", root=host.root, pread=pread)
    assert list(fast.sample(0)) == [0, 0]
    assert len(parts) >= 5


NAMESPACE = """
import os, socket, subprocess, time
from cassini_agent.counters.netdev import open_device
from cassini_agent.counters.sources import CounterSource
from cassini_agent.counters.unwrap import BREAK, MISSING

def ip(*arguments): subprocess.run(["ip", *arguments], check=True)
def now(): return time.monotonic_ns()

ip("link", "add", "port0", "type", "veth", "peer", "name", "port1")
for name in ("port0", "port1"): ip("link", "set", name, "up")
ip("addr", "add", "10.9.9.1/24", "dev", "port0")
ip("neigh", "add", "10.9.9.2", "lladdr", "02:00:00:00:00:02", "dev", "port0")
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

def send():
    for _ in range(100): sender.sendto(bytes(1000), ("10.9.9.2", 9))

send()
fast, slow = open_device("port0")
assert all(type(source) is CounterSource for source in fast), fast
tx = next(source for source in fast if source.channels[0].name == "tx_bytes")
first = tx.sample(now())[0]
send()
counted = tx.sample(now())[0] - first
assert 100_000 <= counted <= 110_000, counted
# The device goes, and another one of the same name comes: the open file answers with an error, then is opened again.
ip("link", "del", "port0")
assert tx.sample(now())[0] == MISSING and tx.problem, tx.problem
ip("link", "add", "port0", "type", "veth", "peer", "name", "port1")
time.sleep(0.15)
assert tx.sample(now())[0] == BREAK
assert tx.problem is None
print("fine")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_a_real_device_that_goes_and_comes_back() -> None:
    if subprocess.run(["unshare", "--net", "--mount", "true"], capture_output=True).returncode:
        pytest.skip("no namespaces here")
    inside = 'mount -t sysfs none /sys && exec "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "--net", "--mount", "sh", "-c", inside, sys.executable, NAMESPACE],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "fine", done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces need root")
def test_lo_of_a_new_namespace_is_not_that_of_the_old_sysfs() -> None:
    if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode:
        pytest.skip("no namespaces here")
    code = "from cassini_agent.counters.netdev import open_device; print(type(open_device('lo')[0][0]).__name__)"
    done = subprocess.run(["unshare", "--net", sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "TableSource", done.stderr
