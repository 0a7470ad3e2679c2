# cython: language_level=3
"""Declarations of cassini.h for other Cython modules: ``from cassini_core.cassini cimport cassini_solve_link``.

Compile with the include folder and link with the library that ``python -m cassini_core --include-dir --library`` print.
The header says what each function does. A test compares this file with it.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef extern from "cassini/cassini.h" nogil:
    const int32_t CASSINI_ABI_VERSION
    const int64_t CASSINI_MAX_PERIOD_NS
    const int64_t CASSINI_MAX_RATE_KBPS
    const int64_t CASSINI_MAX_JOBS
    const int64_t CASSINI_MAX_PHASES
    const int64_t CASSINI_MAX_ANGLES
    const int64_t CASSINI_MAX_SAMPLES
    const int64_t CASSINI_MAX_JOINT_JOBS
    const int64_t CASSINI_MAX_JOINT_LINKS
    const int64_t CASSINI_MAX_PROOF_JOBS
    const int32_t CASSINI_OK
    const int32_t CASSINI_EINVAL
    const int32_t CASSINI_ENOMEM
    const int32_t CASSINI_EINTERNAL
    const int32_t CASSINI_ECANCELED
    const int32_t CASSINI_STOP_COMPLETE
    const int32_t CASSINI_STOP_NODES
    const int32_t CASSINI_STOP_DEADLINE
    const int32_t CASSINI_STOP_LIMITS
    const int32_t CASSINI_STOP_UNPROVEN
    const int64_t CASSINI_DEFAULT_NODE_LIMIT

    ctypedef struct cassini_error:
        int64_t size
        int64_t link
        int64_t index
        int32_t status
        int32_t reserved
        char argument[32]
        char text[160]

    ctypedef struct cassini_options:
        int64_t size
        int64_t resolution_ns
        double slack_tolerance
        int64_t node_limit
        int64_t deadline_ns
        int64_t max_events
        int64_t max_levels

    ctypedef struct cassini_link:
        int64_t size
        int64_t capacity_kbps
        int64_t n_jobs
        const int64_t* period_ns
        const int64_t* phase_offset
        int64_t n_phases
        const int64_t* phase_start_ns
        const int64_t* phase_length_ns
        const int64_t* phase_rate_kbps

    ctypedef struct cassini_links:
        int64_t size
        int64_t n_links
        const int64_t* capacity_kbps
        const int64_t* job_offset
        int64_t n_jobs
        const int64_t* period_ns
        const int64_t* phase_offset
        int64_t n_phases
        const int64_t* phase_start_ns
        const int64_t* phase_length_ns
        const int64_t* phase_rate_kbps

    ctypedef struct cassini_link_output:
        int64_t size
        int64_t* shift_ns
        int64_t* slack_ns
        uint8_t* is_free

    ctypedef struct cassini_link_result:
        int64_t size
        double score_lower
        double score_upper
        double upper_bound
        int64_t hold_ns
        int64_t nodes
        int32_t optimal
        int32_t stopped_by

    ctypedef struct cassini_evaluation:
        int64_t size
        double* score_lower
        double* score_upper
        int64_t* slack_ns
        int64_t* hold_ns
        uint8_t* is_free

    ctypedef struct cassini_joint:
        int64_t size
        int64_t n_jobs
        const int64_t* period_ns
        int64_t n_links
        const int64_t* link
        int64_t n_members
        const int64_t* member
        const double* weight
        const double* upper_bound
        const int64_t* own_shift_ns

    ctypedef struct cassini_joint_search:
        int64_t size
        const int64_t* start_ns
        const uint8_t* is_dirty
        int32_t centred
        int32_t reserved
        const uint8_t* is_kept

    ctypedef struct cassini_joint_output:
        int64_t size
        int64_t* shift_ns
        double* score_lower
        double* score_upper

    ctypedef struct cassini_joint_result:
        int64_t size
        double score
        double upper_bound
        int64_t nodes
        int32_t optimal
        int32_t stopped_by

    ctypedef struct cassini_delta:
        int64_t size
        int64_t n_dropped
        const int64_t* dropped
        int64_t n_added
        const int64_t* link
        int64_t n_members
        const int64_t* member
        const double* weight
        const double* upper_bound

    ctypedef struct cassini_prepared_links:
        pass

    ctypedef struct cassini_baseline:
        pass

    int32_t cassini_abi_version()
    const char* cassini_version()
    const char* cassini_strerror(int32_t status)
    const char* cassini_stop_string(int32_t stopped_by)
    int32_t cassini_init_options(cassini_options* options, int64_t size)
    int32_t cassini_solve_link(const cassini_link* link, const cassini_options* options, const int32_t* cancel,
                               const cassini_link_output* output, cassini_link_result* result, cassini_error* error)
    int32_t cassini_solve_link_angles(const cassini_link* link, int64_t angles, const cassini_options* options,
                                      const int32_t* cancel, const cassini_link_output* output,
                                      cassini_link_result* result, double* claimed_score, cassini_error* error)
    int32_t cassini_evaluate_link(const cassini_link* link, const int64_t* shift_ns, const cassini_options* options,
                                  const int32_t* cancel, const cassini_evaluation* evaluation, cassini_error* error)
    int32_t cassini_solve_links(const cassini_links* links, const cassini_options* options, const int32_t* cancel,
                                const cassini_link_output* output, cassini_link_result* result, int32_t* status,
                                cassini_error* error)
    int32_t cassini_prepare_links(const cassini_links* links, const cassini_options* options, const int32_t* cancel,
                                  cassini_prepared_links** prepared, int32_t* status, cassini_error* error)
    void cassini_free_prepared_links(cassini_prepared_links* prepared)
    int32_t cassini_solve_prepared_links(const cassini_prepared_links* prepared, int64_t first, int64_t last,
                                         const cassini_options* options, const int32_t* cancel,
                                         const cassini_link_output* output, cassini_link_result* result,
                                         int32_t* status, cassini_error* error)
    int32_t cassini_solve_joint(const cassini_prepared_links* prepared, const cassini_joint* joint,
                                const cassini_joint_search* search, const cassini_options* options,
                                const int32_t* cancel, const cassini_joint_output* output,
                                cassini_joint_result* result, cassini_error* error)
    int32_t cassini_evaluate_joint(const cassini_prepared_links* prepared, const cassini_joint* joint,
                                   const int64_t* shift_ns, const cassini_options* options, const int32_t* cancel,
                                   const cassini_evaluation* evaluation, cassini_error* error)
    int32_t cassini_prepare_baseline(const cassini_prepared_links* prepared, const cassini_joint* joint,
                                     const int64_t* shift_ns, const cassini_options* options, const int32_t* cancel,
                                     cassini_baseline** baseline, cassini_error* error)
    void cassini_free_baseline(cassini_baseline* baseline)
    int32_t cassini_solve_delta(const cassini_baseline* baseline, const cassini_delta* delta,
                                const cassini_options* options, const int32_t* cancel,
                                const cassini_joint_output* output, cassini_joint_result* result,
                                cassini_error* error)
