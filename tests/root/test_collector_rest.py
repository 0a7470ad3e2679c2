"""The collector of cycles is off while any thread wants it off, and then as it was."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Iterator

import pytest

import hosts
from cassini_core.concurrency import collector_rests


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
