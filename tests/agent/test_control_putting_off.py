"""A decision waits for jobs that are about to begin an iteration, and not for ever."""

from __future__ import annotations

import pytest
from played_members import schedule

from cassini_agent.coordinator import events
from cassini_agent.coordinator.component import Component
from cassini_agent.coordinator.member import Member
from cassini_agent.coordinator.status import JobStatus
from cassini_agent.schedule import MS_NS, SECOND_NS


@pytest.mark.parametrize("jobs", range(2, 9))
def test_a_decision_is_put_off_for_five_paces_at_most(jobs: int) -> None:
    """Of many jobs that take turns there is always one that is about to begin an iteration, by what is known of it."""
    pace, begun_ns, error_ns, old_ns = 250 * MS_NS, 100 * SECOND_NS, 50 * MS_NS, 15 * MS_NS
    turns = {f"job-{i}": i * pace // jobs for i in range(jobs)}
    schedules = {
        job: schedule(job, pace_ns=pace, iteration_ns=245 * MS_NS, shift_ns=shift) for job, shift in turns.items()
    }
    component = Component(Member(one, job) for job, one in schedules.items())
    for now_ns in range(begun_ns, begun_ns + 5 * pace + 90 * MS_NS, 30 * MS_NS):  # as often as the coordinator looks
        statuses = {}
        for job, one in schedules.items():
            error = error_ns if job == "job-1" else 0
            late_ns = (now_ns - old_ns - one.epoch_ns - one.shift_ns - error) % pace
            statuses[job] = JobStatus(
                job,
                "adjusting" if error else "held",
                1,
                1,
                schedule=one,
                iterations=100,
                errors_ns=(error,) * 8,
                place_ns=error,
                place_at_ns=now_ns - old_ns - late_ns,
            )
        outcome = component.decide(statuses, now_ns, now_ns)
        if any(isinstance(event, events.Rephased) for event in outcome.events):
            assert not component.look_again
            return
    raise AssertionError("nothing was decided")
