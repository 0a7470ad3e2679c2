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
 * Conventions. Every function that can fail returns a status, and writes its outputs only when it returns CASSINI_OK;
 * the batches, cassini_solve_links and cassini_solve_prepared_links, also write when they are canceled: the status of
 * every link, and the answers of those before the one reached. The caller owns all memory. No function keeps state, prints, starts a thread, or lets an exception, abort or
 * signal out; each may be called from any number of threads at once, on the same inputs, options and handles. Outputs
 * and the error belong to one call at a time. errno, signals, the locale and the floating-point environment are the
 * host's: rounding, flushing to zero, traps and exception flags may stand as they like, make no difference to an answer,
 * and are left as they were. Array lengths stand in brackets. Integer times end in _ns, integer rates in _kbps.
 *
 * Arguments that many functions share:
 *
 *   options                        may be null: defaults
 *   cancel                         may be null. Read at entry and now and then, atomically: not 0 ends the call with
 *                                  ECANCELED, unless an argument was refused before. Another thread sets it by an atomic
 *                                  store, which may be relaxed. It is an argument and no field, so that a host whose
 *                                  memory is managed can lend it for one call.
 *   error                          may be null. Where the call fails, says why; where a link of a batch is refused, says
 *                                  it of the first. Otherwise it is not written. Of a canceled call it says: status
 *                                  ECANCELED, no argument, index -1, text "canceled".
 *
 * Growing. Functions and status codes are only added, structs only grow at their end, under one CASSINI_ABI_VERSION; a
 * host compares it with cassini_abi_version() once, before any other call. Every struct begins with its size at the
 * caller: a field that the caller's header does not have is taken as 0 or null (options: its default), a field that the
 * library does not have must be 0 (inputs) or comes back as 0 (results). So a host and a library of different ages work
 * together. CASSINI_SIZE sets the size and leaves all that is not named 0:
 *
 *   cassini_link link = {CASSINI_SIZE(cassini_link), .n_jobs = 2, .capacity_kbps = 50000000};
 */
#ifndef CASSINI_CASSINI_H
#define CASSINI_CASSINI_H

#include <stdint.h>

#define CASSINI_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

#define CASSINI_ABI_VERSION 3

#define CASSINI_SIZE(type) .size = sizeof(type)

#define CASSINI_MAX_PERIOD_NS 1099511627776 /* 2^40: 18 minutes */
#define CASSINI_MAX_RATE_KBPS 1099511627776 /* 2^40: 1.1 Pbit/s */
#define CASSINI_MAX_JOBS 1024               /* of one link */
#define CASSINI_MAX_PHASES 131072           /* of all jobs of one link together */
#define CASSINI_MAX_ANGLES 1048576
#define CASSINI_MAX_SAMPLES 16777216 /* angles times jobs */
#define CASSINI_MAX_JOINT_JOBS 1048576
#define CASSINI_MAX_JOINT_LINKS 1048576
#define CASSINI_MAX_PROOF_JOBS 12 /* of a joint problem that is searched exhaustively */

/* Status codes. */
#define CASSINI_OK 0
#define CASSINI_EINVAL 1    /* an argument is out of its range; `error` names it */
#define CASSINI_ENOMEM 2    /* out of memory */
#define CASSINI_EINTERNAL 3 /* a defect of this library */
#define CASSINI_ECANCELED 4 /* *cancel became non-zero before an answer was complete */

/* Why a search stopped. UNPROVEN: more than 48 jobs that can be moved on a link, more than CASSINI_MAX_PROOF_JOBS in a
 * joint problem, too many phases to branch on, or rates so far above the capacity that rounding hides 1e-9 of a score. */
#define CASSINI_STOP_COMPLETE 0 /* the search ended by itself: proven, or all of a grid of angles was seen */
#define CASSINI_STOP_NODES 1    /* node_limit */
#define CASSINI_STOP_DEADLINE 2 /* deadline_ns */
#define CASSINI_STOP_LIMITS 3   /* max_events or max_levels: exact scoring is out of reach, see cassini_solve_link */
#define CASSINI_STOP_UNPROVEN 4 /* the search ended by itself, but could not prove its answer */

