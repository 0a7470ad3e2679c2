"""RDMA ports and their counters, from ``/sys/class/infiniband`` (Linux; InfiniBand, RoCE, Omni-Path, iWARP).

``port_xmit_data`` and ``port_rcv_data`` count 4-byte words whatever the number of lanes; they are given in bytes here.
Data and packets are 64 bits wide with the extended counter set, else 32; the kernel shows ``unicast_xmit_packets`` only
with the extended set, so where it is there, the width is known. Congestion counters (``hw_counters``) are cached by the
kernel for ``lifespan`` ms, 10 by default. A port without performance management reads ``N/A (no PMA)``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from .kernel_file import KernelFile
from .sources import Channel, CounterSource, GaugeSource, Source
from .unwrap import Unwrapper

__all__ = ["RdmaPort", "find_ports", "open_port", "parse_rate"]

_ROOT = "sys/class/infiniband"
_WORD_BYTES = 4
_LEAST_PACKET_BYTES = 20  # headers alone; bounds how many packets a link can carry

_DATA = {"tx_bytes": "port_xmit_data", "rx_bytes": "port_rcv_data"}
_PACKETS = {"tx_packets": "port_xmit_packets", "rx_packets": "port_rcv_packets"}
_CONGESTION = {
    "cnp_sent": "np_cnp_sent",
    "ecn_marked": "np_ecn_marked_roce_packets",
    "cnp_handled": "rp_cnp_handled",
}
_RATE = re.compile(rb"\s*(\d+(?:\.\d+)?)\s*Gb/sec\b")


@dataclass(frozen=True, slots=True)
class RdmaPort:
    """A port: device and number as sysfs has them; the rest as read when it was looked for.

    Attributes
    ----------
    link_layer : str
        ``InfiniBand`` or ``Ethernet``; empty where unknown.
    active : bool
        The port's state is ACTIVE.
    gbps : float or None
        Rate of the link, Gbit/s.
    """

    device: str
    port: int
    link_layer: str
    active: bool
    gbps: float | None

    @property
    def name(self) -> str:
        """``mlx5_0/1``."""
        return f"{self.device}/{self.port}"


def parse_rate(text: bytes) -> float | None:
    """Gbit/s from ``25 Gb/sec (1X EDR)``; None for anything else.

    Examples
    --------
    >>> parse_rate(b"2.5 Gb/sec (1X SDR)")
    2.5
    """
    match = _RATE.match(text)
    return float(match[1]) if match else None


def find_ports(names: Iterable[str] | None = None, *, root: str = "/") -> list[RdmaPort]:
    """The ports of this host, by device and number.

    Parameters
    ----------
    names : iterable of str, optional
        Devices (``mlx5_0``: all ports) or ports (``mlx5_0/1``); None: all. A name that is not there is left out.
    root : str
        Where ``sys`` lies.
    """
    wanted = None if names is None else set(names)
    base = os.path.join(root, _ROOT)
    ports = []
    for device in _listed(base):
        for number in _listed(os.path.join(base, device, "ports")):
            if number.isdecimal() and (wanted is None or device in wanted or f"{device}/{number}" in wanted):
                ports.append(_port(base, device, int(number)))
    return sorted(ports, key=lambda port: (_natural(port.device), port.port))


def open_port(
    port: RdmaPort, *, root: str = "/", pread: Callable[[int, int, int], bytes] = os.pread
) -> tuple[list[Source], list[Source]]:
    """Sources of a port: those to be read at each tick (bytes), and those to be read now and then (all else).

    The rate of the link is among the latter; while it changes, the bounds that tell wraps from resets follow it.
    Counters that this port does not have are left out; the two of its data are always there.
    """
    folder = os.path.join(root, _ROOT, port.device, "ports", str(port.port))

    def counter(name: str, unit: str, place: str, unwrapper: Unwrapper) -> Source:
        return CounterSource(Channel(port.name, name, unit), KernelFile(os.path.join(folder, place), pread), unwrapper)

    extended = os.path.exists(os.path.join(folder, "counters", "unicast_xmit_packets"))
    width = 64 if extended else None
    data = {name: Unwrapper(_WORD_BYTES, width) for name in _DATA}
    packets = {name: Unwrapper(1, width) for name in _PACKETS}

    def changed(mbps: int | None) -> None:
        per_second = mbps * 1e6 / 8 if mbps else None
        for unwrapper in data.values():
            unwrapper.set_speed(per_second)
        for unwrapper in packets.values():
            unwrapper.set_speed(per_second / _LEAST_PACKET_BYTES if per_second else None)

    if port.gbps:
        changed(round(port.gbps * 1000))
    fast = [counter(name, "bytes", f"counters/{_DATA[name]}", unwrapper) for name, unwrapper in data.items()]
    slow: list[Source] = [
        GaugeSource(
            Channel(port.name, "rate", "Mbit/s", gauge=True),
            KernelFile(os.path.join(folder, "rate"), pread),
            _mbps,
            changed,
        )
    ]
    rest = [(name, "packets", f"counters/{_PACKETS[name]}", unwrapper) for name, unwrapper in packets.items()]
    # Widths of the legacy set, which has no wider variant of these two.
    rest.append(("tx_wait", "ticks", "counters/port_xmit_wait", Unwrapper(1, 32)))
    rest.append(("tx_discards", "packets", "counters/port_xmit_discards", Unwrapper(1, 16)))
    rest += [(name, "packets", f"hw_counters/{file}", Unwrapper(1, 64)) for name, file in _CONGESTION.items()]
    slow += [counter(*one) for one in rest if os.path.exists(os.path.join(folder, one[2]))]
    return fast, slow


def _mbps(text: bytes) -> int | None:
    gbps = parse_rate(text)
    return None if gbps is None else round(gbps * 1000)


def _port(base: str, device: str, number: int) -> RdmaPort:
    folder = os.path.join(base, device, "ports", str(number))
    return RdmaPort(
        device,
        number,
        _read(os.path.join(folder, "link_layer")).decode("ascii", "replace"),
        b"ACTIVE" in _read(os.path.join(folder, "state")),
        parse_rate(_read(os.path.join(folder, "rate"))),
    )


def _read(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(256).strip()
    except OSError:
        return b""


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _natural(name: str) -> list[tuple[int, str]]:
    """``mlx5_2`` before ``mlx5_10``."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", name)]
