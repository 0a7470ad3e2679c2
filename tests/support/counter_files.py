"""One series of counter readings, written in every format that ``profile counters`` reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from cassini_agent.counters.recorder import Group, header_line, sample_line
from cassini_agent.counters.sources import Channel
from cassini_agent.counters.unwrap import MISSING, Unwrapper

MS = 1_000_000


@dataclass(frozen=True)
class Series:
    """Raw readings in bytes by device and direction; None: no value at that time. Times in whole ms."""

    times_ms: Sequence[int]
    columns: Mapping[tuple[str, str], Sequence[int | None]]

    @property
    def rows(self) -> list[tuple[int, dict[tuple[str, str], int | None]]]:
        return [(at, {key: column[n] for key, column in self.columns.items()}) for n, at in enumerate(self.times_ms)]


def recorded(series: Series) -> bytes:
    """As the agent records them: 64-bit counters."""
    unwrappers = {key: Unwrapper(wide=True) for key in series.columns}
    rows = [
        (
            at * MS,
            *(MISSING if raw is None else unwrappers[key].advance(raw, at * MS) for key, raw in values.items()),
        )
        for at, values in series.rows
    ]
    group = Group(MS, tuple(Channel(device, f"{way}_bytes", "bytes") for device, way in series.columns))
    return header_line([group], {}) + b"".join(sample_line(0, rows[i : i + 999]) for i in range(0, len(rows), 999))


def csv_with(time: str) -> Callable[[Series], bytes]:
    """A table whose time is called so."""

    def write(series: Series) -> bytes:
        lines = [",".join([time, *(f"{device} {way}_bytes" for device, way in series.columns)])]
        for at, values in series.rows:
            lines.append(",".join([_time(time, at), *("" if raw is None else str(raw) for raw in values.values())]))
        return "".join(f"{line}\n" for line in lines).encode()

    return write


def _time(name: str, at_ms: int) -> str:
    if name == "time":
        return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=at_ms)).isoformat()
    return {
        "time_s": f"{at_ms // 1000}.{at_ms % 1000:03d}",
        "time_ms": f"{at_ms}",
        "time_us": f"{at_ms}000",
        "time_ns": f"{at_ms}000000",
    }[name]


_METRICS = {
    "tx": "node_infiniband_port_data_transmitted_bytes_total",
    "rx": "node_infiniband_port_data_received_bytes_total",
}


def text_format(series: Series) -> bytes:
    """Snapshots with timestamps, one after the other, other metrics between them."""
    lines = []
    for at, values in series.rows:
        lines += ["# HELP node_load1 1m load average.", "# TYPE node_load1 gauge", f"node_load1 0.5 {at}"]
        for (device, way), raw in values.items():
            name, _, port = device.partition("/")
            if raw is not None:
                lines.append(f'{_METRICS[way]}{{device="{name}",port="{port}"}} {float(raw)!r} {at}')
    return "".join(f"{line}\n" for line in lines).encode()


def query_range(series: Series) -> bytes:
    """A response of Prometheus."""
    result = []
    for (device, way), column in series.columns.items():
        name, _, port = device.partition("/")
        values = [[at / 1000, str(raw)] for at, raw in zip(series.times_ms, column, strict=True) if raw is not None]
        result.append({"metric": {"__name__": _METRICS[way], "device": name, "port": port}, "values": values})
    return json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}}).encode()


def _statistic(values: Mapping[tuple[str, str], int | None]) -> list[dict[str, object]]:
    """What ``rdma -j statistic show`` prints, as iproute2's rdma/stat.c has it."""
    ports: dict[str, dict[str, object]] = {}
    for (device, way), raw in values.items():
        name, _, port = device.partition("/")
        entry = ports.setdefault(device, {"ifname": name, "port": int(port), "lifespan": 10})
        if raw is not None:
            entry[f"{way}_bytes"] = raw
    return list(ports.values())


def rdma_prefixed(series: Series) -> bytes:
    """``echo "$(date +%s.%N) $(rdma -j statistic show)"``."""
    return "".join(
        f"{_time('time_s', at)}000000 {json.dumps(_statistic(values))}\n" for at, values in series.rows
    ).encode()


def rdma_wrapped(series: Series) -> bytes:
    """``rdma -j statistic show | jq -c '{time_s: now, statistic: .}'``."""
    return "".join(
        json.dumps({"time_s": at / 1000, "statistic": _statistic(values)}) + "\n" for at, values in series.rows
    ).encode()


FORMATS: Mapping[str, Callable[[Series], bytes]] = {
    "recorded": recorded,
    **{f"csv {time}": csv_with(time) for time in ("time", "time_s", "time_ms", "time_us", "time_ns")},
    "text format": text_format,
    "query_range": query_range,
    "rdma prefixed": rdma_prefixed,
    "rdma wrapped": rdma_wrapped,
}
