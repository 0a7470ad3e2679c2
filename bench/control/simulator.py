"""Jobs on one link, event by event, with the agent's own controllers.

Whoever sends gets an equal share of the link. Times are milliseconds of true time; controllers see their host's clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .events import Events
from .job import Control, JobModel, Trace
from .link import Link
from .ranks import Ranks

__all__ = ["Simulator"]


@dataclass(slots=True)
class _Running:
    model: JobModel
    control: Control
    compute: Callable[[], float]
    ranks: Ranks
    trace: Trace = field(default_factory=Trace)
    start_ms: float = 0.0  # of the iteration under way, on rank 0
    stalls: list[tuple[float, float]] = field(default_factory=list)


class Simulator:
    """One link and its jobs.

    Parameters
    ----------
    models : sequence of JobModel
    controls : sequence of Control
        One per job.
    seed : int
        Of all jitter.
    """

    def __init__(self, models: Sequence[JobModel], controls: Sequence[Control], seed: int) -> None:
        self.events = Events()
        self._link = Link(self.events)
        self.jobs = [
            _Running(
                model,
                control,
                model.compute_times(seed * 1000 + i).__next__,
                Ranks(model, seed * 1000 + i),
                stalls=sorted(model.stalls),
            )
            for i, (model, control) in enumerate(zip(models, controls, strict=True))
        ]
        for job in self.jobs:
            self.at(job.model.start_ms, lambda job=job: self._arrive(job))

    def at(self, when_ms: float, what: Callable[[], None]) -> None:
        """Have something done at a time; in order of calls where times are equal."""
        self.events.at(when_ms, what)

    @property
    def now_ms(self) -> float:
        """True time."""
        return self.events.now_ms

    def run(self, until_ms: float) -> dict[str, Trace]:
        """Go on until then; traces by job."""
        self.events.run(until_ms)
        return self.traces()

    def traces(self) -> dict[str, Trace]:
        """What was measured so far, by job."""
        return {job.model.name: job.trace for job in self.jobs}

    def _arrive(self, job: _Running) -> None:
        """An iteration is over (or the job begins)."""
        if self.now_ms >= job.model.ends_ms:
            job.control.end()
            return
        if job.trace.start_ms:
            job.trace.natural_ms.append(self.now_ms - job.start_ms)
        self.at(job.ranks.come(self.now_ms), lambda: self._come(job))

    def _come(self, job: _Running) -> None:
        """Rank 0 comes to an iteration."""
        decision = job.control.step(job.model.host_ns(self.now_ms))
        self._note(job, decision.state, decision.adjusted)
        wait_ms = decision.delay_ns * 1e-6
        job.trace.wait_ms.append(wait_ms)
        self.at(self.now_ms + wait_ms, lambda: self._start(job))

    def _start(self, job: _Running) -> None:
        """Rank 0 begins."""
        job.start_ms = self.now_ms
        job.trace.start_ms.append(self.now_ms)
        compute_ms = job.compute()
        change = job.model.change
        if change is not None and self.now_ms >= change[0]:
            compute_ms *= change[1]
        while job.stalls and job.stalls[0][0] <= self.now_ms:
            compute_ms += job.stalls.pop(0)[1]
        first_ms, all_ms = job.ranks.compute(self.now_ms, compute_ms)
        self.at(first_ms, job.control.sends)
        self.at(all_ms, lambda: self._send(job))

    def _send(self, job: _Running) -> None:
        self._link.send(job.model.communicate_ms, lambda: self._has_sent(job))

    def _has_sent(self, job: _Running) -> None:
        job.control.has_sent()
        self._arrive(job)

    def _note(self, job: _Running, state: str, adjusted: bool) -> None:
        job.trace.state.append(state)
        if adjusted:
            job.trace.adjusted_ms.append(self.now_ms)
