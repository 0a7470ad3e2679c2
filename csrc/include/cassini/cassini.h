/* cassini: interleaving of periodic network demand. The only door to the kernel.
 *
 * Representation of time. One tick is 1 ns in int64_t. Iteration times, phase edges and shifts are whole ticks, and
 * demands and capacities are whole kbit/s. Every alignment, gcd and comparison of times is therefore an integer
 * operation: the same input gives the same shifts on every machine, and the cost of an answer depends on the number of
 * edges, never on the resolution of time. Products of time and rate are summed in double after dividing all rates by
 * their greatest common divisor: the sums are exact while they stay below 2^53, and beyond that every score is still
 * within 1e-9 of the true one, relative to max(1, |score|) (the kernel is compiled without floating-point contraction,
 * sums run in a fixed order).
 *
 * Conventions. Every function returns a status and writes its outputs only when it returns CASSINI_OK. The caller owns
 * all memory. No function keeps state, prints, starts a thread, or lets an exception, abort or signal out; each may be
 * called from any number of threads at once. errno, signals, the locale and the floating-point environment are the host's:
 * rounding, flushing to zero, traps and exception flags may stand as they like, make no difference to an answer, and are
 * left as they were. Array lengths stand in brackets.
 *
 * Growing. Functions and status codes are only added, structs only grow at their end, under one CASSINI_ABI_VERSION; a
 * host compares it with cassini_abi_version() once, before any other call. Every struct begins with its size at the
 * caller, sizeof(...): a field that the caller's header does not have keeps its default, a field that the library does
 * not have must be 0 (options) or comes back as 0 (results). So a host and a library of different ages work together.
 *
 * A link problem is always passed as the same seven arguments:
 *
 *   n_jobs                         1 .. CASSINI_MAX_JOBS
 *   period        [n_jobs]         iteration times, ticks, 1 .. CASSINI_MAX_TICKS
 *   phase_offset  [n_jobs + 1]     job j owns phases phase_offset[j] .. phase_offset[j+1]-1; non-decreasing
 *   phase_start   [n_phases]       ticks, 0 <= start < period of its job
 *   phase_length  [n_phases]       ticks, 0 <= length <= period of its job; may wrap past the end of the iteration
 *   phase_rate    [n_phases]       kbit/s, 0 .. CASSINI_MAX_RATE, at most 2^53 for all phases of the link together;
 *                                  overlapping phases of one job add up
 *   capacity                       kbit/s, 1 .. CASSINI_MAX_RATE
 */
#ifndef CASSINI_CASSINI_H
#define CASSINI_CASSINI_H

#include <stdint.h>

#if defined(_WIN32)
#if defined(CASSINI_BUILDING)
#define CASSINI_API __declspec(dllexport)
#else
#define CASSINI_API __declspec(dllimport)
#endif
#else
#define CASSINI_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CASSINI_ABI_VERSION 2

#define CASSINI_MAX_TICKS ((int64_t)1 << 40)
#define CASSINI_MAX_RATE ((int64_t)1 << 40)
#define CASSINI_MAX_JOBS ((int64_t)1024)
#define CASSINI_MAX_PHASES ((int64_t)1 << 17) /* of all jobs of one link together */
#define CASSINI_MAX_ANGLES ((int64_t)1 << 20)
#define CASSINI_MAX_SAMPLES ((int64_t)1 << 24) /* angles times jobs of METHOD_ANGLES */

/* Status codes. */
#define CASSINI_OK 0
#define CASSINI_EINVAL 1    /* an argument is out of its range; cassini_strerror says no more: check at the caller */
#define CASSINI_ENOMEM 2    /* out of memory */
#define CASSINI_EINTERNAL 3 /* a defect of this library */
#define CASSINI_ECANCELED 4 /* *options->cancel became non-zero before an answer was complete */

/* Why a search stopped. */
#define CASSINI_STOP_COMPLETE 0 /* the search ended by itself; METHOD_EXACT: proven */
#define CASSINI_STOP_NODES 1    /* node_limit */
#define CASSINI_STOP_DEADLINE 2 /* deadline_ns */
#define CASSINI_STOP_LIMITS 3   /* max_events or max_levels: exact scoring is out of reach, see below */

/* Methods. */
#define CASSINI_METHOD_EXACT 0  /* continuous time, exact optimum */
#define CASSINI_METHOD_ANGLES 1 /* the paper's formulation on a grid of angles */

