# cython: language_level=3, boundscheck=False, wraparound=False, freethreading_compatible=True
"""Bindings of cassini.h: check shapes, release the GIL, call, map the status. Compiled."""

cimport cython
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t

from ..cassini cimport (
    CASSINI_ABI_VERSION,
    CASSINI_ECANCELED,
    CASSINI_EINVAL,
    CASSINI_ENOMEM,
    CASSINI_METHOD_ANGLES,
    CASSINI_OK,
    cassini_abi_version,
    cassini_anchor,
    cassini_block_result,
    cassini_evaluate_block,
    cassini_evaluate_link,
    cassini_free_anchor,
    cassini_free_links,
    cassini_init_options,
    cassini_links,
    cassini_marginals,
    cassini_options,
    cassini_prepare_anchor,
    cassini_prepare_links,
    cassini_result,
    cassini_solve_beside,
    cassini_solve_block,
    cassini_solve_link,
    cassini_solve_links,
    cassini_solve_prepared_links,
    cassini_strerror,
    cassini_version,
)

import numpy as np

from ..errors import InputError, KernelError

if cassini_abi_version() != CASSINI_ABI_VERSION:
    raise ImportError(
        f"libcassini has ABI {cassini_abi_version()}, expected {CASSINI_ABI_VERSION}: "
        "the library and this extension come from different builds"
    )

library_version = (<bytes>cassini_version()).decode("ascii")

STOPPED_BY = ("complete", "nodes", "deadline", "limits")

# cassini_result as a NumPy structure, for many links at once.
result_dtype = np.dtype(
    [
        ("size", np.int64),
        ("score_lower", np.float64),
        ("score_upper", np.float64),
        ("upper_bound", np.float64),
        ("claimed_score", np.float64),
        ("hold", np.int64),
        ("nodes", np.int64),
        ("optimal", np.int32),
        ("stopped_by", np.int32),
    ]
)
if result_dtype.itemsize != sizeof(cassini_result):
    raise ImportError("cassini_result: the header and this extension disagree on its layout")

# Bound once: looking them up costs a tenth of a two-job call.
cdef object new_array = np.empty
cdef object int64_type = np.dtype(np.int64)
cdef object float64_type = np.dtype(np.float64)
cdef object bool_type = np.dtype(np.bool_)


cdef raise_for(int32_t status, str function):
    if status == CASSINI_OK:
        return
    text = (<bytes>cassini_strerror(status)).decode("ascii")
    if status == CASSINI_EINVAL:
        raise InputError(f"{function}: {text}")
    if status == CASSINI_ENOMEM:
        raise MemoryError(f"{function}: {text}")
    raise KernelError(f"{function}: {text}")


cdef const int64_t* data(const int64_t[::1] array) noexcept:
    return &array[0] if array.shape[0] > 0 else NULL


cdef class Options:
    """cassini_options as a Python object; what is not given keeps the kernel's default."""

    cdef cassini_options c

    def __cinit__(self, *, bint angles_method=False, int64_t angles=72, int64_t resolution=500_000,
                 double slack_tolerance=0.01, node_limit=None, deadline_ns=None, int64_t max_events=262_144,
                 int64_t max_levels=65_536):
        cassini_init_options(&self.c, sizeof(cassini_options))
        if angles_method:
            self.c.method = CASSINI_METHOD_ANGLES
        self.c.angles = angles
        self.c.resolution = resolution
        self.c.slack_tolerance = slack_tolerance
        self.c.node_limit = INT64_MAX if node_limit is None else node_limit
        self.c.deadline_ns = INT64_MAX if deadline_ns is None else deadline_ns
        self.c.max_events = max_events
        self.c.max_levels = max_levels


