"""When the epoch of a component moves, where to, and what it cost: pure.

A job that is out of its place says so at once. The answer is reckoned from where all jobs are now, and from how much
later they get meanwhile. Until all follow it nothing more is decided: what is seen before is the old grid's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from ..control.cost_budget import CostBudget
from ..control.phase import phase_error
from ..control.rephasing import Strayed, rephase
from ..schedule import SECOND_NS, Schedule
from . import events
from .lasting import Lasting
from .member import Member
from .renewal import epoch_near
from .status import JobStatus

__all__ = ["Rephasing"]

DUE = 0.9
"""After this part of its uncontrolled iteration time a job may begin the next iteration at any moment."""

PUT_OFF_PACES = 5
"""So long a decision waits for a moment at which no job is due; with less, three jobs with jitter are moved more."""

HELD_UP, REPORT_NS = 0.5, SECOND_NS // 4
"""Contention makes iterations longer by no more than the bursts of the others, which together take no less than this
part of a pace. Who has not begun by then, and the time between two reports, is held up by something else."""

ANSWER_NS = SECOND_NS // 40
"""From a decision until a job has heard of it; then it takes effect at the job's next start."""

CAUTION = 1.25
"""Jobs are expected to be so much later than contention makes them: who comes earlier waits a little more, but who
comes later than expected has missed its grid point."""

DEAF_NS = 2 * SECOND_NS
"""A job that does not take what it is sent is not waited for any longer than this and three paces."""

FOLLOWS_NO_GRID = ("unlocked", "free")
"""States of jobs that start where they like: no epoch is right for them."""

FEWEST = 2
"""Jobs that follow a grid, and one may be in the other's way."""

BURST_PACES = 2
"""What the jobs may wait for new epochs at once, in paces, each on average; then it is a share of the time that passes,
as for the waits that a job decides by itself (``cost_budget.CostBudget``)."""


