"""The process that ranks is never harmed, and the answer has the same bytes whatever else the process does."""

from __future__ import annotations

import asyncio
import ctypes
import decimal
import gc
import hashlib
import locale
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import cassini_core as cc
import hosts
from cassini_core.joint.base_placement import LARGE_LINKS
from fork_server import said_by_script
from work import works_less_than

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")

WITHOUT_END: dict[str, Any] = {"node_limit": None, "period_tolerance": 0.0}
"""With these :func:`hosts.hard` is ranked until something stops it."""


@pytest.fixture(scope="module")
def reference() -> dict[str, bytes]:
    """The answers of one thread."""
    return {name: hosts.ranked(name, threads=1) for name in hosts.NAMES}


@pytest.fixture(scope="module")
def digest(reference: dict[str, bytes]) -> str:
    return hashlib.sha256(b"".join(reference.values())).hexdigest()


def test_the_round_has_small_placements_and_several_large_ones() -> None:
    ranking = cc.rank(hosts.problem("round"), **hosts.FEW_NODES)
    sizes = [len(one.links) for one in ranking.candidates]
    assert sum(size > LARGE_LINKS for size in sizes) >= 2
    assert min(sizes) <= LARGE_LINKS
    assert {one.status for one in ranking.candidates} == {"joint"}


# The same bytes


@pytest.mark.parametrize("threads", [2, 8, None])
def test_the_number_of_threads_changes_no_byte(reference: dict[str, bytes], threads: int | None) -> None:
    assert {name: hosts.ranked(name, threads) for name in hosts.NAMES} == reference


def test_eight_threads_that_rank_at_once_get_the_same_bytes(reference: dict[str, bytes]) -> None:
    begin = threading.Barrier(8)

    def all_of_them(place: int) -> dict[str, bytes]:
        begin.wait()
        order = random.Random(place).sample(hosts.NAMES, len(hosts.NAMES))
        return {name: hosts.ranked(name, threads=(1, 2, 3, 8)[place % 4]) for name in order}

    with ThreadPoolExecutor(8) as pool:
        assert all(found == reference for found in pool.map(all_of_them, range(8)))


def test_eight_threads_may_share_one_problem_that_was_never_ranked(reference: dict[str, bytes]) -> None:
    begin = threading.Barrier(8)
    fresh = hosts.generate(hosts.ROUND)

    def once(place: int) -> bytes:
        begin.wait()
        ranking = cc.rank(fresh, threads=1 + place % 2, **hosts.FEW_NODES)
        return hosts.ranking_to_json(ranking)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(once, range(8))) == {reference["round"]}


@pytest.mark.parametrize(
    "env",
    [
        {"NUMBA_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "2", "PYTHONOPTIMIZE": "2", "LC_ALL": "C"},
        {"PYTHONHASHSEED": "3", "MALLOC_ARENA_MAX": "1", "PYTHONMALLOC": "malloc"},
    ],
    ids=lambda env: ",".join(env),
)
def test_the_environment_changes_no_byte(digest: str, env: dict[str, str]) -> None:
    assert hosts.run_host("import hosts; print(hosts.digest())", env=env) == f"{digest}\n"


def test_nothing_is_printed_and_nothing_warned_of(digest: str) -> None:
    script = "import hosts; print(hosts.digest(2), hosts.digest(1))"
    assert hosts.run_host(script, "-X", "dev", "-W", "error") == f"{digest} {digest}\n"


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["workqueue", "omp"])
def test_numba_may_be_busy_in_another_thread_and_the_process_fork_afterwards(digest: str, layer: str) -> None:
    """Two threads in workqueue's pool abort the process, and OpenMP's pool does not outlive a fork."""
    pytest.importorskip("numba")
    script = """
        import hosts, numba, numpy

        @numba.njit(parallel=True, nogil=True)
        def spin(turns, out):
            for place in numba.prange(out.size):
                for turn in range(turns):
                    out[place] = numpy.sin(out[place] + turn)

        out = numpy.zeros(8)
        try:
            spin(1, out)
        except ValueError as error:  # this layer cannot be loaded here
            print(error)
            raise SystemExit
        assert numba.threading_layer() == numba.config.THREADING_LAYER
        with hosts.busy(lambda: spin(10**5, out)):
            print(hosts.digest(2), hosts.digest(8))
        print(hosts.forked(lambda: hosts.digest(2).encode()).decode())
    """
    said = hosts.run_host(script, env={"NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"})
    if "threading layer" in said:
        pytest.skip(said)
    assert said.split() == [digest] * 3


