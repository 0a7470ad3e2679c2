"""RDMA ports and their counters, from ``/sys/class/infiniband`` (Linux; InfiniBand, RoCE, Omni-Path, iWARP).

``port_xmit_data`` and ``port_rcv_data`` count 4-byte words whatever the number of lanes; they are given in bytes here.
Data and packets are 64 bits wide with the extended counter set, else 32; the kernel shows ``unicast_xmit_packets`` only
with the extended set, so where it is there, the width is known. A port without performance management (AWS EFA, Alibaba
eRDMA) has no such files, or they read ``N/A (no PMA)``; its driver counts bytes in ``hw_counters``, under a name of its
own. What lies in ``hw_counters`` is cached by the kernel for ``lifespan`` ms, 10 by default.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from .kernel_file import KernelFile
from .sources import Channel, CounterSource, GaugeSource, Source
from .unwrap import Unwrapper

__all__ = ["RdmaPort", "find_ports", "open_port", "parse_rate"]

_ROOT = "sys/class/infiniband"
_WORD_BYTES = 4
_LEAST_PACKET_BYTES = 20  # headers alone; bounds how many packets a link can carry


def _of_driver(names: str) -> tuple[str, ...]:
    return tuple(f"hw_counters/{name}" for name in names.split())


# Where a counter may lie, best first. The names in hw_counters are the drivers' (drivers/infiniband/hw): efa, bnxt_re,
# erdma count bytes; mlx5, bnxt_re, irdma, ionic congestion.
_DATA = {
    "tx_bytes": ("counters/port_xmit_data", *_of_driver("tx_bytes hw_tx_bytes_cnt tx_bytes_cnt")),
    "rx_bytes": ("counters/port_rcv_data", *_of_driver("rx_bytes hw_rx_bytes_cnt rx_bytes_cnt")),
}
_PACKETS = {
    "tx_packets": ("counters/port_xmit_packets", *_of_driver("tx_pkts hw_tx_packets_cnt tx_packets_cnt")),
    "rx_packets": ("counters/port_rcv_packets", *_of_driver("rx_pkts hw_rx_packets_cnt rx_packets_cnt")),
}
_CONGESTION = {
    "cnp_sent": _of_driver("np_cnp_sent np_cnp_pkts tx_cnp_pkts cnpSent tx_rdma_cnp_pkts"),
    "cnp_handled": _of_driver("rp_cnp_handled rx_cnp_pkts cnpHandled rx_rdma_cnp_pkts"),
    "ecn_marked": _of_driver("np_ecn_marked_roce_packets rx_ecn_marked_pkts RxECNMrkd"),
}
_RATE = re.compile(rb"\s*(\d+(?:\.\d+)?)\s*Gb/sec\b")


@dataclass(frozen=True, slots=True)
class RdmaPort:
    """A port: device and number as sysfs has them; the rest as read when it was looked for.

    Attributes
    ----------
    active : bool
        The port's state is ACTIVE.
    gbps : float or None
        Rate of the link, Gbit/s.
    """

    device: str
    port: int
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
    Counters that this port does not have are left out, but for the two of its data: where they are not there either,
    their channels say so (``absent``), and they are looked for again.
    """
    folder = os.path.join(root, _ROOT, port.device, "ports", str(port.port))
    width = 64 if os.path.exists(os.path.join(folder, "counters", "unicast_xmit_packets")) else None
    lifespan = _read(os.path.join(folder, "hw_counters", "lifespan"))
    lifespan_ms = int(lifespan) if lifespan.isdigit() else 0

    def counter(name: str, unit: str, places: Sequence[str], bits: int | None, scale: int = 1) -> _Counter:
        found = _place(folder, places)
        place = found or places[0]
        of_driver = place.startswith("hw_counters/")
        channel = Channel(port.name, name, unit, absent=not found, refresh_ms=lifespan_ms if of_driver else 0)
        unwrapper = Unwrapper(1, 64) if of_driver else Unwrapper(scale, bits)
        return _Counter(CounterSource(channel, KernelFile(os.path.join(folder, place), pread), unwrapper), unwrapper)

    data = [counter(name, "bytes", places, width, _WORD_BYTES) for name, places in _DATA.items()]
    packets = [counter(name, "packets", places, width) for name, places in _PACKETS.items()]
    # Widths of the legacy set, which has no wider variant of these two.
    rest = [
        counter("tx_wait", "ticks", ("counters/port_xmit_wait",), 32),
        counter("tx_discards", "packets", ("counters/port_xmit_discards",), 16),
        *(counter(name, "packets", places, 64) for name, places in _CONGESTION.items()),
    ]

    def changed(mbps: int | None) -> None:
        per_second = mbps * 1e6 / 8 if mbps else None
        for one in data:
            one.unwrapper.set_speed(per_second)
        for one in packets:
            one.unwrapper.set_speed(per_second / _LEAST_PACKET_BYTES if per_second else None)

    if port.gbps:
        changed(round(port.gbps * 1000))
    channel = Channel(port.name, "rate", "Mbit/s", gauge=True)
    rate = GaugeSource(channel, KernelFile(os.path.join(folder, "rate"), pread), _mbps, changed)
    slow = [one.source for one in (*packets, *rest) if not one.source.channels[0].absent]
    return [one.source for one in data], [rate, *slow]


class _Counter(NamedTuple):
    source: CounterSource
    unwrapper: Unwrapper


def _place(folder: str, places: Sequence[str]) -> str | None:
    """The first file that shows a number, else the first that is there."""
    there = [place for place in places if os.path.exists(os.path.join(folder, place))]
    readable = (place for place in there if _read(os.path.join(folder, place)).isdigit())
    return next(readable, there[0] if there else None)


def _mbps(text: bytes) -> int | None:
    gbps = parse_rate(text)
    return None if gbps is None else round(gbps * 1000)


def _port(base: str, device: str, number: int) -> RdmaPort:
    folder = os.path.join(base, device, "ports", str(number))
    return RdmaPort(
        device,
        number,
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
