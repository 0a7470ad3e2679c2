"""The daemon as a whole: its parts, put together, run until it is told to stop."""

from __future__ import annotations

import asyncio
import math
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..counters.watch import CounterWatch, open_sources
from .clocks import Clocks, CoordinatorClock, SystemClocks, boot_id, wall_clock_error_ns
from .config import Config
from .counts import Counts
from .credentials import Credentials
from .http_api import HttpApi
from .journal import Journal, read_journal
from .local_socket import LocalSocket
from .logs import LogWriter, RefusalLog, make_logger
from .loop_lag import watch_loop_lag
from .metrics import Metrics
from .notify import notify, watchdog_s
from .passed import passed_sockets
from .registry import Registry
from .schedules import Schedules
from .status import CounterView

__all__ = ["Service", "run"]

HOUSEKEEPING_S = 1.0
JOURNAL_NAME = "jobs.jsonl"
SWITCH_INTERVAL_S = 0.0005
"""How long a thread may keep the loop from running; Python's own 5 ms would show in the delivery of schedules."""


def run(config: Config, clocks: Clocks | None = None, counters: CounterWatch | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises
    ------
    ConfigError
        See ``Config.check``.
    OSError
        The socket or the port is taken.
    """
    _raise_descriptor_limit()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    asyncio.run(Service(config, clocks or SystemClocks(), counters).serve())


class Service:
    """One daemon, on the sockets that were passed to the process, or its own.

    Parameters
    ----------
    config : Config
        Checked as the service is made.
    clocks : Clocks
        The host's.
    counters : CounterWatch, optional
        Of the host's ports; default as the configuration says.
    """

    def __init__(self, config: Config, clocks: Clocks, counters: CounterWatch | None = None) -> None:
        self._config = config
        self._passed = passed_sockets()
        if self._passed.http is not None:
            host, port = self._passed.http.getsockname()[:2]
            self._config = replace(config, host=host, port=port)
        access, self._tls = self._config.check(opens_socket=self._passed.jobs is None)
        self._counts = Counts()
        self._writer = LogWriter(config.log_file)
        self._log: Any = make_logger(self._writer, config.log_level)
        self._refusals = RefusalLog(self._log)
        self._source = counters or self._open_counters()
        self._counters = CounterView(self._source, self._counts)
        self._clock = CoordinatorClock(clocks)
        self._registry = Registry(config.limits)
        self._schedules = Schedules(self._registry, self._clock, boot_id())
        self._journal = self._open_journal()
        self._socket = LocalSocket(
            config.socket,
            self._registry,
            config.limits,
            self._counts,
            clocks,
            on_claimed=self._remember,
            on_refused=lambda reason, details: self._refusals("socket", reason, details),
        )
        self._metrics = self._make_metrics()
        self._http = HttpApi(
            self._registry,
            self._schedules,
            self._clock,
            self._counters,
            self._journal,
            access,
            config.limits,
            self._counts,
            self._metrics.render,
            on_refused=lambda reason, details: self._refusals("http", reason, details),
        )
        self._credentials = Credentials(config, self._http.use, self._on_unfit_credentials)
        self._stopping = asyncio.Event()

    async def serve(self) -> None:
        """From start to stop."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_loop_error)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        loop.add_signal_handler(signal.SIGHUP, self._writer.reopen)
        tasks: list[asyncio.Task[None]] = []
        try:
            self._restore()
            self._socket.start(self._passed.jobs)
            port = await self._http.start(self._config.host, self._config.port, self._tls, self._passed.http)
            if self._config.port_file is not None:
                self._config.port_file.write_text(f"{port}\n")
            if self._source is not None:
                self._guarded("counters", self._source.start)
            tasks = [
                loop.create_task(self._keep_house()),
                loop.create_task(watch_loop_lag(self._metrics.loop_lag.observe)),
            ]
            self._log.info("ready", socket=str(self._config.socket), host=self._config.host, port=port)
            if wall_clock_error_ns() is None:
                self._log.warning("the kernel does not say that NTP or PTP keeps the wall clock")
            notify("READY=1")
            await self._stopping.wait()
            self._log.info("stopping")
        finally:
            notify("STOPPING=1")
            for task in tasks:
                task.cancel()
            await self._stop()

    async def _stop(self) -> None:
        self._socket.stop()
        with suppress(Exception):
            await asyncio.wait_for(self._http.stop(), 2.0)
        if self._source is not None:
            self._guarded("counters", self._source.stop)
        if self._journal is not None:
            await self._journal.close()
        self._writer.close()

    async def _keep_house(self) -> None:
        """Once a second: look for a stepped clock, tell systemd that all is well, read the counters, judge by them."""
        watchdog, steps = watchdog_s(), 0
        while True:
            await asyncio.sleep(min(HOUSEKEEPING_S, watchdog or HOUSEKEEPING_S))
            self._guarded("clock", self._clock.observe)
            if self._clock.wall_steps > steps:
                steps = self._clock.wall_steps
                self._log.warning("wall clock stepped", steps=steps)
            self._guarded("credentials", self._credentials.refresh)
            self._counters.refresh()
            await self._counters.judge(self._registry)
            if watchdog is not None:
                notify("WATCHDOG=1")

    def _guarded(self, where: str, call: Callable[[], object]) -> None:
        """Whatever a part does, the others go on."""
        try:
            call()
        except Exception as error:
            self._counts.error(where)
            self._log.error("failed", where=where, error=f"{type(error).__name__}: {error}")

    def _on_loop_error(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._counts.error("loop")
        self._log.error("failed", where="loop", message=context.get("message"), error=repr(context.get("exception")))

    def _open_counters(self) -> CounterWatch | None:
        """Counters are a help: a host without them, or with others than somebody thought, has a daemon all the same."""
        if self._config.counters == "off":
            return None
        try:
            return CounterWatch(*open_sources(self._config.rdma_ports or None, self._config.net_devices or None))
        except Exception as error:
            self._counts.error("counters")
            self._log.error("no counters", error=f"{type(error).__name__}: {error}")
            return None

    def _open_journal(self) -> Journal | None:
        if self._config.state_directory is None:
            return None
        return Journal(self._journal_path, self._schedules.records, self._on_journal_failure)

    @property
    def _journal_path(self) -> Path:
        assert self._config.state_directory is not None
        return self._config.state_directory / JOURNAL_NAME

    def _on_journal_failure(self, error: OSError) -> None:
        self._counts.error("journal")
        self._refusals("journal", "not_written", {"error": str(error)})

    def _on_unfit_credentials(self, why: str) -> None:
        self._counts.error("credentials")
        self._log.error("credentials are kept as they were", error=why)

    def _remember(self, job: Any) -> None:
        if self._journal is not None:
            job.line = b""
            self._journal.save()

    def _restore(self) -> None:
        if self._journal is None:
            return
        try:
            strange = self._schedules.restore(read_journal(self._journal_path))
        except OSError as error:
            self._counts.error("journal")
            self._log.error("cannot read what was remembered", error=str(error))
            return
        self._log.info("remembered", jobs=len(self._registry), strange_lines=strange)

    def _make_metrics(self) -> Metrics:
        gauges: dict[str, tuple[str, Callable[[], float]]] = {
            "jobs": ("Jobs that are remembered", lambda: len(self._registry)),
            "connections": ("Connections of jobs", lambda: len(self._socket)),
            "http_connections": ("Connections of schedulers and observers", lambda: self._http.connections()),
            "resident_bytes": ("Memory in use", _resident_bytes),
            "wall_clock_error_seconds": ("As NTP or PTP has it; NaN: neither keeps the clock", _wall_clock_error_s),
        }
        totals: dict[str, tuple[str, Callable[[], float]]] = {
            "clock_steps": ("Steps of the wall clock", lambda: self._clock.wall_steps),
            "clock_offset_steps": ("Steps of the coordinator's clock", lambda: self._clock.offset_steps),
            "log_lines_dropped": ("Log lines that were lost", lambda: self._writer.dropped),
        }
        return Metrics(
            self._registry, self._counts, self._counters, self._clock.clocks.monotonic_ns, gauges=gauges, totals=totals
        )


def _wall_clock_error_s() -> float:
    error_ns = wall_clock_error_ns()
    return math.nan if error_ns is None else error_ns / 1e9


def _resident_bytes() -> float:
    with open("/proc/self/statm", encoding="ascii") as stream:
        return int(stream.read().split()[1]) * float(resource.getpagesize())


def _raise_descriptor_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
