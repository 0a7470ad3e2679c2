"""Processes that come from one that ranks, or has ranked: each answers, with the same bytes."""

from __future__ import annotations

import functools
import importlib
import multiprocessing
import pkgutil
import sys
import threading
import time
from collections.abc import Iterator
from types import ModuleType

import pytest

import cassini_core as cc
import hosts

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks")


@pytest.fixture(scope="module")
def digest() -> str:
    """Of the answers of one thread."""
    return hosts.digest(threads=1)


@pytest.mark.parametrize("threads", [1, 8])
def test_a_forked_child_of_a_process_that_ranked_ranks(digest: str, threads: int) -> None:
    assert hosts.digest(threads) == digest
    assert hosts.forked(lambda: hosts.digest(threads).encode()) == digest.encode()
    assert hosts.digest(threads) == digest


def test_a_child_of_a_child_ranks(digest: str) -> None:
    def child() -> bytes:
        hosts.ranked("loop")
        return hosts.forked(lambda: hosts.digest().encode(), hosts.HANG_S / 2)

    assert hosts.forked(child) == digest.encode()


def test_a_child_forked_while_another_thread_ranks_ranks() -> None:
    expected = hosts.ranked("loop", threads=1)
    hosts.ranked("round")  # the first ranking imports: a fork meanwhile would leave Python's own import locks held
    with hosts.busy(lambda: hosts.ranked("round")):
        for turn in range(20):
            time.sleep(0.001 * (turn % 7))
            assert hosts.forked(lambda: hosts.ranked("loop")) == expected


def test_a_child_forked_from_the_middle_of_a_ranking_ranks(digest: str) -> None:
    said = []

    def fork_now_and_then(done: int, total: int) -> None:
        if not said or done > len(said) * total / 5:
            said.append(hosts.forked(lambda: hosts.digest().encode()))

    cc.rank(hosts.problem("round"), threads=4, **hosts.FEW_NODES, progress=fork_now_and_then)
    assert len(said) >= 4
    assert set(said) == {digest.encode()}


def _modules() -> Iterator[ModuleType]:
    for found in pkgutil.walk_packages(cc.__path__, f"{cc.__name__}."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def test_no_lock_belongs_to_a_module_or_class() -> None:
    """A thread may hold it when the process forks, and in the child nobody lets go of it.

    ``functools.cached_property`` has one for each class before Python 3.12.
    """
    locks = (type(threading.Lock()), type(threading.RLock()), threading.Condition, functools.cached_property)
    found = []
    for module in _modules():
        owners = [module, *(one for one in vars(module).values() if isinstance(one, type))]
        for owner in owners:
            if getattr(owner, "__module__", module.__name__) == module.__name__:
                found += [f"{owner.__name__}.{name}" for name, one in vars(owner).items() if isinstance(one, locks)]
    assert found == []


def test_children_end_as_usual_when_forked_while_another_thread_ranks() -> None:
    """Not with ``os._exit``: what Python does at the end must not wait for the threads of the parent."""
    script = """
        import hosts, os, sys, warnings

        warnings.simplefilter("ignore")  # of a fork beside threads, from 3.12 on
        hosts.digest()
        with hosts.busy(lambda: hosts.ranked("round")):
            children = []
            for turn in range(6):
                hosts.ranked("loop")
                child = os.fork()
                if child == 0:
                    hosts.ranked("loop")
                    sys.exit(7)
                children.append(child)
            print({os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children})
    """
    assert hosts.run_host(script) == "{7}\n"


@pytest.mark.parametrize(
    "method",  # the others share nothing with the process
    [
        pytest.param(method, marks=() if method == "fork" else pytest.mark.slow)
        for method in multiprocessing.get_all_start_methods()
    ],
)
def test_the_processes_of_a_pool_rank(digest: str, method: str) -> None:
    script = f"""
        import hosts, multiprocessing

        print(hosts.digest())
        with multiprocessing.get_context({method!r}).Pool(2) as pool:
            print(*pool.map(hosts.digest, [1, 2, 8]))
    """
    assert hosts.run_host(script).split() == [digest] * 4


def test_the_processes_of_an_executor_rank_while_the_host_does(digest: str) -> None:
    script = """
        import hosts, warnings
        from concurrent.futures import ProcessPoolExecutor

        warnings.simplefilter("ignore")  # of a fork beside threads, from 3.12 on
        hosts.digest()  # the first ranking imports: a fork meanwhile would leave Python's own import locks held
        with hosts.busy(lambda: hosts.ranked("round")), ProcessPoolExecutor(2) as pool:
            print(*pool.map(hosts.digest, [1, 2, 8]))
    """
    assert hosts.run_host(script).split() == [digest] * 3
