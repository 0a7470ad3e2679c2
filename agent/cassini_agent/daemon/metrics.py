"""Prometheus metrics. Jobs come and go with the daemon's memory of them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ..counters.starts import CONFIRM, CONTRADICT, SILENT
from ..schedule import SECOND_NS
from .log import Log
from .registry import Registry
from .status import CounterView, job_status

__all__ = ["Metrics"]

JOBS_PER_TURN = 16
STATES = ("waiting", "held", "adjusting", "unlocked", "free", "expired", "silent")

Status = Mapping[str, Any]
Values = Mapping[str, tuple[str, Callable[[], float]]]


def _seconds(key: str) -> Callable[[Status], float | None]:
    return lambda job: None if job[key] is None else job[key] / SECOND_NS


def _in_force(job: Status) -> Status | None:
    return None if job["state"] == "expired" else job["schedule"]


def _drift_s(job: Status) -> float | None:
    held, now_ns = _in_force(job), job["iteration_ns"]
    return None if held is None or now_ns is None else (now_ns - held["iteration_ns"]) / SECOND_NS


def _pace_s(job: Status) -> float | None:
    held = _in_force(job)
    return None if held is None else held["pace_ns"] / SECOND_NS


_GAUGES: tuple[tuple[str, str, Callable[[Status], float | None]], ...] = (
    (
        "phase_error_seconds",
        "Median distance of the last iterations from the grid; negative is early",
        _seconds("error_ns"),
    ),
    (
        "phase_error_spread_seconds",
        "Median distance of the last phase errors from their median",
        _seconds("error_spread_ns"),
    ),
    ("iteration_seconds", "Median uncontrolled iteration time of the last iterations", _seconds("iteration_ns")),
    ("iteration_drift_seconds", "Uncontrolled iteration time less the one its schedule was made for", _drift_s),
    ("pace_seconds", "Iteration time the job has to hold", _pace_s),
    ("connected", "Whether its rank 0 is", lambda job: job["connected"]),
)
_TOTALS: tuple[tuple[str, str, Callable[[Status], float | None]], ...] = (
    ("iterations", "Iterations the job has told of", lambda job: job["iterations"]),
    ("adjustments", "Corrections of more than the dead band", lambda job: job["adjustments"]),
    ("delay_seconds", "Delay the agent has added to the job", _seconds("delay_total_ns")),
    ("dropped_messages", "Messages the job could not send", lambda job: job["dropped"]),
)


class Metrics:
    """All metrics of one daemon.

    Parameters
    ----------
    gauges, totals : mapping of str to (str, callable)
        Of the daemon itself: what each is, and what gives its value.
    """

    def __init__(
        self,
        registry: Registry,
        log: Log,
        counters: CounterView,
        monotonic_ns: Callable[[], int],
        gauges: Values,
        totals: Values,
    ) -> None:
        self._registry = registry
        self._log = log
        self._counters = counters
        self._monotonic_ns = monotonic_ns
        self._gauges = gauges
        self._totals = totals
        self._process = ProcessCollector(registry=None)

    async def render(self) -> tuple[bytes, str]:
        """The text, made in a thread, and its content type."""
        jobs: list[Status] = []
        for number, job in enumerate(list(self._registry), 1):
            jobs.append(job_status(job, self._counters, self._monotonic_ns()))
            if number % JOBS_PER_TURN == 0:
                await asyncio.sleep(0)
        found = _Found([*self._own(), *_of_jobs(jobs), *self._process.collect()])
        return await asyncio.to_thread(generate_latest, found), CONTENT_TYPE_LATEST

    def _own(self) -> Iterator[Metric]:
        for name, (text, read) in self._gauges.items():
            yield GaugeMetricFamily(f"cassini_agent_{name}", text, value=read())
        for name, (text, read) in self._totals.items():
            yield CounterMetricFamily(f"cassini_agent_{name}", text, value=read())
        yield _family(CounterMetricFamily, "events", "What happened, by kind", ["event"], self._log.events)
        yield _family(CounterMetricFamily, "errors", "What failed inside the daemon", ["where"], self._log.errors)
        refusals = CounterMetricFamily("cassini_agent_refused", "What was refused, and why", labels=["where", "reason"])
        for labels, many in self._log.refusals.items():
            refusals.add_metric(labels, many)
        yield refusals
        ports = dict(_flat(self._counters.latest or {}))
        yield _family(GaugeMetricFamily, "counter", "Newest sample of the port counters", ["name"], ports)


def _family(
    kind: type[GaugeMetricFamily | CounterMetricFamily],
    name: str,
    text: str,
    labels: list[str],
    values: Mapping[str, float],
) -> Metric:
    family = kind(f"cassini_agent_{name}", text, labels=labels)
    for label, value in values.items():
        family.add_metric([label], value)
    return family


def _of_jobs(jobs: list[Status]) -> Iterator[Metric]:
    for kind, columns in ((GaugeMetricFamily, _GAUGES), (CounterMetricFamily, _TOTALS)):
        for name, text, read in columns:
            values = {job["job"]: value for job in jobs if (value := read(job)) is not None}
            yield _family(kind, f"job_{name}", text, ["job"], values)
    states = Counter(job["state"] for job in jobs)
    by_state = {state: states[state] for state in STATES}
    yield _family(GaugeMetricFamily, "jobs_by_state", "Jobs, by state", ["state"], by_state)
    says = Counter(job["counters_say"]["says"] for job in jobs if job["counters_say"])
    by_word = {word: says[word] for word in (CONFIRM, CONTRADICT, SILENT)}
    yield _family(GaugeMetricFamily, "jobs_by_counters_say", "Jobs, by what counters say", ["says"], by_word)
    text = "Congestion marks that the ports of the host count in the time of an iteration"
    marks = GaugeMetricFamily("cassini_agent_job_marks_per_iteration", text, labels=["job", "mark"])
    for job in jobs:
        for mark, value in (job["marks_per_iteration"] or {}).items():
            if value is not None:
                marks.add_metric([job["job"], mark], value)
    yield marks


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """Numbers of the counters: ``{"mlx5_0": {"tx_bps": 1}}`` is ``mlx5_0.tx_bps``."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else str(key))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, float(value)


class _Found(Collector):
    """As the library takes it."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterable[Metric]:
        return self._metrics