cdef class LinkAnswer:
    """What the kernel found for one link, in ticks. Arrays have one entry per job, in the order of the jobs.

    Attributes
    ----------
    shift : int64 array, shape (n_jobs,)
        Ticks, in ``[0, period)``; the first job whose shift matters stands at 0.
    score_lower, score_upper : float
        Certified bounds on the score of ``shift``; equal within the limits of folding.
    upper_bound : float
        No shifts score more.
    optimal : bool
        ``score_lower >= upper_bound - 1e-9``.
    claimed_score : float
        What the method itself says.
    free : bool array, shape (n_jobs,)
        Jobs whose shift does not matter (F1b).
    slack : int64 array, shape (n_jobs,)
        Ticks (F5).
    hold : int
        Ticks (F5).
    nodes : int
        Nodes counted.
    stopped_by : str
        ``complete``, ``nodes``, ``deadline`` or ``limits``.
    """

    cdef cassini_result result
    cdef readonly object shift
    cdef readonly object slack
    cdef readonly object free

    @property
    def score_lower(self):
        return self.result.score_lower

    @property
    def score_upper(self):
        return self.result.score_upper

    @property
    def upper_bound(self):
        return self.result.upper_bound

    @property
    def claimed_score(self):
        return self.result.claimed_score

    @property
    def hold(self):
        return self.result.hold

    @property
    def nodes(self):
        return self.result.nodes

    @property
    def optimal(self):
        return self.result.optimal != 0

    @property
    def stopped_by(self):
        return STOPPED_BY[self.result.stopped_by]

    def __repr__(self):
        return (
            f"LinkAnswer(shift={self.shift.tolist()}, score_lower={self.score_lower!r}, "
            f"score_upper={self.score_upper!r}, upper_bound={self.upper_bound!r}, optimal={self.optimal}, "
            f"slack={self.slack.tolist()}, hold={self.hold}, free={self.free.tolist()}, nodes={self.nodes}, "
            f"stopped_by={self.stopped_by!r})"
        )


cdef class Evaluation:
    """Score, slack and hold of given shifts, in ticks; see :class:`LinkAnswer`. ``slack`` is None if not asked for."""

    cdef readonly double score_lower
    cdef readonly double score_upper
    cdef readonly object slack
    cdef readonly int64_t hold
    cdef readonly object free


cdef class Link:
    """One link problem, checked once: the arrays of cassini.h. Immutable; safe to share between threads."""

    cdef readonly object period, phase_offset, phase_start, phase_length, phase_rate
    cdef readonly int64_t capacity
    cdef const int64_t[::1] period_view, offset_view, start_view, length_view, rate_view
    cdef int64_t n_jobs
    cdef bint begun

    def __init__(self, const int64_t[::1] period not None, const int64_t[::1] phase_offset not None,
                 const int64_t[::1] phase_start not None, const int64_t[::1] phase_length not None,
                 const int64_t[::1] phase_rate not None, int64_t capacity):
        cdef int64_t n = period.shape[0]
        # Another call may be reading the arrays. The other classes are made in __cinit__, which Python calls once; here
        # a subclass takes other arguments.
        with cython.critical_section(self):
            if self.begun:
                raise InputError("Link: expected to be initialised once")
            self.begun = True
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
                f"phase_offset: expected to run from 0 to {phase_start.shape[0]}, "
                f"got {phase_offset[0]} to {phase_offset[n]}"
            )
        self.n_jobs = n
        self.period_view, self.offset_view = period, phase_offset
        self.start_view, self.length_view, self.rate_view = phase_start, phase_length, phase_rate
        self.period, self.phase_offset = np.asarray(period), np.asarray(phase_offset)
        self.phase_start, self.phase_length = np.asarray(phase_start), np.asarray(phase_length)
        self.phase_rate = np.asarray(phase_rate)
        self.capacity = capacity

    def _solve(self, Options options not None, node_limit=None, const int32_t[::1] cancel=None, bint with_slack=True):
        """cassini_solve_link. ``node_limit`` replaces that of the options. None: canceled."""
        cdef LinkAnswer answer = LinkAnswer.__new__(LinkAnswer)
        answer.shift = new_array(self.n_jobs, int64_type)
        answer.slack = new_array(self.n_jobs, int64_type)
        answer.free = new_array(self.n_jobs, bool_type)
        cdef int64_t[::1] shift = answer.shift
        cdef int64_t[::1] slack = answer.slack
        cdef uint8_t[::1] is_free = answer.free.view(np.uint8)
        cdef const int64_t* starts = data(self.start_view)
        cdef const int64_t* lengths = data(self.length_view)
        cdef const int64_t* rates = data(self.rate_view)
        cdef int64_t* slack_out = &slack[0] if with_slack else NULL
        cdef cassini_options c = options.c
        cdef int32_t status
        if not with_slack:
            slack[:] = 0
        if node_limit is not None:
            c.node_limit = node_limit
        if cancel is not None:
            if cancel.shape[0] < 1:
                raise InputError("cancel: expected an int32 array of one element, got an empty array")
            c.cancel = &cancel[0]
        answer.result.size = sizeof(cassini_result)
        with nogil:
            status = cassini_solve_link(self.n_jobs, &self.period_view[0], &self.offset_view[0], starts, lengths, rates,
                                        self.capacity, &c, &shift[0], slack_out, &is_free[0], &answer.result)
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, "solve_link")
        return answer

    def _evaluate(self, const int64_t[::1] shift not None, Options options not None, bint with_slack=True):
        """cassini_evaluate_link."""
        if shift.shape[0] != self.n_jobs:
            raise InputError(f"shift: expected shape ({self.n_jobs},), got ({shift.shape[0]},)")
        cdef Evaluation out = Evaluation.__new__(Evaluation)
        slack_array = new_array(self.n_jobs, int64_type)
        out.free = new_array(self.n_jobs, bool_type)
        cdef int64_t[::1] slack = slack_array
        cdef uint8_t[::1] is_free = out.free.view(np.uint8)
        cdef const int64_t* starts = data(self.start_view)
        cdef const int64_t* lengths = data(self.length_view)
        cdef const int64_t* rates = data(self.rate_view)
        cdef int64_t* slack_out = &slack[0] if with_slack else NULL
        cdef int64_t* hold_out = &out.hold if with_slack else NULL
        cdef int32_t status
        with nogil:
            status = cassini_evaluate_link(self.n_jobs, &self.period_view[0], &self.offset_view[0], starts, lengths,
                                           rates, self.capacity, &shift[0], &options.c, &out.score_lower,
                                           &out.score_upper, slack_out, hold_out, &is_free[0])
        raise_for(status, "evaluate_link")
        out.slack = slack_array if with_slack else None
        return out

    def _marginals(self, const int64_t[::1] shift not None, int64_t job, const int64_t[::1] query not None,
                   Options options not None):
        """cassini_marginals: mean excess, kbit/s, for each query shift of one job."""
        cdef int64_t n_queries = query.shape[0]
        if shift.shape[0] != self.n_jobs:
            raise InputError(f"shift: expected shape ({self.n_jobs},), got ({shift.shape[0]},)")
        excess_array = np.empty(n_queries, dtype=np.float64)
        if n_queries == 0:
            return excess_array
        cdef double[::1] excess = excess_array
        cdef const int64_t* starts = data(self.start_view)
        cdef const int64_t* lengths = data(self.length_view)
        cdef const int64_t* rates = data(self.rate_view)
        cdef int32_t status
        with nogil:
            status = cassini_marginals(self.n_jobs, &self.period_view[0], &self.offset_view[0], starts, lengths, rates,
                                       self.capacity, &shift[0], job, n_queries, &query[0], &options.c, &excess[0])
        raise_for(status, "marginals")
        return excess_array