/* Why a call failed, or why the first refused link of a batch was. Owned by the caller, one per thread. */
typedef struct cassini_error {
  int64_t size;      /* sizeof(cassini_error) */
  int64_t link;      /* out: which link of the call, or -1 */
  int64_t index;     /* out: which entry of the argument, if that is an array, or -1 */
  int32_t status;    /* out: CASSINI_E* */
  int32_t reserved;  /* 0 */
  char argument[32]; /* out: name of the argument or field that was refused; empty where there is none. Ends with 0 */
  char text[160];    /* out: one line, as "phase_start_ns[3]: expected 0 .. 254999999, got 255000000". Ends with 0 */
} cassini_error;

/* How long to search, and how finely. Fill with cassini_init_options, then change what you need. */
typedef struct cassini_options {
  int64_t size;           /* sizeof(cassini_options) */
  int64_t resolution_ns;  /* how precisely a shift can be held (F1b); 0 turns free jobs off; default 500000 */
  double slack_tolerance; /* score; how much a score may drop within slack and hold (F5); >= 0; default 0.01 */
  int64_t node_limit;     /* >= 1; default CASSINI_DEFAULT_NODE_LIMIT; INT64_MAX means none. A node is one partial
                             placement, plus one for every 1024 demand levels touched on the way, so that a limit
                             bounds time whatever the periods. */
  int64_t deadline_ns;    /* monotonic, from the call's entry; INT64_MAX (default) means none */
  int64_t max_events;     /* limit on sum_j edges_j P'/R_j of a link, 1 .. 2^22; default 262144. With less, all that a
                             link may cost beside its search is less, in proportion */
  int64_t max_levels;     /* limit on distinct partial sums of demand at one instant, 1 .. 2^22; default 65536 */
} cassini_options;

#define CASSINI_DEFAULT_NODE_LIMIT 50000

/* The jobs of one link. */
typedef struct cassini_link {
  int64_t size;                  /* sizeof(cassini_link) */
  int64_t capacity_kbps;         /* 1 .. CASSINI_MAX_RATE_KBPS */
  int64_t n_jobs;                /* 1 .. CASSINI_MAX_JOBS */
  const int64_t* period_ns;      /* [n_jobs] iteration times, 1 .. CASSINI_MAX_PERIOD_NS */
  const int64_t* phase_offset;   /* [n_jobs + 1] job j has phases phase_offset[j] .. phase_offset[j+1]-1; from 0 or more
                                    to n_phases or less, non-decreasing */
  int64_t n_phases;              /* length of the three arrays that follow, which may be null if it is 0 */
  const int64_t* phase_start_ns; /* [n_phases] 0 <= start < period of its job */
  const int64_t* phase_length_ns; /* [n_phases] 0 <= length <= period of its job; may wrap past the iteration's end */
  const int64_t* phase_rate_kbps; /* [n_phases] 0 .. CASSINI_MAX_RATE_KBPS, at most 2^53 for all phases of the link
                                     together; overlapping phases of one job add up */
} cassini_link;

/* Many links, one after the other in the same arrays. What an entry may be is said at cassini_link. */
typedef struct cassini_links {
  int64_t size;                   /* sizeof(cassini_links) */
  int64_t n_links;                /* >= 0 */
  const int64_t* capacity_kbps;   /* [n_links] */
  const int64_t* job_offset;      /* [n_links + 1] link i has jobs job_offset[i] .. job_offset[i+1]-1; from 0 or more to
                                     n_jobs or less, non-decreasing */
  int64_t n_jobs;                 /* of all links together */
  const int64_t* period_ns;       /* [n_jobs] */
  const int64_t* phase_offset;    /* [n_jobs + 1] */
  int64_t n_phases;               /* of all jobs together */
  const int64_t* phase_start_ns;  /* [n_phases] */
  const int64_t* phase_length_ns; /* [n_phases] */
  const int64_t* phase_rate_kbps; /* [n_phases] */
} cassini_links;

