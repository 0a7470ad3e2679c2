# Options of a call, its cancel flag, its errors, and arrays.

# Bound once: looking them up costs a tenth of a two-job call.
cdef object new_array = np.empty
cdef object int64_type = np.dtype(np.int64)
cdef object float64_type = np.dtype(np.float64)
cdef object bool_type = np.dtype(np.bool_)


cdef class Options:
    """cassini_options as a Python object, and the grid of angles that ``Link`` solves on if it is asked to.

    What is not given keeps the kernel's default, but for ``node_limit``: there None is no limit. InputError and
    OverflowError come with the call that uses a value out of range, and here where it does not fit.
    """

    cdef cassini_options c
    cdef int64_t angles  # 0: the exact method

    def __cinit__(self, *, bint angles_method=False, int64_t angles=72, resolution=None, slack_tolerance=None,
                  node_limit=None, deadline_ns=None, max_events=None, max_levels=None):
        cassini_init_options(&self.c, sizeof(cassini_options))
        self.c.node_limit = INT64_MAX if node_limit is None else node_limit
        self.angles = angles if angles_method else 0
        if resolution is not None:
            self.c.resolution_ns = resolution
        if slack_tolerance is not None:
            self.c.slack_tolerance = slack_tolerance
        if deadline_ns is not None:
            self.c.deadline_ns = deadline_ns
        if max_events is not None:
            self.c.max_events = max_events
        if max_levels is not None:
            self.c.max_levels = max_levels


cdef cassini_options limited(Options options, node_limit, deadline_ns) except *:
    """The options with what is given for one call in their place."""
    cdef cassini_options c = options.c
    if node_limit is not None:
        c.node_limit = node_limit
    if deadline_ns is not None:
        c.deadline_ns = deadline_ns
    return c


cdef const int32_t* flag(const int32_t[::1] cancel) except? NULL:
    if cancel is None:
        return NULL
    expect("cancel", cancel.shape[0], 1)
    return &cancel[0]


cdef cassini_error no_error() noexcept:
    cdef cassini_error out
    out.size = sizeof(cassini_error)
    out.text[0] = 0
    return out


cdef raise_for(int32_t status, str function, const cassini_error* error):
    """Nothing for CASSINI_OK. ``error``: what the kernel says of the cause; may be NULL."""
    if status == CASSINI_OK:
        return
    cdef const char* said = cassini_strerror(status)
    if error != NULL and error.text[0] != 0:
        said = error.text
    text = f"{function}: {(<bytes>said).decode('ascii')}"
    if status == CASSINI_EINVAL:
        raise InputError(text)
    if status == CASSINI_ENOMEM:
        raise MemoryError(text)
    raise KernelError(text)


cdef expect(str name, int64_t got, int64_t expected):
    if got != expected:
        raise InputError(f"{name}: expected shape ({expected},), got ({got},)")


cdef const int64_t* data(const int64_t[::1] array) noexcept:
    """Where the entries are; NULL for an empty array."""
    return &array[0] if array.shape[0] > 0 else NULL


cdef const int64_t* ints(str name, const int64_t[::1] array, int64_t expected) except? NULL:
    """None and empty arrays become NULL."""
    if array is None:
        return NULL
    expect(name, array.shape[0], expected)
    return data(array)


cdef const double* doubles(str name, const double[::1] array, int64_t expected) except? NULL:
    """None and empty arrays become NULL."""
    if array is None:
        return NULL
    expect(name, array.shape[0], expected)
    return &array[0] if expected > 0 else NULL


cdef int64_t* new_ints(const int64_t[::1] array) noexcept:
    """Where the entries of an array of ours are; NULL for an empty one."""
    return <int64_t*>data(array)


cdef double* new_doubles(const double[::1] array) noexcept:
    return <double*>&array[0] if array.shape[0] > 0 else NULL


cdef uint8_t* new_bools(object array) except? NULL:
    cdef const uint8_t[::1] view = array.view(np.uint8)
    return <uint8_t*>&view[0] if view.shape[0] > 0 else NULL