/* Options of every call. Fill with cassini_init_options, then change what you need. */
typedef struct cassini_options {
  int64_t size;           /* sizeof(cassini_options) at the caller; set by cassini_init_options */
  int32_t method;         /* CASSINI_METHOD_*; default EXACT */
  int32_t reserved;       /* 0 */
  int64_t angles;         /* |A| of METHOD_ANGLES, 1 .. CASSINI_MAX_ANGLES; default 72 (5 degrees) */
  int64_t resolution;     /* ticks; how precisely a shift can be held (F1b); 0 turns free jobs off; default 500000 */
  double slack_tolerance; /* score; how much a score may drop within slack and hold (F5); >= 0; default 0.01 */
  int64_t node_limit;     /* >= 1; default CASSINI_DEFAULT_NODE_LIMIT; INT64_MAX means none. A node is one partial
                             placement, plus one for every 1024 demand levels touched on the way, so that a limit
                             bounds time whatever the periods. */
  int64_t deadline_ns;    /* monotonic nanoseconds from the call's entry; INT64_MAX (default) means none */
  int64_t max_events;     /* limit on sum_j edges_j P'/R_j of a link, 1 .. 2^22; default 262144. With less, all that a
                             link may cost beside its search is less, in proportion */
  int64_t max_levels;     /* limit on distinct partial sums of demand at one instant, 1 .. 2^22; default 65536 */
  const int32_t* cancel;  /* read now and then while searching, may be null; non-zero stops with ECANCELED. Read
                             atomically: another thread sets it by an atomic store, which may be relaxed. */
} cassini_options;

#define CASSINI_DEFAULT_NODE_LIMIT ((int64_t)50000)

/* What is known of one answer. Scores are 1 - mean(excess)/capacity. */
typedef struct cassini_result {
  int64_t size;         /* sizeof(cassini_result) at the caller, set by the caller */
  double score_lower;   /* certified bounds on what the returned shifts score; equal where the score is exact */
  double score_upper;   /*   (within the limits of folding), else an interval */
  double upper_bound;   /* no shifts score more, proven */
  double claimed_score; /* what the method itself says; differs from the score for METHOD_ANGLES only */
  int64_t hold;         /* ticks; all jobs may move anywhere within +-hold at once (F5) */
  int64_t nodes;        /* nodes counted */
  int32_t optimal;      /* 1: score_lower >= upper_bound - 1e-9, relative to max(1, |score|) */
  int32_t stopped_by;   /* CASSINI_STOP_* */
} cassini_result;

/* The ABI this library was built with; compare with CASSINI_ABI_VERSION before any other call. */
CASSINI_API int32_t cassini_abi_version(void);

/* "major.minor.patch" of the library; static storage. */
CASSINI_API const char* cassini_version(void);

/* One line for a status; static storage; never null. */
CASSINI_API const char* cassini_strerror(int32_t status);

/* Fills *options with the defaults.
 *
 *   size                           sizeof(cassini_options) at the caller: no byte beyond it is written
 *
 * EINVAL: null, or a size that no header of this ABI ever had. */
CASSINI_API int32_t cassini_init_options(cassini_options* options, int64_t size);

/* Best shifts for one link: minimises mean (sum_j b_j(t - s_j) - C)+ over the LCM circle.
 *
 *   options                        may be null: defaults
 *   shift    [n_jobs]  out         ticks, 0 <= shift < period
 *   slack    [n_jobs]  out         ticks; see cassini_evaluate_link. May be null: then optimal shifts are not centred
 *                                  on their plateau, and result->hold is 0
 *   is_free  [n_jobs]  out         1 for a job whose shift does not matter (F1b), else 0
 *   result   [1]       in, out     result->size must be set
 *
 * Beyond max_events or max_levels, or where adding up all jobs once touches more than 2^24 demand levels, the answer is
 * certified bounds, stopped_by = STOP_LIMITS, and optimal = 1 only where the bounds happen to meet. Out of nodes or time, slack and hold may be less than there is, never more.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: exponential in n_jobs at worst, bounded by node_limit. */
CASSINI_API int32_t cassini_solve_link(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                                       const int64_t* phase_start, const int64_t* phase_length,
                                       const int64_t* phase_rate, int64_t capacity, const cassini_options* options,
                                       int64_t* shift, int64_t* slack, uint8_t* is_free, cassini_result* result);

