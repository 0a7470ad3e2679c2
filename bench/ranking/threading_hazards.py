"""What can happen to the process that calls: each hazard is tried in a process of its own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .threading_worker import ROOT, environment

PATIENCE_S = 20.0

SET_UP = """
import os, sys, threading, time
from pathlib import Path
from bench.ranking.threading_links import Links
from bench.ranking.threading_ways import NUMBA, PYTHON
links = Links.load(Path(sys.argv[1]))
solve = {**PYTHON, **NUMBA}[sys.argv[2]]
right = PYTHON["one call"](links, 50).digest()

def call():
    assert solve(links, 50).digest() == right
"""

TWO_THREADS = """
call()
failed = []
threading.excepthook = lambda one: failed.append(one.exc_value)

def often():
    for _ in range(20):
        call()

threads = [threading.Thread(target=often) for _ in range(2)]
[one.start() for one in threads]
[one.join() for one in threads]
assert not failed, failed
"""

FORK = """
call()
child = os.fork()
if child == 0:
    call()
    os._exit(0)
code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print("child", code, flush=True)
"""

CTRL_C = """
call()
print("ready", flush=True)
begin = time.monotonic()
try:
    solve(links, 10_000)
    print("not interrupted: ended")
except KeyboardInterrupt:
    print("interrupted")
"""

CTRL_C_RANK = """
import sys
from bench.ranking.rounds import Settings, generate
from cassini_core import rank
problem = generate(Settings(candidates=20))
rank(generate(Settings(racks=4, gpus_per_rack=8, uplinks=1, jobs=4, candidates=1)))
print("ready", flush=True)
try:
    rank(problem, node_limit=100_000, threads=2)
except KeyboardInterrupt:
    print("interrupted")
"""

NOT_WRITABLE = """
import tempfile

def refused(*_, **__):
    raise PermissionError

tempfile.TemporaryFile = refused  # with this Numba tries whether a folder can be written; permissions do not stop root
"""

ONCE = """
call()
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one try.

    ``code`` is that of the process, negative for a signal; None if it had to be killed after ``PATIENCE_S``.
    """

    hazard: str
    way: str
    code: int | None
    said: str


def outcomes(links: Path, many: Path, ways: Mapping[str, tuple[str, str]], cache: Path) -> Iterator[Outcome]:
    """Try everything; ``ways`` are a name for people, and the way and the layer behind it.

    ``many`` links, searched long, are what Ctrl-C interrupts.
    """
    for name, (way, layer) in ways.items():
        env = environment(layer, cache)
        yield _outcome("two threads call at once", name, _start(SET_UP + TWO_THREADS, links, way, env))
        yield _outcome("fork after a call, the child calls", name, _start(SET_UP + FORK, links, way, env))
        yield _interrupted(name, _start(SET_UP + CTRL_C, many, way, env))
    yield _interrupted("`rank`", _start(CTRL_C_RANK, links, "", environment("default", cache)))
    prange = {name: way for name, way in ways.items() if way[0].startswith("prange")}
    for name, (way, layer) in list(prange.items())[:1]:
        unwritable = _start(NOT_WRITABLE + SET_UP + ONCE, links, way, environment(layer, cache))
        yield _outcome("no folder for compiled code can be written", name, unwritable)
        with tempfile.TemporaryDirectory() as empty:
            env = environment(layer, empty)
            both = [_start(SET_UP + ONCE, links, way, env) for _ in range(2)]
            for one in both:
                yield _outcome("two processes compile at once", name, one)


def _start(script: str, links: Path, way: str, env: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), str(links), way],
        env=env,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        restore_signals=True,
    )


def _outcome(hazard: str, name: str, process: subprocess.Popen[str]) -> Outcome:
    try:
        said = process.communicate(timeout=PATIENCE_S)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return Outcome(hazard, name, None, "hangs")
    lines = [line for line in said.splitlines() if line.strip()]
    telling = [line for line in lines if any(word in line for word in ("Terminating", "Concurrent", "Error"))]
    # Where the report was made is nobody's business.
    said = re.sub(r"'/[^']*/", "'", "; ".join(dict.fromkeys(telling[-1:] + lines[-1:])) or "as usual")
    return Outcome(hazard, name, process.returncode, said)


def _interrupted(name: str, process: subprocess.Popen[str]) -> Outcome:
    hazard = "Ctrl-C during a long call"
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        return _outcome(hazard, name, process)
    time.sleep(0.5)
    sent = time.monotonic()
    process.send_signal(signal.SIGINT)
    found = _outcome(hazard, name, process)
    said = f"{found.said} after {time.monotonic() - sent:.2f} s"
    return Outcome(hazard, name, found.code, said if found.code is not None else found.said)