cdef check_links(const int64_t[::1] job_offset, const int64_t[::1] period, const int64_t[::1] phase_offset,
                 const int64_t[::1] phase_start, const int64_t[::1] phase_length, const int64_t[::1] phase_rate,
                 const int64_t[::1] capacity):
    """Shapes and offsets of concatenated links: the kernel reads by them, none may lead outside."""
    cdef int64_t n_links = capacity.shape[0]
    cdef int64_t n_jobs = period.shape[0]
    if job_offset.shape[0] != n_links + 1:
        raise InputError(f"job_offset: expected shape ({n_links + 1},), got ({job_offset.shape[0]},)")
    if phase_offset.shape[0] != n_jobs + 1:
        raise InputError(f"phase_offset: expected shape ({n_jobs + 1},), got ({phase_offset.shape[0]},)")
    if phase_start.shape[0] != phase_length.shape[0] or phase_start.shape[0] != phase_rate.shape[0]:
        raise InputError("phase_start, phase_length, phase_rate: expected equal lengths")
    if job_offset[0] != 0 or job_offset[n_links] != n_jobs:
        raise InputError(f"job_offset: expected to run from 0 to {n_jobs}, got {job_offset[0]} to {job_offset[n_links]}")
    if phase_offset[0] != 0 or phase_offset[n_jobs] != phase_start.shape[0]:
        raise InputError(f"phase_offset: expected to run from 0 to {phase_start.shape[0]}")
    cdef int64_t i
    for i in range(n_jobs):
        if phase_offset[i + 1] < phase_offset[i]:
            raise InputError(f"phase_offset: expected no entry to decrease, got {phase_offset[i + 1]} at {i + 1}")
    for i in range(n_links):
        if job_offset[i + 1] < job_offset[i]:
            raise InputError(f"job_offset: expected no entry to decrease, got {job_offset[i + 1]} at {i + 1}")


