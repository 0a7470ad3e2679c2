"""HTTP under ``/v1``: the routes of docs/agent.md, and ``/metrics``."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

from ..schedule import MAX_ID_CHARACTERS, OutOfBoundsError, Schedule, ScheduleError
from ..strict_json import MAX_BYTES
from .access import Access
from .clocks import CoordinatorClock, OffsetNs, wall_clock_error_ns
from .http_listener import Guard, HttpListener
from .journal import Journal
from .limits import Limits
from .log import Log
from .metrics import Metrics
from .registry import Job, RefusedError, Registry
from .schedules import Schedules
from .status import CounterView, job_status

__all__ = ["HttpApi"]

JOBS_PER_TURN = 16
"""Of a list: then others get their turn."""

STATUSES = {
    "cleared": 409,
    "older_version": 409,
    "same_version_differs": 409,
    "too_many_jobs": 429,
}
"""Of what is refused; 400 for all else."""

_REASONS = {401: "unauthorized", 404: "not_found", 405: "not_found", 413: "oversized"}

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class _ClockRequest(msgspec.Struct, forbid_unknown_fields=True):
    offset_ns: OffsetNs | None


class HttpApi:
    """Requests in, answers out; decides nothing about schedules itself.

    Parameters
    ----------
    journal : Journal or None
        Where accepted commands are kept, if anywhere.

    Attributes
    ----------
    access : Access
        Who may ask, from the next request on.
    """

    def __init__(
        self,
        registry: Registry,
        schedules: Schedules,
        clock: CoordinatorClock,
        counters: CounterView,
        journal: Journal | None,
        access: Access,
        limits: Limits,
        log: Log,
        metrics: Metrics,
    ) -> None:
        self.access = access
        self._registry = registry
        self._schedules = schedules
        self._clock = clock
        self._counters = counters
        self._journal = journal
        self._limits = limits
        self._log = log
        self._metrics = metrics
        self._listener: HttpListener | None = None
        self._runner: web.AppRunner | None = None

    def use(self, access: Access, tls: ssl.SSLContext | None) -> None:
        """Other tokens from the next request on, and other certificates from the next connection on."""
        self.access = access
        if self._listener is not None:
            self._listener.tls = tls

    def connections(self) -> int:
        return 0 if self._listener is None else len(self._listener)

    async def start(self, host: str, port: int, tls: ssl.SSLContext | None, passed: socket.socket | None = None) -> int:
        """Listen, on a socket that is passed if one is; the port.

        Raises
        ------
        OSError
            The place is taken.
        """

        async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
            return await self._admit(request, handler)

        application = web.Application(client_max_size=MAX_BYTES, middlewares=[web.middleware(admit)])
        routes: list[tuple[str, str, Handler]] = [
            ("GET", "/v1/health", self._health),
            ("GET", "/v1/jobs", self._list),
            ("GET", "/v1/jobs/{job}", self._show),
            ("PUT", "/v1/jobs/{job}/schedule", self._put),
            ("DELETE", "/v1/jobs/{job}/schedule", self._delete),
            ("POST", "/v1/clock", self._post_clock),
            ("GET", "/metrics", self._show_metrics),
        ]
        for method, path, handler in routes:
            application.router.add_route(method, path, handler)
        logger = logging.Logger("cassini_agent.http", logging.WARNING)
        logger.addHandler(_LibraryLog(self._log))
        # The guard ends what is slow; the library's own timers would do it uncounted.
        self._runner = web.AppRunner(
            application, access_log=None, logger=logger, keepalive_timeout=3600.0, lingering_time=0.5
        )
        await self._runner.setup()
        assert self._runner.server is not None
        self._listener = HttpListener(self._runner.server, self._limits, self._log, tls)
        return self._listener.start(host, port, passed)

    async def stop(self) -> None:
        if self._listener is not None:
            self._listener.stop()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Every request passes here: access, time, and what became of it."""
        guard = None if self._listener is None else self._listener.guard_of(request.transport)
        if guard is not None:
            guard.request_begins()
        try:
            async with asyncio.timeout(self._limits.http_patience_s):
                if request.path != "/v1/health" and not await self._may(request, guard):
                    raise web.HTTPUnauthorized(text="expected a valid token or certificate")
                return await handler(request)
        except RefusedError as error:
            return self._refuse(request, STATUSES.get(error.reason, 400), error.reason, str(error))
        except TimeoutError:
            return self._refuse(request, 408, "slow_request", "the request took too long")
        except web.HTTPException as error:
            return self._refuse(request, error.status, _REASONS.get(error.status, "http"), error.text or error.reason)
        except ConnectionError:
            self._log.events["http_disconnects"] += 1
            return web.Response(status=499)  # to nobody
        except Exception as error:
            self._log.error("http", error)
            return _answer({"reason": "internal_error", "error": "see the log of the daemon"}, 500)
        finally:
            if guard is not None:
                guard.await_request()

    async def _may(self, request: web.Request, guard: Guard | None) -> bool:
        """Whether it shows that it may. A wrong token takes a while, and a connection shows one after the other."""
        certificate = None if request.transport is None else request.transport.get_extra_info("peercert")
        shown = request.headers.get("Authorization")
        may_all = self.access.knows(certificate) or (shown is not None and self.access.allows(shown, reading=False))
        if may_all and guard is not None:
            guard.keep_place()
        if may_all or shown is None:
            return may_all
        if request.method == "GET" and self.access.allows(shown, reading=True):
            return True
        await asyncio.sleep(self._limits.http_wrong_token_s)
        return False

    def _refuse(self, request: web.Request, status: int, reason: str, message: str) -> web.Response:
        self._log.refused("http", reason, peer=request.remote, method=request.method, path=request.path[:400])
        body = {"accepted": False} if request.method in ("PUT", "DELETE") else {}
        response = _answer({**body, "reason": reason, "error": message[:400]}, status)
        if status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response

    async def _health(self, _: web.Request) -> web.Response:
        return _answer({"ok": True})

    async def _put(self, request: web.Request) -> web.Response:
        job_id = _job_id(request)
        body = await request.read()
        try:
            schedule = Schedule.from_json(body)
        except OutOfBoundsError as error:
            raise RefusedError("out_of_bounds", str(error)) from None
        except ScheduleError as error:
            raise RefusedError("malformed", str(error)) from None
        job, is_new = self._schedules.offer(job_id, schedule)
        self._log.events["schedules_accepted"] += 1
        return await self._accepted(job, is_new)

    async def _delete(self, request: web.Request) -> web.Response:
        version = _whole(request, "version", 2**62)
        if version is None:
            raise RefusedError("malformed", "version: expected a whole number, got none")
        job = self._schedules.clear(_job_id(request), version)
        self._log.events["schedules_cleared"] += 1
        return await self._accepted(job, True)

    async def _accepted(self, job: Job, is_new: bool) -> web.Response:
        if is_new and self._journal is not None:
            await self._journal.saved()
        return _answer({"accepted": True, "version": job.version, "connected": job.link is not None})

    async def _show(self, request: web.Request) -> web.Response:
        job = self._registry.get(_job_id(request))
        if job is None:
            raise web.HTTPNotFound(text="no such job here")
        return _answer(self._status(job))

    def _status(self, job: Job) -> dict[str, Any]:
        return job_status(job, self._counters, self._clock.clocks.monotonic_ns())

    async def _list(self, request: web.Request) -> web.Response:
        """All jobs, or those that the query names, whether they are known here or not."""
        wait_ms = _whole(request, "wait_ms", self._limits.http_wait_ms)
        changes = self._registry.changes
        if wait_ms is not None:
            await changes.after(_whole(request, "since", 2**62) or 0, wait_ms / 1000)
        count = changes.count  # what changes while the list is being made is in the next one
        statuses: list[dict[str, Any]] = []
        for number, name in enumerate(request.query.getall("job", None) or self._registry.ids(), 1):
            if (job := self._registry.get(name)) is not None:
                statuses.append(self._status(job))
            if number % JOBS_PER_TURN == 0:
                await asyncio.sleep(0)
        return _answer({"jobs": statuses, "change": count})

    async def _post_clock(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            offset_ns = msgspec.json.decode(body, type=_ClockRequest).offset_ns if body else None
        except (ValueError, RecursionError) as error:
            raise RefusedError("malformed", f"clock: {error}") from None
        error_ns = wall_clock_error_ns()
        reading = self._clock.observe()
        if offset_ns is not None:
            # Once the answer is out: who asks for the time needs it in the middle of the round trip.
            asyncio.get_running_loop().call_soon(self._take_offset, offset_ns)
        told = {"monotonic_ns": reading.monotonic_ns, "unix_ns": reading.unix_ns, "unix_error_ns": error_ns}
        return _answer(told)

    def _take_offset(self, offset_ns: int) -> None:
        moved = self._schedules.follow(offset_ns)
        self._log.events["clock_offsets"] += 1
        if moved and self._journal is not None:
            self._journal.save()

    async def _show_metrics(self, _: web.Request) -> web.Response:
        body, content_type = await self._metrics.render()
        return web.Response(body=body, headers={"Content-Type": content_type})


class _LibraryLog(logging.Handler):
    """What the library says of requests that never reach a route."""

    def __init__(self, log: Log) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, HttpProcessingError):
            self._log.refused("http", "malformed", error=str(error)[:200])
        else:
            self._log.error("http", f"{record.getMessage()[:200]}: {error!r}")


def _whole(request: web.Request, key: str, most: int) -> int | None:
    """A whole number of the query, 0 to ``most``; None where it is not given."""
    text = request.query.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 19 and int(text) <= most):
        raise RefusedError("malformed", f"{key}: expected a whole number from 0 to {most}, got {text[:40]!r}")
    return int(text)


def _job_id(request: web.Request) -> str:
    job_id = str(request.match_info["job"])
    if not 1 <= len(job_id) <= MAX_ID_CHARACTERS:
        raise RefusedError("out_of_bounds", f"job: expected 1 to {MAX_ID_CHARACTERS} characters, got {len(job_id)}")
    return job_id


def _answer(body: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(status=status, body=msgspec.json.encode(body), headers={"Content-Type": "application/json"})
