"""Threads that can be canceled, and Python's collector of cycles, off for a while.

A full collection takes as long as the process has objects: tenths of a second where these are a million.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from .arrays import Int32Array

__all__ = ["canceling_pool", "collector_rests"]


class _Rest:
    """Counts who wants the collector off; the last to leave turns it on again if the first found it on."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.guests = 0
        self.was_on = False

    def enter(self) -> None:
        with self.lock:
            if self.guests == 0:
                self.was_on = gc.isenabled()
                gc.disable()
            self.guests += 1

    def leave(self) -> None:
        try:
            if self.guests == 1 and self.was_on:
                _age_what_is_new()  # without the lock: it may finalize what ranks in turn
        finally:
            with self.lock:
                self.guests -= 1
                if self.guests == 0 and self.was_on:
                    gc.enable()


_rest = _Rest()

HAS_GENERATIONS = "t" not in getattr(sys, "abiflags", "")
"""Python without a global lock collects all objects or none."""


def _age_what_is_new() -> None:
    """Let the collector look at what was made while it was off, if that would make it collect as soon as it is on.

    By itself it would choose a full collection where one is due. That can wait until the caller makes objects.
    """
    if HAS_GENERATIONS and gc.get_count()[0] > gc.get_threshold()[0] > 0:
        gc.collect(0)


@contextmanager
def collector_rests() -> Iterator[None]:
    """Turns the collector off inside, in all threads; afterwards, and in a child forked meanwhile, it is as before.

    Overlapping uses in several threads count as one.
    """
    rest = _rest
    rest.enter()
    try:
        yield
    finally:
        rest.leave()


def _end_rest() -> None:
    """Ends all rests in a forked child: the threads that wanted them are gone, and one may have held the lock."""
    global _rest
    old, _rest = _rest, _Rest()
    old.lock = threading.Lock()  # the thread that forked may itself be inside
    if old.guests and old.was_on:
        gc.enable()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_rest)


@contextmanager
def canceling_pool(threads: int, name: str, cancel: Int32Array) -> Iterator[ThreadPoolExecutor]:
    """A thread pool. On any exception it sets ``cancel`` and drops what was not begun."""
    with ThreadPoolExecutor(threads, thread_name_prefix=name) as pool:
        try:
            yield pool
        except BaseException:
            # The kernel looks at this now and then; leaving the pool then waits for its threads, not for their answers.
            cancel[0] = 1
            pool.shutdown(wait=False, cancel_futures=True)
            raise
