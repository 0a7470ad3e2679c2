"""What the documentation calls safe to share is shared by eight threads that ask at once; each gets the same answer.

On a free-threaded Python nothing but these objects themselves keeps the threads apart.
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pytest

import cassini_core as cc
import hosts
from cassini_core.errors import InputError
from cassini_core.kernel import _kernel
from cassini_core.kernel.prepared_link import PreparedLink, kernel_options
from cassini_core.lockless_cached_property import lockless_cached_property
from cassini_core.problem_file import ranking_to_json

THREADS = 8
OPTIONS = kernel_options(0.5, 0.01)

T = TypeVar("T")


def in_eight_threads(work: Callable[[int], T]) -> list[T]:
    """What each thread gets; they begin at once."""
    begin = threading.Barrier(THREADS)

    def one(place: int) -> T:
        begin.wait(hosts.HANG_S)
        return work(place)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(one, range(THREADS)))


def three_jobs() -> PreparedLink:
    jobs = [cc.Job(name, ms, [cc.Phase(0, 0.4 * ms, 40)]) for name, ms in (("a", 100), ("b", 100), ("c", 200))]
    return PreparedLink.from_jobs(jobs, 50)


def links_of(link: PreparedLink, count: int) -> _kernel.Links:
    """``count`` copies of ``link``, which has one phase per job."""
    n = len(link.period)
    per_job = ("period", "phase_start", "phase_length", "phase_rate")
    return _kernel.Links(
        job_offset=np.arange(0, n * count + 1, n),
        phase_offset=np.arange(n * count + 1),
        capacity=np.full(count, link.capacity),
        options=OPTIONS,
        **{name: np.tile(getattr(link, name), count) for name in per_job},
    )


def test_a_prepared_link_answers_eight_threads() -> None:
    link = three_jobs()
    answer = link.solve()

    def ask(place: int) -> set[str]:
        said = set()
        for _ in range(200):
            said.add(repr(link.solve()))
            seen = link.evaluate(answer.shift)
            said.add(repr((seen.score_lower, seen.score_upper, seen.hold, seen.slack.tolist(), seen.free.tolist())))
        return said

    assert len(set.union(*in_eight_threads(ask))) == 2


def test_prepared_links_and_a_baseline_answer_eight_threads() -> None:
    link = three_jobs()
    links = links_of(link, 4)
    which, members = np.arange(4), np.tile(np.arange(3), 4)
    start = np.zeros(3, dtype=np.int64)
    baseline = _kernel.Baseline(
        links, period=link.period, link=which, member=members, upper_bound=None, shift=start, options=OPTIONS
    )
    block = {"link": which, "member": members, "options": OPTIONS}

    def ask(place: int) -> set[object]:
        said: set[object] = set()
        for turn in range(100):
            solved = links.solve_block(link.period, weight=np.ones(4), **block)
            seen = links.evaluate_block(link.period, shift=solved.shift, **block)
            beside = baseline.solve(
                dropped=np.array([turn % 4]), link=which[:1], member=members[:3], upper_bound=None, options=OPTIONS
            )
            said |= {
                ("solved", solved.shift.tobytes(), solved.score),
                ("seen", *(array.tobytes() for array in seen)),
                ("beside", beside.shift.tobytes(), beside.score),
            }
        return said

    assert len(set.union(*in_eight_threads(ask))) == 3


def test_a_small_ranker_answers_eight_threads_while_they_clear_it() -> None:
    """So small that every round drives out what another thread is about to look up."""
    ranker = cc.Ranker(max_links=20)
    expected = {name: hosts.ranked(name, threads=1) for name in hosts.NAMES}

    def ask(place: int) -> None:
        small = [name for name in hosts.NAMES if name != "round"]
        for turn in range(4):
            for name in ["round"] if turn == place % 4 else small:
                ranking = ranker.rank(hosts.problem(name), threads=1 + place % 2, **hosts.FEW_NODES)
                assert ranking_to_json(ranking) == expected[name]
                assert ranker.cache_info().size <= 20
            if turn == place % 4:
                ranker.clear()

    in_eight_threads(ask)


def test_a_lockless_cached_property_is_one_object_to_eight_threads() -> None:
    class Sum:
        @lockless_cached_property
        def value(self) -> list[int]:
            return [sum(range(1000))]

    for _ in range(50):
        one = Sum()
        kept = in_eight_threads(lambda place, one=one: one.value)
        assert len({id(value) for value in kept}) == 1


def test_initialising_again_changes_nothing() -> None:
    """A call in another thread may be reading the arrays."""
    link, other = three_jobs(), three_jobs()
    arrays = (other.period, other.phase_offset, other.phase_start, other.phase_length, other.phase_rate)
    before = repr(link.solve())

    def again(place: int) -> None:
        for _ in range(100):
            with pytest.raises(InputError, match="initialised once"):
                _kernel.Link.__init__(link, *arrays, 1)

    in_eight_threads(again)
    assert repr(link.solve()) == before
    assert link.capacity == 50_000_000


@pytest.mark.parametrize("name", ["period", "phase_offset", "phase_start", "phase_length", "phase_rate"])
def test_a_link_keeps_nothing_of_the_arrays_it_was_made_of(name: str) -> None:
    """They were checked once: what is written to them later must not be read."""
    other = three_jobs()
    arrays = {
        key: getattr(other, key).copy()
        for key in ("period", "phase_offset", "phase_start", "phase_length", "phase_rate")
    }
    link = _kernel.Link(*arrays.values(), other.capacity)
    expected = repr(link._solve(OPTIONS))
    arrays[name][:] = 2**62
    assert repr(link._solve(OPTIONS)) == expected
    assert getattr(link, name).tolist() == getattr(other, name).tolist()
    with pytest.raises(ValueError, match="read-only"):
        getattr(link, name)[0] = 1


def test_one_of_eight_threads_initialises_an_object() -> None:
    other = three_jobs()
    arrays = (other.period, other.phase_offset, other.phase_start, other.phase_length, other.phase_rate)

    def initialise(link: _kernel.Link) -> bool:
        try:
            link.__init__(*arrays, 1)
        except InputError:
            return False
        return True

    for _ in range(50):
        link = _kernel.Link.__new__(_kernel.Link)
        assert sum(in_eight_threads(lambda place, link=link: initialise(link))) == 1


@pytest.mark.parametrize("kind", [_kernel.Link, _kernel.Links, _kernel.Baseline])
def test_an_object_without_content_answers_nothing(kind: type) -> None:
    with pytest.raises((TypeError, AttributeError)):
        kind.__new__(kind)._solve(OPTIONS)


@pytest.mark.skipif(not hasattr(sys, "_is_gil_enabled") or sys._is_gil_enabled(), reason="Python with a global lock")
def test_the_global_lock_stays_off_whatever_is_imported() -> None:
    code = """
    import importlib, pkgutil, sys, cassini_core
    for found in pkgutil.walk_packages(cassini_core.__path__, "cassini_core."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    assert not sys._is_gil_enabled()
    """
    subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(code)], check=True)
