"""Compiled loops are never needed: whatever is missing, the answers have the same bytes, and it is said why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

import hosts
from cassini_core.compiled import _signature
from cassini_core.joint import placement_loops
from fork_server import said_by_script

numba = pytest.importorskip("numba")

SCRIPT = """
import json, sys, time
import hosts
from cassini_core import compiled
from cassini_core.joint import placement_loops, scoring
scoring.FEW_CROSSINGS, scoring.MANY_CROSSINGS = 0, 0  # as if all rounds were large
{before}
begin = time.perf_counter()
loops = compiled.compiled(placement_loops.LOOPS)
load_s = time.perf_counter() - begin
said = dict(compiled=loops is not None, why_not=compiled.why_not(), digest=hosts.digest(), load_s=load_s)
if loops is not None:
    said["hits"] = sum(sum(loop.stats.cache_hits.values()) for loop in loops)
print(json.dumps(said))
"""


def said(before: str = "", **environment: str) -> dict[str, Any]:
    """By a process in which all rounds are large."""
    found: dict[str, Any] = json.loads(said_by_script(SCRIPT.format(before=textwrap.dedent(before)), environment))
    return found


def begun(before: str = "", **environment: str) -> subprocess.Popen[str]:
    """The same in an interpreter of its own, which may still be at it."""
    path = os.pathsep.join((str(hosts.SUPPORT), hosts.ROOT))
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(before=textwrap.dedent(before))],
        env={**os.environ, "PYTHONPATH": path, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )


def said_by(process: subprocess.Popen[str]) -> dict[str, Any]:
    text, _ = process.communicate(timeout=10 * hosts.HANG_S)
    assert process.returncode == 0
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture(scope="module")
def digest() -> str:
    return hosts.digest(threads=1)


def test_the_answers_of_compiled_loops_have_the_same_bytes(digest: str) -> None:
    known = said()
    assert known["digest"] == digest
    assert known["compiled"], known["why_not"]


@pytest.mark.parametrize(
    ("before", "environment", "why"),
    [
        ("", {"NUMBA_DISABLE_JIT": "1"}, "NUMBA_DISABLE_JIT is set"),
        ("sys.modules['numba'] = None", {}, "ModuleNotFoundError"),
        ("import numba.core.caching as c; c.CacheImpl._locator_classes = []", {}, "cannot cache function"),
        ("import numba; numba.njit = lambda *a, **k: 1 / 0", {}, "ZeroDivisionError"),
        ("sys._is_gil_enabled = lambda: False", {}, "the interpreter has no lock"),
    ],
    ids=["disabled", "missing", "no place for the cache", "broken", "free-threaded"],
)
def test_without_them_too(digest: str, before: str, environment: dict[str, str], why: str) -> None:
    known = said(before, **environment)
    assert known["digest"] == digest
    assert not known["compiled"]
    assert why in known["why_not"]


def test_a_child_that_was_forked_while_a_thread_compiled_does_without(digest: str) -> None:
    known = said(
        """
            import os, threading
            begun, done = threading.Event(), threading.Event()
            import numba
            real = numba.njit
            def slow(*given, **options):
                begun.set()
                done.wait()
                return real(*given, **options)
            numba.njit = slow
            thread = threading.Thread(target=compiled.compiled, args=(placement_loops.LOOPS,), daemon=True)
            thread.start()
            begun.wait()
            if child := os.fork():
                os.waitpid(child, 0)
                os._exit(0)
            """
    )
    assert known["digest"] == digest
    assert known["why_not"] == "the process was forked while a thread compiled"


@pytest.mark.slow
def test_two_processes_compile_at_once_and_a_third_finds_what_they_made(digest: str, tmp_path: Path) -> None:
    first, second = (begun(NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    for one in (said_by(first), said_by(second)):
        assert one["compiled"], one["why_not"]
        assert one["digest"] == digest
    third = said_by(begun(NUMBA_CACHE_DIR=str(tmp_path)))
    assert third["hits"] == len(placement_loops.LOOPS)
    assert third["digest"] == digest


@pytest.mark.slow
def test_what_lies_broken_in_the_cache_is_no_harm(digest: str, tmp_path: Path) -> None:
    said_by(begun(NUMBA_CACHE_DIR=str(tmp_path)))
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert files
    for file in files:
        file.write_bytes(file.read_bytes()[:100])
    assert said_by(begun(NUMBA_CACHE_DIR=str(tmp_path)))["digest"] == digest


def test_what_is_written_is_told_by_its_name() -> None:
    types = dict(zip(placement_loops.judge.__annotations__, _signature(placement_loops.judge, numba), strict=False))
    assert {name for name, one in types.items() if one.mutable} == {name for name in types if name.startswith("to_")}