/* Where the shifts of links go: arrays of the caller, one entry per job, written by the library. */
typedef struct cassini_link_output {
  int64_t size;      /* sizeof(cassini_link_output) */
  int64_t* shift_ns; /* [n_jobs] 0 <= shift < period */
  int64_t* slack_ns; /* [n_jobs] see cassini_evaluate_link. May be null: then optimal shifts are not centred on their
                        plateau, and hold_ns is 0 */
  uint8_t* is_free;  /* [n_jobs] 1 for a job whose shift does not matter (F1b), else 0 */
} cassini_link_output;

/* What is known of one link's answer; all but size is written by the library. Scores are 1 - mean(excess)/capacity. */
typedef struct cassini_link_result {
  int64_t size;       /* sizeof(cassini_link_result) */
  double score_lower; /* certified bounds on what the returned shifts score; equal where the score is exact */
  double score_upper; /*   (within the limits of folding), else an interval */
  double upper_bound; /* no shifts score more, proven */
  int64_t hold_ns;    /* all jobs may move anywhere within +-hold at once (F5) */
  int64_t nodes;      /* nodes counted */
  int32_t optimal;    /* 1: score_lower >= upper_bound - 1e-9, relative to max(1, |score|) */
  int32_t stopped_by; /* CASSINI_STOP_* */
} cassini_link_result;

/* What given shifts are worth: arrays of the caller, written by the library. n_links is 1 for one link. */
typedef struct cassini_evaluation {
  int64_t size;        /* sizeof(cassini_evaluation) */
  double* score_lower; /* [n_links] certified bounds on the score; equal within the limits of folding */
  double* score_upper; /* [n_links] */
  int64_t* slack_ns;   /* [n_jobs of all links together] the largest continuous move of this job alone on this link, the
                          same both ways, the others held, that keeps the score within slack_tolerance; at most period/2.
                          Less where more kinks lie on the way than can be read (hundreds of phases); 0 where adding up
                          demand costs too much (thousands of levels). May be null together with hold_ns: then neither is
                          computed. */
  int64_t* hold_ns;    /* [n_links] certified: any simultaneous moves of at most this keep the same promise */
  uint8_t* is_free;    /* [n_jobs of all links together] 1 for a job whose shift does not matter; may be null */
} cassini_evaluation;

/* The ABI this library was built with; compare with CASSINI_ABI_VERSION before any other call. */
CASSINI_API int32_t cassini_abi_version(void);

/* "major.minor.patch" of the library; static storage. */
CASSINI_API const char* cassini_version(void);

/* One line for a status; static storage; never null. */
CASSINI_API const char* cassini_strerror(int32_t status);

/* One word for CASSINI_STOP_*: "complete", "nodes", "deadline", "limits", "unproven", else "unknown"; static storage. */
CASSINI_API const char* cassini_stop_string(int32_t stopped_by);

/* Fills *options with the defaults.
 *
 *   size                           sizeof(cassini_options) at the caller: no byte beyond it is written
 *
 * EINVAL: null, or a size that no header of this ABI can have (they only grow). */
CASSINI_API int32_t cassini_init_options(cassini_options* options, int64_t size);

/* Best shifts for one link: minimises mean (sum_j b_j(t - s_j) - C)+ over the LCM circle, in continuous time.
 *
 *   link                           in
 *   output, result                 their fields are written, their sizes read
 *
 * Beyond max_events or max_levels, or where adding up all jobs once touches more than 2^24 demand levels, the answer is
 * certified bounds, stopped_by = STOP_LIMITS, and optimal = 1 only where the bounds happen to meet. Out of nodes or time,
 * slack and hold may be less than there is, never more; out of time, of a link of hundreds of jobs, is_free may be 0 for
 * some whose shift does not matter.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: exponential in n_jobs at worst, bounded by node_limit. */
CASSINI_API int32_t cassini_solve_link(const cassini_link* link, const cassini_options* options, const int32_t* cancel,
                                       const cassini_link_output* output, cassini_link_result* result,
                                       cassini_error* error);

