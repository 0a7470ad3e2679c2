# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
"""Bindings of cassini.h: check shapes, release the GIL, call, map the status. Compiled."""

from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

import numpy as np

from .errors import InputError, KernelError

cdef extern from "cassini/cassini.h" nogil:
    int32_t CASSINI_ABI_VERSION
    int32_t CASSINI_OK
    int32_t CASSINI_EINVAL
    int32_t CASSINI_ECANCELED
    int32_t CASSINI_METHOD_ANGLES

    ctypedef struct cassini_options:
        int64_t size
        int32_t method
        int64_t angles
        int64_t resolution
        double slack_tolerance
        int64_t node_limit
        int64_t deadline_ns
        int64_t max_events
        int64_t max_levels
        const int32_t* cancel

    ctypedef struct cassini_result:
        int64_t size
        double score_lower
        double score_upper
        double upper_bound
        double claimed_score
        int64_t hold
        int64_t nodes
        int32_t optimal
        int32_t stopped_by

    int32_t cassini_abi_version()
    const char* cassini_version()
    const char* cassini_strerror(int32_t status)
    int32_t cassini_default_options(cassini_options* options)
    int32_t cassini_solve_link(int64_t, const int64_t*, const int64_t*, const int64_t*, const int64_t*, const int64_t*,
                               int64_t, const cassini_options*, int64_t*, int64_t*, uint8_t*, cassini_result*)
    int32_t cassini_evaluate_link(int64_t, const int64_t*, const int64_t*, const int64_t*, const int64_t*,
                                  const int64_t*, int64_t, const int64_t*, const cassini_options*, double*, double*,
                                  int64_t*, int64_t*, uint8_t*)
    int32_t cassini_marginals(int64_t, const int64_t*, const int64_t*, const int64_t*, const int64_t*, const int64_t*,
                              int64_t, const int64_t*, int64_t, int64_t, const int64_t*, const cassini_options*,
                              double*)

if cassini_abi_version() != CASSINI_ABI_VERSION:
    raise ImportError(
        f"libcassini has ABI {cassini_abi_version()}, expected {CASSINI_ABI_VERSION}: "
        "the library and this extension come from different builds"
    )

library_version = (<bytes>cassini_version()).decode("ascii")


cdef raise_for(int32_t status, str function):
    if status == CASSINI_OK:
        return
    text = (<bytes>cassini_strerror(status)).decode("ascii")
    if status == CASSINI_EINVAL:
        raise InputError(f"{function}: {text}")
    raise KernelError(f"{function}: {text}")


cdef const int64_t* data(const int64_t[::1] array) noexcept:
    return &array[0] if array.shape[0] > 0 else NULL


cdef int check_shapes(const int64_t[::1] period, const int64_t[::1] phase_offset, const int64_t[::1] phase_start,
                      const int64_t[::1] phase_length, const int64_t[::1] phase_rate) except -1:
    cdef int64_t n = period.shape[0]
    if n < 1:
        raise InputError("period: expected at least one job, got an empty array")
    if phase_offset.shape[0] != n + 1:
        raise InputError(f"phase_offset: expected shape ({n + 1},), got ({phase_offset.shape[0]},)")
    if phase_start.shape[0] != phase_length.shape[0] or phase_start.shape[0] != phase_rate.shape[0]:
        raise InputError(
            "phase_start, phase_length, phase_rate: expected equal lengths, got "
            f"{phase_start.shape[0]}, {phase_length.shape[0]}, {phase_rate.shape[0]}"
        )
    if phase_offset[0] != 0 or phase_offset[n] != phase_start.shape[0]:
        raise InputError(
            f"phase_offset: expected to run from 0 to {phase_start.shape[0]}, got {phase_offset[0]} to {phase_offset[n]}"
        )
    return 0


cdef class Options:
    """cassini_options as a Python object; what is not given keeps the kernel's default."""

    cdef cassini_options c
    cdef const int32_t[::1] cancel  # keeps the flag alive as long as the struct points to it

    def __init__(self, *, bint angles_method=False, int64_t angles=72, int64_t resolution=500_000,
                 double slack_tolerance=0.01, node_limit=None, deadline_ns=None, int64_t max_events=262_144,
                 int64_t max_levels=65_536, cancel=None):
        cassini_default_options(&self.c)
        if angles_method:
            self.c.method = CASSINI_METHOD_ANGLES
        self.c.angles = angles
        self.c.resolution = resolution
        self.c.slack_tolerance = slack_tolerance
        self.c.node_limit = INT64_MAX if node_limit is None else node_limit
        self.c.deadline_ns = INT64_MAX if deadline_ns is None else deadline_ns
        self.c.max_events = max_events
        self.c.max_levels = max_levels
        if cancel is not None:
            self.cancel = cancel
            if self.cancel.shape[0] < 1:
                raise InputError("cancel: expected an int32 array of one element, got an empty array")
            self.c.cancel = &self.cancel[0]


