# One link.


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
        What the method itself says: that of the grid of angles, else ``score_lower``.
    free : bool array, shape (n_jobs,)
        Jobs whose shift does not matter (F1b).
    slack : int64 array, shape (n_jobs,)
        Ticks (F5).
    hold : int
        Ticks (F5).
    nodes : int
        Nodes counted.
    stopped_by : str
        ``complete``, ``nodes``, ``deadline``, ``limits`` or ``unproven``.
    """

    cdef cassini_link_result result
    cdef readonly double claimed_score
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
    def hold(self):
        return self.result.hold_ns

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


cdef object own_copy(const int64_t[::1] array):
    out = np.array(array)
    out.setflags(write=False)
    return out


cdef class Link:
    """One link problem, checked once: copies of the arrays of cassini_link. Immutable; safe to share between threads."""

    cdef readonly object period, phase_offset, phase_start, phase_length, phase_rate
    cdef const int64_t[::1] period_view, offset_view, start_view, length_view, rate_view
    cdef cassini_link c
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
        expect("phase_offset", phase_offset.shape[0], n + 1)
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
        # Copies: what was checked stays as it is, whatever becomes of the caller's arrays.
        self.period, self.phase_offset = own_copy(period), own_copy(phase_offset)
        self.phase_start, self.phase_length = own_copy(phase_start), own_copy(phase_length)
        self.phase_rate = own_copy(phase_rate)
        self.period_view, self.offset_view = self.period, self.phase_offset
        self.start_view, self.length_view, self.rate_view = self.phase_start, self.phase_length, self.phase_rate
        self.c.capacity_kbps = capacity
        self.c.n_jobs = n
        self.c.period_ns = &self.period_view[0]
        self.c.phase_offset = &self.offset_view[0]
        self.c.n_phases = phase_start.shape[0]
        self.c.phase_start_ns = data(self.start_view)
        self.c.phase_length_ns = data(self.length_view)
        self.c.phase_rate_kbps = data(self.rate_view)
        self.c.size = sizeof(cassini_link)  # last: who finds it set may call

    @property
    def capacity(self):
        return self.c.capacity_kbps

    cdef int64_t n_jobs(self) except -1:
        if self.c.size == 0:
            raise TypeError("Link: expected to be initialised")
        return self.c.n_jobs

    def _solve(self, Options options not None, node_limit=None, const int32_t[::1] cancel=None, bint with_slack=True):
        """cassini_solve_link, or its like by angles. ``node_limit`` replaces that of the options. None: canceled."""
        cdef int64_t n_jobs = self.n_jobs()
        cdef LinkAnswer answer = LinkAnswer.__new__(LinkAnswer)
        answer.shift = new_array(n_jobs, int64_type)
        answer.slack = new_array(n_jobs, int64_type)
        answer.free = new_array(n_jobs, bool_type)
        cdef int64_t[::1] slack = answer.slack
        cdef cassini_link_output output
        output.size = sizeof(cassini_link_output)
        output.shift_ns = new_ints(answer.shift)
        output.slack_ns = &slack[0] if with_slack else NULL
        output.is_free = new_bools(answer.free)
        if not with_slack:
            slack[:] = 0
        answer.result.size = sizeof(cassini_link_result)
        cdef cassini_options c = limited(options, node_limit, None)
        cdef const int32_t* ended = flag(cancel)
        cdef int64_t angles = options.angles
        cdef cassini_error error = no_error()
        cdef int32_t status
        with nogil:
            if angles == 0:
                status = cassini_solve_link(&self.c, &c, ended, &output, &answer.result, &error)
            else:
                status = cassini_solve_link_angles(&self.c, angles, &c, ended, &output, &answer.result,
                                                   &answer.claimed_score, &error)
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, "solve_link", &error)
        if angles == 0:
            answer.claimed_score = answer.result.score_lower
        return answer

    def _evaluate(self, const int64_t[::1] shift not None, Options options not None, bint with_slack=True):
        """cassini_evaluate_link."""
        cdef int64_t n_jobs = self.n_jobs()
        expect("shift", shift.shape[0], n_jobs)
        cdef Evaluation out = Evaluation.__new__(Evaluation)
        slack = new_array(n_jobs, int64_type) if with_slack else None
        out.free = new_array(n_jobs, bool_type)
        cdef cassini_evaluation to
        to.size = sizeof(cassini_evaluation)
        to.score_lower = &out.score_lower
        to.score_upper = &out.score_upper
        to.slack_ns = new_ints(slack) if with_slack else NULL
        to.hold_ns = &out.hold if with_slack else NULL
        to.is_free = new_bools(out.free)
        cdef cassini_error error = no_error()
        cdef int32_t status
        with nogil:
            status = cassini_evaluate_link(&self.c, &shift[0], &options.c, NULL, &to, &error)
        raise_for(status, "evaluate_link", &error)
        out.slack = slack
        return out
