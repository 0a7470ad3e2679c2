"""Runs that take long, several at a time in processes of their own, which say how far they are."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, MutableSequence, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from typing import Any, TypeVar

__all__ = ["report_share", "run_side_by_side"]

_LOOK_S = 0.5
"""How often it is looked how far other processes are."""

Result = TypeVar("Result")


def run_side_by_side(
    runs: Sequence[Callable[[], Result]],
    done: Callable[[int, Result], None],
    *,
    processes: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> None:
    """Run all, in this order as far as several at a time have one.

    Parameters
    ----------
    runs : sequence of callable
        With more than one process they are pickled, and so are their results.
    done : callable
        Told number and result of a run as soon as it has ended.
    processes : int, optional
        At a time; as many as there are processors, if left out; 1 runs all in this one. Others import the main module,
        so that a script needs its ``if __name__ == "__main__"``.
    progress : callable, optional
        Told how many runs have ended, those under way counted by what they report (:func:`report_share`).

    Raises
    ------
    Exception
        What a run or a callable raises; runs that have not begun are not begun any more.
    """
    ended = 0
    count = min(len(runs), processes if processes is not None else _processors())
    context = multiprocessing.get_context("spawn")  # a forked process may not use the threads of its parent
    shares: Any = context.RawArray("d", len(runs)) if count > 1 else [0.0] * len(runs)

    def tell() -> None:
        if progress is not None:
            progress(ended + sum(shares))

    def end(at: int, result: Result) -> None:
        nonlocal ended
        done(at, result)
        ended, shares[at] = ended + 1, 0.0
        tell()

    if count <= 1:
        for at, run in enumerate(runs):
            end(at, _reporting(run, shares, at, tell))
        return
    with ProcessPoolExecutor(count, mp_context=context, initializer=_begin, initargs=(shares,)) as pool:
        under_way = {pool.submit(_elsewhere, run, at): at for at, run in enumerate(runs)}
        try:
            while under_way:
                for future in wait(under_way, timeout=_LOOK_S, return_when=FIRST_COMPLETED).done:
                    end(under_way.pop(future), future.result())
                tell()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def report_share(share: float) -> None:
    """Say how much of the run under way is done, 0 to 1: for the run itself, as often as it likes."""
    _report(share)


def _nothing(share: float) -> None:
    """Outside of runs nobody listens."""


_report: Callable[[float], None] = _nothing
"""Of the run under way in this process: there is one at a time."""


def _reporting(
    run: Callable[[], Result], shares: MutableSequence[float], at: int, tell: Callable[[], None] | None = None
) -> Result:
    """Run, and write what it reports."""
    global _report

    def report(share: float) -> None:
        shares[at] = min(max(share, 0.0), 1.0)
        if tell is not None:
            tell()

    _report = report
    try:
        return run()
    finally:
        _report = _nothing


_shares: Any = None
"""In a process of a pool: of each run how much is done, shared with the process that waits."""


def _begin(shares: Any) -> None:
    """Of a process of a pool."""
    global _shares
    _shares = shares
    # A terminal interrupts the processes of a pool too; they have nothing to say of it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _elsewhere(run: Callable[[], Result], at: int) -> Result:
    return _reporting(run, _shares, at)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
