"""Waiting in the training loop: to a point of the monotonic clock, as exactly as sleeping allows."""

from __future__ import annotations

import time
from collections.abc import Callable

__all__ = ["wait_until"]

LONGEST_SLEEP_S = 0.05
"""One sleep of many: where the machine was suspended meanwhile, the wait ends soon after."""


def wait_until(
    until_ns: int,
    now_ns: Callable[[], int] = time.monotonic_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Sleep until the monotonic clock shows ``until_ns``.

    Overshoots by some 60 us. That is not made up by spinning: a spinning thread would hold the interpreter lock against
    the job's data loader.
    """
    while (left_ns := until_ns - now_ns()) > 0:
        sleep(min(left_ns * 1e-9, LONGEST_SLEEP_S))
