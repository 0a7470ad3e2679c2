# Links prepared once, and joint problems of them.


cdef class BlockAnswer:
    """What the kernel found for one joint problem, in ticks; ``shift`` has one entry per job, the scores one per link.

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
        ``complete``, ``nodes``, ``deadline``, ``limits`` or ``unproven``.
    """

    cdef cassini_joint_result result
    cdef cassini_joint_output output
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
    answer.output.size = sizeof(cassini_joint_output)
    answer.output.shift_ns = new_ints(answer.shift)
    answer.output.score_lower = new_doubles(answer.score_lower)
    answer.output.score_upper = new_doubles(answer.score_upper)
    answer.result.size = sizeof(cassini_joint_result)
    return answer


cdef class Links:
    """Many link problems, prepared once, and joint problems that refer to them by index. Immutable; safe to share."""

    cdef cassini_prepared_links* handle
    cdef readonly object status
    cdef readonly object job_offset
    cdef object period
    cdef const int64_t[::1] offset_view
    cdef const int64_t[::1] period_view

    def __cinit__(self, const int64_t[::1] job_offset not None, const int64_t[::1] period not None,
                 const int64_t[::1] phase_offset not None, const int64_t[::1] phase_start not None,
                 const int64_t[::1] phase_length not None, const int64_t[::1] phase_rate not None,
                 const int64_t[::1] capacity not None, Options options not None):
        # A copy, and what the kernel reads: lengths of outputs are checked by it, whatever becomes of the caller's array.
        self.job_offset = np.array(job_offset)
        self.job_offset.setflags(write=False)
        self.offset_view = self.job_offset
        self.period = np.array(period)
        self.period_view = self.period
        cdef cassini_links links = checked_links(self.offset_view, self.period_view, phase_offset, phase_start,
                                                 phase_length, phase_rate, capacity)
        self.status = np.zeros(links.n_links, dtype=np.int32)
        cdef int32_t[::1] status = self.status
        cdef int32_t* statuses = &status[0] if links.n_links > 0 else NULL
        cdef cassini_error error = no_error()
        cdef int32_t outcome
        with nogil:
            outcome = cassini_prepare_links(&links, &options.c, NULL, &self.handle, statuses, &error)
        raise_for(outcome, "prepare_links", &error)
        cdef int64_t i
        for i in range(links.n_links):
            if status[i] != CASSINI_EINVAL:  # a link that is refused may be left unused
                raise_for(status[i], "prepare_links", NULL)

    def __dealloc__(self):
        cassini_free_prepared_links(self.handle)

    cdef cassini_joint joint(self, const int64_t[::1] period, const int64_t[::1] link, const int64_t[::1] member,
                             const double[::1] weight, const double[::1] upper_bound,
                             const int64_t[::1] own_shift) except *:
        """The arrays as the kernel takes them. It checks what stands in them; here their lengths, which it is told."""
        cdef cassini_joint out
        out.size = sizeof(cassini_joint)
        out.n_jobs = period.shape[0]
        out.period_ns = data(period)
        out.n_links = link.shape[0]
        out.link = data(link)
        out.n_members = self.count_members(link)
        expect("member", member.shape[0], out.n_members)
        out.member = data(member)
        out.weight = doubles("weight", weight, out.n_links)
        out.upper_bound = doubles("upper_bound", upper_bound, out.n_links)
        out.own_shift_ns = ints("own_shift", own_shift, out.n_members)
        return out

    cdef int64_t count_members(self, const int64_t[::1] link) except -1:
        cdef int64_t n_all = self.offset_view.shape[0] - 1
        cdef int64_t members = 0
        cdef int64_t i
        for i in range(link.shape[0]):
            if link[i] < 0 or link[i] >= n_all:
                raise InputError(f"link: expected indices of 0 to {n_all - 1}, got {link[i]} at {i}")
            members += self.offset_view[link[i] + 1] - self.offset_view[link[i]]
        return members

    def solve(self, const int64_t[::1] link not None, Options options not None, const int32_t[::1] cancel=None,
              node_limit=None, bint with_slack=True, deadline_ns=None):
        """Some links each for itself, without preparing them again: what ``solve_links`` gives.

        ``link`` are their numbers. The resolution and the limits of folding are those the links were prepared with.
        ``node_limit`` and ``deadline_ns`` replace those of the options; the latter counts anew for each run of links
        that follow each other. None: canceled. Raises for the first link that cannot be solved.
        """
        cdef int64_t n_links = link.shape[0]
        cdef Batch batch = Batch(n_links, self.count_members(link), with_slack)
        cdef cassini_options c = limited(options, node_limit, deadline_ns)
        cdef const int32_t* ended = flag(cancel)
        cdef cassini_link_output to = batch.output
        cdef int32_t status = CASSINI_OK
        cdef int64_t done = 0, first, n, n_jobs
        if options.angles != 0:
            raise InputError("options: expected the exact method, got that of angles")
        with nogil:
            while done < n_links and status == CASSINI_OK and batch.error.text[0] == 0:
                first, n = link[done], 1
                while done + n < n_links and link[done + n] == first + n:
                    n += 1
                status = cassini_solve_prepared_links(self.handle, first, first + n, &c, ended, &to,
                                                      batch.result + done, batch.status + done, &batch.error)
                n_jobs = self.offset_view[first + n] - self.offset_view[first]
                to.shift_ns += n_jobs
                to.is_free += n_jobs
                if to.slack_ns != NULL:
                    to.slack_ns += n_jobs
                if batch.error.text[0] != 0:
                    batch.error.link += done
                done += n
        return batch.outcome(status, "solve_prepared_links")

    def solve_block(self, const int64_t[::1] period not None, const int64_t[::1] link not None,
                    const int64_t[::1] member not None, const double[::1] weight, Options options not None,
                    const double[::1] upper_bound=None, const int64_t[::1] own_shift=None,
                    const int64_t[::1] start=None, const uint8_t[::1] dirty=None, const uint8_t[::1] kept=None,
                    bint centred=False, node_limit=None, const int32_t[::1] cancel=None, deadline_ns=None):
        """cassini_solve_joint. ``node_limit`` and ``deadline_ns`` replace those of the options. None: canceled."""
        cdef cassini_joint problem = self.joint(period, link, member, weight, upper_bound, own_shift)
        cdef cassini_joint_search search
        memset(&search, 0, sizeof(cassini_joint_search))
        search.size = sizeof(cassini_joint_search)
        search.start_ns = ints("start", start, problem.n_jobs)
        search.centred = centred
        if dirty is not None:
            expect("dirty", dirty.shape[0], problem.n_jobs)
            search.is_dirty = &dirty[0] if problem.n_jobs > 0 else NULL
        if kept is not None:
            expect("kept", kept.shape[0], problem.n_jobs)
            search.is_kept = &kept[0] if problem.n_jobs > 0 else NULL
        cdef cassini_options c = limited(options, node_limit, deadline_ns)
        cdef const int32_t* ended = flag(cancel)
        cdef BlockAnswer answer = new_answer(problem.n_jobs, problem.n_links)
        cdef cassini_error error = no_error()
        cdef int32_t status
        with nogil:
            status = cassini_solve_joint(self.handle, &problem, &search, &c, ended, &answer.output, &answer.result,
                                         &error)
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, "solve_joint", &error)
        return answer

    def evaluate_each(self, const int64_t[::1] link not None, const int64_t[::1] shift not None,
                      Options options not None, bint with_slack=True, const int32_t[::1] cancel=None, deadline_ns=None):
        """``evaluate_block`` of links that share no job; ``shift`` has one entry per job of each."""
        cdef int64_t n_members = self.count_members(link)
        periods, members = new_array(n_members, int64_type), new_array(n_members, int64_type)
        cdef int64_t[::1] period = periods
        cdef int64_t[::1] member = members
        cdef int64_t i, job, at = 0
        for i in range(link.shape[0]):
            for job in range(self.offset_view[link[i]], self.offset_view[link[i] + 1]):
                period[at] = self.period_view[job]
                member[at] = at
                at += 1
        return self.evaluate_block(periods, link, members, shift, options, with_slack, cancel, deadline_ns)

    def evaluate_block(self, const int64_t[::1] period not None, const int64_t[::1] link not None,
                       const int64_t[::1] member not None, const int64_t[::1] shift not None, Options options not None,
                       bint with_slack=True, const int32_t[::1] cancel=None, deadline_ns=None):
        """cassini_evaluate_joint: (score_lower, score_upper, slack, hold), or None if canceled.

        ``deadline_ns`` replaces that of the options.
        ``slack`` has one entry per member, the others one per link; ``slack`` and ``hold`` are None if not asked for.
        """
        cdef cassini_joint problem = self.joint(period, link, member, None, None, None)
        expect("shift", shift.shape[0], problem.n_jobs)
        cdef cassini_options c = limited(options, None, deadline_ns)
        cdef const int32_t* ended = flag(cancel)
        lower = new_array(problem.n_links, float64_type)
        upper = new_array(problem.n_links, float64_type)
        slack = new_array(problem.n_members, int64_type) if with_slack else None
        hold = new_array(problem.n_links, int64_type) if with_slack else None
        if problem.n_links == 0:
            return lower, upper, slack, hold
        cdef cassini_evaluation to
        to.size = sizeof(cassini_evaluation)
        to.score_lower = new_doubles(lower)
        to.score_upper = new_doubles(upper)
        to.slack_ns = new_ints(slack) if with_slack else NULL
        to.hold_ns = new_ints(hold) if with_slack else NULL
        to.is_free = NULL
        cdef const int64_t* shifts = data(shift)
        cdef cassini_error error = no_error()
        cdef int32_t status
        with nogil:
            status = cassini_evaluate_joint(self.handle, &problem, shifts, &c, ended, &to, &error)
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, "evaluate_joint", &error)
        return lower, upper, slack, hold


