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
from functools import partial
from typing import Any

from ..counters.watch import CounterWatch, open_sources
from .changed_files import ChangedFiles
from .clocks import Clocks, CoordinatorClock, SystemClocks, boot_id, wall_clock_error_ns
from .config import Config
from .http_api import HttpApi
from .journal import Journal
from .limits import Limits
from .local_socket import LocalSocket
from .log import LineWriter, Log
from .metrics import Metrics, Values
from .notify import notify, watchdog_s
from .passed import passed_sockets
from .registry import Registry
from .schedules import Schedules
from .status import CounterView

__all__ = ["Service", "run"]

HOUSEKEEPING_S = 1.0
JOURNAL_NAME = "journal"
SWITCH_INTERVAL_S = 0.0005
"""How long a thread may keep the loop from running; Python's own 5 ms would show in the delivery of schedules."""


def run(config: Config, clocks: Clocks | None = None, limits: Limits | None = None) -> None:
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
    asyncio.run(Service(config, clocks or SystemClocks(), limits or Limits()).serve())


class Service:
    """One daemon, on the sockets that were passed to the process, or its own.

    Parameters
    ----------
    config : Config
        Checked as the service is made.
    clocks : Clocks
        The host's.
    """

    def __init__(self, config: Config, clocks: Clocks, limits: Limits) -> None:
        self._passed = passed_sockets()
        if self._passed.http is not None:
            host, port = self._passed.http.getsockname()[:2]
            config = replace(config, host=host, port=port)
        self._config = config
        access, self._tls = config.check(opens_socket=self._passed.jobs is None)
        self._credential_files = ChangedFiles(config.credential_files())
        self._writer = LineWriter()
        self._log = Log(self._writer.write)
        self._source = self._open_counters()
        self._counters = CounterView(self._source, self._log)
        self._clock = CoordinatorClock(clocks)
        self._registry = Registry(limits.jobs)
        self._schedules = Schedules(self._registry, self._clock, boot_id())
        self._journal: Journal | None = None
        if (folder := config.state_directory) is not None:
            self._journal = Journal(folder / JOURNAL_NAME, self._schedules.kept, partial(self._log.error, "journal"))
        self._socket = LocalSocket(config.socket, self._registry, limits, self._log, clocks)
        self._http = HttpApi(
            self._registry,
            self._schedules,
            self._clock,
            self._counters,
            self._journal,
            access,
            limits,
            self._log,
            self._make_metrics(),
        )
        self._stopping = asyncio.Event()

    async def serve(self) -> None:
        """From start to stop."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_loop_error)
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        housekeeping: asyncio.Task[None] | None = None
        try:
            self._guarded("journal", self._restore)
            self._socket.start(self._passed.jobs)
            port = await self._http.start(self._config.host, self._config.port, self._tls, self._passed.http)
            if self._config.port_file is not None:
                self._config.port_file.write_text(f"{port}\n")
            if self._source is not None:
                self._guarded("counters", self._source.start)
            housekeeping = loop.create_task(self._keep_house())
            self._log.info("ready", socket=str(self._config.socket), host=self._config.host, port=port)
            if wall_clock_error_ns() is None:
                self._log.warning("the kernel does not say that NTP or PTP keeps the wall clock")
            notify("READY=1")
            await self._stopping.wait()
            self._log.info("stopping")
        finally:
            notify("STOPPING=1")
            if housekeeping is not None:
                housekeeping.cancel()
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
        """Once a second all that is looked at again and again; and systemd hears that all is well."""
        watchdog, steps = watchdog_s(), 0
        while True:
            await asyncio.sleep(min(HOUSEKEEPING_S, watchdog or HOUSEKEEPING_S))
            self._guarded("clock", self._clock.observe)
            if self._clock.wall_steps > steps:
                steps = self._clock.wall_steps
                self._log.warning("wall clock stepped", steps=steps)
            if self._credential_files.look():
                self._guarded("credentials", lambda: self._http.use(*self._config.credentials()))
            if self._journal is not None and (self._registry.has_new_owner or self._journal.has_failed):
                self._registry.has_new_owner = False
                self._journal.save()
            await self._counters.refresh(self._registry)
            if watchdog is not None:
                notify("WATCHDOG=1")

    def _guarded(self, where: str, call: Callable[[], object]) -> None:
        """Whatever a part does, the others go on."""
        try:
            call()
        except Exception as error:
            self._log.error(where, error)

    def _on_loop_error(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._log.error("loop", f"{context.get('message')}: {context.get('exception')!r}")

    def _open_counters(self) -> CounterWatch | None:
        """Counters are a help: a host without them, or with others than somebody thought, has a daemon all the same."""
        if self._config.counters == "off":
            return None
        try:
            return CounterWatch(*open_sources(self._config.rdma_port or None, self._config.net_device or None))
        except Exception as error:
            self._log.error("counters", error)
            return None

    def _restore(self) -> None:
        """What makes no sense is as good as nothing: whoever sent a schedule sends it again."""
        if self._journal is not None and (kept := self._journal.read()) is not None:
            self._schedules.restore(kept)
            self._log.info("remembered", jobs=len(self._registry))

    def _make_metrics(self) -> Metrics:
        gauges: Values = {
            "jobs": ("Jobs that are remembered", lambda: len(self._registry)),
            "connections": ("Connections of jobs", lambda: len(self._socket)),
            "http_connections": ("Connections of schedulers and observers", lambda: self._http.connections()),
            "wall_clock_error_seconds": ("As NTP or PTP has it; NaN: neither keeps the clock", _wall_clock_error_s),
        }
        totals: Values = {
            "clock_steps": ("Steps of the wall clock", lambda: self._clock.wall_steps),
            "clock_offset_steps": ("Steps of the coordinator's clock", lambda: self._clock.offset_steps),
            "log_lines_dropped": ("Log lines that were lost", lambda: self._writer.dropped),
        }
        return Metrics(self._registry, self._log, self._counters, self._clock.clocks.monotonic_ns, gauges, totals)


def _wall_clock_error_s() -> float:
    error_ns = wall_clock_error_ns()
    return math.nan if error_ns is None else error_ns / 1e9


def _raise_descriptor_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