# Nothing is left behind


def test_no_thread_outlives_a_ranking() -> None:
    python, native = set(threading.enumerate()), hosts.native_threads()
    for threads in (1, 2, 8):
        for name in hosts.NAMES:
            hosts.ranked(name, threads)
            assert set(threading.enumerate()) <= python
    assert hosts.settled(lambda: hosts.native_threads() <= native)


def test_no_thread_outlives_a_ranking_that_fails() -> None:
    def stop(done: int, total: int) -> None:
        if done > total / 2:
            raise RuntimeError("enough")

    python, native = set(threading.enumerate()), hosts.native_threads()
    with pytest.raises(RuntimeError, match="enough"):
        cc.rank(hosts.problem("round"), threads=8, **hosts.FEW_NODES, progress=stop)
    assert set(threading.enumerate()) <= python
    assert hosts.settled(lambda: hosts.native_threads() <= native)


def test_memory_does_not_grow() -> None:
    """A leak of 41 KiB in a ranking of each of three small problems shows; without one, some 50 KiB come in all."""
    script = """
        import hosts

        def resident_kib():
            with open("/proc/self/statm") as file:
                return int(file.read().split()[1]) * 4

        def rank_all(times):
            for _ in range(times):
                for name in ("two-jobs", "tree", "loop"):
                    hosts.ranked(name)

        rank_all(20)
        before = resident_kib()
        rank_all(25)
        print(resident_kib() - before)
    """
    assert int(said_by_script(script)) < 1024


def test_a_small_ranking_loads_no_module() -> None:
    """A fresh process waits for its first answer: NumPy's masked arrays alone would take a fifth of the time."""
    script = """
        import sys
        import cassini_core, hosts, networkx

        problem = cassini_core.load_problem(hosts.ROOT + "/examples/three-racks.json")
        rank = cassini_core.rank
        before = set(sys.modules)
        rank(problem, threads=2)
        print(sorted(set(sys.modules) - before))
    """
    assert hosts.run_host(script) == "[]\n"


def host_state() -> dict[str, object]:
    """What a library could change for everybody in the process."""
    libm = ctypes.CDLL(None)
    return {
        "rounding": libm.fegetround() if hasattr(libm, "fegetround") else None,
        "denormals": sys.float_info.min / 2 > 0,
        "numpy errors": (np.geterr(), np.geterrcall()),
        "numpy print": np.get_printoptions(),
        "numpy random": hashlib.sha256(repr(np.random.get_state()).encode()).digest(),  # noqa: NPY002 - the host's
        "random": random.getstate(),
        "decimal": repr(decimal.getcontext()),
        "locale": locale.setlocale(locale.LC_ALL),
        "garbage collector": (gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), tuple(gc.callbacks)),
        "interpreter": (sys.getswitchinterval(), sys.getrecursionlimit(), sys.gettrace(), sys.getprofile()),
        "hooks": (sys.excepthook, sys.unraisablehook, threading.excepthook, sys.displayhook),
        "stack size": threading.stack_size(),
        "signals": {one: signal.getsignal(one) for one in signal.valid_signals()},
        "timer": signal.getitimer(signal.ITIMER_REAL),
        "blocked": signal.pthread_sigmask(signal.SIG_BLOCK, ()),
        "warnings": list(warnings.filters),
        "environment": dict(os.environ),
        "path": (os.getcwd(), list(sys.path), sys.stdout, sys.stderr),
        "CPUs": os.sched_getaffinity(0),
        "files": sorted(os.listdir("/proc/self/fd")),
    }


