"""Outputs of ``rdma -j statistic show`` (iproute2), one a line, each with the time at which it was made.

The tool prints ``[{"ifname": "efa_0", "port": 1, "tx_bytes": 1, ...}, ...]`` on one line, and no time. So the time
stands before it (``date +%s.%N``), or around it: ``{"time_s": 1.5, "statistic": [...]}``. Which counters there are
depends on the driver; most count no bytes.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ....errors import InputError, shown
from ..samples import Recording
from .readings import TIME_NAMES, Readings, iso_time_ns, named_time_ns, read_lines, seconds_ns

__all__ = ["read_rdma_statistic"]

_NAMES = {
    "tx": ("tx_bytes", "rdma_tx_bytes", "hw_tx_bytes_cnt", "tx_bytes_cnt"),
    "rx": ("rx_bytes", "rdma_rx_bytes", "hw_rx_bytes_cnt", "rx_bytes_cnt"),
}
"""As efa and bnxt_re, mlx5 (where these optional counters are on), erdma call them; the first that is there counts."""

_HOW = 'write lines as "$(date +%s.%N) $(rdma -j statistic show)", or {"time_s": 1.5, "statistic": [...]}'


def read_rdma_statistic(name: str, data: bytes) -> Recording:
    """Read a file of outputs; errors name the line and the port."""
    readings = Readings()
    passed_over: dict[str, list[str]] = {}

    def take(line: str) -> None:
        if not line.strip():
            return
        at_ns, ports = _parted(line.strip())
        named = [_device(port) for port in ports]
        if len(set(named)) < len(named):
            raise ValueError("expected each port once (rdma statistic show, without qp), got one twice")
        for device, port in zip(named, ports, strict=True):
            counted = {way: next((one for one in names if one in port), None) for way, names in _NAMES.items()}
            for way, counter in counted.items():
                if counter is not None:
                    readings.add(device, way, at_ns, _count(device, counter, port[counter]))
            if not any(counted.values()):
                passed_over[device] = list(port)

    problem = read_lines(name, data, take)
    if not len(readings):
        seen = "; ".join(f"{device} has {', '.join(there[:8])}, ..." for device, there in list(passed_over.items())[:4])
        raise InputError(
            f"{name}: expected a counter of bytes ({', '.join(sum(_NAMES.values(), ()))}), got none: {shown(seen)}; "
            "mlx5 has them in sysfs, which python -m cassini_agent.counters records, or after rdma statistic set link "
            "DEVICE/PORT optional-counters rdma_tx_bytes,rdma_rx_bytes"
        )
    return readings.recording(name, "rdma statistic", problem=problem)


def _parted(line: str) -> tuple[int, list[dict[str, Any]]]:
    """The time of a line, ns, and what the ports in it show."""
    before, bracket, _ = line.partition("[" if not line.startswith("{") else "{")
    if before:
        text = before.strip()
        at_ns = iso_time_ns(text) if ":" in text else seconds_ns(text)
        return at_ns, _decoded(line[len(before) :], list[dict[str, Any]])
    if bracket == "[":
        raise ValueError(f"expected a time, got none: rdma does not print it; {_HOW}")
    wrapped = _decoded(line, dict[str, Any])
    times = [key for key in wrapped if key in TIME_NAMES]
    if len(times) != 1 or "statistic" not in wrapped:
        raise ValueError(f"expected one time and statistic, got the keys {shown(', '.join(wrapped))}; {_HOW}")
    (key,) = times
    value = wrapped[key]
    at_ns = named_time_ns(key, value if isinstance(value, str) else repr(value))
    try:
        return at_ns, msgspec.convert(wrapped["statistic"], list[dict[str, Any]])
    except msgspec.ValidationError as error:
        raise ValueError(f"statistic: {error}") from None


def _decoded(text: str, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"expected an output of rdma -j statistic: {error}") from None


def _device(port: dict[str, Any]) -> str:
    device, number = port.get("ifname"), port.get("port")
    if not isinstance(device, str) or not device or type(number) is not int:
        raise ValueError(f"expected ifname and port of each port, got {shown(device)} and {shown(number)}")
    return f"{device}/{number}"


def _count(device: str, counter: str, value: Any) -> int:
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise ValueError(
            f"{counter} of {shown(device)}: expected a whole number from 0 to below 2^64, got {shown(value)}"
        )
    return value
