"""A daemon of which nothing is new answers of the jobs of interest alone, however many it remembers."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from played_daemons import PlayedDaemons, PlayedJob
from played_interleaving import ONE, Played

from cassini_agent.interleave import Network
from cassini_agent.interleave.events import Found, Gone

OLD = 300


def remembered() -> dict[str, PlayedJob]:
    """Jobs of the last days."""
    return {f"old {number}": PlayedJob(240, 173, connected=False) for number in range(OLD)}


def test_a_quiet_daemon_is_not_asked_for_all_jobs_again() -> None:
    daemons = PlayedDaemons(one={"a": PlayedJob(240, 173), **remembered()}, other=remembered())
    played = Played(daemons)
    played.look(8)
    assert daemons.listed == 2 * OLD + 1
    for _ in range(8):
        played.look(4)
    assert daemons.listed <= 2 * OLD + 1 + 8
    assert played.engine.seen["a"].history.count > 30


def test_jobs_that_take_no_part_are_not_asked_for_again() -> None:
    daemons = PlayedDaemons(one={name: PlayedJob(240, 173) for name in "abcdef"})
    played = Played(daemons, Network({"up": 50.0}, {"a": {"up": 1.0}}))
    for _ in range(5):
        played.look(4)
    assert daemons.listed == 6 + 4


@settings(deadline=None, max_examples=40)
@given(
    st.lists(
        st.tuples(st.sampled_from(["join", "leave", "come back", "silent", "answer", "run"]), st.sampled_from("abcd")),
        max_size=12,
    )
)
def test_what_is_seen_is_what_all_jobs_of_all_daemons_would_show(steps: list[tuple[str, str]]) -> None:
    daemons = PlayedDaemons(one={"x": PlayedJob(240, 20), **remembered()}, other={})
    played = Played(daemons, ONE)
    for what, name in steps:
        here = next((jobs for jobs in daemons.hosts.values() if name in jobs), None)
        match what:
            case "join" if here is None:
                daemons.hosts["http://other:1"][name] = PlayedJob(240, 20)
            case "leave" if here is not None:
                here[name].connected = False
            case "come back" if here is not None:
                here[name].connected = True
            case "silent":
                daemons.silent.add("http://other:1")
            case "answer":
                daemons.silent.clear()
        told = played.look(1)
        there = {
            job
            for url, jobs in daemons.hosts.items()
            for job, one in jobs.items()
            if one.connected and url not in daemons.silent
        }
        assert {job for job, one in played.engine.seen.items() if not one.absent} == there
        assert {event.job for event in told if isinstance(event, Found)} <= there
        assert not {event.job for event in told if isinstance(event, Gone)} & there