/* Score, slack and hold of given shifts.
 *
 *   shift        [n_jobs]          ticks; any integer, taken modulo the period
 *   score_lower  [1]  out          certified bounds on the score; equal within the limits of folding
 *   score_upper  [1]  out
 *   slack        [n_jobs]  out     ticks; the largest continuous move of this job alone, the same both ways, the others
 *                                  held, that keeps the score within slack_tolerance; at most period/2. Less where
 *                                  more kinks lie on the way than can be read (hundreds of phases); 0 where adding up
 *                                  demand costs too much (thousands of levels). May be null together with hold: then
 *                                  neither is computed.
 *   hold         [1]  out          ticks; certified: any simultaneous moves of at most this keep the same promise
 *   is_free      [n_jobs]  out     may be null
 *
 * Of the options resolution, slack_tolerance, deadline_ns, cancel and the limits are read; out of time, slack and hold
 * may be less than there is, never more. Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: O(events) per job. */
CASSINI_API int32_t cassini_evaluate_link(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                                          const int64_t* phase_start, const int64_t* phase_length,
                                          const int64_t* phase_rate, int64_t capacity, const int64_t* shift,
                                          const cassini_options* options, double* score_lower, double* score_upper,
                                          int64_t* slack, int64_t* hold, uint8_t* is_free);

/* Marginal excess of one job (F4): for each query shift of job `job`, the others standing at `shift`, the mean excess
 * of all jobs together, kbit/s.
 *
 *   shift    [n_jobs]              ticks; shift[job] is not read
 *   query    [n_queries]           ticks, any integers
 *   excess   [n_queries]  out      kbit/s
 *
 * Errors: EINVAL (also when the limits of folding are passed), ENOMEM, EINTERNAL. */
CASSINI_API int32_t cassini_marginals(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                                      const int64_t* phase_start, const int64_t* phase_length,
                                      const int64_t* phase_rate, int64_t capacity, const int64_t* shift, int64_t job,
                                      int64_t n_queries, const int64_t* query, const cassini_options* options,
                                      double* excess);

/* Solves many links in one call, one after the other. Link i owns jobs job_offset[i] .. job_offset[i+1]-1 of the
 * concatenated job arrays; phase_offset has one entry per job plus one, running over all links.
 *
 *   n_links                        >= 0
 *   job_offset   [n_links + 1]
 *   period       [n_total_jobs]    and so on, as above
 *   capacity     [n_links]
 *   shift, is_free  [n_total_jobs] out
 *   slack        [n_total_jobs] out may be null: then shifts are not centred, and hold is 0
 *   result       [n_links] in, out result[i].size must be set, to the same in all
 *   status       [n_links] out     CASSINI_OK, or why this link was not solved; the others are solved all the same
 *
 * Each answer is that of cassini_solve_link. deadline_ns counts from this call's entry, node_limit per link. Returns EINVAL
 * only where the call itself makes no sense (null pointers, offsets); ECANCELED stops at the link reached (the flag is
 * looked at before each): links before it are solved, all others have status ECANCELED and untouched outputs. */
CASSINI_API int32_t cassini_solve_links(int64_t n_links, const int64_t* job_offset, const int64_t* period,
                                        const int64_t* phase_offset, const int64_t* phase_start,
                                        const int64_t* phase_length, const int64_t* phase_rate, const int64_t* capacity,
                                        const cassini_options* options, int64_t* shift, int64_t* slack,
                                        uint8_t* is_free, cassini_result* result, int32_t* status);

/* --- cyclic blocks: jobs that share several links and have one shift each ----------------------------------------- */

#define CASSINI_MAX_BLOCK_JOBS ((int64_t)1 << 20)
#define CASSINI_MAX_BLOCK_LINKS ((int64_t)1 << 20)

/* Link problems, prepared once. Immutable: any number of threads may use one at the same time. */
typedef struct cassini_links cassini_links;

/* What is known of one block. Scores are means over its links, weighted. */
typedef struct cassini_block_result {
  int64_t size;       /* sizeof(cassini_block_result) at the caller, set by the caller */
  double score;       /* what the returned shifts score, at least */
  double upper_bound; /* no shifts score more, proven if upper_bound was */
  int64_t nodes;      /* nodes counted */
  int32_t optimal;    /* 1: score >= upper_bound - 1e-9, relative to max(1, |score|) */
  int32_t stopped_by; /* CASSINI_STOP_* */
} cassini_block_result;

