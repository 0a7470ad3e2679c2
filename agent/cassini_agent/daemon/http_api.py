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
from ..strict_json import load_object
from .access import Access
from .clocks import CoordinatorClock, checked_offset, wall_clock_error_ns
from .counts import Counts
from .http_guard import Guard, HttpListener
from .journal import Journal
from .limits import Limits, PeerBuckets
from .registry import Registry, TooManyError
from .schedules import RefusedError, Schedules
from .status import CounterView, job_status_json

__all__ = ["HttpApi"]

LIST_CHUNK = 16
"""Jobs per piece of a list: between two pieces others get their turn."""

LIST_COST = 1 / 16
"""A job in a list, in requests, for the rate limit."""

CONFLICTS = frozenset({"older_version", "same_version_differs", "cleared"})

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class HttpApi:
    """Requests in, answers out; decides nothing about schedules itself.

    Parameters
    ----------
    journal : Journal or None
        Where accepted commands are kept, if anywhere.
    render_metrics : callable
        Gives the Prometheus text and its content type.
    on_refused : callable
        Told the reason and details of everything that was refused, for the log.
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
        counts: Counts,
        render_metrics: Callable[[], Awaitable[tuple[bytes, str]]],
        on_refused: Callable[[str, dict[str, object]], None],
    ) -> None:
        self._registry = registry
        self._schedules = schedules
        self._clock = clock
        self._counters = counters
        self._journal = journal
        self._access = access
        self._limits = limits
        self._counts = counts
        self._render_metrics = render_metrics
        self._log_refused = on_refused
        self._requests = PeerBuckets(limits.http_requests_per_s, limits.http_request_burst)
        self._denials = PeerBuckets(limits.http_denials_per_s, limits.http_denial_burst)
        self._listener: HttpListener | None = None
        self._runner: web.AppRunner | None = None

    def use(self, access: Access, tls: ssl.SSLContext | None) -> None:
        """Other tokens from the next request on, and other certificates from the next connection on."""
        self._access = access
        if self._listener is not None:
            self._listener.use(tls)

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

        application = web.Application(client_max_size=self._limits.http_body_bytes, middlewares=[web.middleware(admit)])
        routes: list[tuple[str, str, Handler]] = [
            ("GET", "/v1/health", self._health),
            ("GET", "/v1/jobs", self._list),
            ("GET", "/v1/jobs/{job}", self._show),
            ("PUT", "/v1/jobs/{job}/schedule", self._put),
            ("DELETE", "/v1/jobs/{job}/schedule", self._delete),
            ("POST", "/v1/clock", self._post_clock),
            ("GET", "/metrics", self._metrics),
        ]
        for method, path, handler in routes:
            application.router.add_route(method, path, handler)
        # The guard ends what is slow; the library's own timers would do it uncounted.
        self._runner = web.AppRunner(
            application, access_log=None, logger=self._library_log(), keepalive_timeout=3600.0, lingering_time=0.5
        )
        await self._runner.setup()
        assert self._runner.server is not None
        self._listener = HttpListener(
            self._runner.server,
            self._limits,
            self._counts,
            tls,
            lambda why, peer: self._log_refused(why, {"peer": peer}),
        )
        return self._listener.start(host, port, passed)

    def _library_log(self) -> logging.Logger:
        """What the library says of requests that never reach a route."""
        logger = logging.Logger("cassini_agent.http", logging.WARNING)
        logger.addHandler(_LibraryLog(self._on_library_error))
        return logger

    def _on_library_error(self, error: BaseException | None, message: str) -> None:
        if isinstance(error, HttpProcessingError):
            self._counts.refuse("http", "malformed")
            self._log_refused("malformed", {"error": str(error)[:200]})
        else:
            self._counts.error("http")
            self._log_refused("internal_error", {"error": f"{message[:200]}: {error!r:.200}"})

    async def stop(self) -> None:
        if self._listener is not None:
            self._listener.stop()
        if self._runner is not None:
            await self._runner.cleanup()

    async def _admit(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Every request passes here: rate, access, time, and what became of it."""
        loop = asyncio.get_running_loop()
        guard = self._guard_of(request)
        if guard is not None:
            guard.request_begins()
        try:
            self._check(request, loop.time())
            async with asyncio.timeout(self._limits.http_request_s):
                return await handler(request)
        except RefusedError as error:
            return self._refuse(request, 409 if error.reason in CONFLICTS else 400, error.reason, str(error))
        except TooManyError as error:
            return self._refuse(request, 429, error.reason, error.reason.replace("_", " "))
        except TimeoutError:
            if _STREAMING in request and request.transport is not None:  # too late for another status
                request.transport.abort()
            return self._refuse(request, 408, "slow_request", "the request took too long")
        except web.HTTPException as error:
            return self._refuse(request, error.status, _REASONS.get(error.status, "http"), error.text or error.reason)
        except ConnectionError:
            self._counts.event("http_disconnects")
            return web.Response(status=499)  # to nobody
        except Exception as error:
            self._counts.error("http")
            self._log_refused("internal_error", {"path": request.path, "error": f"{type(error).__name__}: {error}"})
            return _answer(500, {"reason": "internal_error", "error": "see the log of the daemon"})
        finally:
            if guard is not None:
                guard.request_ends(loop.time())

    def _guard_of(self, request: web.Request) -> Guard | None:
        return None if self._listener is None else self._listener.guard_of(request.transport)

    def _check(self, request: web.Request, now: float) -> None:
        """Access and rate; who has none is counted apart, even at the address of who has."""
        try:
            is_known = self._check_access(request, now)
        except web.HTTPException:
            self._check_rate(request, now, is_known=False)
            raise
        self._check_rate(request, now, is_known)

    def _check_rate(self, request: web.Request, now: float, is_known: bool) -> None:
        cost = 1 + LIST_COST * len(self._listed(request)) if is_known and request.path == "/v1/jobs" else 1
        if not self._requests.of(f"{request.remote} {is_known}", now).take(now, cost):
            raise web.HTTPTooManyRequests(text="too many requests")

    def _check_access(self, request: web.Request, now: float) -> bool:
        """Whether it has shown that it may; False where nobody has to."""
        if request.path == "/v1/health":
            return False
        guard = self._guard_of(request)
        certificate = None if request.transport is None else request.transport.get_extra_info("peercert")
        if self._access.knows(certificate):
            if guard is not None:
                guard.keep_place()
            return True
        authorization = request.headers.get("Authorization")
        if authorization is not None:
            denials = self._denials.of(request.remote or "", now)
            # Of an address that guesses nothing is compared for a while, but what a connection has shown before.
            if denials.wait_s(now) and (guard is None or guard.shown != authorization):
                raise web.HTTPTooManyRequests(text="too many wrong tokens")
            if self._access.allows(authorization, request.method == "GET"):
                if guard is not None:
                    guard.shown = authorization
                    if self._access.allows(authorization, reading=False):
                        guard.keep_place()
                return True
            denials.take(now)
        raise web.HTTPUnauthorized(text="expected a valid token or certificate")

    def _refuse(self, request: web.Request, status: int, reason: str, message: str) -> web.Response:
        self._counts.refuse("http", reason)
        self._log_refused(reason, {"peer": request.remote, "method": request.method, "path": request.path[:400]})
        body = {"accepted": False} if request.method in ("PUT", "DELETE") else {}
        response = _answer(status, {**body, "reason": reason, "error": message[:400]})
        if status == 401:
            response.headers["WWW-Authenticate"] = "Bearer"
        return response

    async def _health(self, _: web.Request) -> web.Response:
        return _answer(200, {"ok": True})

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
        self._counts.event("schedules_accepted")
        if is_new:
            await self._keep()
        return _answer(200, {"accepted": True, "version": job.version, "connected": bool(job.links)})

    async def _delete(self, request: web.Request) -> web.Response:
        text = request.query.get("version", "")
        if not (text.isascii() and text.isdecimal() and len(text) <= 16):
            raise RefusedError("malformed", f"version: expected a whole number, got {text[:40]!r}")
        job = self._schedules.clear(_job_id(request), int(text))
        self._counts.event("schedules_cleared")
        await self._keep()
        return _answer(200, {"accepted": True, "version": job.version, "connected": bool(job.links)})

    async def _keep(self) -> None:
        if self._journal is not None:
            await self._journal.saved()

    async def _show(self, request: web.Request) -> web.Response:
        job = self._registry.get(_job_id(request))
        if job is None:
            raise web.HTTPNotFound(text="no such job here")
        now_ns = self._clock.clocks.monotonic_ns()
        return _json(200, job_status_json(job, self._counters, now_ns))

    async def _list(self, request: web.Request) -> web.StreamResponse:
        wait_ms = _whole(request, "wait_ms", self._limits.http_wait_ms)
        changes = self._registry.changes
        if wait_ms is not None:
            await changes.after(_whole(request, "since", 2**62) or 0, wait_ms / 1000)
        count = changes.count  # what changes while the list is being sent is in the next one
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        request[_STREAMING] = True
        await response.prepare(request)
        await response.write(b'{"jobs":[')
        ids = self._listed(request)
        separator = b""
        for start in range(0, len(ids), LIST_CHUNK):
            now_ns = self._clock.clocks.monotonic_ns()
            jobs = [job for one in ids[start : start + LIST_CHUNK] if (job := self._registry.get(one)) is not None]
            if jobs:
                await response.write(separator + b",".join(job_status_json(j, self._counters, now_ns) for j in jobs))
                separator = b","
            await asyncio.sleep(0)
        await response.write(b'],"change":%d}' % count)
        await response.write_eof()
        return response

    def _listed(self, request: web.Request) -> list[str]:
        """The jobs that are asked for: all, or those that the query names, whether they are known here or not."""
        return request.query.getall("job", None) or self._registry.ids()

    async def _post_clock(self, request: web.Request) -> web.Response:
        body = await request.read()
        try:
            given = load_object(body, "clock") if body else {"offset_ns": None}
            if given.keys() != {"offset_ns"}:
                raise ValueError("clock: expected the key 'offset_ns' and no other")
            offset_ns = None if given["offset_ns"] is None else checked_offset(given["offset_ns"])
        except ValueError as error:
            raise RefusedError("malformed", str(error)) from None
        error_ns = wall_clock_error_ns()
        reading = self._clock.observe()
        if offset_ns is not None:
            # Once the answer is out: who asks for the time needs it in the middle of the round trip.
            asyncio.get_running_loop().call_soon(self._take_offset, offset_ns)
        told = {"monotonic_ns": reading.monotonic_ns, "unix_ns": reading.unix_ns, "unix_error_ns": error_ns}
        return _answer(200, told)

    def _take_offset(self, offset_ns: int) -> None:
        moved = self._schedules.follow(offset_ns)
        self._counts.event("clock_offsets")
        if moved and self._journal is not None:
            self._journal.save()

    async def _metrics(self, _: web.Request) -> web.Response:
        body, content_type = await self._render_metrics()
        return web.Response(body=body, headers={"Content-Type": content_type})


class _LibraryLog(logging.Handler):
    def __init__(self, tell: Callable[[BaseException | None, str], None]) -> None:
        super().__init__()
        self._tell = tell

    def emit(self, record: logging.LogRecord) -> None:
        self._tell(record.exc_info[1] if record.exc_info else None, record.getMessage())


_STREAMING = "cassini_streaming"

_REASONS = {401: "unauthorized", 404: "not_found", 405: "not_found", 413: "oversized", 429: "too_fast"}


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


def _answer(status: int, body: dict[str, Any]) -> web.Response:
    return _json(status, msgspec.json.encode(body))


def _json(status: int, body: bytes) -> web.Response:
    return web.Response(status=status, body=body, headers={"Content-Type": "application/json"})
