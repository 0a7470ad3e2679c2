"""What one job waits: keeps the starts of its iterations on the grid of its schedule, at the least cost.

Within the dead band a job is paced (``phase_lock``). Beyond it there is something to adjust: the job says so (state
``adjusting``), and the coordinator answers with a schedule whose epoch lies where all jobs together wait least. If no
answer comes, the job itself waits once for the next grid point, if that pays. A wait is always reckoned from where the
job is now, and never added to another.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from statistics import median_low

from ..schedule import MS_NS, SECOND_NS, Schedule
from .change import MIN_CHANGE, Change, ChangeDetector, ComputeWatch
from .cost_budget import CostBudget, RunningCost
from .phase import phase_error, wrap
from .phase_lock import PhaseLock, Place

__all__ = ["Controller", "Decision", "patience_ns"]

ANSWER_NS, ANSWER_STARTS = 2 * SECOND_NS, 3
"""For the coordinator's answer: it hears of the job at once, but may be busy, or have to ask again."""

ROUND_NS = 2 * SECOND_NS
"""Without a coordinator: from one time to the next at which lost jobs of a component go back to the grid."""

STALL_FACTOR = 1.5
"""An iteration of more than so many usual ones says nothing of where the job was."""

HELD_UP = 4.0
"""The same of one that computed no longer than usual: it met others, and of many jobs each has little of the link."""

RECENT = 16
"""Iterations whose median predicts the next."""

WATCHED, TOO_OFTEN = 32, 4
"""Of so many iterations so few stalls and pauses, and a job does not stay where it is for long enough to be held."""

HINDERED = 5
"""Iterations whose median says whether the job is held up by others now."""

SAVED = 2
"""Paces that the cost budget for other waits holds at most: where two jobs part, one correction may not be enough."""

DISAGREES = 1.25
"""A schedule for iterations that take so many times as long as the job's own, or as short, is not for this job."""

PARTING = 64
"""For so many iterations a schedule that fitted is followed still: it parts jobs that were profiled while they held
each other up, and then they take less."""

SLOWEST = 1.5
"""No job is paced at more of its own uncontrolled iteration times."""

ABOVE_PACE = 1.002
"""An uncontrolled iteration time beyond the pace by this cannot be held."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What to wait, and what is to be said.

    Attributes
    ----------
    delay_ns : int
        To wait now; at least 0, less than the pace.
    state, note : str
        ``waiting``, ``held``, ``adjusting``, ``unlocked``, ``free`` or ``expired``; and why, where it is not plain.
    error_ns : int or None
        Phase error of this start, after its wait; None without a grid.
    natural_ns : int or None
        How long the last iteration took without its wait; None if that was a pause, or the first.
    adjusted : bool
        Whether the delay corrects a deviation beyond the dead band.
    changed : Change or None
        An uncontrolled iteration time that has just been found to be another.
    strayed : bool
        This start is out of its place. Known for certain it is only by the next one (then the job is ``adjusting``),
        but who answers other jobs should hear of it at once.
    """

    delay_ns: int
    state: str
    note: str = ""
    error_ns: int | None = None
    natural_ns: int | None = None
    adjusted: bool = False
    changed: Change | None = None
    strayed: bool = False


