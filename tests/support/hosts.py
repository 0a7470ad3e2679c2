"""Problems that are ranked in all kinds of host processes, and such processes: scripts in a session of their own."""

from __future__ import annotations

import functools
import hashlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import cassini_core as cc
from cassini_core.problem_file import ranking_to_json

SUPPORT = Path(__file__).parent
TESTS = SUPPORT.parent
ROOT = str(TESTS.parent)
if ROOT not in sys.path:
    sys.path.append(ROOT)

from bench.ranking.rounds import Settings, generate  # noqa: E402

ROUND = Settings(seed="host", racks=32, gpus_per_rack=16, uplinks=2, jobs=120, candidates=5, moves=3)
"""Some of its placements have more links than ``LARGE_LINKS``, some have not."""

NAMES = ("two-jobs", "tree", "loop", "round")
"""Files in ``tests/data``, then the round. Together some fifth of a second."""

FEW_NODES: Mapping[str, Any] = {"node_limit": 100, "block_node_limit": 100}
"""Options of rankings that are searched little enough to be quick."""

HANG_S = 60.0
"""Whoever has not answered by then hangs: all the problems together take less than a second."""


@functools.cache
def problem(name: str) -> cc.Problem:
    """The problem of a name."""
    return generate(ROUND) if name == "round" else cc.load_problem(TESTS / "data" / f"{name}.json")


def ranked(name: str, threads: int | None = 2) -> bytes:
    """The ranking as JSON, searched with few nodes."""
    return ranking_to_json(cc.rank(problem(name), threads=threads, **FEW_NODES))


def digest(threads: int | None = 2) -> str:
    """All the rankings in one word."""
    return hashlib.sha256(b"".join(ranked(name, threads) for name in NAMES)).hexdigest()


def hard() -> cc.Problem:
    """One link of 16 jobs that no search ends in time: a ranking lasts as long as it is let."""
    rng = random.Random(7)
    jobs = []
    for k in range(16):
        starts = sorted(rng.sample(range(0, 400, 20), 4))
        jobs.append(cc.Job(f"j{k:02}", 420, [cc.Phase(s + rng.random(), 11 + rng.random(), 20) for s in starts]))
    return cc.Problem(tuple(jobs), (cc.Link("l", 50),), (cc.Candidate("c", {job.id: ["l"] for job in jobs}),))


def native_threads() -> set[str]:
    """Ids of all threads of this process as the system sees them, Python's or not."""
    return set(os.listdir("/proc/self/task"))


def settled(found: Callable[[], bool], patience_s: float = 10.0) -> bool:
    """Whether something becomes true: a joined thread is a moment longer in the system's list."""
    end = time.monotonic() + patience_s
    while not found():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


@contextmanager
def busy(work: Callable[[], object]) -> Iterator[None]:
    """Another thread that does ``work`` again and again; its failure is this one's."""
    done, failures = threading.Event(), []

    def loop() -> None:
        try:
            while not done.is_set():
                work()
        except BaseException as error:  # handed to the waiting thread
            failures.append(error)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    if failures:
        raise failures[0]


def forked(work: Callable[[], bytes], patience_s: float = HANG_S) -> bytes:
    """What ``work`` returns in a forked child; one that hangs is killed.

    Raises
    ------
    AssertionError
        The child failed, died or hangs.
    """
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # From 3.12 on Python warns of a fork beside threads: what comes of it is what is tested.
        warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        with suppress(BaseException):  # nothing of the parent may run on in the child
            os.close(reading)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(work())
            code = 0
        os._exit(code)
    os.close(writing)
    # SIGKILL ends the child, that closes its end of the pipe, and that ends the reading.
    killer = threading.Timer(patience_s, os.kill, (child, signal.SIGKILL))
    killer.start()
    try:
        with os.fdopen(reading, "rb") as pipe:
            said = pipe.read()
    finally:
        killer.cancel()
        killer.join()
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code != -signal.SIGKILL, f"the child hung for {patience_s:g} s"
    assert code == 0, f"the child ended with {code}"
    return said


def run_host(script: str, *options: str, env: Mapping[str, str] | None = None, patience_s: float = HANG_S) -> str:
    """What ``script`` prints in a Python of its own that finds the modules of the tests.

    Raises
    ------
    AssertionError
        It fails, says anything on standard error, or hangs. Then it is killed, with all that it started.
    """
    done = run_command([sys.executable, *options, "-c", textwrap.dedent(script)], env=env, patience_s=patience_s)
    assert (done.returncode, done.stderr) == (0, ""), f"the host ended with {done.returncode}:\n{done.stderr}"
    return done.stdout


def run_command(
    command: Sequence[str], *, env: Mapping[str, str] | None = None, patience_s: float = HANG_S
) -> subprocess.CompletedProcess[str]:
    """Run a command in a session of its own, as if no test runner were around it.

    Raises
    ------
    AssertionError
        It hangs. Then it is killed, with all that it started.
    """
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**inherited, "PYTHONPATH": os.pathsep.join([str(SUPPORT), *sys.path]), **(env or {})},
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        raise AssertionError(f"hung for {patience_s:g} s; until then it said {out!r} and {err!r}") from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
