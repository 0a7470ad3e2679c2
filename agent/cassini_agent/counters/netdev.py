"""Network devices, and what is counted for a whole network namespace (Linux).

Bytes come from ``/proc/net/dev``, a table of all devices. ``/proc`` always shows the namespace of the process, while
``/sys`` shows the one it was mounted in: in a container perhaps another, with devices of the same names.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from .sources import Channel, Source
from .unwrap import Unwrapper

__all__ = ["default_devices", "open_device", "open_marks"]

_PROC = "proc/self/net"


def default_devices(root: str = "/") -> list[str]:
    """Names of the devices of the default routes, IPv4 and IPv6."""
    names = []
    for line in _lines(os.path.join(root, _PROC, "route")):
        fields = line.split()
        if len(fields) >= 8 and fields[1] == fields[7] == "00000000":
            names.append(fields[0])
    for line in _lines(os.path.join(root, _PROC, "ipv6_route")):
        fields = line.split()
        # Unreachable default routes hang on lo.
        if len(fields) >= 10 and fields[0] == "0" * 32 and fields[1] == "00" and fields[9] != "lo":
            names.append(fields[9])
    return list(dict.fromkeys(names))


def open_device(name: str, *, root: str = "/", pread: Callable[[int, int, int], bytes] = os.pread) -> Source:
    """Bytes received and sent by a device; one that is not there may come later."""
    path = os.path.join(root, _PROC, "dev")
    absent = not any(line.strip().startswith(f"{name}:") for line in _lines(path))
    channels = [Channel(name, one, "bytes", absent) for one in ("rx_bytes", "tx_bytes")]
    label = f" {name}:".encode()

    def parse(data: bytes) -> list[int]:
        # Looked for by its bytes: with many devices, splitting the whole table would cost more than reading it.
        fields = data.replace(b"\n", b"\n ").partition(label)[2].partition(b"\n")[0].split()
        if len(fields) < 16:
            raise ValueError(f"no device {name}")
        return [int(fields[0]), int(fields[8])]

    # struct rtnl_link_stats64
    return Source(channels, path, [Unwrapper(wide=True), Unwrapper(wide=True)], parse=parse, pread=pread)


def open_marks(*, root: str = "/") -> Source:
    """Packets that came with a mark of congestion, of the whole namespace."""

    def parse(data: bytes) -> list[int]:
        names, values = (line.split() for line in data.splitlines() if line.startswith(b"IpExt:"))
        return [int(dict(zip(names, values, strict=False)).get(b"InCEPkts", b""))]

    path = os.path.join(root, _PROC, "netstat")
    # unsigned long: 64 bits on 64-bit machines
    return Source([Channel("", "ecn_marked", "packets")], path, [Unwrapper(wide=True)], parse=parse)


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="ascii", errors="replace") as table:
            return table.readlines()
    except OSError:
        return []
