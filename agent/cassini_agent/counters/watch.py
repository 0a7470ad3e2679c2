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
from .sampler import INTERVAL_NS, MOST_CPU, Sampler
from .sources import Source
from .starts import SILENT, Heard, Witness, witness
from .unwrap import BREAK, MISSING

__all__ = ["CounterWatch", "open_sources"]

_BURSTS_KEPT = 4096
_RATE_NS = 1_000_000_000
_MOST_JOBS = 32  # some 0.3 ms each, once a second
_MARKS = frozenset(("cnp_sent", "cnp_handled", "ecn_marked"))
_MARKS_KEPT = 11  # readings, a second apart
_TOLERANCE_NS = 5_000_000


def open_sources(
    ports: Iterable[str] | None = None,
    devices: str | Iterable[str] | None = None,
    *,
    root: str = "/",
    pid: int | str = "self",
) -> tuple[list[Source], list[Source]]:
    """Sources to be read at each tick, and those to be read now and then, by rule.

    Without any names: the active RDMA ports, since what they carry is not counted by network devices; where there are
    none, the devices of the default routes. With names: what is named. What TCP counts is always among the slow ones.

    Parameters
    ----------
    ports : iterable of str, optional
        RDMA devices or ports, ``mlx5_0`` or ``mlx5_0/1``.
    devices : str or iterable of str, optional
        ``default``, ``all`` or names, see :func:`.netdev.find_devices`.
    pid : int or str
        A process in the job's network namespace.

    Raises
    ------
    ValueError
        An RDMA device or port that is named is not there. (A network device may come later.)
    """
    ports = None if ports is None else list(ports)
    fast: list[Source] = []
    slow: list[Source] = []
    found = rdma.find_ports(ports, root=root) if ports is not None or devices is None else []
    there = {name for port in found for name in (port.device, port.name)}
    for name in ports or ():
        if name not in there:
            raise ValueError(f"no RDMA device or port {name!r} below {root}sys/class/infiniband")
    if ports is None:
        found = [port for port in found if port.active]
        if devices is None and not found:
            devices = netdev.DEFAULT_ROUTE
    opened = [rdma.open_port(port, root=root) for port in found]
    if devices is not None:
        names = netdev.find_devices(devices, root=root, pid=pid)
        opened += [netdev.open_device(name, root=root, pid=pid) for name in names]
    for more_fast, more_slow in opened:
        fast += more_fast
        slow += more_slow
    return fast, slow + netdev.open_tcp(root=root, pid=pid)