class Controller:
    """Decides for one job.

    Parameters
    ----------
    share : float
        Of its time that the job may wait for other reasons than its pace, see ``CostBudget``.

    Attributes
    ----------
    adjustments, delay_total_ns, iterations : int
        Counted from the start.
    """

    def __init__(self, share: float = CostBudget.SHARE) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"share: expected 0 to 1, got {share!r}")
        self._share = share
        self.adjustments = self.delay_total_ns = self.iterations = 0
        self._schedule: Schedule | None = None
        self._paused = False
        self._last_ns: int | None = None  # of the last call; None after a pause
        self._before_ns = 0  # the start before the present one
        self._corrected = False  # by the last decision
        self._unanswered = False  # it was lost, and no answer came in time
        self._recent: deque[int] = deque(maxlen=RECENT)
        self._fitted, self._misfits = False, 0  # whether the schedule ever did, and for how many iterations it has not
        self._broken: deque[bool] = deque(maxlen=WATCHED)  # iterations that stalled or in which the loop paused
        self._held: deque[int] = deque(maxlen=RECENT)  # those while the job was held: without contention
        self._is_held = False  # by the last decision
        self._state = "waiting"
        self._begun = False  # the wait that begins the interleaving has been waited for
        self._paced_ns = 0  # the part of the last decision's wait that is pacing
        self._phase_lock = PhaseLock()
        self._cost = RunningCost()
        self._costs_too_much = ""
        self._changes: ChangeDetector | None = None
        self._computing: ComputeWatch | None = None
        self._believed_ns = 0  # uncontrolled iteration time: what the schedule says, or what was last told
        self._budget: CostBudget | None = None

    @property
    def schedule(self) -> Schedule | None:
        """The one that is followed."""
        return self._schedule

    @property
    def is_unsure(self) -> bool:
        """Whether the next decision may be a correction, which needs to know for certain where the job is."""
        may_wait = self._schedule is not None and self._state in ("waiting", "held", "adjusting")
        return may_wait and self._phase_lock.is_unsure

    def set_schedule(self, schedule: Schedule, now_ns: int) -> None:
        """Follow a schedule, whose times are on the clock of ``now_ns``.

        One that moves the grid by less than half the dead band (a renewed mapping of clocks, a later expiry) is
        followed without more ado; another, and an answer to a job that is out of its place, may have it wait once, less
        than a pace.
        """
        old, self._schedule = self._schedule, schedule
        if old is None or schedule.version > old.version:
            self._unanswered = False
        same_pace = old is not None and _is_about(old.pace_ns, schedule.pace_ns)
        if old is None or not (same_pace and old.gain_ns == schedule.gain_ns):
            self._costs_too_much, self._cost = "", RunningCost()
        if old is None or self._changes is None or not _is_about(old.iteration_ns, schedule.iteration_ns):
            self._changes = ChangeDetector(schedule.iteration_ns, schedule.pace_ns)
            self._believed_ns = schedule.iteration_ns
            self._fitted, self._misfits = False, 0
        self._computing = self._computing or ComputeWatch(schedule.iteration_ns)
        if self._budget is None:
            self._budget = CostBudget(SAVED * schedule.pace_ns, now_ns, self._share)
        self._budget.most_ns = SAVED * schedule.pace_ns
        answered = self._phase_lock.strayed and old is not None and schedule.version > old.version
        if old is None or answered or 2 * abs(_moved(old, schedule, now_ns)) > schedule.dead_band_ns:
            self._phase_lock.align()

    def clear(self) -> None:
        """Run free until another schedule comes."""
        self._schedule = None

    def pause(self) -> None:
        """A checkpoint or an evaluation begins: no delays, and what comes is no iteration."""
        self._paused, self._last_ns = True, None
        self._phase_lock.drop()

    def resume(self) -> None:
        """It has ended; the first iteration after it is not delayed."""
        self._paused = False

    def step(self, now_ns: int, applied_ns: int = 0, compute_ns: int | None = None) -> Decision:
        """Decide at the start of an iteration, before its wait. Some 40 us.

        Parameters
        ----------
        now_ns : int
            On the clock of the schedule.
        applied_ns : int
            What was really waited after the last decision.
        compute_ns : int, optional
            From the start of the latest iteration of which that is known to the first start of its
            communication; each is told once.
        """
        self.iterations += 1
        self.delay_total_ns += applied_ns
        rests = self._paused or self._last_ns is None
        natural = None if self._last_ns is None else max(1, now_ns - self._last_ns - applied_ns)
        self._before_ns = now_ns if self._last_ns is None else self._last_ns
        self._last_ns = None if self._paused else now_ns
        self._pay(applied_ns)
        decision = self._decide(now_ns, applied_ns, natural, rests, compute_ns)
        self.adjustments += decision.adjusted
        self._corrected = decision.adjusted
        self._is_held = decision.state == "held"
        self._state = decision.state
        return decision

    def _decide(
        self, now_ns: int, applied_ns: int, natural: int | None, rests: bool, compute_ns: int | None
    ) -> Decision:
        schedule = self._schedule
        stalled = natural is not None and self._stalled(natural, compute_ns)
        if natural is not None:
            self._recent.append(natural)
            if self._is_held:
                self._held.append(natural)
        if schedule is None:
            return Decision(0, "waiting", natural_ns=natural)
        # The first iterations, before any schedule, are often like no others.
        self._broken.append(stalled or natural is None)
        if now_ns >= schedule.expires_ns:
            self._phase_lock.align()
            return Decision(0, "expired", natural_ns=natural)
        changed = self._observe(schedule, natural, applied_ns, compute_ns)
        if note := self._why_free(schedule):
            self._phase_lock.align()
            return Decision(0, "free", note, natural_ns=natural, changed=changed)
        assert self._computing is not None  # there is a schedule
        assert self._budget is not None
        broken = max(sum(self._broken), self._computing.stalls)
        if broken >= TOO_OFTEN:
            # What it waited for would be lost again soon, and what others waited for it too.
            self._phase_lock.align()
            note = f"{broken} of {WATCHED} iterations stalled or paused"
            return Decision(0, "unlocked", note, phase_error(now_ns, schedule), natural, changed=changed)
        if stalled:
            self._phase_lock.drop()
        elif natural is not None and self._phase_lock.lost_since_ns is not None:
            by_itself_ns = max(schedule.iteration_ns, self._believed_ns)
            self._budget.lost(max(0, natural - by_itself_ns) if self._share else 0)
        usual = median_low(list(self._recent)[-HINDERED:]) if self._recent else schedule.iteration_ns
        place = Place.of(schedule, now_ns, usual)
        self._paced_ns = 0 if natural is None else max(0, schedule.pace_ns - natural)
        wait, adjusted = 0, False
        if not rests and (not stalled or self._phase_lock.aligns):
            wait, adjusted = self._wait(schedule, place, now_ns)
            if now_ns + wait > schedule.expires_ns:
                wait, adjusted = 0, False  # for a grid that will not be there any more
        error = phase_error(now_ns + wait, schedule)
        self._phase_lock.began(error, place)
        if not (rests or adjusted):
            self._phase_lock.started(error, place, now_ns)
        state = "held" if self._phase_lock.lost_since_ns is None else "adjusting"
        note = self._phase_lock.note() or self._too_slow(schedule)
        return Decision(wait, state, note, error, natural, adjusted, changed, self._phase_lock.strayed)

    def _stalled(self, natural: int, compute_ns: int | None) -> bool:
        """Whether an iteration was so long that it does not say where the job is; what others hold up does say it."""
        computing = self._computing
        if compute_ns is None or computing is None or not computing.is_known or computing.is_stall(compute_ns):
            factor = STALL_FACTOR
        else:
            factor = HELD_UP
        return bool(self._recent) and natural > factor * median_low(self._recent)

    def _pay(self, applied_ns: int) -> None:
        """What was waited beyond the pace comes out of the cost budget, but for the first correction of all."""
        if self._budget is None or not applied_ns:
            return
        excess = max(0, applied_ns - self._paced_ns)
        if self._corrected and not self._begun:
            self._begun = True
        else:
            self._budget.spend(excess)

    def _wait(self, schedule: Schedule, place: Place, now_ns: int) -> tuple[int, bool]:
        """What to wait, and whether that is a correction: of more than the pace asks for no more than is left."""
        assert self._budget is not None  # there is a schedule
        left = self._paced_ns + self._budget.left_ns(now_ns)
        most = left if self._begun else schedule.pace_ns
        wait, adjusted = self._phase_lock.wait(place, now_ns, most, may_be_early=self._paced_ns > 0)
        lost_since = self._phase_lock.lost_since_ns
        # Where nobody answered the last time, nobody is waited for: there is no coordinator now.
        patience = 0 if self._unanswered else patience_ns(schedule.pace_ns)
        if wait or lost_since is None or now_ns - lost_since < patience:
            return wait if adjusted else min(wait, left), adjusted
        # All jobs of the component get back together, at the first start of a round: each for itself would come back to
        # where the others are still out of their places.
        is_due = (now_ns - schedule.epoch_ns) // ROUND_NS != (self._before_ns - schedule.epoch_ns) // ROUND_NS
        if not is_due or place.wait_ns > min(most, _wins(schedule, now_ns)):
            return 0, False
        self._unanswered = True
        return self._phase_lock.jump(place), True

    def _observe(
        self, schedule: Schedule, natural: int | None, applied_ns: int, compute_ns: int | None
    ) -> Change | None:
        """Keep the books."""
        assert self._changes is not None  # there is a schedule
        assert self._computing is not None
        # The wait that began the interleaving is paid once and says nothing of what it costs to keep it.
        self._cost.add(0 if self._corrected and self.adjustments == 1 else applied_ns)
        if not self._costs_too_much and self._cost.too_high(schedule):
            mean, gain = (self._cost.mean_ns or 0) / MS_NS, schedule.gain_ns / MS_NS
            self._costs_too_much = f"waits {mean:.2f} ms per iteration to win {gain:.2f} ms"
        change = None
        if compute_ns is not None and (longer := self._computing.add(compute_ns)):
            change = self._computed_change(longer)
        if change is not None:
            self._changes = ChangeDetector(change.iteration_ns, schedule.pace_ns)  # the old one has seen a part of it
        elif natural is not None:
            change = self._natural_change(natural)
        if change is not None:
            self._believed_ns = change.iteration_ns
        return change

    def _computed_change(self, longer_ns: int) -> Change | None:
        """Of a job that computes longer, or shorter, than it did; None if the schedule knows of it already."""
        found = max(1, self._believed_ns + longer_ns)
        if longer_ns > 0 and self._recent:
            found = min(found, median_low(self._recent))  # no iteration takes longer without others than with them
            if found - self._believed_ns < MIN_CHANGE * self._believed_ns:
                return None
        return Change(found, self._believed_ns, certain=True)

    def _natural_change(self, natural: int) -> Change | None:
        assert self._changes is not None
        assert self._computing is not None
        hindered = self._phase_lock.lost_since_ns is not None
        if hindered and self._computing.is_known:
            return None  # what is longer then is contention: how long the job computes would tell
        return self._changes.add(natural, hindered=hindered)

    def _too_slow(self, schedule: Schedule) -> str:
        """A pace that cannot be held: waiting makes it no worse, and others may be the reason."""
        assert self._changes is not None
        if self._changes.iteration_ns <= ABOVE_PACE * schedule.pace_ns:
            return ""
        natural, pace = self._changes.iteration_ns / MS_NS, schedule.pace_ns / MS_NS
        return f"iterations take {natural:.1f} ms, the pace is {pace:.1f} ms"

    def _why_free(self, schedule: Schedule) -> str:
        if schedule.hold_ns == 0:
            return "nothing can be held"
        if misfit := self._misfit(schedule):
            self._misfits += 1
        elif len(self._recent) == RECENT:
            self._fitted, self._misfits = True, 0
        if self._fitted and self._misfits < PARTING:
            misfit = ""
        return misfit or self._costs_too_much

    def _misfit(self, schedule: Schedule) -> str:
        """What the schedule and the job's own iterations do not agree about.

        Contention makes iterations longer, so what is longer than scheduled counts only where the job was held.
        """
        if len(self._recent) < RECENT:
            return ""
        own = median_low(self._recent)
        held = min(own, median_low(self._held)) if len(self._held) == RECENT else 0
        if schedule.iteration_ns > DISAGREES * own or held > DISAGREES * schedule.iteration_ns:
            asked = f"iterations of {schedule.iteration_ns / MS_NS:.1f} ms"
        elif schedule.pace_ns > SLOWEST * own:
            asked = f"a pace of {schedule.pace_ns / MS_NS:.1f} ms"
        else:
            return ""
        return f"the schedule is for {asked}, iterations take {own / MS_NS:.1f} ms"


def patience_ns(pace_ns: int) -> int:
    """How long a job of this pace that is lost waits for the coordinator before it jumps by itself."""
    return ANSWER_NS + ANSWER_STARTS * pace_ns


def _is_about(one_ns: int, other_ns: int) -> bool:
    """The same but for the rate of a clock: a host's nanoseconds are up to 500 ppm longer or shorter."""
    return 2000 * abs(one_ns - other_ns) <= one_ns


def _moved(old: Schedule, new: Schedule, now_ns: int) -> int:
    """By how much the grid differs at ``now_ns``."""
    return wrap(phase_error(now_ns, old) - phase_error(now_ns, new), new.pace_ns)


def _wins(schedule: Schedule, now_ns: int) -> int:
    """What a job that is not interleaved loses until its schedule ends: half of it may be spent on getting back."""
    if schedule.gain_ns == 0:
        return schedule.pace_ns
    return schedule.gain_ns * ((schedule.expires_ns - now_ns) // schedule.pace_ns) // 2