def solve_link(const int64_t[::1] period not None, const int64_t[::1] phase_offset not None,
               const int64_t[::1] phase_start not None, const int64_t[::1] phase_length not None,
               const int64_t[::1] phase_rate not None, int64_t capacity, Options options not None):
    """cassini_solve_link: (shift, slack, is_free, result) with result a tuple in the order of cassini_result."""
    check_shapes(period, phase_offset, phase_start, phase_length, phase_rate)
    cdef int64_t n = period.shape[0]
    shift_array = np.empty(n, dtype=np.int64)
    slack_array = np.empty(n, dtype=np.int64)
    free_array = np.empty(n, dtype=np.uint8)
    cdef int64_t[::1] shift = shift_array
    cdef int64_t[::1] slack = slack_array
    cdef uint8_t[::1] is_free = free_array
    cdef const int64_t* starts = data(phase_start)
    cdef const int64_t* lengths = data(phase_length)
    cdef const int64_t* rates = data(phase_rate)
    cdef cassini_result result
    cdef int32_t status
    result.size = sizeof(cassini_result)
    with nogil:
        status = cassini_solve_link(n, &period[0], &phase_offset[0], starts, lengths, rates, capacity, &options.c,
                                    &shift[0], &slack[0], &is_free[0], &result)
    if status == CASSINI_ECANCELED:
        return None
    raise_for(status, "solve_link")
    return shift_array, slack_array, free_array, (
        result.score_lower, result.score_upper, result.upper_bound, result.claimed_score, result.hold, result.nodes,
        result.optimal != 0, result.stopped_by,
    )


def evaluate_link(const int64_t[::1] period not None, const int64_t[::1] phase_offset not None,
                  const int64_t[::1] phase_start not None, const int64_t[::1] phase_length not None,
                  const int64_t[::1] phase_rate not None, int64_t capacity, const int64_t[::1] shift not None,
                  Options options not None, bint with_slack=True):
    """cassini_evaluate_link: (score_lower, score_upper, slack or None, hold, is_free)."""
    check_shapes(period, phase_offset, phase_start, phase_length, phase_rate)
    cdef int64_t n = period.shape[0]
    if shift.shape[0] != n:
        raise InputError(f"shift: expected shape ({n},), got ({shift.shape[0]},)")
    slack_array = np.empty(n, dtype=np.int64)
    free_array = np.empty(n, dtype=np.uint8)
    cdef int64_t[::1] slack = slack_array
    cdef uint8_t[::1] is_free = free_array
    cdef const int64_t* starts = data(phase_start)
    cdef const int64_t* lengths = data(phase_length)
    cdef const int64_t* rates = data(phase_rate)
    cdef int64_t* slack_out = &slack[0] if with_slack else NULL
    cdef int64_t hold = 0
    cdef int64_t* hold_out = &hold if with_slack else NULL
    cdef double lower = 0.0
    cdef double upper = 0.0
    cdef int32_t status
    with nogil:
        status = cassini_evaluate_link(n, &period[0], &phase_offset[0], starts, lengths, rates, capacity, &shift[0],
                                       &options.c, &lower, &upper, slack_out, hold_out, &is_free[0])
    raise_for(status, "evaluate_link")
    return lower, upper, (slack_array if with_slack else None), hold, free_array


def marginals(const int64_t[::1] period not None, const int64_t[::1] phase_offset not None,
              const int64_t[::1] phase_start not None, const int64_t[::1] phase_length not None,
              const int64_t[::1] phase_rate not None, int64_t capacity, const int64_t[::1] shift not None, int64_t job,
              const int64_t[::1] query not None, Options options not None):
    """cassini_marginals: mean excess, kbit/s, for each query shift of one job."""
    check_shapes(period, phase_offset, phase_start, phase_length, phase_rate)
    cdef int64_t n = period.shape[0]
    cdef int64_t n_queries = query.shape[0]
    if shift.shape[0] != n:
        raise InputError(f"shift: expected shape ({n},), got ({shift.shape[0]},)")
    excess_array = np.empty(n_queries, dtype=np.float64)
    if n_queries == 0:
        return excess_array
    cdef double[::1] excess = excess_array
    cdef const int64_t* starts = data(phase_start)
    cdef const int64_t* lengths = data(phase_length)
    cdef const int64_t* rates = data(phase_rate)
    cdef int32_t status
    with nogil:
        status = cassini_marginals(n, &period[0], &phase_offset[0], starts, lengths, rates, capacity, &shift[0], job,
                                   n_queries, &query[0], &options.c, &excess[0])
    raise_for(status, "marginals")
    return excess_array