class CounterWatch:
    """Samples counters, and compares their bursts with what jobs report.

    Every method may be called from any thread. At least every 16 s one of :meth:`latest`, :meth:`witness` or
    :meth:`poll` must be, or samples are lost to the search for bursts (never wrong: lost).

    Parameters
    ----------
    fast, slow : sequence of Source
        From :func:`open_sources`.
    interval_ns, most_cpu
        As :class:`.sampler.Sampler` takes them.
    tolerance_ns : int
        How far a burst may lie from the start that a job reports. Waiting for other ranks between the start of a
        collective and its first byte is part of it.
    """

    def __init__(
        self,
        fast: Sequence[Source],
        slow: Sequence[Source] = (),
        *,
        interval_ns: int = INTERVAL_NS,
        most_cpu: float | None = MOST_CPU,
        tolerance_ns: int = _TOLERANCE_NS,
        clock: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        self.sampler = Sampler(fast, slow, interval_ns=interval_ns, most_cpu=most_cpu, clock=clock)
        self._tolerance_ns = tolerance_ns
        self._lock = threading.Lock()
        self._detector = BurstDetector(interval_ns)
        self._bursts: deque[Burst] = deque(maxlen=_BURSTS_KEPT)
        self._marks: deque[tuple[int, dict[str, int]]] = deque(maxlen=_MARKS_KEPT)
        self._fast, self._slow = self.sampler.subscribe()
        self._totals = [MISSING] * len(self.sampler.fast_channels)
        self._counted: int | None = None
        self._known_ns = self._seen_ns = 0
        self._history: deque[tuple[int, tuple[int, ...]]] = deque(maxlen=64)

    def start(self) -> None:
        """Start sampling."""
        self.sampler.start()

    def stop(self) -> None:
        """Stop sampling and close the sources."""
        self.sampler.stop()

    def poll(self) -> None:
        """Look at what was sampled since the last time; some 2 µs a sample."""
        with self._lock:
            while self._fast:
                row = self._fast.popleft()
                self._take(row[0], row[1:])

    def latest(self) -> dict[str, Any]:
        """The newest figures, as JSON values.

        ``devices``: for each its totals since the start, ``tx_gbps`` and ``rx_gbps`` over the last second, and
        ``rate_gbps`` of the link (null where unknown); ``host``: what is counted per namespace; ``marks_per_s``:
        congestion marks of all together, over the last ten seconds; ``bursts``, ``interval_ms``, ``refresh_ms``,
        ``samples``, ``missed``, ``errors``, ``cpu_share``; ``note``: what is wrong, or null.
        """
        self.poll()
        stats = self.sampler.stats()
        with self._lock:
            devices = self._devices()
            return {
                "devices": {name: values for name, values in devices.items() if name},
                "host": devices.get("", {}),
                "marks_per_s": self._marks_per_s(devices),
                "bursts": len(self._bursts),
                "interval_ms": stats.interval_ns / 1e6,
                "refresh_ms": self._detector.refresh_ns / 1e6,
                "samples": stats.samples,
                "missed": stats.missed,
                "errors": stats.errors,
                "cpu_share": round(stats.cpu_share, 5),
                "note": self._no_counters() or "; ".join(self.sampler.problems()) or None,
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
        found = {job: witness(bursts, heard, self._tolerance_ns) for job, heard in jobs.items()}
        sharing = [job for job in jobs if found[job].steady is not False]
        for job in jobs:
            others = [other for other in sharing if other != job]
            if others:
                found[job] = found[job].silenced(f"bursts may be those of other jobs of this host too: {_few(others)}")
            elif len(jobs) > 1:
                found[job] = replace(found[job], reason=f"{found[job].reason}; {len(jobs)} jobs on this host")
        return found

    def _take(self, now_ns: int, values: Sequence[int]) -> None:
        """One sample: the bytes of all devices, both directions, are one stream."""
        self._seen_ns = now_ns
        before, self._totals = self._totals, list(values)
        counted = self._counted or 0
        broken = known = False
        for number, (last, value) in enumerate(zip(before, values, strict=True)):
            if value == MISSING:
                # What it counts meanwhile comes with its next value.
                self._totals[number] = last
                continue
            known = True
            if value == BREAK or last < 0:
                broken = broken or value == BREAK
                continue
            counted += value - last
        if not known:
            return
        self._counted, self._known_ns = counted, now_ns
        burst = self._detector.feed(now_ns, BREAK if broken else counted)
        if burst is not None:
            self._bursts.append(burst)
        if broken:
            self._history.clear()  # No rate may be taken across it.
        elif not self._history or now_ns - self._history[-1][0] >= _RATE_NS // 10:
            self._history.append((now_ns, tuple(self._totals)))

    def _no_counters(self) -> str | None:
        if self._counted is not None and self._seen_ns - self._known_ns < _RATE_NS:
            return None
        if not self.sampler.fast_channels:
            return "no counters: no device"
        problems = self.sampler.problems()
        return f"no counters: {problems[0]}" if problems else "no counters yet"

    def _missing(self) -> str | None:
        """Whether some bytes are not counted: what is seen then may be another job's than what is not."""
        missing = [
            f"{channel.device} {channel.name}"
            for channel, total in zip(self.sampler.fast_channels, self._totals, strict=True)
            if total == MISSING
        ]
        return f"no value of {_few(missing)}" if missing else None

    def _no_bursts(self) -> str | None:
        if self._bursts:
            return None
        if self._detector.distinct:
            return f"no bursts are seen; counters are read or refreshed every {self._detector.refresh_ns / 1e6:.0f} ms"
        devices = sorted({channel.device for channel in self.sampler.fast_channels})
        if self._detector.peak:
            return f"the traffic of {_few(devices)} has no bursts"
        return f"no traffic is counted on {_few(devices)}, or not for long enough"

    def _marks_per_s(self, devices: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
        """Congestion marks of all devices together, by kind; null until two readings lie a second apart."""
        marks: dict[str, int] = {}
        for values in devices.values():
            for name in _MARKS & values.keys():
                marks[name] = marks.get(name, 0) + (values[name] or 0)
        now_ns = self._seen_ns
        if not self._marks or now_ns - self._marks[-1][0] >= _RATE_NS:
            self._marks.append((now_ns, marks))
        then_ns, before = self._marks[0]
        span = (now_ns - then_ns) / _RATE_NS
        return {
            name: round(max(0, total - before[name]) / span, 3) if span > 0 and name in before else None
            for name, total in sorted(marks.items())
        }

    def _devices(self) -> dict[str, dict[str, Any]]:
        devices: dict[str, dict[str, Any]] = {}
        rates = self._rates()
        for number, channel in enumerate(self.sampler.fast_channels):
            total = self._totals[number]
            entry = devices.setdefault(channel.device, {"rate_gbps": None})
            entry[channel.name] = total if total >= 0 else None
            entry[channel.name.replace("_bytes", "_gbps")] = rates[number]
        values = self._slow[-1][1:] if self._slow else [MISSING] * len(self.sampler.slow_channels)
        for channel, value in zip(self.sampler.slow_channels, values, strict=True):
            entry = devices.setdefault(channel.device, {})
            if channel.gauge:
                entry["rate_gbps"] = value / 1000 if value >= 0 else None
            else:
                entry[channel.name] = value if value >= 0 else None
        return devices

    def _rates(self) -> list[float | None]:
        if len(self._history) < 2:
            return [None] * len(self._totals)
        newest, last = self._history[-1]
        oldest, first = next(one for one in self._history if newest - one[0] <= 1.5 * _RATE_NS)
        span = newest - oldest
        return [
            round(8 * (b - a) / span, 4) if span > 0 and 0 <= a <= b else None for a, b in zip(first, last, strict=True)
        ]


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
