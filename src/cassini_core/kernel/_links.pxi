# Many links in one call.

# cassini_link_result as a NumPy structure.
result_dtype = np.dtype(
    [
        ("size", np.int64),
        ("score_lower", np.float64),
        ("score_upper", np.float64),
        ("upper_bound", np.float64),
        ("hold", np.int64),
        ("nodes", np.int64),
        ("optimal", np.int32),
        ("stopped_by", np.int32),
    ]
)
if result_dtype.itemsize != sizeof(cassini_link_result):
    raise ImportError("cassini_link_result: the header and this extension disagree on its layout")


cdef cassini_links checked_links(const int64_t[::1] job_offset, const int64_t[::1] period,
                                 const int64_t[::1] phase_offset, const int64_t[::1] phase_start,
                                 const int64_t[::1] phase_length, const int64_t[::1] phase_rate,
                                 const int64_t[::1] capacity) except *:
    """The arrays as the kernel takes them. It checks what stands in them; here their lengths, which it is told."""
    cdef cassini_links out
    expect("job_offset", job_offset.shape[0], capacity.shape[0] + 1)
    expect("phase_offset", phase_offset.shape[0], period.shape[0] + 1)
    if phase_start.shape[0] != phase_length.shape[0] or phase_start.shape[0] != phase_rate.shape[0]:
        raise InputError("phase_start, phase_length, phase_rate: expected equal lengths")
    if job_offset[0] != 0 or job_offset[capacity.shape[0]] != period.shape[0]:
        raise InputError(f"job_offset: expected to run from 0 to {period.shape[0]}, got {job_offset[0]} to "
                         f"{job_offset[capacity.shape[0]]}")
    if phase_offset[0] != 0 or phase_offset[period.shape[0]] != phase_start.shape[0]:
        raise InputError(f"phase_offset: expected to run from 0 to {phase_start.shape[0]}")
    out.size = sizeof(cassini_links)
    out.n_links = capacity.shape[0]
    out.capacity_kbps = data(capacity)
    out.job_offset = data(job_offset)
    out.n_jobs = period.shape[0]
    out.period_ns = data(period)
    out.phase_offset = data(phase_offset)
    out.n_phases = phase_start.shape[0]
    out.phase_start_ns = data(phase_start)
    out.phase_length_ns = data(phase_length)
    out.phase_rate_kbps = data(phase_rate)
    return out


cdef class Batch:
    """The outputs of a call on many links; ``arrays`` are those of ``solve_links``."""

    cdef cassini_link_output output
    cdef cassini_link_result* result
    cdef int32_t* status
    cdef cassini_error error
    cdef readonly tuple arrays

    def __cinit__(self, int64_t n_links, int64_t n_jobs, bint with_slack):
        shift = np.zeros(n_jobs, dtype=np.int64)
        slack = np.zeros(n_jobs, dtype=np.int64)
        free = np.zeros(n_jobs, dtype=np.bool_)
        results = np.zeros(n_links, dtype=result_dtype)
        status = np.zeros(n_links, dtype=np.int32)
        results["size"] = sizeof(cassini_link_result)
        cdef int32_t[::1] status_view = status
        self.output.size = sizeof(cassini_link_output)
        self.output.shift_ns = new_ints(shift)
        self.output.slack_ns = new_ints(slack) if with_slack else NULL
        self.output.is_free = new_bools(free)
        self.result = <cassini_link_result*>new_bools(results)
        self.status = &status_view[0] if n_links > 0 else NULL
        self.error = no_error()
        self.arrays = (shift, slack, free, results, status)

    cdef outcome(self, int32_t status, str function):
        """The arrays, or None if canceled. Raises for the call, and for the first link that was refused."""
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, function, &self.error)
        if self.error.text[0] != 0:
            raise_for(self.error.status, f"{function}: link {self.error.link}", &self.error)
        return self.arrays


def solve_links(const int64_t[::1] job_offset not None, const int64_t[::1] period not None,
                const int64_t[::1] phase_offset not None, const int64_t[::1] phase_start not None,
                const int64_t[::1] phase_length not None, const int64_t[::1] phase_rate not None,
                const int64_t[::1] capacity not None, Options options not None, const int32_t[::1] cancel=None,
                node_limit=None, bint with_slack=True):
    """cassini_solve_links: (shift, slack, free, results of result_dtype, status), or None if canceled.

    ``node_limit`` replaces that of the options. Without ``with_slack`` shifts are not centred, and slack is 0. Raises
    for the first link that cannot be solved.
    """
    cdef cassini_links links = checked_links(job_offset, period, phase_offset, phase_start, phase_length, phase_rate,
                                             capacity)
    cdef Batch batch = Batch(links.n_links, links.n_jobs, with_slack)
    cdef cassini_options c = limited(options, node_limit, None)
    cdef const int32_t* ended = flag(cancel)
    cdef int32_t status
    if options.angles != 0:
        raise InputError("options: expected the exact method, got that of angles")
    if links.n_jobs == 0 and links.n_links > 0:
        raise InputError("period: expected at least one job, got an empty array")
    with nogil:
        status = cassini_solve_links(&links, &c, ended, &batch.output, batch.result, batch.status, &batch.error)
    return batch.outcome(status, "solve_links")


def check_status(const int32_t[::1] status not None):
    """Raises for the first link of ``solve_links`` that was not solved."""
    cdef int64_t i
    for i in range(status.shape[0]):
        raise_for(status[i], "solve_links", NULL)
