"""What a new epoch is said to cost is what the jobs wait for it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st
from played_members import PACE, members_of, pair, run, sends

from cassini_agent.control.change import Change
from cassini_agent.coordinator import events
from cassini_agent.coordinator.component import Component
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.schedule import MS_NS, SECOND_NS, Schedule


def waits_ns(start_ns: int, on: Schedule) -> int:
    """What a job that begins an iteration waits: nothing if it is a little late, else to the next grid point."""
    late = (start_ns - on.epoch_ns - on.shift_ns) % on.pace_ns
    return 0 if late <= on.dead_band_ns // 2 else on.pace_ns - late


@given(
    counts=st.tuples(st.sampled_from([1, 2, 3]), st.sampled_from([1, 2])),
    errors_ms=st.tuples(st.integers(-90, 90), st.integers(-90, 90)),
    shifts=st.tuples(st.floats(0, 0.999), st.floats(0, 0.999)),
    begun=st.integers(0, 100),
    longer=st.sampled_from([1.0, 1.0, 1.005, 1.01, 1.02]),
)
def test_the_waits_that_are_told_are_those_of_the_schedules_that_are_sent(
    counts: tuple[int, int], errors_ms: tuple[int, int], shifts: tuple[float, float], begun: int, longer: float
) -> None:
    """Also where paces are renewed at the same time: the grid that jobs have strayed from is not the one they get."""
    members = members_of(counts, shifts, 40 * MS_NS)
    component = Component(members.values())
    now_ns = 100 * SECOND_NS + begun * PACE // 7
    starts_ns, statuses = {}, {}
    for (job, member), error_ms in zip(members.items(), errors_ms, strict=True):
        one, error = member.schedule, error_ms * MS_NS
        last_ns = now_ns - 20 * MS_NS - error - one.epoch_ns - one.shift_ns
        start_ns = one.epoch_ns + one.shift_ns + last_ns // one.pace_ns * one.pace_ns + error
        assume(now_ns - start_ns < 0.8 * one.iteration_ns)
        starts_ns[job] = start_ns + one.pace_ns  # the next one, where it has heard of what is decided now
        lost = abs(error) > one.dead_band_ns
        changed = Change(round(longer * one.iteration_ns), one.iteration_ns, certain=True) if longer > 1 else None
        statuses[job] = JobStatus(
            job,
            "adjusting" if lost else "held",
            1,
            1,
            schedule=one,
            iterations=100,
            errors_ns=(error,) * 8,
            place_ns=error,
            place_at_ns=start_ns,
            changed=changed,
        )
    outcome = component.decide(statuses, now_ns, now_ns)
    moved = [event for event in outcome.events if isinstance(event, events.Rephased)]
    assume(moved)
    sent = {one.job: one for one in outcome.send}
    assert sent.keys() == members.keys()
    assert any(isinstance(event, events.PacesChanged) for event in outcome.events) == (longer > 1)
    waited = sum(waits_ns(starts_ns[job], one) for job, one in sent.items())
    assert abs(moved[0].wait_ns - waited) <= 2


def test_a_job_is_waited_for_whatever_was_waited_for_long_ago() -> None:
    """A version that one job has not taken yet is no sign that it takes none."""
    played = pair()
    report = played.status
    late = {"followed": 0, "place_ns": None, "errors_ns": ()}
    moved = []
    for second in range(130):
        # Twice one job strays while the other has not told yet that it follows: then they are as they should be.
        strays = second in (10, 120, 121)
        played.errors_ns["a"] = 60 * MS_NS if strays else 0
        played.status = lambda job, strays=strays: (  # type: ignore[method-assign]
            replace(report(job), **late) if job == "b" and strays else report(job)
        )
        moved += [second for event in played.poll(second).events if isinstance(event, events.Rephased)]
    assert moved == []


def test_a_decision_that_was_put_off_is_not_waited_for_while_nobody_can_decide() -> None:
    played = pair(60 * MS_NS)
    report = played.status
    begun = {"place_at_ns": -180 * MS_NS}  # and iterations take 197 ms
    played.status = lambda job: replace(report(job), **begun)  # type: ignore[method-assign]
    assert run(played, 1) == []
    assert played.component.look_again
    played.poll(0.03, without=["b"])
    assert not played.component.look_again


@given(
    counts=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    share=st.floats(0.1, 0.9),
    more_ms=st.sampled_from([-20, 20]),
)
def test_a_job_is_overdue_once_it_took_longer_than_all_bursts_of_the_other_explain(
    counts: tuple[int, int], share: float, more_ms: int
) -> None:
    """A job of a short pace sends several times while one of a long pace computes and sends once."""
    members = members_of(counts, (0.0, 0.5), 40 * MS_NS)
    paces = {job: member.schedule.pace_ns for job, member in members.items()}
    burst_ns = round(share * paces["b"])
    met_ns = -(-paces["a"] // paces["b"]) * burst_ns
    age_ns = paces["a"] + max(paces["a"] // 2, met_ns) + SECOND_NS // 4 + more_ms * MS_NS
    now_ns = 100 * SECOND_NS

    def status(job: str, age_ns: int, error_ns: int, sends_ns: int, burst_ns: int) -> JobStatus:
        one = members[job].schedule
        return JobStatus(
            job,
            "adjusting" if error_ns else "held",
            1,
            1,
            schedule=one,
            iterations=100,
            errors_ns=(error_ns,) * 8,
            place_ns=error_ns,
            place_at_ns=now_ns - age_ns,
            **sends(sends_ns, sends_ns + burst_ns),
        )

    statuses = {
        "a": status("a", age_ns, 90 * MS_NS, 10 * MS_NS, 10 * MS_NS),
        "b": status("b", paces["b"] // 2, 0, paces["b"] // 20, burst_ns),
    }
    component = Component(members.values())
    component.decide(statuses, now_ns, now_ns)
    assert component.look_again == (more_ms < 0)  # its start may come at any moment; who is overdue is not looked for