cdef expect(str name, int64_t got, int64_t expected):
    if got != expected:
        raise InputError(f"{name}: expected shape ({expected},), got ({got},)")


def solve_links(const int64_t[::1] job_offset not None, const int64_t[::1] period not None,
                const int64_t[::1] phase_offset not None, const int64_t[::1] phase_start not None,
                const int64_t[::1] phase_length not None, const int64_t[::1] phase_rate not None,
                const int64_t[::1] capacity not None, Options options not None, const int32_t[::1] cancel=None,
                node_limit=None, bint with_slack=True):
    """cassini_solve_links: (shift, slack, free, results of result_dtype, status), or None if canceled.

    ``node_limit`` replaces that of the options. Without ``with_slack`` shifts are not centred, and slack is 0.
    """
    cdef int64_t n_links = capacity.shape[0]
    cdef int64_t n_jobs = period.shape[0]
    check_links(job_offset, period, phase_offset, phase_start, phase_length, phase_rate, capacity)
    shift_array = np.zeros(n_jobs, dtype=np.int64)
    slack_array = np.zeros(n_jobs, dtype=np.int64)
    free_array = np.zeros(n_jobs, dtype=np.bool_)
    results = np.zeros(n_links, dtype=result_dtype)
    status_array = np.zeros(n_links, dtype=np.int32)
    if n_links == 0:
        return shift_array, slack_array, free_array, results, status_array
    if n_jobs == 0:
        raise InputError("period: expected at least one job, got an empty array")
    results["size"] = sizeof(cassini_result)
    cdef int64_t[::1] shift = shift_array
    cdef int64_t[::1] slack = slack_array
    cdef uint8_t[::1] is_free = free_array.view(np.uint8)
    cdef uint8_t[::1] result_bytes = results.view(np.uint8)
    cdef int32_t[::1] status = status_array
    cdef const int64_t* starts = data(phase_start)
    cdef const int64_t* lengths = data(phase_length)
    cdef const int64_t* rates = data(phase_rate)
    cdef int64_t* slack_out = &slack[0] if with_slack else NULL
    cdef cassini_options c = options.c
    cdef int32_t outcome
    if node_limit is not None:
        c.node_limit = node_limit
    if cancel is not None and cancel.shape[0] > 0:
        c.cancel = &cancel[0]
    with nogil:
        outcome = cassini_solve_links(n_links, &job_offset[0], &period[0], &phase_offset[0], starts, lengths, rates,
                                      &capacity[0], &c, &shift[0], slack_out, &is_free[0],
                                      <cassini_result*>&result_bytes[0], &status[0])
    if outcome == CASSINI_ECANCELED:
        return None
    raise_for(outcome, "solve_links")
    return shift_array, slack_array, free_array, results, status_array


def check_status(const int32_t[::1] status not None):
    """Raises for the first link of ``solve_links`` that was not solved."""
    cdef int64_t i
    for i in range(status.shape[0]):
        raise_for(status[i], "solve_links")


cdef const double* doubles(str name, const double[::1] array, int64_t expected) except? NULL:
    """None and empty arrays become null."""
    if array is None:
        return NULL
    expect(name, array.shape[0], expected)
    return &array[0] if expected > 0 else NULL


cdef cassini_options limited(Options options, node_limit, const int32_t[::1] cancel, deadline_ns) except *:
    """The options with what is given for one call in their place."""
    cdef cassini_options c = options.c
    if node_limit is not None:
        c.node_limit = node_limit
    if cancel is not None:
        expect("cancel", cancel.shape[0], 1)
        c.cancel = &cancel[0]
    if deadline_ns is not None:
        c.deadline_ns = deadline_ns
    return c


cdef class BlockAnswer:
    """What the kernel found for one block, in ticks; ``shift`` has one entry per job, the scores one per link.

    Attributes
    ----------
    shift : int64 array, shape (n_jobs,)
        Ticks, in ``[0, period)``.
    score_lower, score_upper : float64 array, shape (n_links,)
        Certified bounds on each link's score; equal within the limits of folding.
    score, upper_bound : float
        Weighted means over the links: what ``shift`` scores at least, and what no shifts can exceed.
    optimal : bool
        ``score >= upper_bound - 1e-9``.
    nodes : int
        Nodes counted.
    stopped_by : str
        ``complete``, ``nodes``, ``deadline`` or ``limits``.
    """

    cdef cassini_block_result result
    cdef readonly object shift
    cdef readonly object score_lower
    cdef readonly object score_upper

    @property
    def score(self):
        return self.result.score

    @property
    def upper_bound(self):
        return self.result.upper_bound

    @property
    def nodes(self):
        return self.result.nodes

    @property
    def optimal(self):
        return self.result.optimal != 0

    @property
    def stopped_by(self):
        return STOPPED_BY[self.result.stopped_by]