class Rephasing:
    """Decides for one component.

    Parameters
    ----------
    component : str
        Its name.
    members : mapping of str to Member
        Those that are held together; others may leave it.

    Attributes
    ----------
    look_again : bool
        A decision was put off by a moment: until a job that is about to begin an iteration has begun it.
    """

    def __init__(self, component: str, members: Mapping[str, Member]) -> None:
        self._component = component
        self._members = members
        self._moved_ns: int | None = None  # since when not all have been held on what was decided
        self._budget: CostBudget | None = None
        self._counted_ns: int | None = None  # until when it was counted what jobs lose to each other
        self._deaf = Lasting(False)  # a job does not follow what it was sent
        self._due = Lasting(False)  # a decision waits for a job that is due
        self._is_unsteady = False
        self.look_again = False

    def decide(
        self,
        drafts: dict[str, Schedule],
        known: Mapping[str, JobStatus],
        now_ns: int,
        monotonic_ns: int,
        told: list[events.Event],
    ) -> dict[str, Schedule]:
        """Schedules on another epoch, or the same ones; what is new is added to ``told``. ``known``: who is heard of
        and shows where it is.
        """
        no_grid = [job for job, status in known.items() if status.state in FOLLOWS_NO_GRID]
        known = {job: status for job, status in known.items() if job not in no_grid}
        self._note_settled(known, monotonic_ns, told)
        places = {job: self._members[job].place_ns(status) for job, status in known.items()}
        # Who does not follow the present schedules is not waited for any longer than this.
        deaf_ns = self._deaf.look(None in places.values(), monotonic_ns)
        is_waited_for = self._deaf.value and deaf_ns <= DEAF_NS + 3 * self._longest_pace_ns()
        is_alone = bool(no_grid) and len(self._members) - len(no_grid) < FEWEST
        if is_alone or not any(status.state == "adjusting" for status in known.values()):
            self._counted_ns = None
            self._due.look(False, monotonic_ns)
            return drafts
        if any(self._is_overdue(job, known, now_ns) for job in known):
            return drafts  # it is in a long iteration, and somewhere else after it: this start will tell
        # Else it would depend on moments whether the answer is there before its next start. Not for ever: of many jobs
        # there is always one.
        due_ns = self._due.look(any(self._is_due(job, status, now_ns) for job, status in known.items()), monotonic_ns)
        self.look_again = self._due.value and due_ns < PUT_OFF_PACES * self._longest_pace_ns()
        placed = {job: place for job, place in places.items() if place is not None}
        if self.look_again or is_waited_for or not any(known[job].state == "adjusting" for job in placed):
            return drafts
        longer = self._longer_ns(known, placed)
        budget = self._budget_with_loss(longer, monotonic_ns)
        expected = {job: self._expected_ns(known[job], place, now_ns, longer) for job, place in placed.items()}
        found = rephase([self._strayed(draft, expected.get(job)) for job, draft in drafts.items()])
        if not self._may_cost(found.cost, budget, monotonic_ns, told):
            return drafts
        self._due.look(False, monotonic_ns)
        self._moved_ns = self._moved_ns or monotonic_ns
        told.append(events.Rephased(self._component, found.epoch_shift_ns, sum(found.wait_ns)))
        epoch = epoch_near(now_ns, drafts.values()) + found.epoch_shift_ns
        return {
            job: replace(draft, epoch_ns=epoch, shift_ns=(draft.shift_ns + change) % draft.pace_ns)
            for (job, draft), change in zip(drafts.items(), found.shift_change_ns, strict=True)
        }

    def _longest_pace_ns(self) -> int:
        return max(member.schedule.pace_ns for member in self._members.values())

    def _is_due(self, job: str, status: JobStatus, now_ns: int) -> bool:
        """Whether a job may at any moment come to where it takes what it is told: to its next iteration."""
        return _age_ns(status, now_ns + ANSWER_NS) > DUE * self._members[job].schedule.iteration_ns

    def _is_overdue(self, job: str, known: Mapping[str, JobStatus], now_ns: int) -> bool:
        """Whether the next start of a job, as it is known, should have been told of by now."""
        latest_ns = self._members[job].schedule.pace_ns + self._longest_ns(job, known) + REPORT_NS
        return _age_ns(known[job], now_ns) > latest_ns

    def _longest_ns(self, job: str, known: Mapping[str, JobStatus]) -> int:
        """By how much contention can make an iteration longer: by as many bursts of each other as a pace holds."""
        pace, bursts = self._members[job].schedule.pace_ns, 0
        for other, status in known.items():
            if other != job and status.communication_ns is not None:
                begin, end = status.communication_ns
                bursts += -(-pace // self._members[other].schedule.pace_ns) * (end - begin)
        return max(round(HELD_UP * pace), bursts)

    def _budget_with_loss(self, longer_ns: int, monotonic_ns: int) -> CostBudget:
        """What the jobs may wait for new epochs: the more, the more they hold each other up."""
        longest = self._longest_pace_ns()
        if self._budget is None:
            self._budget = CostBudget(BURST_PACES * longest, monotonic_ns)
        if self._counted_ns is not None:
            self._budget.lost(longer_ns * (monotonic_ns - self._counted_ns) // longest)
        self._counted_ns = monotonic_ns
        return self._budget

    def _may_cost(self, cost: float, budget: CostBudget, monotonic_ns: int, told: list[events.Event]) -> bool:
        """Whether the jobs may wait so much, all together, for a new epoch."""
        mean = math.ceil(cost / len(self._members))
        left = budget.left_ns(monotonic_ns)
        if mean <= left:
            budget.spend(mean)
        elif not self._is_unsteady:
            told.append(events.Unsteady(self._component, math.ceil((mean - left) / CostBudget.SHARE)))
        self._is_unsteady = mean > left
        return not self._is_unsteady

    def _strayed(self, draft: Schedule, start_ns: int | None) -> Strayed:
        if start_ns is None:  # it is not heard of: wherever the grid goes, it waits for it when it is back
            return Strayed(0, draft.pace_ns, draft.pace_ns)
        return Strayed(phase_error(start_ns, draft), draft.pace_ns, draft.dead_band_ns // 2)

    def _expected_ns(self, status: JobStatus, place_ns: int, now_ns: int, longer_ns: int) -> int:
        """When a job that was last seen in this place begins the iteration in which it has the answer.

        Until then it runs on the grid that it follows, whose pace is not that of its draft where paces are just being
        renewed. Jobs that hold each other up get later together: what is between them stays, but an epoch that is too
        early for all would have each wait for almost a pace.
        """
        followed = self._members[status.job].schedule
        about_ns = now_ns if status.place_at_ns is None else status.place_at_ns
        begun_ns = about_ns - phase_error(about_ns - place_ns, followed)  # the nearest to that with this very error
        whole = _age_ns(status, now_ns + ANSWER_NS) // (followed.pace_ns + longer_ns)
        return begun_ns + (1 + whole) * (followed.pace_ns + round(CAUTION * longer_ns))

    def _longer_ns(self, known: Mapping[str, JobStatus], placed: Mapping[str, int]) -> int:
        """By how much an iteration is made longer by contention now."""
        most = min(self._longest_ns(job, known) for job in placed)
        stretched = [ns for job in placed if (ns := self._members[job].stretch_ns(known[job])) is not None]
        if len(stretched) == len(placed):
            # Of a job that met another the last iteration shows it, of the other perhaps only the next.
            return min(max(stretched), most)
        # A job that had a long iteration by itself gets later alone; it goes on like that only if all do.
        drifts = [self._members[job].drift_ns(known[job]) for job in placed]
        return min(max(0, min(drifts)), most)

    def _note_settled(self, known: Mapping[str, JobStatus], monotonic_ns: int, told: list[events.Event]) -> None:
        """Whether all are held on the last move that follow a grid and are heard of."""
        if self._moved_ns is None or len(known) < FEWEST:
            return
        if all(
            status.state == "held" and status.followed == self._members[job].schedule.version
            for job, status in known.items()
        ):
            told.append(events.Settled(self._component, monotonic_ns - self._moved_ns))
            self._moved_ns = None


def _age_ns(status: JobStatus, now_ns: int) -> int:
    """How long ago a job began the iteration that is under way; 0 where that is not known, or still to come."""
    return 0 if status.place_at_ns is None else max(0, now_ns - status.place_at_ns)
