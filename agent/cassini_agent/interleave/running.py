"""Interleaving in a thread of its own, for schedulers and the command line."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TypeVar

from ..coordinator.events import Failed
from ..coordinator.presence import SILENT
from ..coordinator.status import JobStatus
from ..dispatch import Acknowledgement
from ..endpoint import Endpoint
from ..event_loop_thread import EventLoopThread
from ..http_transport import HttpTransport
from ..job_secret import JobSecret
from .engine import Engine
from .events import Event
from .jobs import Seen
from .network import Network
from .scope import Scope

__all__ = ["Interleaving", "Row"]

Result = TypeVar("Result")

REMEMBERED = 1000
"""Events."""


@dataclass(frozen=True, slots=True)
class Row:
    """One job, as it is now.

    Attributes
    ----------
    job, host, state, note : str
        ``state`` is that of docs/agent.md's JobStatus, or ``missing``; ``note`` says why it is not held.
    status : JobStatus
        What its daemon said last, with its schedule while that is in force.
    answer : Acknowledgement or None
        What became of it when it was arranged last.
    """

    job: str
    host: str
    state: str
    note: str
    status: JobStatus
    answer: Acknowledgement | None = None


class Interleaving:
    """Keeps running jobs interleaved for as long as the block lasts.

    Parameters
    ----------
    network : Network
        The links and who crosses them.
    daemons : mapping of str to Endpoint
        Daemons of all hosts on which the ranks 0 of jobs run, by the names of the hosts.
    jobs : collection of str, optional
        Who takes part; by default all jobs that the daemons have and the network knows.
    secrets : mapping of str to JobSecret, optional
        Of jobs that were started with one (``dispatch.JobSecret``), from the next time on that they are arranged.
    tell : callable, optional
        Called with each event (``events``, ``coordinator.events``) at once, in the thread of the interleaving.

    Attributes
    ----------
    events : deque of (float, Event)
        The last ones, with the Unix time of each.

    Notes
    -----
    Jobs are held by themselves: when the block ends, or this process, they keep their schedules until these expire
    (an hour at most). The next interleaving finds them, and goes on with the same grids. :meth:`release` sets them
    free.

    Examples
    --------
    >>> from cassini_agent.dispatch import Endpoint
    >>> daemons = {"here": Endpoint("http://127.0.0.1:9311", "a token")}
    >>> with Interleaving(Network.one_link("up", 50.0), daemons) as interleaving:  # doctest: +SKIP
    ...     print(interleaving.status())
    """

    def __init__(
        self,
        network: Network,
        daemons: Mapping[str, Endpoint],
        *,
        jobs: Collection[str] | None = None,
        secrets: Mapping[str, JobSecret] | None = None,
        tell: Callable[[Event], None] | None = None,
    ) -> None:
        self.events: deque[tuple[float, Event]] = deque(maxlen=REMEMBERED)
        self._also_tell = tell
        self._scope = Scope(network, dict(daemons), None if jobs is None else frozenset(jobs), dict(secrets or {}))
        self._http = HttpTransport()
        self._engine = Engine(self._scope, self._tell, self._http)
        self._thread = EventLoopThread(self._interleave, "cassini-interleaving", self._end)

    def __enter__(self) -> Interleaving:
        self._thread.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._thread.__exit__(kind, error, trace)

    def status(self) -> list[Row]:
        """All jobs that take part, by name."""
        return self._call(self._rows)

    def update(
        self,
        network: Network | None = None,
        daemons: Mapping[str, Endpoint] | None = None,
        jobs: Collection[str] | None = None,
        secrets: Mapping[str, JobSecret] | None = None,
    ) -> None:
        """From now on another network, other daemons, jobs, or secrets of jobs; None for what stays."""

        def go_over() -> None:
            last = self._scope
            self._scope = Scope(
                last.network if network is None else network,
                last.hosts if daemons is None else dict(daemons),
                last.wanted if jobs is None else frozenset(jobs),
                last.secrets if secrets is None else dict(secrets),
            )
            self._engine.update(self._scope)

        self._call(go_over)

    def is_arranged(self) -> bool:
        """Whether all jobs that are there were arranged, and parted before that; or were found to be held already."""
        return self._call(lambda: self._engine.is_arranged)

    def release(self) -> list[Acknowledgement]:
        """Withdraw the schedules of all jobs; none is arranged until the next update."""
        self._thread.check()
        return self._thread.call(self._engine.release())

    # ------------------------------------------------------------------------------------------------------------------

    async def _interleave(self) -> None:
        async with self._http:
            await self._engine.run()

    def _end(self, error: BaseException) -> None:
        self._tell(Failed("interleaving", f"{type(error).__name__}: {error}", 1))

    def _rows(self) -> list[Row]:
        seen = self._engine.seen
        unseen = (self._engine.scope.wanted or frozenset()) - seen.keys()
        missing = [
            Row(name, "", "missing", "not seen yet", JobStatus(name, "missing", connected=False)) for name in unseen
        ]
        return sorted([*map(_row, seen.values()), *missing], key=lambda row: row.job)

    def _tell(self, event: Event) -> None:
        self.events.append((time.time(), event))
        if self._also_tell is not None:
            self._also_tell(event)

    def _call(self, work: Callable[[], Result]) -> Result:
        """Do something in the thread of the loop, and wait for it."""

        async def there() -> Result:
            return work()

        self._thread.check()
        return self._thread.call(there())


def _row(job: Seen) -> Row:
    state = job.status.state if job.absent in ("", SILENT) else "missing"
    free = job.answer.reason if job.answer is not None and job.answer.free else ""
    alone = "left alone for a while" if job.left_alone_until_s > time.monotonic() else ""
    known = filter(None, (job.status.note, job.status.contradicted, job.unknown, free, job.absent, alone))
    return Row(job.name, job.host, state, "; ".join(known), replace(job.status, schedule=job.schedule), job.answer)