cdef BlockAnswer new_answer(int64_t n_jobs, int64_t n_links):
    cdef BlockAnswer answer = BlockAnswer.__new__(BlockAnswer)
    answer.shift = new_array(n_jobs, int64_type)
    answer.score_lower = new_array(n_links, float64_type)
    answer.score_upper = new_array(n_links, float64_type)
    answer.result.size = sizeof(cassini_block_result)
    return answer


cdef class Links:
    """Many link problems, prepared once, for blocks that refer to them by index. Immutable; safe to share."""

    cdef cassini_links* handle
    cdef readonly object status
    cdef readonly object job_offset
    cdef const int64_t[::1] offset_view

    def __cinit__(self, const int64_t[::1] job_offset not None, const int64_t[::1] period not None,
                 const int64_t[::1] phase_offset not None, const int64_t[::1] phase_start not None,
                 const int64_t[::1] phase_length not None, const int64_t[::1] phase_rate not None,
                 const int64_t[::1] capacity not None, Options options not None):
        cdef int64_t n_links = capacity.shape[0]
        check_links(job_offset, period, phase_offset, phase_start, phase_length, phase_rate, capacity)
        self.status = np.zeros(n_links, dtype=np.int32)
        cdef int32_t[::1] status = self.status
        cdef const int64_t* offsets = data(job_offset)
        cdef const int64_t* periods = data(period)
        cdef const int64_t* phases = data(phase_offset)
        cdef const int64_t* starts = data(phase_start)
        cdef const int64_t* lengths = data(phase_length)
        cdef const int64_t* rates = data(phase_rate)
        cdef const int64_t* capacities = data(capacity)
        cdef int32_t* statuses = &status[0] if n_links > 0 else NULL
        cdef int32_t outcome
        with nogil:
            outcome = cassini_prepare_links(n_links, offsets, periods, phases, starts, lengths, rates, capacities,
                                            &options.c, &self.handle, statuses)
        raise_for(outcome, "prepare_links")
        cdef int64_t i
        for i in range(n_links):
            if status[i] != CASSINI_EINVAL:  # a link that is refused may be left unused
                raise_for(status[i], "prepare_links")
        self.job_offset = np.array(job_offset)  # a copy: lengths are checked by it
        self.offset_view = self.job_offset

    def __dealloc__(self):
        cassini_free_links(self.handle)

    cdef int64_t count_members(self, const int64_t[::1] link) except -1:
        cdef int64_t n_all = self.offset_view.shape[0] - 1
        cdef int64_t members = 0
        cdef int64_t i
        for i in range(link.shape[0]):
            if link[i] < 0 or link[i] >= n_all:
                raise InputError(f"link: expected indices of 0 to {n_all - 1}, got {link[i]} at {i}")
            members += self.offset_view[link[i] + 1] - self.offset_view[link[i]]
        return members

    def solve(self, int64_t first, int64_t last, Options options not None, const int32_t[::1] cancel=None,
              node_limit=None, bint with_slack=True, deadline_ns=None):
        """Links ``first`` to ``last - 1`` each for itself, without preparing them again: what ``solve_links`` gives.

        The resolution and the limits of folding are those the links were prepared with. ``node_limit`` and
        ``deadline_ns`` replace those of the options. None: canceled.
        """
        cdef int64_t n_all = self.offset_view.shape[0] - 1
        if not 0 <= first <= last <= n_all:
            raise InputError(f"first, last: expected 0 <= first <= last <= {n_all}, got {first}, {last}")
        cdef int64_t n_links = last - first
        cdef int64_t n_jobs = self.offset_view[last] - self.offset_view[first]
        cdef cassini_options c = limited(options, node_limit, cancel, deadline_ns)
        shift_array = np.zeros(n_jobs, dtype=np.int64)
        slack_array = np.zeros(n_jobs, dtype=np.int64)
        free_array = np.zeros(n_jobs, dtype=np.bool_)
        results = np.zeros(n_links, dtype=result_dtype)
        status_array = np.zeros(n_links, dtype=np.int32)
        if n_jobs == 0:
            status_array[:] = CASSINI_EINVAL  # links without jobs
            return shift_array, slack_array, free_array, results, status_array
        results["size"] = sizeof(cassini_result)
        cdef int64_t[::1] shift = shift_array
        cdef int64_t[::1] slack = slack_array
        cdef uint8_t[::1] is_free = free_array.view(np.uint8)
        cdef uint8_t[::1] result_bytes = results.view(np.uint8)
        cdef int32_t[::1] status = status_array
        cdef int64_t* slack_out = &slack[0] if with_slack else NULL
        cdef int32_t outcome
        with nogil:
            outcome = cassini_solve_prepared_links(self.handle, first, last, &c, &shift[0], slack_out, &is_free[0],
                                                   <cassini_result*>&result_bytes[0], &status[0])
        if outcome == CASSINI_ECANCELED:
            return None
        raise_for(outcome, "solve_prepared_links")
        return shift_array, slack_array, free_array, results, status_array

    def solve_block(self, const int64_t[::1] period not None, const int64_t[::1] link not None,
                    const int64_t[::1] member not None, const double[::1] weight not None, Options options not None,
                    const double[::1] upper_bound=None, const int64_t[::1] own_shift=None,
                    const int64_t[::1] start=None, const uint8_t[::1] dirty=None, bint centred=False, node_limit=None,
                    const int32_t[::1] cancel=None, deadline_ns=None):
        """cassini_solve_block. ``node_limit`` and ``deadline_ns`` replace those of the options. None: canceled."""
        cdef int64_t n_jobs = period.shape[0]
        cdef int64_t n_links = link.shape[0]
        cdef int64_t n_members = self.count_members(link)
        expect("period", n_jobs, max(n_jobs, 1))
        expect("member", member.shape[0], n_members)
        cdef const double* weights = doubles("weight", weight, n_links)
        cdef const double* bounds = doubles("upper_bound", upper_bound, n_links)
        cdef cassini_options c = limited(options, node_limit, cancel, deadline_ns)
        cdef const int64_t* own = NULL
        cdef const int64_t* from_here = NULL
        cdef const uint8_t* flags = NULL
        if own_shift is not None:
            expect("own_shift", own_shift.shape[0], n_members)
            own = data(own_shift)
        if start is not None:
            expect("start", start.shape[0], n_jobs)
            from_here = data(start)
        if dirty is not None:
            expect("dirty", dirty.shape[0], n_jobs)
            flags = &dirty[0]
        cdef BlockAnswer answer = new_answer(n_jobs, n_links)
        cdef int64_t[::1] shift = answer.shift
        cdef double[::1] lower = answer.score_lower
        cdef double[::1] upper = answer.score_upper
        cdef double* lowers = &lower[0] if n_links > 0 else NULL
        cdef double* uppers = &upper[0] if n_links > 0 else NULL
        cdef const int64_t* links = data(link)
        cdef const int64_t* members = data(member)
        cdef int32_t status
        with nogil:
            status = cassini_solve_block(self.handle, n_jobs, &period[0], n_links, links, members, weights, bounds, own,
                                         from_here, flags, centred, &c, &shift[0], lowers, uppers, &answer.result)
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, "solve_block")
        return answer

    def evaluate_block(self, const int64_t[::1] period not None, const int64_t[::1] link not None,
                       const int64_t[::1] member not None, const int64_t[::1] shift not None, Options options not None,
                       bint with_slack=True, const int32_t[::1] cancel=None, deadline_ns=None):
        """cassini_evaluate_block: (score_lower, score_upper, slack, hold), or None if canceled.

        ``deadline_ns`` replaces that of the options.
        ``slack`` has one entry per member, the others one per link; ``slack`` and ``hold`` are None if not asked for.
        """
        cdef int64_t n_jobs = period.shape[0]
        cdef int64_t n_links = link.shape[0]
        cdef int64_t n_members = self.count_members(link)
        expect("period", n_jobs, max(n_jobs, 1))
        expect("member", member.shape[0], n_members)
        expect("shift", shift.shape[0], n_jobs)
        cdef cassini_options c = limited(options, None, cancel, deadline_ns)
        lower_array = new_array(n_links, float64_type)
        upper_array = new_array(n_links, float64_type)
        if n_links == 0:
            empty = new_array(0, int64_type)
            return lower_array, upper_array, empty if with_slack else None, empty if with_slack else None
        slack_array = new_array(n_members, int64_type)
        hold_array = new_array(n_links, int64_type)
        cdef double[::1] lower = lower_array
        cdef double[::1] upper = upper_array
        cdef int64_t[::1] slack = slack_array
        cdef int64_t[::1] hold = hold_array
        cdef int64_t* slacks = &slack[0] if with_slack else NULL
        cdef int64_t* holds = &hold[0] if with_slack else NULL
        cdef int32_t status
        with nogil:
            status = cassini_evaluate_block(self.handle, n_jobs, &period[0], n_links, &link[0], &member[0], &shift[0],
                                            &c, &lower[0], &upper[0], slacks, holds)
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, "evaluate_block")
        return lower_array, upper_array, slack_array if with_slack else None, hold_array if with_slack else None


