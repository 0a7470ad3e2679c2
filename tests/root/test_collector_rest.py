"""The collector of cycles is off while any thread wants it off, and then as it was."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import hosts
from cassini_core.concurrency import HAS_GENERATIONS, collector_rests


@pytest.fixture(params=[True, False], ids=["on before", "off before"])
def was_on(request: pytest.FixtureRequest) -> Iterator[bool]:
    before = gc.isenabled()
    (gc.enable if request.param else gc.disable)()
    yield request.param
    (gc.enable if before else gc.disable)()


def test_collector_is_as_before_after_an_error(was_on: bool) -> None:
    def fail() -> None:
        with collector_rests():
            assert not gc.isenabled()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert gc.isenabled() == was_on


def test_collector_rests_until_the_last_thread_leaves(was_on: bool) -> None:
    inside, may_leave = threading.Event(), threading.Event()

    def rest() -> None:
        with collector_rests():
            inside.set()
            may_leave.wait(hosts.HANG_S)

    second = threading.Thread(target=rest)
    with collector_rests():
        second.start()
        assert inside.wait(hosts.HANG_S)
    assert not gc.isenabled()
    may_leave.set()
    second.join()
    assert gc.isenabled() == was_on


def test_collector_is_never_on_inside_however_threads_overlap(was_on: bool) -> None:
    seen = []

    def rest_often() -> None:
        for _ in range(300):
            with collector_rests():
                seen.append(gc.isenabled())

    threads = [threading.Thread(target=rest_often) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 8 * 300
    assert not any(seen)
    assert gc.isenabled() == was_on


@contextmanager
def collections() -> Iterator[list[int]]:
    """The generations that are collected inside."""
    seen: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    try:
        yield seen
    finally:
        gc.callbacks.remove(note)


@pytest.mark.skipif(not HAS_GENERATIONS, reason="all objects or none are collected")
def test_a_full_collection_does_not_wait_for_the_end_of_a_rest() -> None:
    """What was made inside is looked at alone, also where a full collection is due."""
    before = gc.get_threshold()
    gc.set_threshold(before[0], 1, 1)  # each collection makes one of the next generation due
    try:
        for _ in range(8):
            gc.collect(1)
        with collections() as seen:
            with collector_rests():
                made = [[k] for k in range(3 * before[0])]
                assert seen == []
            assert seen in ([0], [])
            assert gc.get_count()[0] < before[0]
        assert len(made) == 3 * before[0]
    finally:
        gc.set_threshold(*before)


def test_what_is_finalized_at_the_end_of_a_rest_may_rest_in_turn() -> None:
    rested = []

    class Cycle:
        def __init__(self) -> None:
            self.itself = self

        def __del__(self) -> None:
            with collector_rests():
                rested.append(gc.isenabled())

    def make() -> None:
        with collector_rests():
            Cycle()
            made.extend([k] for k in range(3 * gc.get_threshold()[0]))

    made: list[list[int]] = []
    thread = threading.Thread(target=make, daemon=True)  # it would hang
    thread.start()
    thread.join(hosts.HANG_S)
    assert not thread.is_alive()
    gc.collect()
    assert rested == [False]
    assert gc.isenabled()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")
def test_collector_of_a_forked_child_is_as_it_was_before_the_rest(was_on: bool) -> None:
    with collector_rests():
        assert hosts.forked(lambda: bytes([gc.isenabled()])) == bytes([was_on])

    def leave_in_child() -> bytes:
        collecting.__exit__(None, None, None)
        with collector_rests():
            return bytes([gc.isenabled()])

    collecting = collector_rests()
    collecting.__enter__()
    assert hosts.forked(leave_in_child) == bytes([False])
    collecting.__exit__(None, None, None)
    assert gc.isenabled() == was_on
