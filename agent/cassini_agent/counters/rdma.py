"""RDMA ports and their counters, from ``/sys/class/infiniband`` (Linux; InfiniBand, RoCE, Omni-Path, iWARP).

``port_xmit_data`` and ``port_rcv_data`` count 4-byte words whatever the number of lanes; they are given in bytes here.
They are 64 bits wide with the extended counter set, else 32; the kernel shows ``unicast_xmit_packets`` only with the
extended set, so where it is there, the width is known. A port without performance management (AWS EFA, Alibaba eRDMA)
has no such files, or they read ``N/A (no PMA)``; its driver counts bytes in ``hw_counters``, under a name of its own.
What lies in ``hw_counters`` is cached by the kernel for ``lifespan`` ms, 10 by default.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from .sources import Channel, Source
from .unwrap import Unwrapper

__all__ = ["RdmaPort", "find_ports", "open_port", "parse_rate"]

_ROOT = "sys/class/infiniband"
_WORD_BYTES = 4


def _of_driver(names: str) -> tuple[str, ...]:
    return tuple(f"hw_counters/{name}" for name in names.split())


# Where a counter may lie, best first. The names in hw_counters are the drivers' (drivers/infiniband/hw): efa, bnxt_re,
# erdma count bytes; mlx5, bnxt_re, irdma, ionic congestion.
_DATA = {
    "tx_bytes": ("counters/port_xmit_data", *_of_driver("tx_bytes hw_tx_bytes_cnt tx_bytes_cnt")),
    "rx_bytes": ("counters/port_rcv_data", *_of_driver("rx_bytes hw_rx_bytes_cnt rx_bytes_cnt")),
}
_MARKS = {
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
                folder = os.path.join(base, device, "ports", number)
                active = b"ACTIVE" in _read(os.path.join(folder, "state"))
                ports.append(RdmaPort(device, int(number), active, parse_rate(_read(os.path.join(folder, "rate")))))
    # mlx5_2 before mlx5_10
    return sorted(ports, key=lambda port: (len(port.device), port.device, port.port))


def open_port(
    port: RdmaPort, *, root: str = "/", pread: Callable[[int, int, int], bytes] = os.pread
) -> tuple[list[Source], list[Source]]:
    """Sources of a port: those of its bytes, and those of marks of congestion, as far as it has them.

    Where the port has no counter of its bytes, their channels say so (``absent``), and it is looked for again.
    """
    folder = os.path.join(root, _ROOT, port.device, "ports", str(port.port))
    wide = os.path.exists(os.path.join(folder, "counters", "unicast_xmit_packets"))
    # Of a link that is down the rate is not the one that it will have.
    per_second = port.gbps * 1e9 / 8 if port.gbps and port.active else None

    def bytes_of(name: str, places: Sequence[str]) -> Source:
        found = _place(folder, places)
        place = found or places[0]
        of_driver = place.startswith("hw_counters/")
        unwrapper = Unwrapper(wide=True) if of_driver else Unwrapper(_WORD_BYTES, wide=wide, per_second=per_second)
        channel = Channel(port.name, name, "bytes", absent=not found, gbps=port.gbps)
        return Source([channel], os.path.join(folder, place), [unwrapper], pread=pread)

    marks = []
    for name, places in _MARKS.items():
        if place := _place(folder, places):
            channel = Channel(port.name, name, "packets")
            marks.append(Source([channel], os.path.join(folder, place), [Unwrapper(wide=True)], pread=pread))
    return [bytes_of(name, places) for name, places in _DATA.items()], marks


def _place(folder: str, places: Sequence[str]) -> str | None:
    """The first file that shows a number, else the first that is there."""
    there = [place for place in places if os.path.exists(os.path.join(folder, place))]
    readable = (place for place in there if _read(os.path.join(folder, place)).isdigit())
    return next(readable, there[0] if there else None)


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