cdef class Baseline:
    """A joint problem at given shifts, for problems that differ from it in few links. Immutable; safe to share.

    The arguments are those of ``Links.solve_block``. Raises :class:`InputError` and :class:`KernelError`.
    """

    cdef cassini_baseline* handle
    cdef readonly Links links  # the kernel refers to it
    cdef int64_t n_jobs
    cdef int64_t n_links

    def __cinit__(self, Links links not None, *, const int64_t[::1] period not None, const int64_t[::1] link not None,
                 const int64_t[::1] member not None, const double[::1] upper_bound,
                 const int64_t[::1] shift not None, Options options not None, const double[::1] weight=None):
        cdef cassini_joint problem = links.joint(period, link, member, weight, upper_bound, None)
        expect("shift", shift.shape[0], problem.n_jobs)
        cdef const int64_t* shifts = data(shift)
        cdef cassini_error error = no_error()
        cdef int32_t status
        with nogil:
            status = cassini_prepare_baseline(links.handle, &problem, shifts, &options.c, NULL, &self.handle, &error)
        raise_for(status, "prepare_baseline", &error)
        self.links = links
        self.n_jobs = problem.n_jobs
        self.n_links = problem.n_links

    def __dealloc__(self):
        cassini_free_baseline(self.handle)

    def solve(self, *, const int64_t[::1] dropped not None, const int64_t[::1] link not None,
              const int64_t[::1] member not None, Options options not None, const double[::1] upper_bound,
              const double[::1] weight=None, node_limit=None, const int32_t[::1] cancel=None, deadline_ns=None):
        """cassini_solve_delta. ``node_limit`` and ``deadline_ns`` replace those of the options. None: canceled.

        Scores are those of the baseline's links that are not dropped, in their order, then of those added.
        """
        cdef cassini_delta delta
        delta.size = sizeof(cassini_delta)
        delta.n_dropped = dropped.shape[0]
        delta.dropped = data(dropped)
        delta.n_added = link.shape[0]
        delta.link = data(link)
        delta.n_members = self.links.count_members(link)
        delta.member = data(member)
        if delta.n_dropped > self.n_links:
            raise InputError(f"dropped: expected at most {self.n_links} indices, got {delta.n_dropped}")
        expect("member", member.shape[0], delta.n_members)
        delta.weight = doubles("weight", weight, delta.n_added)
        delta.upper_bound = doubles("upper_bound", upper_bound, delta.n_added)
        cdef cassini_options c = limited(options, node_limit, deadline_ns)
        cdef const int32_t* ended = flag(cancel)
        cdef BlockAnswer answer = new_answer(self.n_jobs, self.n_links - delta.n_dropped + delta.n_added)
        cdef cassini_error error = no_error()
        cdef int32_t status
        with nogil:
            status = cassini_solve_delta(self.handle, &delta, &c, ended, &answer.output, &answer.result, &error)
        if status == CASSINI_ECANCELED:
            return None
        raise_for(status, "solve_delta", &error)
        return answer