def test_the_state_of_the_host_stays_as_it_is() -> None:
    """From before the first ranking of a process."""
    script = """
        import hosts, threading
        from test_host_process import host_state

        before = host_state()
        hosts.digest()
        other = threading.Thread(target=hosts.digest)
        other.start()
        other.join()
        after = host_state()
        print([name for name in before if before[name] != after[name]])
    """
    assert hosts.run_host(script) == "[]\n"


def test_numpy_errors_of_the_host_do_not_reach_the_ranking(reference: dict[str, bytes]) -> None:
    with np.errstate(all="raise"):
        assert {name: hosts.ranked(name) for name in hosts.NAMES} == reference


def test_nothing_is_printed_in_this_process(capfd: pytest.CaptureFixture[str]) -> None:
    hosts.digest()
    assert capfd.readouterr() == ("", "")


# Signals, event loops, the end


@contextmanager
def alarms(handler: Callable[[int, object], None], first_s: float, every_s: float = 0.0) -> Iterator[None]:
    """``handler`` called in the main thread after ``first_s``, and then ``every_s``."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, first_s, every_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        signal.signal(signal.SIGALRM, before)


def test_signal_handlers_of_the_host_run_during_a_ranking() -> None:
    times: list[float] = []
    with alarms(lambda *_: times.append(time.monotonic()), 0.05, 0.05):
        ranking = cc.rank(hosts.hard(), deadline_s=0.4, **WITHOUT_END)
    assert len(times) >= 4
    assert ranking.best is not None


class Alarm(Exception):
    """Raised by a handler."""


def _raise(*_: object) -> None:
    raise Alarm


def test_an_exception_of_a_handler_ends_a_long_ranking_at_once() -> None:
    native = hosts.native_threads()
    with works_less_than(3.0), pytest.raises(Alarm), alarms(_raise, 0.3):
        cc.rank(hosts.hard(), **WITHOUT_END)
    assert hosts.settled(lambda: hosts.native_threads() <= native)


@contextmanager
def without_collector() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def test_a_ranking_interrupted_at_any_moment_leaves_nothing_behind(reference: dict[str, bytes]) -> None:
    python, native = set(threading.enumerate()), hosts.native_threads()
    interrupted = 0
    for step in range(11):
        try:
            # What an exception does to a callback of the collector (the test tools have one) is none of our business.
            with without_collector(), alarms(_raise, 0.001 * 1.7**step):  # 1 to 200 ms: also after its end
                hosts.ranked("round", threads=1 + step % 3)
        except Alarm:
            interrupted += 1
        # One that is just ending may be met: the exception can come while the ranking waits for that.
        assert hosts.settled(lambda: set(threading.enumerate()) <= python)
    assert interrupted >= 3
    assert hosts.settled(lambda: hosts.native_threads() <= native)
    assert hosts.ranked("round") == reference["round"]


def test_an_event_loop_runs_on_while_threads_rank(reference: dict[str, bytes]) -> None:
    async def ticks(done: asyncio.Event) -> int:
        count = 0
        while not done.is_set():
            await asyncio.sleep(0.005)
            count += 1
        return count

    async def host() -> tuple[int, list[bytes]]:
        done = asyncio.Event()
        ticking = asyncio.create_task(ticks(done))
        found = await asyncio.gather(*(asyncio.to_thread(hosts.ranked, name) for name in hosts.NAMES))
        await asyncio.to_thread(cc.rank, hosts.hard(), deadline_s=0.4, **WITHOUT_END)
        done.set()
        return await ticking, found

    counted, found = asyncio.run(host())
    assert found == list(reference.values())
    assert counted >= 20  # of some 120


def test_the_interpreter_ends_while_a_daemon_thread_ranks() -> None:
    script = """
        import threading, time
        import cassini_core as cc
        import hosts

        started = threading.Event()

        def rank():
            started.set()
            cc.rank(hosts.hard(), deadline_s=1.0, node_limit=None, period_tolerance=0.0)

        threading.excepthook = lambda _: None  # what the ranking says of the end of the world is not asked
        threading.Thread(target=rank, daemon=True).start()
        started.wait()
        time.sleep(0.2)
        print("end")
    """
    assert hosts.run_host(script) == "end\n"
