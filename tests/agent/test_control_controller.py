"""What a job waits: never twice, never longer than a pace, nothing while paused; and its grid is kept."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import cycle

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cassini_agent.control.controller import Controller, Decision
from cassini_agent.control.cost_budget import CostBudget
from cassini_agent.control.phase import phase_error
from cassini_agent.schedule import MS_NS, SECOND_NS, Schedule

SCHEDULE = Schedule(
    job="a",
    component="c",
    version=1,
    epoch_ns=0,
    pace_ns=200 * MS_NS,
    shift_ns=50 * MS_NS,
    iteration_ns=197 * MS_NS,
    hold_ns=7 * MS_NS,
    slack_ns=14 * MS_NS,
    gain_ns=0,
    expires_ns=3600 * SECOND_NS,
)


@dataclass
class Played:
    """A job that is played: iterations of given lengths, each begun when the controller lets it."""

    now_ns: int = 0
    overslept_ns: int = 0
    schedule: Schedule = SCHEDULE
    share: float = 0.01
    besides_pacing_ns: int = 0
    decisions: list[Decision] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    waits: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.controller = Controller(self.share)
        self.controller.set_schedule(self.schedule, self.now_ns)
        self._waited = self._natural_ns = 0
        self._compute_ns: int | None = None
        self._pace_ns = self.schedule.pace_ns  # when it was decided

    def iterate(self, natural_ns: int, compute_ns: int | None = None) -> Decision:
        """One iteration: decide, wait, work; what it computed is told at the next."""
        before_ns, self._compute_ns = self._compute_ns, compute_ns
        decision = self.controller.step(self.now_ns, self._waited, before_ns)
        self._note_pace()
        self._wait(decision.delay_ns)
        self.decisions.append(decision)
        self.starts.append(self.now_ns)
        self.now_ns += natural_ns
        self._natural_ns = natural_ns
        return decision

    def _wait(self, delay_ns: int) -> None:
        self._waited = delay_ns + (self.overslept_ns if delay_ns else 0)
        self.waits.append(self._waited)
        paced_ns = max(0, self._pace_ns - self._natural_ns) if self._natural_ns else 0
        self.besides_pacing_ns += max(0, self._waited - paced_ns)
        self.now_ns += self._waited

    def _note_pace(self) -> None:
        assert self.controller.schedule is not None
        self._pace_ns = self.controller.schedule.pace_ns

    def run(self, naturals: Iterator[int], count: int) -> Played:
        for _ in range(count):
            self.iterate(next(naturals))
        return self

    def errors_ms(self) -> list[float]:
        return [phase_error(start, self.schedule) / MS_NS for start in self.starts]


def steady(natural_ms: float = 197.0, jitter_ms: float = 0.0, seed: int = 0) -> Iterator[int]:
    rng = random.Random(seed)
    while True:
        yield round((natural_ms + rng.gauss(0, jitter_ms)) * MS_NS)


@pytest.mark.parametrize("natural_ms", [140.0, 170.0, 185.0])
def test_a_job_on_its_grid_is_paced_however_short_its_iterations_become(natural_ms: float) -> None:
    """As where it is parted from another that had held it up when its pace was found."""
    played = Played(schedule=replace(SCHEDULE, iteration_ns=190 * MS_NS)).run(steady(190.0), 4)
    played.run(steady(natural_ms), 8)
    assert max(abs(error) for error in played.errors_ms()[2:]) == 0


@pytest.mark.parametrize("begin_ms", [0, 37, 60, 149, 199])
def test_a_job_is_on_its_grid_after_one_wait_and_stays(begin_ms: int) -> None:
    job = Played(now_ns=begin_ms * MS_NS).run(steady(), 300)
    assert all(abs(error) < 0.01 for error in job.errors_ms()[8:])
    assert job.controller.adjustments <= 1
    assert job.controller.delay_total_ns < 200 * MS_NS + 300 * 3.1 * MS_NS
    assert job.decisions[-1].state == "held"


def test_a_new_grid_that_the_job_is_a_little_late_on_costs_no_pace() -> None:
    job = Played(now_ns=(50 + 12) * MS_NS).run(steady(), 50)  # the shift is 50
    assert max(job.waits) <= 4 * MS_NS
    assert job.controller.adjustments == 0
    assert abs(job.errors_ms()[-1]) < 0.01


@pytest.mark.parametrize("pace_ms", [60, 200, 800, 3000])
def test_a_lost_job_leaves_the_coordinator_the_time_it_needs(pace_ms: int) -> None:
    pace = pace_ms * MS_NS
    slow = replace(SCHEDULE, pace_ns=pace, iteration_ns=pace - MS_NS, hold_ns=pace // 50, slack_ns=pace // 25)
    job = Played(50 * MS_NS, schedule=slow)
    job.run(steady(1.001 * pace_ms), round(9e3 / pace_ms) + 50)  # a little later each time
    lost = next(i for i, decision in enumerate(job.decisions) if decision.state == "adjusting")
    jump = next(i for i, decision in enumerate(job.decisions) if decision.adjusted)
    assert job.starts[jump] - job.starts[lost] >= 2 * SECOND_NS + 3 * pace
    assert job.starts[jump] - job.starts[lost] <= 4 * SECOND_NS + 5 * pace


@pytest.mark.parametrize(
    ("hold_ms", "late_ms", "starts"),
    [(40, 50, 2), (40, 70, 2), (40, 90, 1), (40, -60, 1), (7, 18, 4), (7, 22, 1), (7, 50, 1), (7, -60, 1)],
)
def test_a_job_out_of_its_place_is_known_by_its_second_start_or_where_it_is_far_or_meets_others_by_its_first(
    hold_ms: int, late_ms: int, starts: int
) -> None:
    schedule = replace(SCHEDULE, hold_ns=hold_ms * MS_NS, slack_ns=hold_ms * MS_NS)
    job = Played(schedule=schedule).run(steady(), 100)
    job.iterate((17_000 + late_ms) * MS_NS)
    job.run(steady(), 3)
    states = [decision.state for decision in job.decisions[-3:]]
    assert states == ["held"] * (starts - 1) + ["adjusting"] * (4 - starts)
    assert job.decisions[-3].strayed == (starts < 4)


@pytest.mark.parametrize("longer_ms", [5, 10])
def test_a_job_that_is_off_with_every_other_start_is_in_its_place(longer_ms: int) -> None:
    turns = cycle([(198 - longer_ms) * MS_NS, (198 + longer_ms) * MS_NS])
    job = Played().run(turns, 300)
    assert {decision.state for decision in job.decisions[5:]} == {"held"}
    assert job.controller.adjustments <= 1


def test_without_a_coordinator_jobs_that_are_lost_go_back_together() -> None:
    """Each for itself would come back to where the other still is."""
    jobs = [Played(now_ns=k * 70 * MS_NS, schedule=replace(SCHEDULE, shift_ns=k * 100 * MS_NS)) for k in range(2)]
    for k, job in enumerate(jobs):
        job.run(steady(), 50 + 4 * k)
        job.iterate((250 + 30 * k) * MS_NS)
        while not any(decision.adjusted for decision in job.decisions[50:]):
            job.iterate(200 * MS_NS)
    assert abs(jobs[0].starts[-1] - jobs[1].starts[-1]) < 2 * SCHEDULE.pace_ns


def test_an_answer_is_for_a_job_too_that_has_only_begun_to_stray() -> None:
    """The one that asked was heard a moment before: both have been held up, and the answer is for where both are."""
    roomy = replace(SCHEDULE, hold_ns=40 * MS_NS, slack_ns=40 * MS_NS)
    job = Played(schedule=roomy).run(steady(), 100)
    job.iterate(255 * MS_NS)
    job.iterate(200 * MS_NS)
    assert (job.decisions[-1].state, job.decisions[-1].strayed) == ("held", True)
    job.controller.set_schedule(replace(roomy, version=2), job.now_ns)  # the other one moved
    job.run(steady(), 3)
    assert job.waits[-3] > 100 * MS_NS
    assert abs(job.errors_ms()[-1]) < 0.01


def test_jitter_is_paced_without_adjustments() -> None:
    job = Played().run(steady(196.5, 1.5), 3000)
    assert job.controller.adjustments <= 1
    inside = [abs(error) <= 7 for error in job.errors_ms()[3:]]
    assert sum(inside) / len(inside) > 0.99


lengths = st.lists(
    st.one_of(st.integers(150, 260), st.sampled_from([5, 90, 400, 1000, 17_000])).map(lambda ms: ms * MS_NS),
    min_size=5,
    max_size=120,
)


@given(lengths, st.integers(0, 199), st.integers(0, 3 * MS_NS))
def test_whatever_happens_a_wait_is_short_and_starts_no_second_one(
    naturals: list[int], begin_ms: int, overslept: int
) -> None:
    job = Played(begin_ms * MS_NS, overslept)
    for natural in naturals:
        decision = job.iterate(natural)
        assert 0 <= decision.delay_ns < SCHEDULE.pace_ns
        assert 0 <= job.waits[-1] - overslept < SCHEDULE.pace_ns or job.waits[-1] == 0
        assert decision.state in ("held", "adjusting", "unlocked", "free")
    # What a job waits besides pacing is bounded; the rest is waiting for the end of its own pace.
    assert job.besides_pacing_ns <= 3 * SCHEDULE.pace_ns + 0.01 * (job.now_ns - begin_ms * MS_NS) + overslept * len(
        naturals
    )


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    """Any that are allowed, but for their gain."""
    iteration = draw(st.integers(60, 400)) * MS_NS
    pace = draw(st.integers(iteration, iteration * 3 // 2))
    hold = draw(st.integers(0, pace // 2))
    return replace(
        SCHEDULE,
        component=draw(st.sampled_from("cd")),
        epoch_ns=draw(st.integers(0, 400)) * MS_NS,
        pace_ns=pace,
        shift_ns=draw(st.integers(0, pace - 1)),
        iteration_ns=iteration,
        hold_ns=hold,
        slack_ns=pace // 2,
    )


@given(
    st.lists(st.tuples(st.integers(50, 420), st.none() | schedules()), min_size=5, max_size=150),
    st.sampled_from([0.0, 0.01, 0.1]),
)
def test_whatever_schedules_come_a_job_waits_little_besides_pacing(
    course: list[tuple[int, Schedule | None]], share: float
) -> None:
    job = Played(share=share)
    for version, (length_ms, schedule) in enumerate(course, 2):
        if schedule is not None:
            job.controller.set_schedule(replace(schedule, version=version), job.now_ns)
        job.iterate(length_ms * MS_NS)
    longest_ns = max(one.pace_ns for one in (SCHEDULE, *(schedule for _, schedule in course)) if one is not None)
    assert job.besides_pacing_ns <= 3 * longest_ns + share * job.now_ns + 1


def test_a_stream_of_versions_is_no_wait_per_iteration() -> None:
    job = Played().run(steady(), 20)
    for version in range(2, 600):
        moved = replace(SCHEDULE, version=version, shift_ns=version * 91 * MS_NS % SCHEDULE.pace_ns)
        job.controller.set_schedule(moved, job.now_ns)
        job.iterate(197 * MS_NS)
    assert job.controller.delay_total_ns < 3 * SCHEDULE.pace_ns + 0.01 * job.now_ns + 600 * 3 * MS_NS


def test_a_grid_that_creeps_costs_no_more_than_other_corrections() -> None:
    job = Played().run(steady(), 20)
    for version in range(2, 600):
        moved = replace(SCHEDULE, version=version, epoch_ns=version * 3 * MS_NS)  # less than half the dead band
        job.controller.set_schedule(moved, job.now_ns)
        job.iterate(197 * MS_NS)
    assert job.controller.delay_total_ns < 3 * SCHEDULE.pace_ns + 0.01 * job.now_ns + 600 * 3 * MS_NS


@pytest.mark.parametrize(
    ("iteration_ms", "pace_ms", "note"),
    [
        (2067, 2075, "the schedule is for iterations of 2067.0 ms, iterations take 197.0 ms"),
        (252, 260, "the schedule is for iterations of 252.0 ms, iterations take 197.0 ms"),
        (220, 300, "the schedule is for a pace of 300.0 ms, iterations take 197.0 ms"),
        (240, 250, ""),
        (165, 200, ""),
    ],
)
def test_a_schedule_for_other_iterations_is_refused(iteration_ms: int, pace_ms: int, note: str) -> None:
    other = replace(SCHEDULE, pace_ns=pace_ms * MS_NS, iteration_ns=iteration_ms * MS_NS)
    early, late = Played(schedule=other), Played()
    early.run(steady(), 40)
    late.run(steady(), 40).controller.set_schedule(replace(other, version=2), late.now_ns)
    late.run(steady(), 2)
    for job in (early, late):
        last = job.decisions[-1]
        assert (last.note if last.state == "free" else "") == note
    if note:
        assert late.waits[-1] == 0
        assert sum(early.waits[20:]) == 0


def test_jobs_that_were_profiled_together_have_time_to_be_profiled_apart() -> None:
    contended = replace(SCHEDULE, iteration_ns=275 * MS_NS, pace_ns=280 * MS_NS)
    job = Played(schedule=contended).run(steady(275), 40).run(steady(), 50)
    assert job.decisions[-1].state == "held"
    job.run(steady(), 50)
    assert job.decisions[-1].state == "free"


def test_iterations_that_contention_makes_longer_are_no_reason_to_refuse_a_schedule() -> None:
    job = Played(schedule=replace(SCHEDULE, hold_ns=0)).run(steady(280), 40)
    job.controller.set_schedule(replace(SCHEDULE, version=2), job.now_ns)
    job.run(steady(280), 20)
    assert "free" not in {decision.state for decision in job.decisions[-20:]}
    job.run(steady(), 100)
    assert job.decisions[-1].state == "held"


def test_a_schedule_for_shorter_iterations_than_those_of_a_job_that_is_held_is_refused() -> None:
    job = Played().run(steady(), 40)
    other = replace(SCHEDULE, version=2, pace_ns=155 * MS_NS, iteration_ns=150 * MS_NS)
    job.controller.set_schedule(other, job.now_ns)
    job.run(steady(), 2)
    assert job.decisions[-1].state == "free"
    assert job.decisions[-1].note == "the schedule is for iterations of 150.0 ms, iterations take 197.0 ms"


@pytest.mark.parametrize("late_ms", range(0, 200, 20))
def test_nothing_is_waited_for_beyond_the_expiry(late_ms: int) -> None:
    expiring = replace(SCHEDULE, expires_ns=(10_000 + late_ms) * MS_NS)
    job = Played(schedule=expiring).run(steady(), 60)
    begun = [(start, wait) for start, wait in zip(job.starts, job.waits, strict=True) if wait]
    assert all(start <= expiring.expires_ns for start, _ in begun)
    job = Played(now_ns=expiring.expires_ns - 60 * MS_NS, schedule=expiring).run(steady(20), 10)
    begun = [start for start, wait in zip(job.starts, job.waits, strict=True) if wait]
    assert all(start <= expiring.expires_ns for start in begun)


@given(lengths, st.sets(st.integers(0, 119)))
def test_nothing_is_waited_in_a_pause_nor_right_after(naturals: list[int], pauses: set[int]) -> None:
    controller = Controller()
    controller.set_schedule(SCHEDULE, 0)
    now = waited = 0
    after_pause = True
    for i, natural in enumerate(naturals):
        if i in pauses:
            controller.pause()
            decision = controller.step(now, waited)
            assert decision.delay_ns == 0
            controller.resume()
            now, waited, after_pause = now + 3 * SECOND_NS, 0, True
        decision = controller.step(now, waited)
        if after_pause:
            assert decision.delay_ns == 0
            assert decision.natural_ns is None
        after_pause = False
        now += natural
        waited = decision.delay_ns
        now += waited


def test_one_collective_of_17_s_moves_nothing() -> None:
    job = Played().run(steady(), 50)
    before = job.controller.adjustments
    job.iterate(17_000 * MS_NS - 3 * MS_NS)  # 85 paces: in phase again after it
    job.run(steady(), 50)
    assert job.controller.adjustments == before
    assert job.waits[51] == 0
    assert max(job.waits[51:]) <= SCHEDULE.dead_band_ns


def test_out_of_phase_after_a_stall_a_job_asks_first_and_then_helps_itself_once() -> None:
    job = Played().run(steady(), 100)
    before = job.controller.adjustments
    job.iterate(17_060 * MS_NS)
    job.run(steady(), 12)
    assert job.decisions[-1].state == "adjusting"
    assert "late" in job.decisions[-1].note
    assert sum(job.waits[101:]) == 0  # the coordinator may know a cheaper way
    job.run(steady(), 60)
    assert job.controller.adjustments == before + 1
    assert job.decisions[-1].state == "held"
    assert abs(job.errors_ms()[-1]) < 0.01


def test_an_answer_moves_the_grid_to_the_job() -> None:
    job = Played().run(steady(), 100)
    job.iterate(17_060 * MS_NS)
    job.run(steady(), 12)
    off = phase_error(job.now_ns, SCHEDULE)
    answer = replace(SCHEDULE, version=2, epoch_ns=off)
    job.controller.set_schedule(answer, job.now_ns)
    job.run(steady(), 20)
    assert max(job.waits[113:]) <= 4 * MS_NS
    assert job.decisions[-1].state == "held"


@pytest.mark.parametrize("every", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("longer_ms", [110, 403, 1060])
def test_a_job_that_stalls_too_often_to_be_held_does_not_say_that_it_is(every: int, longer_ms: int) -> None:
    job = Played().run(steady(), 50)
    job.run(cycle([197 * MS_NS] * every + [(197 + longer_ms) * MS_NS]), 160)
    assert {decision.state for decision in job.decisions[-100:]} == {"unlocked"}
    assert sum(job.waits[-100:]) == 0
    job.run(steady(), 60)
    assert job.decisions[-1].state == "held"


@pytest.mark.parametrize("every", [1, 2, 3, 4, 7])
def test_a_job_that_stalls_too_often_says_so_also_where_all_its_iterations_are_held_up(every: int) -> None:
    """Of iterations that contention makes half as long again, one with a stall is not much longer than the others."""
    job = Played().run(steady(), 50)
    for i in range(160):
        stall_ms = 110 * (i % (every + 1) == every)
        held_up_ms = (290, 270)[i % 2]
        job.iterate((held_up_ms if not stall_ms else 330) * MS_NS, (110 + stall_ms) * MS_NS)
    assert {decision.state for decision in job.decisions[-100:]} == {"unlocked"}
    assert sum(job.waits[-100:]) == 0
    for _ in range(60):
        job.iterate(197 * MS_NS, 110 * MS_NS)
    assert job.decisions[-1].state == "held"


@given(longer=st.floats(1.51, 3.9), first=st.integers(40, 80))
def test_a_job_that_others_hold_up_by_more_than_half_is_out_of_its_place_and_says_so(longer: float, first: int) -> None:
    """Three jobs in phase take 1.53 times as long each where they communicate for a quarter of their time alone."""
    played = Played()
    for _ in range(first):
        played.iterate(197 * MS_NS, 140 * MS_NS)
    assert played.decisions[-1].state == "held"
    for _ in range(64):
        played.iterate(round(longer * 197 * MS_NS), 140 * MS_NS)
    wrong = 0  # starts in a row out of place, of a job that says it is held; two tell it
    for decision, start in zip(played.decisions[first:], played.starts[first:], strict=True):
        assert decision.state in ("held", "adjusting")
        is_in_place = abs(phase_error(start, SCHEDULE)) <= SCHEDULE.dead_band_ns
        wrong = 0 if is_in_place or decision.state == "adjusting" else wrong + 1
        assert wrong < 3


def test_a_job_that_pauses_too_often_to_be_held_does_not_say_that_it_is() -> None:
    job = Played().run(steady(), 50)
    for i in range(100):
        job.iterate(197 * MS_NS)
        if i % 5 == 0:
            job.controller.pause()
            job.now_ns += 70 * MS_NS
            job.controller.resume()
    assert {decision.state for decision in job.decisions[-60:]} == {"unlocked"}


def test_a_small_lateness_never_costs_a_pace() -> None:
    job = Played().run(steady(), 50)
    job.iterate(207 * MS_NS)  # 10 ms longer: beyond the dead band of 7
    job.run(steady(), 30)
    assert max(job.waits[50:]) <= 4 * MS_NS
    assert all(abs(error) < 0.01 for error in job.errors_ms()[-20:])


def test_what_the_pace_makes_good_is_not_asked_about() -> None:
    job = Played().run(steady(), 150)
    job.iterate(217 * MS_NS)  # starts are late by 17, 14, 11, 8, 5, ...: the median of five is beyond 7
    job.run(steady(), 10)
    assert {decision.state for decision in job.decisions[-11:]} == {"held"}


def test_a_grid_that_moves_a_little_is_followed_without_an_adjustment() -> None:
    job = Played().run(steady(), 50)
    for version in range(2, 40):
        moved = replace(SCHEDULE, version=version, epoch_ns=version * MS_NS // 2, pace_ns=200 * MS_NS + version)
        job.controller.set_schedule(moved, job.now_ns)
        job.schedule = moved
        job.run(steady(), 5)
    assert job.controller.adjustments <= 1
    assert abs(job.errors_ms()[-1]) < 1


@pytest.mark.parametrize(
    ("schedule", "state", "note"),
    [
        (replace(SCHEDULE, hold_ns=0), "free", "nothing can be held"),
        (replace(SCHEDULE, expires_ns=10 * SECOND_NS), "expired", ""),
        (replace(SCHEDULE, gain_ns=2 * MS_NS), "free", "waits 2.93 ms per iteration to win 2.00 ms"),
    ],
)
def test_a_job_runs_free_where_holding_makes_no_sense(schedule: Schedule, state: str, note: str) -> None:
    job = Played(schedule=schedule).run(steady(), 300)
    assert (job.decisions[-1].state, job.decisions[-1].note) == (state, note)
    assert sum(job.waits[-50:]) == 0


def test_without_a_schedule_nothing_is_waited() -> None:
    controller = Controller()
    assert [controller.step(i * 197 * MS_NS).delay_ns for i in range(50)] == [0] * 50
    assert controller.step(10**10).state == "waiting"
    controller.set_schedule(SCHEDULE, 0)
    controller.clear()
    assert controller.step(2 * 10**10).state == "waiting"


@given(shift_ms=st.integers(0, 199), stall_ms=st.integers(0, 400), held_up_ms=st.integers(0, 150))
def test_an_answer_is_followed_at_the_next_start_whatever_the_iteration_before_it_took(
    shift_ms: int, stall_ms: int, held_up_ms: int
) -> None:
    """Where a stall ended is known."""
    moved_ms = (shift_ms - 50 + 100) % 200 - 100
    assume(2 * abs(moved_ms) * MS_NS > SCHEDULE.dead_band_ns)  # else it is no other grid
    job = Played(now_ns=60 * MS_NS)
    for _ in range(40):
        job.iterate(197 * MS_NS, 110 * MS_NS)
    job.iterate((197 + stall_ms + held_up_ms) * MS_NS, (110 + stall_ms) * MS_NS)
    job.schedule = replace(SCHEDULE, version=2, shift_ns=shift_ms * MS_NS)
    job.controller.set_schedule(job.schedule, job.now_ns)
    job.iterate(197 * MS_NS, 110 * MS_NS)
    assert 0 <= phase_error(job.starts[-1], job.schedule) <= 2 * SCHEDULE.hold_ns + 2 * 3 * MS_NS


@given(longer_ms=st.integers(1, 290), headroom_ms=st.integers(0, 20), compute_ms=st.none() | st.just(110))
def test_after_an_iteration_that_was_longer_than_a_pace_a_job_is_late_and_waits_for_nothing(
    longer_ms: int, headroom_ms: int, compute_ms: int | None
) -> None:
    """However late: by more than half a pace it is nearer to the grid point after its own."""
    natural_ms = 200 - headroom_ms
    schedule = replace(SCHEDULE, iteration_ns=natural_ms * MS_NS)
    job = Played(now_ns=50 * MS_NS, schedule=schedule)
    compute_ns = None if compute_ms is None else compute_ms * MS_NS
    for _ in range(40):
        job.iterate(natural_ms * MS_NS, compute_ns)
    assert job.errors_ms()[-1] == 0
    job.iterate((200 + longer_ms) * MS_NS, compute_ns)
    job.iterate(natural_ms * MS_NS, compute_ns)
    near_ms = schedule.iteration_ns / 8 / MS_NS + headroom_ms  # so early it would wait wherever it came from
    assert job.waits[-1] == 0 or longer_ms >= 200 - near_ms


@given(late_ms=st.integers(0, 99), headroom_ms=st.integers(1, 20), hold_ms=st.integers(1, 20))
def test_on_a_new_grid_no_job_is_left_where_it_meets_others(late_ms: int, headroom_ms: int, hold_ms: int) -> None:
    """It waits for its grid, however much its pace makes good in ten iterations."""
    hold = hold_ms * MS_NS
    schedule = replace(SCHEDULE, iteration_ns=(200 - headroom_ms) * MS_NS, hold_ns=hold, slack_ns=2 * hold)
    job = Played(now_ns=(50 + late_ms) * MS_NS, schedule=schedule)
    job.run(steady(200 - headroom_ms), 6)
    late_ns = [phase_error(start, schedule) for start in job.starts[1:]]
    assert max(late_ns) <= max(schedule.dead_band_ns, 2 * hold) + 2 * headroom_ms * MS_NS


@pytest.mark.parametrize("share", [0.0, 1e-6])
def test_a_job_that_others_hold_up_may_wait_again_to_end_that(share: float) -> None:
    """However often it had to wait before: it loses more by not waiting. Unless the user wants no waits at all."""
    job = Played(share=share).run(steady(), 30)
    for version in range(2, 12):  # answers that do not help
        job.run(steady(260), 3)
        moved = replace(SCHEDULE, version=version, epoch_ns=job.now_ns + 40 * MS_NS)
        job.controller.set_schedule(moved, job.now_ns)
    waited = job.besides_pacing_ns
    for version in range(12, 22):
        job.run(steady(260), 12)
        moved = replace(SCHEDULE, version=version, epoch_ns=job.now_ns + 40 * MS_NS)
        job.controller.set_schedule(moved, job.now_ns)
    assert share == 0 or job.besides_pacing_ns > waited
    held_up_ns = sum(max(0, natural - SCHEDULE.iteration_ns) for natural in [260 * MS_NS] * 150)
    credit_ns = CostBudget.OF_LOSS * held_up_ns if share else 0
    assert job.besides_pacing_ns <= 3 * SCHEDULE.pace_ns + credit_ns


def test_a_longer_iteration_is_noticed_and_reported_once() -> None:
    job = Played().run(steady(195, 1), 150)
    job.run(steady(205, 1), 200)
    changes = [decision.changed for decision in job.decisions if decision.changed is not None]
    assert len(changes) <= 2  # the first profile differs from the schedule by 1 %
    assert abs(changes[-1].iteration_ns - 205 * MS_NS) < 2 * MS_NS


def test_a_job_that_others_hold_up_sees_by_how_long_it_computes_that_it_has_changed() -> None:
    controller, now, compute = Controller(), 0, None
    controller.set_schedule(SCHEDULE, now)
    found: list[tuple[int, int]] = []
    for i in range(400):
        decision = controller.step(now, 0, compute)
        if decision.changed is not None and decision.changed.certain:
            found.append((i, decision.changed.iteration_ns - decision.changed.was_ns))
        compute = (110 if i < 200 else 120) * MS_NS
        now += compute + (87 + 45 + i % 7) * MS_NS
    assert [longer for _, longer in found] == [10 * MS_NS]
    assert 200 < found[0][0] < 220


def test_a_change_that_the_schedule_knows_of_already_is_not_told_again() -> None:
    """The scheduler saw that the job could not keep its pace before the job was certain why."""
    job = Controller()
    job.set_schedule(SCHEDULE, 0)
    now, waited, told = 0, 0, []
    for number in range(260):
        slower = number >= 150
        if number == 156:
            job.set_schedule(replace(SCHEDULE, version=2, iteration_ns=217 * MS_NS, pace_ns=220 * MS_NS), now)
        decision = job.step(now, waited, (130 if slower else 110) * MS_NS if number else None)
        waited = decision.delay_ns
        now += waited + (217 if slower else 197) * MS_NS
        told += [decision.changed] if decision.changed is not None else []
    assert told == []
