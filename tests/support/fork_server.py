"""Processes forked from one that has imported what they need: that takes longer than what most tests ask of them."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import textwrap
from collections.abc import Mapping
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext

__all__ = ["FORK_SERVER", "said_by_script"]

FORK_SERVER: ForkServerContext = multiprocessing.get_context("forkserver")
"""One for all tests of a process. What it forks has imported the packages, and called nothing of them."""

FORK_SERVER.set_forkserver_preload(
    [
        "cassini_agent.cli",
        "cassini_agent.daemon.service",
        "cassini_core.cli.rank",
        "cassini_core.placement.place",
        "cassini_core.problem_file",
        "cassini_core.ranking.rank_problem",
        "cassini_core.topology.generated",
        "hosts",
        "lossy_executors",
        "networkx",
    ]
)


def said_by_script(script: str, environment: Mapping[str, str] | None = None) -> str:
    """What a script prints in a process of its own, which has ranked nothing before.

    Raises
    ------
    AssertionError
        It fails.
    """
    reading, writing = FORK_SERVER.Pipe(duplex=False)
    process = FORK_SERVER.Process(target=_run, args=(textwrap.dedent(script), dict(environment or {}), writing))
    process.start()
    writing.close()
    with reading, contextlib.suppress(EOFError):  # it has ended without a word
        printed = reading.recv()
    process.join()
    assert process.exitcode == 0, f"the script ended with {process.exitcode}"
    return str(printed)


def _run(script: str, environment: dict[str, str], answer: Connection) -> None:
    os.environ.update(environment)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "<script>", "exec"), {"__name__": "__main__"})
    answer.send(printed.getvalue())
