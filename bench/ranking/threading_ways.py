"""Ways to solve many links with threads; all give the same bytes."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from cassini_core.kernel import _kernel

from .threading_links import NODE_LIMIT, Answers, Links

CHUNK = 16
"""Links taken at a time where work is shared out as threads ask for it."""

Way = Callable[[Links, int], Answers]
"""Links and node limit to answers."""


def one_call(links: Links, node_limit: int = NODE_LIMIT) -> Answers:
    """One call of the kernel, in this thread."""
    return Answers(*_solved(links, node_limit, 0, len(links)))


def thread_pool(links: Links, node_limit: int = NODE_LIMIT, *, threads: int) -> Answers:
    """Python threads that take chunks; what ``rank`` does, but for its objects."""
    answers = Answers.empty(links)

    def solve(first: int) -> None:
        last = min(first + CHUNK, len(links))
        jobs = slice(links.job_offset[first], links.job_offset[last])
        answers.shift[jobs], answers.slack[jobs], answers.free[jobs], results, status = _solved(
            links, node_limit, first, last
        )
        answers.results[first:last], answers.status[first:last] = results, status

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(solve, range(0, len(links), CHUNK)))
    return answers


def _solved(links: Links, node_limit: int, first: int, last: int) -> tuple[Any, ...]:
    return _kernel.solve_links(*links.part(first, last), options=_kernel.Options(node_limit=node_limit))


def numba_prange(links: Links, node_limit: int = NODE_LIMIT, *, threads: int, chunk: int) -> Answers:
    """Numba's threads, of whatever layer it has loaded."""
    from .threading_numba import prange_call

    answers = Answers.empty(links)
    prange_call(links, answers, node_limit, threads, chunk)
    return answers


def numba_thread_pool(links: Links, node_limit: int = NODE_LIMIT, *, threads: int) -> Answers:
    """Python threads that take chunks, each solved by Numba's serial function without the GIL."""
    from .threading_numba import arguments, options_bytes, solve_serial

    answers = Answers.empty(links)
    given = arguments(links, answers, options_bytes(node_limit))
    with ThreadPoolExecutor(threads) as pool:
        parts = range(0, len(links), CHUNK)
        list(pool.map(lambda first: solve_serial(first, min(first + CHUNK, len(links)), *given), parts))
    return answers


PYTHON: dict[str, Way] = {
    "one call": one_call,
    **{f"Python threads, {k}": partial(thread_pool, threads=k) for k in (1, 2)},
    **{f"Numba serial in Python threads, {k}": partial(numba_thread_pool, threads=k) for k in (1, 2)},
}
"""Needs no threading layer."""

NUMBA: dict[str, Way] = {
    f"prange, {how}, {k}": partial(numba_prange, threads=k, chunk=chunk)
    for how, chunk in (("equal parts", 0), ("chunks", CHUNK))
    for k in (1, 2)
}
"""In a process with one threading layer."""

LAYERS = ("workqueue", "omp", "tbb")
