"""The simulated link: what is sent takes what it must, however it is shared."""

from __future__ import annotations

import pytest
from bench.control.events import Events
from bench.control.link import Burst, Link, Newcomer
from hypothesis import given
from hypothesis import strategies as st

bursts = st.lists(st.tuples(st.floats(0, 300), st.floats(0.1, 200)), min_size=1, max_size=6)
newcomers = st.none() | st.builds(Newcomer, st.floats(1, 10), st.floats(0, 150))


def ends_ms(sent: list[tuple[float, float]], newcomer: Newcomer | None) -> list[float]:
    """When each of some bursts, given by begin and size, has been sent."""
    events = Events()
    link = Link(events, newcomer)
    found = [float("nan")] * len(sent)

    def begin(index: int, size_ms: float) -> None:
        def done() -> None:
            found[index] = events.now_ms

        link.send(size_ms, done)

    for index, (begin_ms, size_ms) in enumerate(sent):
        events.at(begin_ms, lambda index=index, size_ms=size_ms: begin(index, size_ms))
    events.run(1e6)
    return found


def in_small_steps(sent: list[tuple[float, float]], newcomer: Newcomer | None, step_ms: float) -> list[float]:
    """The same, slow and obvious."""
    left = [size_ms for _, size_ms in sent]
    found = [float("nan")] * len(sent)
    now_ms = 0.0
    while any(one > 0 for one in left):
        there = [k for k, (begin_ms, _) in enumerate(sent) if begin_ms <= now_ms and left[k] > 0]
        weights = dict.fromkeys(there, 1.0)
        if newcomer is not None:
            weights |= {k: newcomer.weight for k in there if now_ms < sent[k][0] + newcomer.lasts_ms}
        now_ms += step_ms
        for k in there:
            left[k] -= step_ms * weights[k] / sum(weights.values())
            if left[k] <= 0:
                found[k] = now_ms
    return found


@given(sent=bursts, newcomer=newcomers)
def test_the_link_is_never_idle_while_something_is_to_be_sent(
    sent: list[tuple[float, float]], newcomer: Newcomer | None
) -> None:
    busy_until = 0.0
    for begin_ms, size_ms in sorted(sent):
        busy_until = max(busy_until, begin_ms) + size_ms
    found = ends_ms(sent, newcomer)
    assert max(found) == pytest.approx(busy_until)
    for end_ms, (begin_ms, size_ms) in zip(found, sent, strict=True):
        assert end_ms >= begin_ms + size_ms - 1e-6


@pytest.mark.parametrize("newcomer", [None, Newcomer(3.0, 40.0), Newcomer(1.5, 200.0)])
def test_it_is_shared_as_in_small_steps(newcomer: Newcomer | None) -> None:
    sent = [(0.0, 100.0), (20.0, 80.0), (70.0, 30.0), (300.0, 10.0)]
    assert ends_ms(sent, newcomer) == pytest.approx(in_small_steps(sent, newcomer, 0.01), abs=0.1)


def test_a_newcomer_gets_its_share_for_its_time() -> None:
    # From 50 to 90 ms the first gets a quarter, 10 ms: 40 are left, and then half.
    assert ends_ms([(0.0, 100.0), (50.0, 100.0)], Newcomer(3.0, 40.0)) == pytest.approx([170.0, 200.0])
    assert ends_ms([(0.0, 100.0), (50.0, 100.0)], None) == pytest.approx([150.0, 200.0])


def test_what_is_halted_is_not_sent_and_gives_way() -> None:
    events = Events()
    link = Link(events)
    ended: dict[str, float] = {}
    kept: list[Burst] = [link.send(100.0, lambda: ended.setdefault("a", events.now_ms))]
    link.send(100.0, lambda: ended.setdefault("b", events.now_ms))
    events.at(50.0, lambda: link.halt(kept[0]))
    events.at(500.0, lambda: link.resume(kept[0]))
    events.run(1e4)
    assert ended == {"b": pytest.approx(125.0), "a": pytest.approx(575.0)}