/* Prepares many links. Their arrays are concatenated as in cassini_solve_links, and are not needed afterwards.
 *
 *   links        [1]  out          to be freed with cassini_free_links
 *   status       [n_links]  out    CASSINI_OK, or why this link cannot be used; the others can all the same
 *
 * Of the options resolution, cancel and the limits are read. Returns EINVAL only where the call itself makes no sense.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: O(phases log phases) per link, a few kB of memory
 * each; for two jobs alone O(product of their edges) of both. */
CASSINI_API int32_t cassini_prepare_links(int64_t n_links, const int64_t* job_offset, const int64_t* period,
                                          const int64_t* phase_offset, const int64_t* phase_start,
                                          const int64_t* phase_length, const int64_t* phase_rate,
                                          const int64_t* capacity, const cassini_options* options,
                                          cassini_links** links, int32_t* status);

/* Solves links first .. last-1 of those prepared, without preparing them again: each answer is that of
 * cassini_solve_links, whose outputs these are, for the jobs of these links together.
 *
 *   first, last                    0 <= first <= last <= links prepared
 *
 * Of the options slack_tolerance, node_limit, deadline_ns, cancel and the method are read. A link that was refused when
 * the links were prepared is refused again. Errors as cassini_solve_links. */
CASSINI_API int32_t cassini_solve_prepared_links(const cassini_links* links, int64_t first, int64_t last,
                                                 const cassini_options* options, int64_t* shift, int64_t* slack,
                                                 uint8_t* is_free, cassini_result* result, int32_t* status);

/* Null is allowed. No call that uses the links may be under way. */
CASSINI_API void cassini_free_links(cassini_links* links);

/* Best shifts for a block: maximises the weighted mean of the scores of its links, each job having one shift.
 *
 *   links                          from cassini_prepare_links
 *   n_jobs                         jobs of the block, 1 .. CASSINI_MAX_BLOCK_JOBS
 *   period       [n_jobs]          ticks; every link's jobs must have the periods of the block's jobs that stand there
 *   n_links                        links of the block, 0 .. CASSINI_MAX_BLOCK_LINKS
 *   link         [n_links]         which prepared link; one may occur several times
 *   member       [n_members]       which job of the block stands at each place of each link, links one after the other;
 *                                  no job twice on a link
 *   weight       [n_links]         above 0, finite; links that pose the same problem to the same jobs can be one link
 *   upper_bound  [n_links]         no shifts of this link alone score more; may be null: what its demand allows
 *   own_shift    [n_members]       ticks, any integers; good shifts for each link alone, to begin from; may be null
 *   start        [n_jobs]          ticks; shifts to begin from, and never to score less than; may be null
 *   dirty        [n_jobs]          with start: 0 for jobs on whose links nothing changed since start was found; only what
 *                                  is near the others is searched. May be null: all are looked at
 *   centred                        not 0: single jobs are moved where slack grows and no score is lost
 *   options                        may be null: defaults. Read are slack_tolerance (if centred), node_limit,
 *                                  deadline_ns and cancel
 *   shift        [n_jobs]  out     ticks, 0 <= shift < period; of jobs that links hold together the first stands at 0, as
 *                                  do all whose shift does not matter
 *   score_lower  [n_links]  out    certified bounds on what each link scores at these shifts
 *   score_upper  [n_links]  out
 *   result       [1]       in, out result->size must be set
 *
 * A link beyond the limits of folding does not guide the search, but is scored and counts: such a link, and only such a
 * one, can make the answer score less than start, or lose by being centred. Blocks of up to CASSINI_MAX_PROOF_JOBS
 * jobs are searched exhaustively within node_limit, larger ones by local search alone: then the difference between
 * upper_bound and score is the certified gap.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: bounded by node_limit, but for one look at every link. */
#define CASSINI_MAX_PROOF_JOBS ((int64_t)12)
CASSINI_API int32_t cassini_solve_block(const cassini_links* links, int64_t n_jobs, const int64_t* period,
                                        int64_t n_links, const int64_t* link, const int64_t* member,
                                        const double* weight, const double* upper_bound, const int64_t* own_shift,
                                        const int64_t* start, const uint8_t* dirty, int32_t centred,
                                        const cassini_options* options, int64_t* shift, double* score_lower,
                                        double* score_upper, cassini_block_result* result);

