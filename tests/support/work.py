"""Bounds on the work of a call, for tests that run beside other programs."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

__all__ = ["works_less_than"]


@contextlib.contextmanager
def works_less_than(seconds: float) -> Iterator[None]:
    """All threads of this process together take less processor time than that inside the block.

    The clock would also count the time in which other programs of a busy machine run.
    """
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < seconds, f"took {took:.2f} s of the processor, expected less than {seconds} s"
