"""Jobs on a network, event by event: they compute and send in turns, and links are shared max-min fairly.

A phase lasts until its volume is sent: under contention it stretches, and so does the iteration. There are no packets,
and rates change at once. Max-min sharing has no noise either: two equal jobs that start in phase stay in phase for
ever, which real transports do only sometimes. So start jobs at random phases where nothing sets their shifts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..arrays import Float64Array
from ..errors import refusal, shown
from ..model import Job
from . import event_loop
from .event_loop import ANY, ARRIVED, JOB, LOAD, SAVED, WAITING
from .holding import AgentHold, Grid, Hold
from .marking import Marking
from .network_arrays import NetworkArrays
from .records import Iterations, Loads
from .traffic import traffic

__all__ = ["NetworkSimulation"]

_DRAWN = 512
"""Factors of a job drawn at a time."""


@dataclass(slots=True, eq=False)
class _Placed:
    """A job: what it is, and where it stood when the arrays were last taken apart."""

    job: Job
    route: Mapping[str, float]
    factors: Iterator[float] | None
    record: npt.NDArray[np.void]  # one, as in ``JOB``
    drawn: Float64Array  # factors
    hold: Hold | None = None


class NetworkSimulation:
    """A network and the jobs on it, which come, go and get other routes and holds between two runs.

    Parameters
    ----------
    capacity_gbps : mapping of str to float
        By link.
    marking : Marking, optional
        None: no marks are counted.
    watched : sequence of str
        Links whose loads are recorded.

    Attributes
    ----------
    now_ms : float

    Raises
    ------
    InputError
        An unknown link is to be watched.

    Notes
    -----
    A segment takes O(jobs + crossings of the jobs whose rates may change), a change between two runs O(all crossings).

    Examples
    --------
    >>> from cassini_core import Job, Phase
    >>> from cassini_core.simulation.network import NetworkSimulation
    >>> simulation = NetworkSimulation({"up": 50.0})
    >>> for name in "ab":
    ...     simulation.add(Job(name, 197, [Phase(110, 87, 50)]), {"up": 1.0}, start_ms=0.0)
    >>> simulation.run(10_000.0)
    >>> simulation.take_iterations()["a"].length_ms.mean().round(3)
    np.float64(284.0)
    """

    def __init__(
        self, capacity_gbps: Mapping[str, float], *, marking: Marking | None = None, watched: Sequence[str] = ()
    ) -> None:
        self.now_ms = 0.0
        self._capacity_gbps = dict(capacity_gbps)
        for link in watched:
            if link not in self._capacity_gbps:
                raise refusal("", "watched", "links of the network", shown(link))
        self._marking = marking
        self._load_gbps = dict.fromkeys(watched, 0.0)
        self._placed: dict[str, _Placed] = {}
        self._adjusted: dict[str, int] = {}  # of jobs that are gone
        self._arrays: NetworkArrays | None = None
        self._watched_now: tuple[str, ...] = ()  # those that a job in the arrays crosses
        self._loads_now = np.zeros(0)
        self._iterations: dict[str, list[npt.NDArray[np.void]]] = {}
        self._loads: dict[str, list[npt.NDArray[np.void]]] = {link: [] for link in watched}

    @property
    def jobs(self) -> tuple[str, ...]:
        """Ids of the jobs that are there."""
        return tuple(self._placed)

    def add_links(self, capacity_gbps: Mapping[str, float]) -> None:
        """More links; those that are there keep their capacity."""
        self._capacity_gbps = {**capacity_gbps, **self._capacity_gbps}

    def add(
        self,
        job: Job,
        route: Mapping[str, float],
        *,
        start_ms: float | None = None,
        hold: Hold | None = None,
        factors: Iterator[float] | None = None,
        iterations: int | None = None,
    ) -> None:
        """A job comes.

        Parameters
        ----------
        job : Job
            Its profile when alone. Its phases last until their volume is sent, all else is computing.
        route : mapping of str to float
            Links with multipliers of its demand, as in :class:`cassini_core.Candidate`; empty without network.
        start_ms : float, optional
            When it comes to its first iteration, at the earliest now; now if left out.
        hold : Grid or AgentHold, optional
            What keeps it at its time-shift. None: an iteration follows the one before at once.
        factors : iterator of float, optional
            Computing of one iteration after the other takes so many times as long as in ``job``: all segments without
            demand do. It must not end. :func:`cassini_core.simulation.jitter.factors` draws some.
        iterations : int, optional
            After so many it ends. None: never.

        Raises
        ------
        InputError
            The job is there already, a link is unknown, or a number is out of bounds.
        """
        start = self.now_ms if start_ms is None else start_ms
        if job.id in self._placed:
            raise refusal("", "job.id", "a job that is not there", shown(job.id))
        if not self.now_ms <= start < math.inf:
            raise refusal(f"job {shown(job.id)}", "start_ms", f"at least now, {self.now_ms}", shown(start))
        if iterations is not None and iterations < 1:
            raise refusal(f"job {shown(job.id)}", "iterations", "at least 1", shown(iterations))
        self._check_route(job.id, route)
        self._take_apart()
        record = np.zeros(1, dtype=JOB)
        record["segment"], record["goal"] = ARRIVED, -1 if iterations is None else iterations
        record["factor_at"] = -1 if factors is None else _DRAWN
        record["computed"], record["next_event"], record["came"] = np.nan, start, start
        self._placed[job.id] = _Placed(job, dict(route), factors, record, np.ones(_DRAWN))
        self._set_hold(job.id, hold)

    def remove(self, job_id: str) -> None:
        """A job goes; the iteration under way is lost."""
        self._known(job_id)
        self._take_apart()
        self._let_go(job_id)

    def move(self, job_id: str, route: Mapping[str, float]) -> None:
        """A job has other links from now on, in the middle of its iteration. A restart is a removal and an addition."""
        self._known(job_id)
        self._check_route(job_id, route)
        self._take_apart()
        self._placed[job_id].route = dict(route)

    def hold(self, job_id: str, hold: Hold | None) -> None:
        """From its next iteration on a job is held by this; one controller follows the schedule of another."""
        self._known(job_id)
        self._take_apart()
        self._set_hold(job_id, hold)

    def run(self, until_ms: float) -> str | None:
        """Go on until then, or until a job has done all its iterations: that job is gone, and its id returned.

        Events at ``until_ms`` itself have happened when this returns.
        """
        why, job_id = self._run(until_ms) if self._placed else (event_loop.UNTIL, "")
        if why == event_loop.UNTIL:
            self.now_ms = max(self.now_ms, until_ms)
            return None
        self._take_apart()
        self._let_go(job_id)
        return job_id

    def take_iterations(self) -> dict[str, Iterations]:
        """The iterations completed since this was last asked, of jobs with any, also of those that are gone."""
        self._drain()
        taken, self._iterations = self._iterations, {}
        # Field by field: to join records, NumPy compares what fields they have, which takes longer than all else here.
        return {
            job_id: Iterations(
                *(
                    np.concatenate([part[name] for part in parts])
                    for name in ("came_ms", "start_ms", "end_ms", "marked")
                )
            )
            for job_id, parts in taken.items()
        }

    def take_loads(self) -> dict[str, Loads]:
        """What the watched links carried since this was last asked."""
        self._drain()
        taken, self._loads = self._loads, {link: [] for link in self._loads}
        found = {}
        for link, parts in taken.items():
            log = np.concatenate([np.zeros(0, dtype=LOAD), *parts])
            last = np.append(np.diff(log["at_ms"]) > 0, np.ones(int(len(log) > 0), dtype=np.bool_))
            found[link] = Loads(log["at_ms"][last], log["gbps"][last])  # of entries of one time the last
        return found

    def completed(self) -> dict[str, int]:
        """Whole iterations of each job that is there."""
        self._take_apart()
        return {job_id: int(one.record["completed"][0]) for job_id, one in self._placed.items()}

    def sent_mbit(self) -> dict[str, float]:
        """What each job that is there has sent along its ring in its whole iterations."""
        self._take_apart()
        return {job_id: float(one.record["sent_by_end"][0]) for job_id, one in self._placed.items()}

    def adjusted(self) -> dict[str, int]:
        """How often each job has corrected a deviation: what its hold counts, of a grid late starts.

        Also of jobs that are gone; of one that came again, all together.
        """
        self._take_apart()
        found = dict(self._adjusted)
        for job_id, one in self._placed.items():
            found[job_id] = found.get(job_id, 0) + _adjusted(one)
        return found

    def last_end_ms(self) -> dict[str, float]:
        """When the last whole iteration of each job that is there ended; 0 where there is none."""
        self._take_apart()
        return {job_id: float(one.record["ended"][0]) for job_id, one in self._placed.items()}

    def _run(self, until_ms: float) -> tuple[int, str]:
        """To where something is left to do for the caller."""
        arrays = self._put_together()
        while True:
            why, number = arrays.run(until_ms)
            if why == event_loop.FULL:
                self._drain()
                continue
            if why == event_loop.UNTIL:
                return why, ""
            job_id, now_ms = arrays.ids[number], arrays.next_event_ms(number)
            if why == event_loop.FINISHED:
                self.now_ms = float(arrays.jobs["ended"][number])
                return why, job_id
            self.now_ms = now_ms
            placed = self._placed[job_id]
            if why == event_loop.DRAW:
                assert placed.factors is not None  # else it needs none
                drawn = np.fromiter(itertools.islice(placed.factors, _DRAWN), dtype=np.float64)
                if len(drawn) < _DRAWN or not (np.isfinite(drawn).all() and (drawn >= 0).all()):
                    raise refusal(f"job {shown(job_id)}", "factors", "numbers of at least 0, without end", "others")
                arrays.factors[number], arrays.jobs["factor_at"][number] = drawn, 0
            else:
                assert isinstance(placed.hold, AgentHold)  # else it does not decide
                computed = float(arrays.jobs["computed"][number])
                arrays.jobs["computed"][number] = np.nan
                wait_ms = placed.hold.wait_ms(now_ms, computed if computed > 0 else None)
                arrays.wait(number, now_ms + wait_ms)

    # --- from jobs to arrays and back ---

    def _put_together(self) -> NetworkArrays:
        """Arrays of all that is there."""
        if self._arrays is not None:
            return self._arrays
        placed = list(self._placed.values())
        found = traffic([(one.job, one.route) for one in placed], self._capacity_gbps)
        for link, gbps in self._load_gbps.items():
            if gbps > 0 and link not in found.link_ids:  # the last job on it has gone
                self._loads[link].append(np.array([(0, self.now_ms, 0.0)], dtype=LOAD))
                self._load_gbps[link] = 0.0
        number = {link: index for index, link in enumerate(found.link_ids)}
        self._watched_now = tuple(link for link in self._load_gbps if link in number)
        self._loads_now = np.array([self._load_gbps[link] for link in self._watched_now])
        records = np.zeros(len(placed), dtype=JOB)
        for index, one in enumerate(placed):
            records[index] = one.record[0]
        self._arrays = NetworkArrays(
            found,
            records,
            np.array([one.drawn for one in placed]).reshape(len(placed), _DRAWN),
            self._marking,
            [number[link] for link in self._watched_now],
            self._loads_now,
        )
        self._arrays.resume(self.now_ms)
        return self._arrays

    def _take_apart(self) -> None:
        """Back to single jobs, of which there can be others."""
        if self._arrays is None:
            return
        self._drain()
        records = self._arrays.settled(self.now_ms)
        for number, job_id in enumerate(self._arrays.ids):
            placed = self._placed[job_id]
            placed.record, placed.drawn = records[number : number + 1].copy(), self._arrays.factors[number].copy()
        self._arrays = None

    def _drain(self) -> None:
        """Keep what was logged."""
        if self._arrays is None:
            return
        iterations, loads = self._arrays.drain()
        order = np.argsort(iterations["job"], kind="stable")
        numbers, first = np.unique(iterations["job"][order], return_index=True)
        for number, part in zip(numbers, np.split(iterations[order], first[1:]), strict=False):
            self._iterations.setdefault(self._arrays.ids[number], []).append(part)
        for watched, link in enumerate(self._watched_now):
            self._loads[link].append(loads[loads["link"] == watched])
            self._load_gbps[link] = float(self._loads_now[watched])

    def _let_go(self, job_id: str) -> None:
        self._adjusted[job_id] = self._adjusted.get(job_id, 0) + _adjusted(self._placed.pop(job_id))

    def _known(self, job_id: str) -> None:
        if job_id not in self._placed:
            raise refusal("", "job_id", "a job that is there", shown(job_id))

    def _check_route(self, job_id: str, route: Mapping[str, float]) -> None:
        for link, multiplier in route.items():
            if link not in self._capacity_gbps:
                raise refusal(f"job {shown(job_id)}", "route", "links of the network", shown(link))
            if not 0 < multiplier < math.inf:
                raise refusal(f"job {shown(job_id)}", f"route[{shown(link)}]", "a number above 0", shown(multiplier))

    def _set_hold(self, job_id: str, hold: Hold | None) -> None:
        placed = self._placed[job_id]
        record = placed.record
        if isinstance(hold, AgentHold):
            if isinstance(placed.hold, AgentHold):
                hold.succeed(placed.hold)
            hold.follow(job_id, self.now_ms)
        elif record["segment"][0] == WAITING:  # for what no longer holds it
            record["segment"], record["next_event"] = ARRIVED, self.now_ms
        if isinstance(placed.hold, AgentHold) and not isinstance(hold, AgentHold):
            record["adjusted"] = _adjusted(placed)
        placed.hold = hold
        record["decides"] = isinstance(hold, AgentHold)
        grid = hold if isinstance(hold, Grid) else Grid(0.0, math.nan)
        record["anchor"], record["pace"], record["late"], record["slot"] = grid.at_ms, grid.pace_ms, grid.late_ms, ANY
        record["share"], record["saved"], record["saved_since"] = grid.share, SAVED * grid.pace_ms, self.now_ms


def _adjusted(placed: _Placed) -> int:
    """How often a job has corrected a deviation."""
    by_itself = len(placed.hold.adjusted_ms) if isinstance(placed.hold, AgentHold) else 0
    return int(placed.record["adjusted"][0]) + by_itself
