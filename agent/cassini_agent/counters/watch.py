"""What the daemon asks of counters: the newest figures, and what they say about its jobs."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from . import netdev, rdma
from .bursts import Burst, BurstDetector
from .sampler import MOST_CPU, Row, Sampler
from .sources import Source
from .starts import SILENT, Heard, Witness, witness
from .unwrap import BREAK, MISSING

__all__ = ["CounterWatch", "open_sources"]

_BURSTS_KEPT = 4096
_SECOND_NS = 1_000_000_000
_MOST_JOBS = 32  # some 0.4 ms each, once a second
_SECONDS_KEPT = 11


def open_sources(
    ports: Iterable[str] | None = None, devices: Iterable[str] | None = None, *, root: str = "/"
) -> tuple[list[Source], list[Source]]:
    """Sources of bytes, and sources of marks of congestion.

    Without any names: the active RDMA ports, since what they carry is not counted by network devices; where there are
    none, the devices of the default routes. With names: what is named. The marks that TCP sees are always there.

    Parameters
    ----------
    ports : iterable of str, optional
        RDMA devices or ports, ``mlx5_0`` or ``mlx5_0/1``.
    devices : iterable of str, optional
        Network devices.

    Raises
    ------
    ValueError
        An RDMA device or port that is named is not there. (A network device may come later.)
    """
    named = list(ports or ())
    found = rdma.find_ports(named, root=root)
    there = {name for port in found for name in (port.device, port.name)}
    for name in named:
        if name not in there:
            raise ValueError(f"no RDMA device or port {name!r} below {root}sys/class/infiniband")
    if ports is None and devices is None:
        found = [port for port in rdma.find_ports(root=root) if port.active]
        devices = () if found else netdev.default_devices(root)
    data: list[Source] = []
    marks = [netdev.open_marks(root=root)]
    for port in found:
        of_bytes, of_marks = rdma.open_port(port, root=root)
        data += of_bytes
        marks += of_marks
    return data + [netdev.open_device(name, root=root) for name in devices or ()], marks


class CounterWatch:
    """Samples counters, and compares their bursts with what jobs report.

    Every method may be called from any thread. At least every 16 s one of :meth:`latest`, :meth:`witness` or
    :meth:`poll` must be, or samples are lost to the search for bursts (never wrong: lost).

    Parameters
    ----------
    data, marks : sequence of Source
        From :func:`open_sources`.
    most_cpu, clock
        As :class:`.sampler.Sampler` takes them.
    """

    def __init__(
        self,
        data: Sequence[Source],
        marks: Sequence[Source] = (),
        *,
        most_cpu: float | None = MOST_CPU,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.sampler = Sampler(data, marks, most_cpu=most_cpu, clock=clock)
        self._lock = threading.Lock()
        self._detector = BurstDetector()
        self._bursts: deque[Burst] = deque(maxlen=_BURSTS_KEPT)
        self._totals = [MISSING] * len(self.sampler.channels)
        self._marks = [0] * len(self.sampler.slow_channels)
        self._counted = 0
        self._known_ns: int | None = None
        self._seen_ns = 0
        # Once a second: time, totals, marks.
        self._history: deque[tuple[int, list[int], list[int]]] = deque(maxlen=_SECONDS_KEPT)

    def start(self) -> None:
        """Start sampling."""
        self.sampler.start()

    def stop(self) -> None:
        """Stop sampling and close the sources."""
        self.sampler.stop()

    def poll(self) -> None:
        """Look at what was sampled since the last time; some 2 µs a sample."""
        with self._lock:
            while self.sampler.rows:
                self._take(self.sampler.rows.popleft())

    def latest(self) -> dict[str, Any]:
        """The newest figures, as JSON values.

        ``devices``: for each its totals since the start, ``tx_gbps`` and ``rx_gbps`` over the last second, and
        ``rate_gbps`` of the link (null where unknown); ``marks_per_s``: congestion marks of all together, by kind, over
        the last ten seconds; ``bursts``, ``interval_ms``, ``refresh_ms``, ``samples``, ``missed``, ``errors``,
        ``cpu_share``; ``note``: what is wrong, or null.
        """
        self.poll()
        sampler = self.sampler
        with self._lock:
            return {
                "devices": self._devices(),
                "marks_per_s": self._marks_per_s(),
                "bursts": len(self._bursts),
                "interval_ms": sampler.now_interval_ns / 1e6,
                "refresh_ms": self._refresh_ms(),
                "samples": sampler.samples,
                "missed": sampler.missed,
                "errors": sampler.errors,
                "cpu_share": round(sampler.cpu_share, 5),
                "note": self._no_counters() or "; ".join(sampler.problems()) or None,
            }

    def witness(self, jobs: Mapping[str, Heard]) -> dict[str, Witness]:
        """What the counters say about each of the jobs that run on this host, all of them given."""
        self.poll()
        with self._lock:
            nothing = self._no_counters() or self._missing() or self._no_bursts()
            bursts = list(self._bursts)
        if len(jobs) > _MOST_JOBS:
            nothing = nothing or f"{len(jobs)} jobs on this host: too many to tell whose bursts these are"
        if nothing:
            return {job: Witness(SILENT, nothing) for job in jobs}
        found = {job: witness(bursts, heard) for job, heard in jobs.items()}
        said = {}
        for job, one in found.items():
            others = [other for other in jobs if other != job and not found[other].apart]
            if others:
                why = f"bursts may be those of other jobs of this host too: {_few(others)}"
                said[job] = Witness(SILENT, why, iterations=one.iterations)
            elif len(jobs) > 1:
                said[job] = replace(one, reason=f"{one.reason}; {len(jobs)} jobs on this host")
            else:
                said[job] = one
        return said

    def _take(self, row: Row) -> None:
        """One sample: the bytes of all devices, both directions, are one stream."""
        now_ns, *values = row
        self._seen_ns = now_ns
        for number, value in enumerate(values):
            last = self._totals[number]
            if value >= 0:
                # What was counted while there was no value comes with this one; a break left the total as it was.
                self._counted += value - last if last >= 0 else 0
                self._totals[number] = value
        if any(value != MISSING for value in values):
            self._known_ns = now_ns
            burst = self._detector.feed(now_ns, BREAK if BREAK in values else self._counted)
            if burst is not None:
                self._bursts.append(burst)
        if BREAK in values:
            self._history.clear()  # No rate may be taken across it.
        elif not self._history or now_ns - self._history[-1][0] >= _SECOND_NS:
            newest = zip(self._marks, self.sampler.slow, strict=True)
            self._marks = [value if value >= 0 else last for last, value in newest]
            self._history.append((now_ns, list(self._totals), self._marks))

    def _no_counters(self) -> str | None:
        if self._known_ns is not None and self._seen_ns - self._known_ns < _SECOND_NS:
            return None
        if not self.sampler.channels:
            return "no counters: no device"
        problems = self.sampler.problems()
        return f"no counters: {problems[0]}" if problems else "no counters yet"

    def _missing(self) -> str | None:
        """Whether some bytes are not counted: what is seen then may be another job's than what is not."""
        missing = [
            f"{channel.device} {channel.name}"
            for channel, total in zip(self.sampler.channels, self._totals, strict=True)
            if total == MISSING
        ]
        return f"no value of {_few(missing)}" if missing else None

    def _no_bursts(self) -> str | None:
        if self._bursts:
            return None
        if self._detector.distinct:
            return f"no bursts are seen; counters are read or refreshed every {self._refresh_ms():.0f} ms"
        devices = _few(sorted({channel.device for channel in self.sampler.channels}))
        if self._detector.peak:
            return f"the traffic of {devices} has no bursts"
        return f"no traffic is counted on {devices}, or not for long enough"

    def _refresh_ms(self) -> float:
        """How far apart the values are that differ."""
        return (self._detector.still_ns + self.sampler.now_interval_ns) / 1e6

    def _marks_per_s(self) -> dict[str, float | None]:
        """Congestion marks of all devices together, by kind; null until two readings lie a second apart."""
        per_s: dict[str, float | None] = {channel.name: None for channel in self.sampler.slow_channels}
        if len(self._history) > 1:
            (first_ns, _, before), (last_ns, _, after) = self._history[0], self._history[-1]
            seconds = (last_ns - first_ns) / _SECOND_NS
            for channel, a, b in zip(self.sampler.slow_channels, before, after, strict=True):
                per_s[channel.name] = round((per_s[channel.name] or 0) + (b - a) / seconds, 3)
        return per_s

    def _devices(self) -> dict[str, dict[str, Any]]:
        devices: dict[str, dict[str, Any]] = {}
        rates = self._rates()
        for channel, total, rate in zip(self.sampler.channels, self._totals, rates, strict=True):
            entry = devices.setdefault(channel.device, {"rate_gbps": channel.gbps})
            entry[channel.name] = total if total >= 0 else None
            entry[channel.name.replace("_bytes", "_gbps")] = rate
        return devices

    def _rates(self) -> list[float | None]:
        if len(self._history) < 2:
            return [None] * len(self._totals)
        (first_ns, before, _), (last_ns, after, _) = self._history[-2], self._history[-1]
        return [
            round(8 * (b - a) / (last_ns - first_ns), 4) if a >= 0 else None for a, b in zip(before, after, strict=True)
        ]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
