# cython: language_level=3
"""Declarations of cassini.h for other Cython modules: ``from cassini_core.cassini cimport cassini_solve_link``.

Compile with the include folder and link with the library that ``python -m cassini_core --include-dir --library`` print.
The header says what each function does. A test compares this file with it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef extern from "cassini/cassini.h" nogil:
    const int32_t CASSINI_ABI_VERSION
    const int64_t CASSINI_MAX_TICKS
    const int64_t CASSINI_MAX_RATE
    const int64_t CASSINI_MAX_JOBS
    const int64_t CASSINI_MAX_PHASES
    const int64_t CASSINI_MAX_ANGLES
    const int64_t CASSINI_MAX_SAMPLES
    const int32_t CASSINI_OK
    const int32_t CASSINI_EINVAL
    const int32_t CASSINI_ENOMEM
    const int32_t CASSINI_EINTERNAL
    const int32_t CASSINI_ECANCELED
    const int32_t CASSINI_STOP_COMPLETE
    const int32_t CASSINI_STOP_NODES
    const int32_t CASSINI_STOP_DEADLINE
    const int32_t CASSINI_STOP_LIMITS
    const int32_t CASSINI_METHOD_EXACT
    const int32_t CASSINI_METHOD_ANGLES
    const int64_t CASSINI_DEFAULT_NODE_LIMIT
    const int64_t CASSINI_MAX_BLOCK_JOBS
    const int64_t CASSINI_MAX_BLOCK_LINKS
    const int64_t CASSINI_MAX_PROOF_JOBS

    ctypedef struct cassini_options:
        int64_t size
        int32_t method
        int32_t reserved
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

    ctypedef struct cassini_block_result:
        int64_t size
        double score
        double upper_bound
        int64_t nodes
        int32_t optimal
        int32_t stopped_by

    ctypedef struct cassini_links:
        pass

    ctypedef struct cassini_anchor:
        pass

    int32_t cassini_abi_version()
    const char* cassini_version()
    const char* cassini_strerror(int32_t status)
    int32_t cassini_init_options(cassini_options* options, int64_t size)
    int32_t cassini_solve_link(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                               const int64_t* phase_start, const int64_t* phase_length, const int64_t* phase_rate,
                               int64_t capacity, const cassini_options* options, int64_t* shift, int64_t* slack,
                               uint8_t* is_free, cassini_result* result)
    int32_t cassini_evaluate_link(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                                  const int64_t* phase_start, const int64_t* phase_length, const int64_t* phase_rate,
                                  int64_t capacity, const int64_t* shift, const cassini_options* options,
                                  double* score_lower, double* score_upper, int64_t* slack, int64_t* hold,
                                  uint8_t* is_free)
    int32_t cassini_marginals(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                              const int64_t* phase_start, const int64_t* phase_length, const int64_t* phase_rate,
                              int64_t capacity, const int64_t* shift, int64_t job, int64_t n_queries,
                              const int64_t* query, const cassini_options* options, double* excess)
    int32_t cassini_solve_links(int64_t n_links, const int64_t* job_offset, const int64_t* period,
                                const int64_t* phase_offset, const int64_t* phase_start, const int64_t* phase_length,
                                const int64_t* phase_rate, const int64_t* capacity, const cassini_options* options,
                                int64_t* shift, int64_t* slack, uint8_t* is_free, cassini_result* result,
                                int32_t* status)
    int32_t cassini_prepare_links(int64_t n_links, const int64_t* job_offset, const int64_t* period,
                                  const int64_t* phase_offset, const int64_t* phase_start, const int64_t* phase_length,
                                  const int64_t* phase_rate, const int64_t* capacity, const cassini_options* options,
                                  cassini_links** links, int32_t* status)
    int32_t cassini_solve_prepared_links(const cassini_links* links, int64_t first, int64_t last,
                                         const cassini_options* options, int64_t* shift, int64_t* slack,
                                         uint8_t* is_free, cassini_result* result, int32_t* status)
    void cassini_free_links(cassini_links* links)
    int32_t cassini_solve_block(const cassini_links* links, int64_t n_jobs, const int64_t* period, int64_t n_links,
                                const int64_t* link, const int64_t* member, const double* weight,
                                const double* upper_bound, const int64_t* own_shift, const int64_t* start,
                                const uint8_t* dirty, int32_t centred, const cassini_options* options, int64_t* shift,
                                double* score_lower, double* score_upper, cassini_block_result* result)
    int32_t cassini_evaluate_block(const cassini_links* links, int64_t n_jobs, const int64_t* period, int64_t n_links,
                                   const int64_t* link, const int64_t* member, const int64_t* shift,
                                   const cassini_options* options, double* score_lower, double* score_upper,
                                   int64_t* slack, int64_t* hold)
    int32_t cassini_prepare_anchor(const cassini_links* links, int64_t n_jobs, const int64_t* period, int64_t n_links,
                                   const int64_t* link, const int64_t* member, const double* weight,
                                   const double* upper_bound, const int64_t* shift, const cassini_options* options,
                                   cassini_anchor** anchor)
    void cassini_free_anchor(cassini_anchor* anchor)
    int32_t cassini_solve_beside(const cassini_anchor* anchor, int64_t n_dropped, const int64_t* dropped,
                                 int64_t n_added, const int64_t* link, const int64_t* member, const double* weight,
                                 const double* upper_bound, const cassini_options* options, int64_t* shift,
                                 double* score_lower, double* score_upper, cassini_block_result* result)