/* The paper's formulation to the letter: demand sampled at `angles` points of the unified circle, rotations by whole
 * angles. As cassini_solve_link, but upper_bound is what the demand allows, whatever the grid, and shifts are not centred.
 *
 *   angles                         |A|, 1 .. CASSINI_MAX_ANGLES, angles * n_jobs <= CASSINI_MAX_SAMPLES; 72 is 5 degrees
 *   claimed_score  [1]  out        what the grid says its shifts score
 *
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: angles^(n_jobs - 1) at worst, bounded by node_limit. */
CASSINI_API int32_t cassini_solve_link_angles(const cassini_link* link, int64_t angles, const cassini_options* options,
                                              const int32_t* cancel, const cassini_link_output* output,
                                              cassini_link_result* result, double* claimed_score, cassini_error* error);

/* Score, slack and hold of given shifts.
 *
 *   shift_ns     [n_jobs]          any integer, taken modulo the period
 *   evaluation                     its fields are written, its size read
 *
 * Of the options resolution_ns, slack_tolerance, deadline_ns and the limits are read; out of time as cassini_solve_link.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: O(events) per job. */
CASSINI_API int32_t cassini_evaluate_link(const cassini_link* link, const int64_t* shift_ns,
                                          const cassini_options* options, const int32_t* cancel,
                                          const cassini_evaluation* evaluation, cassini_error* error);

/* Solves many links in one call, one after the other. Each answer is that of cassini_solve_link.
 *
 *   output                         its arrays have one entry per job, as those of links have; entries of jobs before the
 *                                  first link or after the last stay as they are
 *   result       [n_links]         result[i].size must be set, to the same in all
 *   status       [n_links]  out    CASSINI_OK, or why this link was not solved; the others are solved all the same
 *
 * deadline_ns counts from this call's entry, node_limit per link. Returns EINVAL only where the call itself makes no
 * sense (null pointers, offsets). Returns ECANCELED where the flag is seen, before or within a link: those before it have
 * their status and answer as ever; it and all after it have status ECANCELED, and what is theirs in output and result
 * stays as it is. The error tells of the first link whose status is not OK: one that was refused, else that at which the
 * flag was seen (link -1 without links). */
CASSINI_API int32_t cassini_solve_links(const cassini_links* links, const cassini_options* options,
                                        const int32_t* cancel, const cassini_link_output* output,
                                        cassini_link_result* result, int32_t* status, cassini_error* error);

/* --- prepared links: checked and folded once, then solved, and held together in joint problems ---------------------- */

/* Link problems, prepared once. Immutable: any number of threads may use one at the same time. */
typedef struct cassini_prepared_links cassini_prepared_links;

/* Prepares many links. Their arrays are not needed afterwards.
 *
 *   prepared     [1]  out          to be freed with cassini_free_prepared_links
 *   status       [n_links]  out    CASSINI_OK, or why this link cannot be used; the others can all the same
 *
 * Of the options resolution_ns and the limits are read; not the deadline, for what it cut off would stay so for good.
 * Returns EINVAL only where the call itself makes no sense.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: O(phases log phases) per link, a few kB of memory each; for two
 * jobs alone O(product of their edges) of both. */
CASSINI_API int32_t cassini_prepare_links(const cassini_links* links, const cassini_options* options,
                                          const int32_t* cancel, cassini_prepared_links** prepared, int32_t* status,
                                          cassini_error* error);

/* Null is allowed. No call that uses the links may be under way. */
CASSINI_API void cassini_free_prepared_links(cassini_prepared_links* prepared);

/* Solves links first .. last-1 of those prepared, as cassini_solve_links would, without preparing them again.
 *
 *   first, last                    0 <= first <= last <= n_links as prepared
 *   output                         its arrays have one entry per job of links first .. last-1 together
 *   result       [last - first]    result[i].size must be set, to the same in all
 *   status       [last - first]  out
 *
 * Of the options slack_tolerance, node_limit and deadline_ns are read; the others were read when the links were
 * prepared. A link that was refused then is refused again. Errors as cassini_solve_links. */
CASSINI_API int32_t cassini_solve_prepared_links(const cassini_prepared_links* prepared, int64_t first, int64_t last,
                                                 const cassini_options* options, const int32_t* cancel,
                                                 const cassini_link_output* output, cassini_link_result* result,
                                                 int32_t* status, cassini_error* error);