cdef class BlockAnchor:
    """A block at given shifts, for blocks that differ from it in few links. Immutable; safe to share.

    The arguments are those of ``Links.solve_block``. Raises :class:`InputError` and :class:`KernelError`.
    """

    cdef cassini_anchor* handle
    cdef readonly Links links  # the kernel refers to it
    cdef int64_t n_jobs
    cdef int64_t n_links

    def __cinit__(self, Links links not None, *, const int64_t[::1] period not None, const int64_t[::1] link not None,
                 const int64_t[::1] member not None, const double[::1] upper_bound,
                 const int64_t[::1] shift not None, Options options not None, const double[::1] weight=None):
        cdef int64_t n_jobs = period.shape[0]
        cdef int64_t n_links = link.shape[0]
        expect("period", n_jobs, max(n_jobs, 1))
        expect("member", member.shape[0], links.count_members(link))
        expect("shift", shift.shape[0], n_jobs)
        cdef const double* weights = doubles("weight", weight, n_links)
        cdef const double* bounds = doubles("upper_bound", upper_bound, n_links)
        cdef const int64_t* which = data(link)
        cdef const int64_t* members = data(member)
        cdef int32_t status
        with nogil:
            status = cassini_prepare_anchor(links.handle, n_jobs, &period[0], n_links, which, members, weights, bounds,
                                            &shift[0], &options.c, &self.handle)
        raise_for(status, "prepare_anchor")
        self.links = links
        self.n_jobs = n_jobs
        self.n_links = n_links

    def __dealloc__(self):
        cassini_free_anchor(self.handle)

    def solve(self, *, const int64_t[::1] dropped not None, const int64_t[::1] link not None,
              const int64_t[::1] member not None, Options options not None, const double[::1] upper_bound,
              const double[::1] weight=None, node_limit=None, const int32_t[::1] cancel=None, deadline_ns=None):
        """cassini_solve_beside. ``node_limit`` and ``deadline_ns`` replace those of the options. None: canceled.

        Scores are those of the anchor's links that are not dropped, in their order, then of those added.
        """
        cdef int64_t n_dropped = dropped.shape[0]
        cdef int64_t n_added = link.shape[0]
        if n_dropped > self.n_links:
            raise InputError(f"dropped: expected at most {self.n_links} indices, got {n_dropped}")
        expect("member", member.shape[0], self.links.count_members(link))
        cdef const double* weights = doubles("weight", weight, n_added)
        cdef const double* bounds = doubles("upper_bound", upper_bound, n_added)
        cdef cassini_options c = limited(options, node_limit, cancel, deadline_ns)
        cdef const int64_t* gone = data(dropped)
        cdef const int64_t* which = data(link)
        cdef const int64_t* members = data(member)
        cdef int64_t n_left = self.n_links - n_dropped + n_added
        cdef BlockAnswer answer = new_answer(self.n_jobs, n_left)
        cdef int64_t[::1] shift = answer.shift
        cdef double[::1] lower = answer.score_lower
        cdef double[::1] upper = answer.score_upper
        cdef double* lowers = &lower[0] if n_left > 0 else NULL
        cdef double* uppers = &upper[0] if n_left > 0 else NULL
        cdef int32_t status
        with nogil:
            status = cassini_solve_beside(self.handle, n_dropped, gone, n_added, which, members, weights, bounds, &c,
                                          &shift[0], lowers, uppers, &answer.result)
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, "solve_beside")
        return answer
