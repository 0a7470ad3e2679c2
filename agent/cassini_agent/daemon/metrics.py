"""Prometheus metrics, in a registry of their own. Jobs come and go with the daemon's memory of them.

Values are copied on the event loop, a few jobs at a time; the text is made in a thread. However often somebody asks, no
more than a tenth of the time goes into this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Gauge, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.registry import Collector

from ..counters.starts import CONFIRM, CONTRADICT, SILENT
from ..schedule import SECOND_NS
from .counts import Counts
from .registry import Job, Registry
from .status import CounterView

__all__ = ["Metrics"]

SHARE = 0.1
"""Of the time, for making texts; until the next may be made the last one is given again."""

JOBS_PER_TURN = 16
LAG_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
STATES = ("waiting", "held", "adjusting", "free", "expired")

_PER_JOB: tuple[tuple[str, str, bool], ...] = (
    ("job_phase_error_seconds", "Median distance of the last iterations from the grid; negative is early", False),
    ("job_phase_error_spread_seconds", "Median distance of the last phase errors from their median", False),
    ("job_iteration_seconds", "Median uncontrolled iteration time of the last iterations", False),
    ("job_iteration_drift_seconds", "Uncontrolled iteration time less the one its schedule was made for", False),
    ("job_pace_seconds", "Iteration time the job has to hold", False),
    ("job_connected", "Connections of the job", False),
    ("job_iterations", "Iterations the job has told of", True),
    ("job_adjustments", "Corrections of more than the dead band", True),
    ("job_delay_seconds", "Delay the agent has added to the job", True),
    ("job_dropped_messages", "Messages the job could not send", True),
)


class _JobValues(NamedTuple):
    job: str
    state: str
    values: tuple[float | None, ...]
    """In the order of ``_PER_JOB``."""
    counters_say: str | None
    marks_per_iteration: dict[str, float | None]


class Metrics:
    """All metrics of one daemon.

    Attributes
    ----------
    loop_lag : prometheus_client.Histogram
        How late the event loop wakes up, seconds.
    """

    def __init__(
        self,
        registry: Registry,
        counts: Counts,
        counters: CounterView,
        monotonic_ns: Callable[[], int],
        gauges: dict[str, tuple[str, Callable[[], float]]],
        totals: dict[str, tuple[str, Callable[[], float]]],
    ) -> None:
        self._registry = registry
        self._counts = counts
        self._counters = counters
        self._monotonic_ns = monotonic_ns
        self._totals = totals
        self._snapshot: list[Metric] = []
        self._text = b""
        self._good_until = 0.0
        self._rendering: asyncio.Task[bytes] | None = None
        self._prometheus = CollectorRegistry(auto_describe=False)
        self.loop_lag = Histogram(
            "cassini_agent_loop_lag_seconds",
            "How late the event loop wakes up",
            buckets=LAG_BUCKETS_S,
            registry=self._prometheus,
        )
        for name, (text, read) in gauges.items():
            Gauge(f"cassini_agent_{name}", text, registry=self._prometheus).set_function(read)
        self._prometheus.register(_Snapshot(lambda: self._snapshot))

    async def render(self) -> tuple[bytes, str]:
        """The text and its content type."""
        loop = asyncio.get_running_loop()
        if self._rendering is None:
            if loop.time() < self._good_until:
                return self._text, CONTENT_TYPE_LATEST
            self._rendering = asyncio.ensure_future(self._render())
        return await asyncio.shield(self._rendering), CONTENT_TYPE_LATEST

    async def _render(self) -> bytes:
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            self._text = await self._make_text()
        finally:
            self._rendering = None
        self._good_until = loop.time() + (loop.time() - began) * (1 / SHARE - 1)
        return self._text

    async def _make_text(self) -> bytes:
        self._counters.refresh()
        rows = await self._job_values()
        self._snapshot = [*self._own(), *self._ports()]
        return await asyncio.to_thread(self._generate, rows)

    def _generate(self, rows: list[_JobValues]) -> bytes:
        self._snapshot.extend(_of_jobs(rows))
        return generate_latest(self._prometheus)

    async def _job_values(self) -> list[_JobValues]:
        rows: list[_JobValues] = []
        for job in list(self._registry):
            if len(rows) % JOBS_PER_TURN == 0:
                await asyncio.sleep(0)
            rows.append(_job_values(job, self._counters, self._monotonic_ns()))
        return rows

    def _own(self) -> Iterator[Metric]:
        counted: tuple[tuple[str, str, list[str], Mapping[Any, int]], ...] = (
            ("events", "What happened, by kind", ["event"], self._counts.events),
            ("refused", "What was refused, and why", ["where", "reason"], self._counts.refused),
            ("errors", "What failed inside the daemon", ["where"], self._counts.errors),
        )
        for name, text, labels, counts in counted:
            family = CounterMetricFamily(f"cassini_agent_{name}", text, labels=labels)
            for key, many in counts.items():
                family.add_metric([key] if isinstance(key, str) else list(key), many)
            yield family
        for name, (text, read) in self._totals.items():
            yield CounterMetricFamily(f"cassini_agent_{name}", text, value=read())

    def _ports(self) -> Iterator[Metric]:
        """Numbers of the counters, flattened: ``{"mlx5_0": {"tx_bps": 1}}`` is ``mlx5_0.tx_bps``."""
        family = GaugeMetricFamily("cassini_agent_counter", "Newest sample of the port counters", labels=["name"])
        for name, value in _flat(self._counters.latest or {}):
            family.add_metric([name], value)
        yield family


def _job_values(job: Job, counters: CounterView, now_ns: int) -> _JobValues:
    told = job.measurements
    error_ns, spread_ns = told.error_ns()
    iteration_ns, _ = told.iteration_ns()
    held = job.in_force(now_ns)
    drift_ns = None if held is None or iteration_ns is None else iteration_ns - held.iteration_ns
    pace_ns = None if held is None else held.pace_ns
    durations = (error_ns, spread_ns, iteration_ns, drift_ns, pace_ns)
    counts = (len(job.links), told.iterations, told.adjustments, told.delay_total_ns / SECOND_NS, told.dropped)
    seconds = (None if value is None else value / SECOND_NS for value in durations)
    said = counters.said_of(job)
    marks = counters.marks_per_iteration(iteration_ns) or {}
    return _JobValues(job.id, told.state, (*seconds, *counts), None if said is None else said.says, marks)


def _of_jobs(rows: list[_JobValues]) -> Iterator[Metric]:
    for column, (name, text, counts) in enumerate(_PER_JOB):
        kind = CounterMetricFamily if counts else GaugeMetricFamily
        family = kind(f"cassini_agent_{name}", text, labels=["job"])
        for row in rows:
            value = row.values[column]
            if value is not None:
                family.add_metric([row.job], value)
        yield family
    states = GaugeMetricFamily("cassini_agent_jobs_by_state", "Jobs, by what they say of themselves", labels=["state"])
    for state in STATES:
        states.add_metric([state], sum(row.state == state for row in rows))
    yield states
    says = GaugeMetricFamily("cassini_agent_jobs_by_counters_say", "Jobs, by what counters say", labels=["says"])
    for word in (CONFIRM, CONTRADICT, SILENT):
        says.add_metric([word], sum(row.counters_say == word for row in rows))
    yield says
    text = "Congestion marks that the ports of the host count in the time of an iteration"
    marks = GaugeMetricFamily("cassini_agent_job_marks_per_iteration", text, labels=["job", "mark"])
    for row in rows:
        for mark, value in row.marks_per_iteration.items():
            if value is not None:
                marks.add_metric([row.job, mark], value)
    yield marks


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, float(value)


class _Snapshot(Collector):
    def __init__(self, read: Callable[[], Iterable[Metric]]) -> None:
        self._read = read

    def collect(self) -> Iterable[Metric]:
        return self._read()

    def describe(self) -> Iterable[Metric]:
        """Nothing: the names are not known before the first scrape."""
        return ()