/* --- joint problems: jobs that share several links and have one shift each ------------------------------------------ */

/* Which prepared links hold which jobs together. */
typedef struct cassini_joint {
  int64_t size;                /* sizeof(cassini_joint) */
  int64_t n_jobs;              /* 1 .. CASSINI_MAX_JOINT_JOBS */
  const int64_t* period_ns;    /* [n_jobs] every link's jobs must have the periods of the jobs that stand there */
  int64_t n_links;             /* 0 .. CASSINI_MAX_JOINT_LINKS */
  const int64_t* link;         /* [n_links] which prepared link; one may occur several times */
  int64_t n_members;           /* jobs of all these links together */
  const int64_t* member;       /* [n_members] which job stands at each place of each link, links one after the other; no
                                  job twice on a link */
  const double* weight;        /* [n_links] above 0, finite; may be null: all 1. Links that pose the same problem to the
                                  same jobs can be one link */
  const double* upper_bound;   /* [n_links] no shifts of this link alone score more; may be null: what demand allows */
  const int64_t* own_shift_ns; /* [n_members] any integers; good shifts for each link alone, to begin from, or null */
} cassini_joint;

/* How a joint problem is searched. */
typedef struct cassini_joint_search {
  int64_t size;            /* sizeof(cassini_joint_search) */
  const int64_t* start_ns; /* [n_jobs] any integers; shifts to begin from, and never to score less than; may be null */
  const uint8_t* is_dirty; /* [n_jobs] with start_ns: 0 for jobs on whose links nothing changed since it was found; only
                              what is near the others is searched. May be null: all are looked at */
  int32_t centred;         /* not 0: single jobs are moved where slack grows and no score is lost */
  int32_t reserved;        /* 0 */
  const uint8_t* is_kept; /* [n_jobs] with start_ns: not 0 for jobs that stay where it has them, each against the others
                             that do; bounds and proofs are then about such shifts alone. May be null: none */
} cassini_joint_search;

/* Where the shifts and scores of a joint problem go: arrays of the caller, written by the library. */
typedef struct cassini_joint_output {
  int64_t size;      /* sizeof(cassini_joint_output) */
  int64_t* shift_ns; /* [n_jobs] 0 <= shift < period; of jobs that links hold together the first stands at 0, as do all
                        whose shift does not matter */
  double* score_lower; /* [n_links] certified bounds on what each link scores at these shifts */
  double* score_upper; /* [n_links] */
} cassini_joint_output;

/* What is known of one joint problem; all but size is written by the library. Scores are weighted means over links. */
typedef struct cassini_joint_result {
  int64_t size;       /* sizeof(cassini_joint_result) */
  double score;       /* what the returned shifts score, at least */
  double upper_bound; /* no shifts score more, proven if upper_bound of the problem was */
  int64_t nodes;      /* nodes counted */
  int32_t optimal;    /* 1: score >= upper_bound - 1e-9, relative to max(1, |score|) */
  int32_t stopped_by; /* CASSINI_STOP_* */
} cassini_joint_result;

/* Best shifts for a joint problem: maximises the weighted mean of the scores of its links, each job having one shift.
 *
 *   prepared                       from cassini_prepare_links
 *   search                         may be null: from nowhere in particular, all jobs, not centred
 *   output, result                 their fields are written, their sizes read
 *
 * Of the options slack_tolerance (if centred), node_limit and deadline_ns are read. A link beyond the limits of folding
 * does not guide the search, but is scored and counts: such a link, and only such a one, can make the answer score less
 * than start_ns, or lose by being centred. Problems of up to CASSINI_MAX_PROOF_JOBS jobs are searched exhaustively within
 * node_limit, larger ones by local search alone: then the difference between upper_bound and score is the certified gap.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: bounded by node_limit, but for one look at every link. */
CASSINI_API int32_t cassini_solve_joint(const cassini_prepared_links* prepared, const cassini_joint* joint,
                                        const cassini_joint_search* search, const cassini_options* options,
                                        const int32_t* cancel, const cassini_joint_output* output,
                                        cassini_joint_result* result, cassini_error* error);

