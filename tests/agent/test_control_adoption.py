"""A coordinator that was restarted: what it adopts is what its predecessor had decided."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st
from played_members import Played, members_of, run

from cassini_agent.control.change import Change
from cassini_agent.coordinator import events
from cassini_agent.coordinator.component import Component
from cassini_agent.schedule import MS_NS, SECOND_NS


@given(
    counts=st.lists(st.sampled_from([1, 2, 3, 4, 6]), min_size=2, max_size=3).filter(lambda counts: 1 in counts),
    shifts=st.lists(st.floats(0, 0.999), min_size=3, max_size=3),
    longer=st.floats(1.003, 1.02),
    sends=st.dictionaries(st.sampled_from("abc"), st.floats(0, 0.9)),
    reached=st.sets(st.integers(0, 2), min_size=1),
    ends=st.dictionaries(st.sampled_from("abc"), st.floats(0, 0.9)),
)
# One gap, between bursts that stand back to back; with the longer burst of `a` there is none.
@example(
    counts=[1, 1, 1], shifts=[0.75, 0, 0.75], longer=1.015625, sends={"a": 0, "b": 0.75, "c": 0.5}, reached={0}, ends={}
)
def test_renewed_paces_that_reached_some_daemons_are_those_of_the_predecessor_for_all(
    counts: list[int],
    shifts: list[float],
    longer: float,
    sends: dict[str, float],
    reached: set[int],
    ends: dict[str, float],
) -> None:
    """A shift of several turns grows with the pace: the jobs meet as before only if it does.

    Where bursts end may be measured otherwise by then: what was decided does not depend on it.
    """
    played = Played(members_of(counts, shifts, 60 * MS_NS), dict.fromkeys("abc", 0))
    played.sends_ns = {
        job: int(share * played.has[job].iteration_ns) for job, share in sends.items() if job in played.has
    }
    run(played, 5)
    before = dict(played.has)
    played.changed = {"a": Change(round(longer * before["a"].iteration_ns), before["a"].iteration_ns, certain=True)}
    told = run(played, 1, begin=5)
    assert any(isinstance(event, events.PacesChanged) for event in told)
    decided = dict(played.has)
    assert decided["a"].pace_ns > before["a"].pace_ns

    # The last version reached some, and then the coordinator was restarted with what the scheduler had sent.
    jobs = sorted(before)
    lucky = {jobs[index % len(jobs)] for index in reached}
    played.has = {job: (decided if job in lucky else before)[job] for job in jobs}
    played.changed = {}
    played.component = Component(members_of(counts, shifts, 60 * MS_NS).values())
    statuses = {job: played.status(job) for job in jobs}
    for job, share in ends.items():
        if job in statuses and statuses[job].communication_end_ns is not None:
            statuses[job] = replace(statuses[job], communication_end_ns=int(share * played.has[job].pace_ns))
    outcome = played.component.decide(statuses, 6 * SECOND_NS, 6 * SECOND_NS)
    assert [type(event) for event in outcome.events] == [events.Adopted]
    for job, member in played.component.members.items():
        adopted, wanted = member.schedule, decided[job]
        assert adopted.pace_ns == wanted.pace_ns
        assert (adopted.epoch_ns + adopted.shift_ns - wanted.epoch_ns - wanted.shift_ns) % wanted.pace_ns == 0
        assert adopted.hold_ns <= wanted.hold_ns
