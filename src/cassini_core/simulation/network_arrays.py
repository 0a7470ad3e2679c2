"""The jobs of a network as the arrays that the loop works on: made anew whenever jobs or routes change."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..arrays import Float64Array, Int64Array
from . import event_loop
from .event_loop import ITERATION, LOAD, Marks
from .marking import Marking
from .max_min import network_of, scratch_of
from .traffic import Traffic

__all__ = ["NetworkArrays"]

LOGGED = 4096
"""Entries of a log."""


class NetworkArrays:
    """What the loop works on.

    Parameters
    ----------
    traffic : Traffic
    records : structured array
        Of the jobs, as in ``event_loop.JOB``.
    factors : float64 array, shape (n_jobs, drawn at a time)
    marking : Marking or None
    watched : sequence of int
        Links.
    loads : float64 array
        What each of them carried so far, Gbit/s; written to.

    Attributes
    ----------
    ids : tuple of str
    jobs : structured array
    factors : float64 array
    """

    def __init__(
        self,
        traffic: Traffic,
        records: npt.NDArray[np.void],
        factors: Float64Array,
        marking: Marking | None,
        watched: Sequence[int],
        loads: Float64Array,
    ) -> None:
        n_jobs, n_links = len(traffic.job_ids), len(traffic.capacity_gbps)
        self.ids, self.jobs, self.factors = traffic.job_ids, records, factors
        self._demand = (records["want"].copy(), records["next_event"].copy(), np.zeros(n_links))
        self._segments = (traffic.segment_offset, traffic.segment_ms, traffic.segment_gbps)
        self._network = network_of(traffic)
        self._found = (np.zeros(n_jobs, dtype=np.int64), np.zeros(n_links, dtype=np.int64))
        self._seen = (np.zeros(n_jobs, dtype=np.bool_), np.zeros(n_links, dtype=np.bool_))
        self._shares = (*scratch_of(traffic), np.zeros(n_jobs))
        self._marks = _marks(traffic, marking)
        log = np.zeros(max(LOGGED, 1), dtype=ITERATION), np.zeros(max(LOGGED, 4 * len(watched)), dtype=LOAD)
        self._counts = np.array([0, 0, -1])
        self._logs = (*log, np.array(watched, dtype=np.int64), loads, self._counts)

    def resume(self, now_ms: float) -> None:
        """Rates of those that are sending; nothing has been sent yet of what is left."""
        event_loop.resume(
            now_ms, self.jobs, self._demand, self._network, self._shares, self._found[0], self._marks, self._logs
        )

    def run(self, until_ms: float) -> tuple[int, int]:
        """Go on: why it stopped, and the number of the job."""
        why, number = event_loop.run(
            until_ms,
            self.jobs,
            self._demand,
            self._segments,
            self.factors,
            self._network,
            (*self._found, *self._seen),
            self._shares,
            self._marks,
            self._logs,
        )
        return int(why), int(number)

    def next_event_ms(self, number: int) -> float:
        """When something happens to a job."""
        return float(self._demand[1][number])

    def wait(self, number: int, until_ms: float) -> None:
        """A job that has come to an iteration begins it then."""
        self._demand[1][number] = until_ms
        self.jobs["segment"][number] = event_loop.WAITING

    def await_iterations(self, iterations: Int64Array) -> None:
        """The loop shall return when all jobs have completed so many."""
        self.jobs["awaited"] = iterations
        self._counts[2] = int((self.jobs["completed"] < self.jobs["awaited"]).sum())

    def settled(self, now_ms: float) -> npt.NDArray[np.void]:
        """The records as of now, of which others can be made."""
        found, (want, next_event, _) = self.jobs.copy(), self._demand
        passed = np.where(want > 0, now_ms - found["since"], 0.0) * found["rate"]
        found["sent"] += passed
        found["remaining"] -= passed
        found["since"] = now_ms
        running = found["segment"] >= 0
        found["marked"] += np.where(running, found["marking"] * (now_ms - found["marked_since"]), 0.0)
        found["marked_since"] = now_ms
        found["want"], found["next_event"] = want, next_event
        return found

    def drain(self) -> tuple[npt.NDArray[np.void], npt.NDArray[np.void]]:
        """What was logged since the last time: iterations and loads, by numbers of jobs and of watched links."""
        iterations, loads = self._logs[0][: self._counts[0]].copy(), self._logs[1][: self._counts[1]].copy()
        self._counts[:2] = 0
        return iterations, loads


def _marks(traffic: Traffic, marking: Marking | None) -> Marks:
    n_links = len(traffic.capacity_gbps)
    if marking is None:
        return np.zeros((0, 0)), np.zeros(n_links, dtype=np.int64), np.zeros(n_links), np.zeros(4)
    capacities, kind = np.unique(traffic.capacity_gbps, return_inverse=True)
    most = int(np.bincount(traffic.link, minlength=n_links).max(initial=0))
    return marking.table(capacities, most), kind.astype(np.int64), np.zeros(n_links), marking.law()