/* Scores, slack and hold of each link of a joint problem at given shifts. weight, upper_bound and own_shift_ns are not
 * read.
 *
 *   shift_ns     [n_jobs of the joint problem]   any integer, taken modulo the period
 *   evaluation                     slack_ns and is_free have n_members entries
 *
 * Of the options slack_tolerance and deadline_ns are read. Errors and cost: as cassini_evaluate_link, per link, without
 * preparation. */
CASSINI_API int32_t cassini_evaluate_joint(const cassini_prepared_links* prepared, const cassini_joint* joint,
                                           const int64_t* shift_ns, const cassini_options* options,
                                           const int32_t* cancel, const cassini_evaluation* evaluation,
                                           cassini_error* error);

/* --- joint problems that differ from one in few links: candidates of a scheduling round ----------------------------- */

/* A joint problem at given shifts, kept so that problems that differ from it in few links are solved at the cost of what
 * differs. Immutable: any number of threads may use one at the same time. */
typedef struct cassini_baseline cassini_baseline;

/* What differs from a baseline. */
typedef struct cassini_delta {
  int64_t size;              /* sizeof(cassini_delta) */
  int64_t n_dropped;         /* 0 .. links of the baseline */
  const int64_t* dropped;    /* [n_dropped] indices of the baseline's links, each once */
  int64_t n_added;           /* 0 .. CASSINI_MAX_JOINT_LINKS */
  const int64_t* link;       /* [n_added] which of the baseline's prepared links */
  int64_t n_members;         /* jobs of all links added together */
  const int64_t* member;     /* [n_members] as of cassini_joint */
  const double* weight;      /* [n_added] above 0, finite, on the same scale as the baseline's; may be null: all 1 */
  const double* upper_bound; /* [n_added] may be null */
} cassini_delta;

/* Keeps a joint problem at given shifts. own_shift_ns is not read.
 *
 *   prepared                       must outlive the baseline
 *   shift_ns     [n_jobs]          any integers: where searches begin, and never score less than
 *   baseline     [1]  out          to be freed with cassini_free_baseline
 *
 * No option is read, but they must be in range. Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: as one look of
 * cassini_solve_joint at every link, and at every job of each; of both some kB of memory per job of a link, at most
 * 100 MB in all. */
CASSINI_API int32_t cassini_prepare_baseline(const cassini_prepared_links* prepared, const cassini_joint* joint,
                                             const int64_t* shift_ns, const cassini_options* options,
                                             const int32_t* cancel, cassini_baseline** baseline, cassini_error* error);

/* Null is allowed. No call that uses the baseline may be under way. */
CASSINI_API void cassini_free_baseline(cassini_baseline* baseline);

/* Solves the baseline's problem without some links and with some others: what cassini_solve_joint finds with start_ns =
 * the baseline's shifts, is_dirty = the jobs of links that were dropped or added, and not centred, without looking again
 * at what the baseline knows. That counts no nodes: the same node_limit goes further here.
 *
 *   output                         scores [n_left] of the baseline's links that were not dropped, in their order, then of
 *                                  those added: n_left = links of the baseline - n_dropped + n_added
 *
 * Of the options node_limit and deadline_ns are read. The answer does not depend on the order in which links were given,
 * dropped or added. Equal links count by the sum of their weights, whether the baseline has them or they are added.
 * Scores are the same to the last bit as those of cassini_solve_joint and cassini_evaluate_joint wherever the jobs of a
 * link stand alike.
 * Errors: EINVAL, ENOMEM, ECANCELED, EINTERNAL. Cost: bounded by node_limit, but for one look at every added link, and
 * some 0.1 us per link and job of the problem. */
CASSINI_API int32_t cassini_solve_delta(const cassini_baseline* baseline, const cassini_delta* delta,
                                        const cassini_options* options, const int32_t* cancel,
                                        const cassini_joint_output* output, cassini_joint_result* result,
                                        cassini_error* error);

#ifdef __cplusplus
}
#endif

#endif /* CASSINI_CASSINI_H */
