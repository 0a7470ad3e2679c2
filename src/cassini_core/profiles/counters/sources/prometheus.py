"""Counters of node_exporter: as Prometheus answers a query, or in its text format with timestamps.

Times are Prometheus' own, in ms at best. One page of a node_exporter says no time at all and is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

import msgspec

from ....errors import InputError, shown, worded
from ..samples import Recording
from .readings import Readings, read_lines, seconds_ns, total_of

__all__ = ["read_query_range", "read_text_format"]

_DIRECTIONS = {
    "node_infiniband_port_data_transmitted_bytes_total": "tx",
    "node_infiniband_port_data_received_bytes_total": "rx",
    "node_network_transmit_bytes_total": "tx",
    "node_network_receive_bytes_total": "rx",
}
_LINE = re.compile(rf'(?:(?:{"|".join(_DIRECTIONS)})\b|\{{.*__name__="(?:{"|".join(_DIRECTIONS)})")')
_CHOOSE = "bonds, bridges and VLANs count the bytes of the devices below them again, and other hosts run other jobs"
_QUERY = (
    "query the counter itself, without rate() or sum(), e.g. {__name__=~'node_infiniband_port_data_.*_bytes_total'}"
)


LONGEST_REASON = 200
"""Characters of a library's message."""


class _Series(msgspec.Struct):
    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Matrix(msgspec.Struct):
    resultType: Literal["matrix"]
    result: list[_Series]


class _Response(msgspec.Struct):
    status: Literal["success"]
    data: _Matrix


def read_query_range(name: str, data: bytes) -> Recording:
    """Read a response of ``/api/v1/query_range``; errors name the series and the value."""
    try:
        response = msgspec.json.decode(data, type=_Response)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        # The library quotes a word that it does not expect, however long.
        raise InputError(f"{name}: expected a response of query_range: {str(error)[:LONGEST_REASON]}") from None
    readings = Readings()
    for number, series in enumerate(response.data.result):
        for place, (at, text) in enumerate(series.values):
            try:
                _add(readings, series.metric.get("__name__"), series.metric, seconds_ns(repr(at)), text)
            except ValueError as error:
                raise InputError(f"{name}: data.result[{number}].values[{place}]: {error}") from None
    # Where a step is shorter than the scrape interval, the sample before is said again.
    return _recording(readings, name, None, repeats=True)


def read_text_format(name: str, data: bytes) -> Recording:
    """Read samples with timestamps, in any order of series: of ``/federate``, or of ``promtool tsdb dump``.

    Errors name the line. Other metrics are passed over.
    """
    try:
        from prometheus_client.parser import text_string_to_metric_families
    except ImportError:
        raise InputError(
            f"{name}: reading Prometheus' text format needs the package prometheus-client "
            "(pip install 'cassini-core[profiles]')"
        ) from None
    readings = Readings()

    def take(line: str) -> None:
        if not _LINE.match(line):
            return
        try:
            ((sample,),) = (family.samples for family in text_string_to_metric_families(line))
        except (ValueError, IndexError, OverflowError):
            raise ValueError(f"expected a sample, got {shown(line)}") from None
        if sample.timestamp is None:
            raise ValueError(
                f"expected a timestamp after the value of {worded(sample.name)}, got none; a page of node_exporter "
                "does not say when it was read: save /federate of Prometheus repeatedly, or a response of query_range"
            )
        at_ns = seconds_ns(repr(float(sample.timestamp)))
        # Prometheus counts ms; as seconds they are not exact.
        _add(readings, sample.name, sample.labels, round(at_ns, -6), str(sample.value))

    problem = read_lines(name, data, take)
    return _recording(readings, name, problem)


def _add(readings: Readings, metric: str | None, labels: Mapping[str, str], at_ns: int, text: str) -> None:
    if metric not in _DIRECTIONS:
        got = "a series without a name" if metric is None else shown(metric)
        raise ValueError(f"expected one of {', '.join(_DIRECTIONS)}, got {got}; {_QUERY}")
    if not labels.get("device"):
        raise ValueError(f"expected a label device, got none; {_QUERY}")
    port = f"/{labels['port']}" if "port" in labels else ""
    host = f"@{labels['instance']}" if "instance" in labels else ""
    readings.add(f"{labels['device']}{port}{host}", _DIRECTIONS[metric], at_ns, total_of(text))


def _recording(readings: Readings, name: str, problem: str | None, repeats: bool = False) -> Recording:
    if not len(readings):
        raise InputError(f"{name}: expected one of {', '.join(_DIRECTIONS)} among the metrics, got none; {_QUERY}")
    return readings.recording(name, "Prometheus", problem=problem, choose=_CHOOSE, repeats=repeats)
