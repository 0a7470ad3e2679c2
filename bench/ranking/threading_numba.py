"""The kernel called by symbol from Numba: in a ``prange``, and in a loop that Python threads share out.

Both functions take the same arguments: first and last link, the structs of the links, the options and the outputs as
rows of bytes, results as rows of bytes, and statuses. What they call stands in this file: Numba's cache would not
notice a change elsewhere.
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
        ("resolution_ns", np.int64),
        ("slack_tolerance", np.float64),
        ("node_limit", np.int64),
        ("deadline_ns", np.int64),
        ("max_events", np.int64),
        ("max_levels", np.int64),
    ]
)
"""``cassini_options``."""

LINK = np.dtype(
    [
        ("size", np.int64),
        ("capacity_kbps", np.int64),
        ("n_jobs", np.int64),
        ("period_ns", np.int64),
        ("phase_offset", np.int64),
        ("n_phases", np.int64),
        ("phase_start_ns", np.int64),
        ("phase_length_ns", np.int64),
        ("phase_rate_kbps", np.int64),
    ]
)
"""``cassini_link``; pointers as integers."""

OUTPUT = np.dtype([(name, np.int64) for name in ("size", "shift_ns", "slack_ns", "is_free")])
"""``cassini_link_output``; pointers as integers."""

_bytes = types.CPointer(types.uint8)
# Nobody cancels, and nobody asks why: null.
_solve_link = types.ExternalFunction(
    "cassini_solve_link", types.int32(_bytes, _bytes, types.int64, _bytes, _bytes, types.int64)
)


def options_bytes(node_limit: int) -> npt.NDArray[np.uint8]:
    """The kernel's default options with a node limit."""
    options = np.zeros(1, dtype=OPTIONS)
    fill = ctypes.CDLL(LIBRARY).cassini_init_options
    fill.argtypes = [ctypes.c_void_p, ctypes.c_int64]
    if fill(options.ctypes.data, OPTIONS.itemsize) != 0 or options["max_levels"][0] != 65_536:
        raise RuntimeError("cassini_options: the header and this file disagree on its layout")
    options["node_limit"] = node_limit
    return options.view(np.uint8)


def arguments(links: Links, answers: Answers, options: npt.NDArray[np.uint8]) -> tuple[Any, ...]:
    """What both functions take, but for the first and the last link, which come first. Links and answers live on."""
    first = links.job_offset[:-1]
    link, output = np.zeros(len(links), dtype=LINK), np.zeros(len(links), dtype=OUTPUT)
    link["size"], output["size"] = LINK.itemsize, OUTPUT.itemsize
    link["capacity_kbps"], link["n_jobs"] = links.capacity, np.diff(links.job_offset)
    link["period_ns"] = links.period.ctypes.data + 8 * first
    link["phase_offset"] = links.phase_offset.ctypes.data + 8 * first
    link["n_phases"] = len(links.phase_start)
    for name in ("phase_start", "phase_length"):
        link[f"{name}_ns"] = getattr(links, name).ctypes.data
    link["phase_rate_kbps"] = links.phase_rate.ctypes.data
    output["shift_ns"] = answers.shift.ctypes.data + 8 * first
    output["slack_ns"] = answers.slack.ctypes.data + 8 * first
    output["is_free"] = answers.free.ctypes.data + first
    rows = [structs.view(np.uint8).reshape(len(links), -1) for structs in (link, output, answers.results)]
    return (rows[0], options, rows[1], rows[2], answers.status)


@njit(parallel=True, nogil=True, cache=True)
def solve_parallel(first, last, link, options, output, result, status):
    """All links at once."""
    for i in prange(first, last):
        status[i] = _solve_link(link[i].ctypes, options.ctypes, 0, output[i].ctypes, result[i].ctypes, 0)


@njit(nogil=True, cache=True)
def solve_serial(first, last, link, options, output, result, status):
    """One link after the other, without the GIL."""
    for i in range(first, last):
        status[i] = _solve_link(link[i].ctypes, options.ctypes, 0, output[i].ctypes, result[i].ctypes, 0)


def prange_call(links: Links, answers: Answers, node_limit: int, threads: int, chunk: int) -> None:
    """Solve all; ``chunk`` links are taken at a time, 0 for Numba's default: equal parts."""
    numba.set_num_threads(threads)
    with numba.parallel_chunksize(chunk):
        solve_parallel(0, len(links), *arguments(links, answers, options_bytes(node_limit)))
