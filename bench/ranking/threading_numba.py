"""The kernel called by symbol from Numba: in a ``prange``, and in a loop that Python threads share out.

Both functions take the same arguments: the arrays of ``Links``, first and last link, the options as bytes, and the
arrays of ``Answers``, results as rows of bytes. What they call stands in this file: Numba's cache would not notice
a change elsewhere.
"""

from __future__ import annotations

import ctypes
from importlib.resources import files
from typing import Any

import llvmlite.binding
import numba
import numpy as np
import numpy.typing as npt
from numba import njit, prange, types

import cassini_core.kernel._kernel  # noqa: F401 - checks the ABI before anything is called by symbol

from .threading_links import Answers, Links

LIBRARY = str(files("cassini_core").joinpath("lib").joinpath("libcassini.so"))

# Code from Numba's cache calls the symbols without asking whether they are there: they must be, before it runs.
llvmlite.binding.load_library_permanently(LIBRARY)

OPTIONS = np.dtype(
    [
        ("size", np.int64),
        ("method", np.int32),
        ("reserved", np.int32),
        ("angles", np.int64),
        ("resolution", np.int64),
        ("slack_tolerance", np.float64),
        ("node_limit", np.int64),
        ("deadline_ns", np.int64),
        ("max_events", np.int64),
        ("max_levels", np.int64),
        ("cancel", np.uint64),
    ]
)
"""``cassini_options``."""

_ints, _bytes = types.CPointer(types.int64), types.CPointer(types.uint8)
_solve_link = types.ExternalFunction(
    "cassini_solve_link",
    types.int32(types.int64, _ints, _ints, _ints, _ints, _ints, types.int64, _bytes, _ints, _ints, _bytes, _bytes),
)


def options_bytes(node_limit: int) -> npt.NDArray[np.uint8]:
    """The kernel's default options with a node limit."""
    options = np.zeros(1, dtype=OPTIONS)
    fill = ctypes.CDLL(LIBRARY).cassini_init_options
    fill.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    if fill(options.ctypes.data, OPTIONS.itemsize) != 0 or options["angles"][0] != 72:
        raise RuntimeError("cassini_options: the header and this file disagree on its layout")
    options["node_limit"] = node_limit
    return options.view(np.uint8)


def arguments(links: Links, answers: Answers, options: npt.NDArray[np.uint8]) -> tuple[Any, ...]:
    """What both functions take, but for the first and the last link, which come first."""
    results = answers.results.view(np.uint8).reshape(len(links), -1)
    given = (links.job_offset, links.period, links.phase_offset, links.local_offset)
    given += (links.phase_start, links.phase_length, links.phase_rate, links.capacity)
    return (*given, options, answers.shift, answers.slack, answers.free.view(np.uint8), results, answers.status)


@njit(parallel=True, nogil=True, cache=True)
def solve_parallel(
    first,
    last,
    job_offset,
    period,
    phase_offset,
    local_offset,
    phase_start,
    phase_length,
    phase_rate,
    capacity,
    options,
    shift,
    slack,
    is_free,
    result,
    status,
):
    """All links at once."""
    for i in prange(first, last):
        a, b = job_offset[i], job_offset[i + 1]
        begin = phase_offset[a]
        status[i] = _solve_link(
            b - a,
            period[a:b].ctypes,
            local_offset[a + i :].ctypes,
            phase_start[begin:].ctypes,
            phase_length[begin:].ctypes,
            phase_rate[begin:].ctypes,
            capacity[i],
            options.ctypes,
            shift[a:b].ctypes,
            slack[a:b].ctypes,
            is_free[a:b].ctypes,
            result[i].ctypes,
        )


@njit(nogil=True, cache=True)
def solve_serial(
    first,
    last,
    job_offset,
    period,
    phase_offset,
    local_offset,
    phase_start,
    phase_length,
    phase_rate,
    capacity,
    options,
    shift,
    slack,
    is_free,
    result,
    status,
):
    """One link after the other, without the GIL."""
    for i in range(first, last):
        a, b = job_offset[i], job_offset[i + 1]
        begin = phase_offset[a]
        status[i] = _solve_link(
            b - a,
            period[a:b].ctypes,
            local_offset[a + i :].ctypes,
            phase_start[begin:].ctypes,
            phase_length[begin:].ctypes,
            phase_rate[begin:].ctypes,
            capacity[i],
            options.ctypes,
            shift[a:b].ctypes,
            slack[a:b].ctypes,
            is_free[a:b].ctypes,
            result[i].ctypes,
        )


def prange_call(links: Links, answers: Answers, node_limit: int, threads: int, chunk: int) -> None:
    """Solve all; ``chunk`` links are taken at a time, 0 for Numba's default: equal parts."""
    numba.set_num_threads(threads)
    with numba.parallel_chunksize(chunk):
        solve_parallel(0, len(links), *arguments(links, answers, options_bytes(node_limit)))