/* Scores, slack and hold of each link of a block at given shifts; the same leading arguments.
 *
 *   shift        [n_jobs]          ticks; any integer, taken modulo the period
 *   score_lower  [n_links]  out    certified bounds on the score; equal within the limits of folding
 *   score_upper  [n_links]  out
 *   slack        [n_members]  out  ticks, on this link alone; see cassini_evaluate_link. May be null together with hold
 *   hold         [n_links]  out    ticks
 *
 * Of the options slack_tolerance, deadline_ns and cancel are read. Errors and cost: as cassini_evaluate_link, per link,
 * without preparation. */
CASSINI_API int32_t cassini_evaluate_block(const cassini_links* links, int64_t n_jobs, const int64_t* period,
                                           int64_t n_links, const int64_t* link, const int64_t* member,
                                           const int64_t* shift, const cassini_options* options, double* score_lower,
                                           double* score_upper, int64_t* slack, int64_t* hold);

/* --- blocks that differ from one block in few links: candidates of a scheduling round ------------------------------ */

/* A block at given shifts, kept so that blocks that differ from it in few links are solved at the cost of what differs.
 * Immutable: any number of threads may use one at the same time. */
typedef struct cassini_anchor cassini_anchor;

/* Keeps a block at given shifts; the leading arguments are those of cassini_solve_block.
 *
 *   links                          must outlive the anchor
 *   weight       [n_links]         may be null: all 1
 *   upper_bound  [n_links]         may be null
 *   shift        [n_jobs]          ticks, any integers: where searches begin, and never score less than
 *   anchor       [1]  out          to be freed with cassini_free_anchor
 *
 * Of the options cancel is read. Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: as one look of cassini_solve_block
 * at every link, and at every job of each; of both some kB of memory per job of a link, at most 100 MB in all. */
CASSINI_API int32_t cassini_prepare_anchor(const cassini_links* links, int64_t n_jobs, const int64_t* period,
                                           int64_t n_links, const int64_t* link, const int64_t* member,
                                           const double* weight, const double* upper_bound, const int64_t* shift,
                                           const cassini_options* options, cassini_anchor** anchor);

/* Null is allowed. No call that uses the anchor may be under way. */
CASSINI_API void cassini_free_anchor(cassini_anchor* anchor);

/* Solves the anchor's block without some links and with some others: what cassini_solve_block finds with start = the
 * anchor's shifts, dirty = the jobs of links that were dropped or added, and not centred, without looking again at what
 * the anchor knows. That counts no nodes: the same node_limit goes further here.
 *
 *   n_dropped                      0 .. links of the anchor
 *   dropped      [n_dropped]       indices of the anchor's links, each once
 *   n_added                        0 .. CASSINI_MAX_BLOCK_LINKS
 *   link         [n_added]         which of the anchor's prepared links
 *   member       [n_members]       which job of the block stands at each place of each added link, as above
 *   weight       [n_added]         above 0, finite, on the same scale as the anchor's; may be null: all 1
 *   upper_bound  [n_added]         may be null
 *   options                        may be null: defaults. Read are node_limit, deadline_ns and cancel
 *   shift        [n_jobs]  out     as of cassini_solve_block
 *   score_lower  [n_left]  out     of the anchor's links that were not dropped, in their order, then of those added:
 *   score_upper  [n_left]  out     n_left = links of the anchor - n_dropped + n_added
 *   result       [1]       in, out result->size must be set
 *
 * The answer does not depend on the order in which links were given, dropped or added. Equal links count by the sum of
 * their weights, whether the anchor has them or they are added. Scores are the same to the last bit as those of
 * cassini_solve_block and cassini_evaluate_block wherever the jobs of a link stand alike.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: bounded by node_limit, but for one look at every added link, and
 * some 0.1 us per link and job of the block. */
CASSINI_API int32_t cassini_solve_beside(const cassini_anchor* anchor, int64_t n_dropped, const int64_t* dropped,
                                         int64_t n_added, const int64_t* link, const int64_t* member,
                                         const double* weight, const double* upper_bound,
                                         const cassini_options* options, int64_t* shift, double* score_lower,
                                         double* score_upper, cassini_block_result* result);

#ifdef __cplusplus
}
#endif

#endif /* CASSINI_CASSINI_H */
