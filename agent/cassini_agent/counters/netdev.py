"""Network devices, and what TCP counts in a network namespace (Linux).

Bytes come from ``/sys/class/net/*/statistics`` (one small file each) or from ``/proc/net/dev`` (one table of all
devices). ``/sys`` shows the namespace it was mounted in, in a container perhaps another one with devices of the same
names; ``/proc`` always shows the namespace of the process. So sysfs is used only where it shows the same counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence

from .kernel_file import KernelFile
from .sources import Channel, CounterSource, GaugeSource, Source, TableSource
from .unwrap import Unwrapper

__all__ = ["DEFAULT_ROUTE", "find_devices", "open_device", "open_tcp"]

DEFAULT_ROUTE = "default"
"""Stands for the devices of the default routes."""

_CLASS = "sys/class/net"
_CHANNELS = ("rx_bytes", "tx_bytes")
_SLOW = {"tx_packets": "tx_packets", "rx_packets": "rx_packets", "tx_discards": "tx_dropped"}
_COLUMNS = {"rx_bytes": 0, "rx_packets": 1, "tx_bytes": 8, "tx_packets": 9, "tx_discards": 11}
_WIDTH = 64  # struct rtnl_link_stats64; counters of the SNMP tables are unsigned long, 64 bits on 64-bit machines


def find_devices(which: str | Iterable[str], *, root: str = "/", pid: int | str = "self") -> list[str]:
    """Names of the devices a job uses.

    Parameters
    ----------
    which : str or iterable of str
        ``default``: those of the default routes, IPv4 and IPv6; ``all``: all but loopback and those stacked on
        others (bond, bridge, VLAN), whose traffic is counted below them already; else names, taken as they are.
    root : str
        Where ``proc`` and ``sys`` lie.
    pid : int or str
        A process in the namespace in question.
    """
    if which == DEFAULT_ROUTE:
        return _default_route(root, pid)
    if which == "all":
        names = list(_table(_text(_proc(root, pid, "dev"))))
        return [name for name in names if name != "lo" and not _stacked(root, name)]
    return [which] if isinstance(which, str) else list(dict.fromkeys(which))


def open_device(
    name: str,
    *,
    root: str = "/",
    pid: int | str = "self",
    pread: Callable[[int, int, int], bytes] = os.pread,
) -> tuple[list[Source], list[Source]]:
    """Sources of a device: those to be read at each tick (bytes), and those to be read now and then (all else)."""
    if _sysfs_is_right(name, root, pid):
        return _from_sysfs(name, root, pread)
    path = _proc(root, pid, "dev")
    absent = name not in _table(_text(path))
    fast = _from_table(name, path, _CHANNELS, pread, absent)
    return [fast], [_from_table(name, path, tuple(_SLOW), pread, absent)]


def open_tcp(*, root: str = "/", pid: int | str = "self") -> list[Source]:
    """Received packets with a congestion mark and TCP segments sent again, of the whole namespace; for now and then."""

    def table(file: str, name: str, group: str, key: str, unit: str) -> Source:
        return TableSource(
            (Channel("", name, unit),),
            KernelFile(_proc(root, pid, file)),
            lambda data: (_snmp(data, group, key),),
            (Unwrapper(1, _WIDTH),),
        )

    return [
        table("netstat", "ecn_marked", "IpExt", "InCEPkts", "packets"),
        table("snmp", "retransmits", "Tcp", "RetransSegs", "packets"),
    ]


def _proc(root: str, pid: int | str, file: str) -> str:
    return os.path.join(root, "proc", str(pid), "net", file)


def _from_sysfs(name: str, root: str, pread: Callable[[int, int, int], bytes]) -> tuple[list[Source], list[Source]]:
    folder = os.path.join(root, _CLASS, name)

    def counter(channel: str, file: str, unit: str) -> Source:
        path = os.path.join(folder, "statistics", file)
        return CounterSource(Channel(name, channel, unit), KernelFile(path, pread), Unwrapper(1, _WIDTH))

    fast = [counter(channel, channel, "bytes") for channel in _CHANNELS]
    slow: list[Source] = [counter(channel, file, "packets") for channel, file in _SLOW.items()]
    if _text(os.path.join(folder, "speed")).strip().isdigit():
        channel = Channel(name, "rate", "Mbit/s", gauge=True)
        slow.append(GaugeSource(channel, KernelFile(os.path.join(folder, "speed"), pread), _speed, lambda _: None))
    return fast, slow


def _from_table(
    name: str, path: str, names: Sequence[str], pread: Callable[[int, int, int], bytes], absent: bool
) -> Source:
    columns = [_COLUMNS[one] for one in names]
    # Looked for by its bytes: with many devices, splitting the whole table would cost more than reading it.
    label = name.encode() + b":"

    def parse(data: bytes) -> Sequence[int | None]:
        at = data.find(label)
        while at > 0 and data[at - 1 : at] not in (b" ", b"\n"):
            at = data.find(label, at + 1)
        if at < 0:
            return [None] * len(columns)
        end = data.find(b"\n", at)
        fields = data[at + len(label) : end if end >= 0 else len(data)].split()
        return [
            int(fields[column]) if column < len(fields) and fields[column].isdigit() else None for column in columns
        ]

    channels = [Channel(name, one, "bytes" if one.endswith("bytes") else "packets", absent=absent) for one in names]
    return TableSource(channels, KernelFile(path, pread), parse, [Unwrapper(1, _WIDTH) for _ in names])


def _sysfs_is_right(name: str, root: str, pid: int | str) -> bool:
    """Whether sysfs shows this namespace's device: its counts lie between two readings of ``/proc``.

    Two devices that never carried anything look the same, so for them the answer is no.
    """
    folder, table = os.path.join(root, _CLASS, name, "statistics"), _proc(root, pid, "dev")
    files = ("rx_bytes", "rx_packets", "tx_bytes", "tx_packets")
    before = _table(_text(table)).get(name)
    shown = [_number(_text(os.path.join(folder, file))) for file in files]
    after = _table(_text(table)).get(name)
    if before is None or after is None:
        # Without /proc there is nothing to compare with, and nothing else to read.
        return None not in shown and not os.path.exists(table)
    return any(shown) and all(
        value is not None and before[_COLUMNS[file]] <= value <= after[_COLUMNS[file]]
        for value, file in zip(shown, files, strict=True)
    )


def _table(text: str) -> dict[str, list[int]]:
    """Device to its sixteen numbers, from ``/proc/net/dev``."""
    rows = {}
    for line in text.splitlines()[2:]:
        name, colon, numbers = line.rpartition(":")
        if colon:
            rows[name.strip()] = [int(number) for number in numbers.split() if number.isdigit()]
    return {name: numbers for name, numbers in rows.items() if len(numbers) >= 16}


def _snmp(data: bytes, group: str, key: str) -> int | None:
    """A value of ``/proc/net/snmp`` or ``netstat``: a line of names and a line of values for each group."""
    prefix = group.encode() + b":"
    lines = [line.split() for line in data.splitlines() if line.startswith(prefix)]
    if len(lines) < 2 or key.encode() not in lines[0]:
        return None
    place = lines[0].index(key.encode())
    values = lines[1]
    return int(values[place]) if place < len(values) and values[place].isdigit() else None


def _default_route(root: str, pid: int | str) -> list[str]:
    names = []
    for line in _text(_proc(root, pid, "route")).splitlines()[1:]:
        fields = line.split()
        if len(fields) >= 8 and fields[1] == "00000000" and fields[7] == "00000000":
            names.append(fields[0])
    for line in _text(_proc(root, pid, "ipv6_route")).splitlines():
        fields = line.split()
        # Unreachable default routes hang on lo.
        if len(fields) >= 10 and fields[0] == "0" * 32 and fields[1] == "00" and fields[9] != "lo":
            names.append(fields[9])
    return list(dict.fromkeys(names))


def _stacked(root: str, name: str) -> bool:
    try:
        return any(entry.startswith("lower_") for entry in os.listdir(os.path.join(root, _CLASS, name)))
    except OSError:
        return False


def _speed(text: bytes) -> int | None:
    return int(text) if text.strip().isdigit() else None


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() else None


def _text(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return file.read().decode("ascii", "replace")
    except OSError:
        return ""
