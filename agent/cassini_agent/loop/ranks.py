"""One decision per job: rank 0 decides what every rank waits, and at which iteration.

Rank 0 decides at the start of iteration ``k`` when all ranks begin ``k + 1`` (a ``Release``), and writes it into the
job's own store (``torch.distributed``). Where another grid comes while ``k`` is under way, it decides again as its
communication begins. The others read it during iteration ``k``, each in a thread of its own, over a
connection of its own: the training loop only looks whether it has come. A collective ends every iteration, so no rank
can be at ``k + 1`` before rank 0 was at ``k``. A decision that has not come in time is no wait for that rank, and
counted: that the others wait delays the job all the same.
"""

from __future__ import annotations

import atexit
import logging
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol

from ..control.release import Follower, Release

__all__ = ["Alone", "Ranks", "StoreRanks", "own_client"]

log = logging.getLogger("cassini_agent")

REACHED_S = 5.0
"""So long a client of the store may take to be there; torch itself would wait for 300 s."""

LOOKS = 8
"""How often a rank looks for the next decision during an iteration. It never waits inside the store: only that could
wake it then, and torch logs each wait that ends in vain."""

LEAST_PAUSE_S, LONGEST_PAUSE_S = 0.002, 0.05
"""Between two looks, each some 100 us of another thread."""

ENDING_S = 1.0
"""How long the end of the interpreter waits for the thread. One that is inside torch then would end the process with an
abort."""

KEPT = 8
"""Decisions kept in the store; older ones are deleted."""


class Ranks(Protocol):
    """How decisions get from rank 0 to the others."""

    lag: int
    """Iterations from a decision to the wait: 0 where nobody has to be told."""
    missed: int
    """Decisions that had not come when they were due."""

    def publish(self, iteration: int, release: Release) -> None:
        """On rank 0: when all ranks begin ``iteration``; the last word counts. Does not block."""

    def due(self, iteration: int, now_ns: int) -> int:
        """What this rank waits, which comes to ``iteration`` now, ns; each decision is given once. Does not block."""

    def interrupted(self) -> None:
        """The loop pauses: this rank does not wait before its next iteration."""

    def close(self) -> None:
        """Let the thread end, if there is one. Does not block."""


class Alone:
    """A job of one rank, which waits where it decides: nobody is told."""

    lag = 0
    missed = 0

    def publish(self, iteration: int, release: Release) -> None:
        """To nobody."""

    def due(self, iteration: int, now_ns: int) -> int:
        """Nothing."""
        return 0

    def interrupted(self) -> None:
        """Nothing is due."""

    def close(self) -> None:
        """Nothing to end."""


class StoreRanks:
    """Ranks that share a ``torch.distributed`` store.

    Parameters
    ----------
    store : torch.distributed.Store
        Used by the thread of this object alone.
    rank : int
        Of this process.
    prefix : str
        Of the keys; the same on all ranks, another for each agent of a job.
    client : callable, optional
        Makes of ``store`` what the thread uses, see :func:`own_client`. Called in the thread, as it may take long.
    """

    lag = 1

    def __init__(
        self,
        store: Any,
        rank: int,
        prefix: str = "cassini-agent",
        client: Callable[[Any], Any] = lambda store: store,
    ) -> None:
        self.missed = 0
        self._store = store
        self._client = client
        self._alone = False  # no client: what is decided here nobody else hears of
        self._prefix = prefix
        self._due: dict[int, Release] = {}
        self._follower = Follower(decides=rank == 0)
        self._decisions: queue.SimpleQueue[tuple[int, Release] | None] = queue.SimpleQueue()
        self._wanted = 1  # the first iteration that a decision can be for
        self._pause_s = LEAST_PAUSE_S
        self._last_due_s = time.monotonic()
        self._ending = threading.Event()
        self._work = self._write if rank == 0 else self._read
        self._thread = threading.Thread(target=self._run, name="cassini-agent-ranks", daemon=True)
        self._thread.start()
        atexit.register(self._end)

    def publish(self, iteration: int, release: Release) -> None:
        """Hand it to the writing thread."""
        if self._alone:
            return
        self._due[iteration] = release
        self._decisions.put((iteration, release))

    def due(self, iteration: int, now_ns: int) -> int:
        """What follows from the decision that has come for this iteration; once."""
        release = self._due.pop(iteration, None)
        for old in [key for key in list(self._due) if key < iteration]:
            self._due.pop(old, None)
        self._wanted = max(self._wanted, iteration + 1)
        now_s = time.monotonic()
        self._pause_s = min(max((now_s - self._last_due_s) / LOOKS, LEAST_PAUSE_S), LONGEST_PAUSE_S)
        self._last_due_s = now_s
        self.missed += release is None and iteration > 0
        return self._follower.wait_ns(iteration, release, now_ns)

    def interrupted(self) -> None:
        """What was decided before is not waited for."""
        self._follower.interrupted()

    def close(self) -> None:
        """Let the thread end. It may be inside the store: only the end of the interpreter has to wait for it."""
        self._ending.set()
        self._decisions.put(None)

    def _end(self) -> None:
        self.close()
        self._thread.join(ENDING_S)

    def _key(self, iteration: int) -> str:
        return f"{self._prefix}/{iteration}"

    def _run(self) -> None:
        try:
            self._store = self._client(self._store)
        except Exception as error:
            self._alone = True
            log.warning("the store of the job cannot be reached: %s; training goes on without time-shifts", error)
        else:
            self._work()
        finally:
            atexit.unregister(self._end)

    def _write(self) -> None:
        while (decision := self._decisions.get()) is not None and not self._ending.is_set():
            iteration, release = decision
            with suppress(Exception):  # a store that is gone ends the job by itself
                self._store.set(self._key(iteration), _as_text(release))
                if iteration > KEPT:
                    self._store.delete_key(self._key(iteration - KEPT))

    def _read(self) -> None:
        with suppress(Exception):  # the store is gone, and with it the job
            while not self._ending.is_set():
                wanted = self._wanted
                if self._store.check([self._key(wanted)]):  # again and again: rank 0 may decide anew
                    self._due[wanted] = _from_text(self._store.get(self._key(wanted)))
                self._ending.wait(self._pause_s)


def _as_text(release: Release) -> str:
    """Four whole numbers."""
    return f"{release.reached_ns} {release.until_ns} {release.earliest_ns} {release.latest_ns}"


def _from_text(text: bytes) -> Release:
    return Release(*map(int, text.split()))


def own_client(store: Any) -> Any:
    """A second client of a store, for another thread: a store's client serves one call at a time.

    Raises
    ------
    RuntimeError
        The store cannot be shared so.
    """
    clone = getattr(store, "clone", None)
    if clone is not None:
        with suppress(Exception):
            return clone()
    dist = sys.modules.get("torch.distributed")  # whose store it is has imported it
    base = store
    while hasattr(base, "underlying_store"):
        base = base.underlying_store
    if dist is not None and isinstance(base, dist.TCPStore):
        client = dist.TCPStore(
            base.host, base.port, is_master=False, wait_for_workers=False, timeout=timedelta(seconds=REACHED_S)
        )
        # Prefixes of a store cannot be read. What they part are the attempts of a job that is restarted.
        return dist.PrefixStore(f"attempt-{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}", client)
    raise RuntimeError(f"store: expected a TCPStore or one that can be cloned, got {type(base).__name__}")
