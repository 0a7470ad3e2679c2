"""One decision per job: rank 0 decides what every rank waits, and at which iteration.

Rank 0 decides at the start of iteration ``k`` what all ranks wait at the start of ``k + 1``, and writes it into the
job's own store (``torch.distributed``). The others read it during iteration ``k``, each in a thread of its own, over a
connection of its own: the training loop only looks whether it has come. A collective ends every iteration, so no rank
can be at ``k + 1`` before rank 0 was at ``k``. A decision that has not come in time is no wait for that rank, and
counted: that the others wait delays the job all the same.
"""

from __future__ import annotations

import queue
import threading
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol

__all__ = ["Alone", "Ranks", "StoreRanks", "own_client"]

POLL = timedelta(seconds=2)
"""How long a thread waits for a decision before it looks whether it is still wanted."""

KEPT = 8
"""Decisions kept in the store; older ones are deleted."""


class Ranks(Protocol):
    """How decisions get from rank 0 to the others."""

    lag: int
    """Iterations from a decision to the wait: 0 where nobody has to be told."""
    missed: int
    """Decisions that had not come when they were due."""

    def publish(self, iteration: int, delay_ns: int) -> None:
        """On rank 0: what all ranks wait at the start of ``iteration``. Does not block."""

    def due(self, iteration: int) -> int:
        """The wait at the start of ``iteration``, ns; each is given once. Does not block."""

    def close(self) -> None:
        """End the thread, if there is one."""


class Alone:
    """A job of one rank."""

    lag = 0

    def __init__(self) -> None:
        self.missed = 0
        self._due: tuple[int, int] = (-1, 0)

    def publish(self, iteration: int, delay_ns: int) -> None:
        """Keep it."""
        self._due = (iteration, delay_ns)

    def due(self, iteration: int) -> int:
        """What was published for this iteration; once."""
        at, delay_ns = self._due
        self._due = (-1, 0)
        return delay_ns if at == iteration else 0

    def close(self) -> None:
        """Nothing to end."""


class StoreRanks:
    """Ranks that share a ``torch.distributed`` store.

    Parameters
    ----------
    store : torch.distributed.Store
        Used by one thread alone: see :func:`own_client`.
    rank : int
        Of this process.
    prefix : str
        Of the keys; the same on all ranks, another for each agent of a job.
    """

    lag = 1

    def __init__(self, store: Any, rank: int, prefix: str = "cassini-agent") -> None:
        self.missed = 0
        self._store = store
        self._prefix = prefix
        self._closed = False
        self._due: dict[int, int] = {}
        self._decisions: queue.SimpleQueue[tuple[int, int] | None] = queue.SimpleQueue()
        self._wanted = 1  # the first iteration that a decision can be for
        work = self._write if rank == 0 else self._read
        self._is_writer = rank == 0
        self._thread = threading.Thread(target=work, name="cassini-agent-ranks", daemon=True)
        self._thread.start()

    def publish(self, iteration: int, delay_ns: int) -> None:
        """Hand it to the writing thread."""
        self._due[iteration] = delay_ns
        self._decisions.put((iteration, delay_ns))

    def due(self, iteration: int) -> int:
        """What has come for this iteration; once."""
        delay_ns = self._due.pop(iteration, None)
        for old in [key for key in list(self._due) if key < iteration]:
            self._due.pop(old, None)
        self._wanted = max(self._wanted, iteration + 1)
        if delay_ns is None:
            self.missed += iteration > 0
            return 0
        return delay_ns

    def close(self) -> None:
        """End the thread; it looks every two seconds."""
        self._closed = True
        self._decisions.put(None)

    def _key(self, iteration: int) -> str:
        return f"{self._prefix}/{iteration}"

    def _write(self) -> None:
        while (decision := self._decisions.get()) is not None and not self._closed:
            iteration, delay_ns = decision
            with suppress(Exception):  # a store that is gone ends the job by itself
                self._store.set(self._key(iteration), str(delay_ns))
                if iteration > KEPT:
                    self._store.delete_key(self._key(iteration - KEPT))

    def _read(self) -> None:
        self._store.set_timeout(POLL)
        following = 1
        while not self._closed:
            following = max(following, self._wanted)
            try:
                delay_ns = int(self._store.get(self._key(following)))
            except Exception:
                # Not there within two seconds: a pause, or the job has moved on; or the store is gone for good.
                if not self._store_lives():
                    return
                continue
            self._due[following] = delay_ns
            following += 1

    def _store_lives(self) -> bool:
        try:
            self._store.check([self._key(0)])
        except Exception:
            return False
        return True


def own_client(store: Any) -> Any:
    """A second client of a store.

    A store's client serves one call at a time, and a call that waits for a key would keep the job's own calls waiting.

    Raises
    ------
    RuntimeError
        The store cannot be shared so.
    """
    clone = getattr(store, "clone", None)
    if clone is not None:
        with suppress(Exception):
            return clone()
    import torch.distributed as dist

    base = store
    while hasattr(base, "underlying_store"):
        base = base.underlying_store
    if isinstance(base, dist.TCPStore):
        return dist.TCPStore(base.host, base.port, is_master=False, wait_for_workers=False)
    raise RuntimeError(f"store: expected a TCPStore or one that can be cloned, got {type(base).__name__}")
