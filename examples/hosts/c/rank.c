/* Where should job c go? Ranks two placements by how well the traffic on the link "tor1-up" interleaves, best first. */
#include <cassini/cassini.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define MS INT64_C(1000000)   /* ns */
#define GBPS INT64_C(1000000) /* kbit/s */

enum { N_LINKS = 2, N_JOBS = 5, N_PHASES = 6 };

/* What the placements make of the link, one after the other: jobs are concatenated, and so are their phases. */
struct links {
  const char* candidate[N_LINKS];
  const char* job[N_JOBS];
  int64_t job_offset[N_LINKS + 1];
  int64_t capacity[N_LINKS];
  int64_t period[N_JOBS];
  int64_t phase_offset[N_JOBS + 1];
  int64_t phase_start[N_PHASES], phase_length[N_PHASES], phase_rate[N_PHASES];
};

struct answers {
  int64_t shift[N_JOBS], slack[N_JOBS];
  uint8_t is_free[N_JOBS];
  cassini_link_result result[N_LINKS];
};

/* Solves all links in one call. Past the deadline it answers with what it has; another thread may set *cancel, and the
 * call ends with CASSINI_ECANCELED. What goes wrong otherwise is in *error. */
static int32_t solve(const struct links* in, int64_t deadline_ns, const int32_t* cancel, struct answers* out,
                     cassini_error* error) {
  cassini_options options;
  int32_t status = cassini_init_options(&options, sizeof options);
  if (status != CASSINI_OK) return status;
  options.deadline_ns = deadline_ns;
  const cassini_links links = {
      CASSINI_SIZE(cassini_links),
      .n_links = N_LINKS,
      .capacity_kbps = in->capacity,
      .job_offset = in->job_offset,
      .n_jobs = N_JOBS,
      .period_ns = in->period,
      .phase_offset = in->phase_offset,
      .n_phases = N_PHASES,
      .phase_start_ns = in->phase_start,
      .phase_length_ns = in->phase_length,
      .phase_rate_kbps = in->phase_rate,
  };
  const cassini_link_output output = {CASSINI_SIZE(cassini_link_output), .shift_ns = out->shift, .slack_ns = out->slack,
                                      .is_free = out->is_free};
  for (int i = 0; i < N_LINKS; i++) out->result[i] = (cassini_link_result){CASSINI_SIZE(cassini_link_result)};
  int32_t of_link[N_LINKS];
  status = cassini_solve_links(&links, &options, cancel, &output, out->result, of_link, error);
  for (int i = 0; i < N_LINKS && status == CASSINI_OK; i++) status = of_link[i];
  return status;
}

/* Higher scores first, equal ones in the order given. */
static int better(const void* left, const void* right) {
  const cassini_link_result* a = *(const cassini_link_result* const*)left;
  const cassini_link_result* b = *(const cassini_link_result* const*)right;
  if (a->score_lower != b->score_lower) return a->score_lower > b->score_lower ? -1 : 1;
  return a < b ? -1 : 1;
}

static void print_ranking(const struct links* in, const struct answers* out) {
  const cassini_link_result* best[N_LINKS];
  for (int i = 0; i < N_LINKS; i++) best[i] = &out->result[i];
  qsort(best, N_LINKS, sizeof *best, better);
  for (int i = 0; i < N_LINKS; i++) {
    const cassini_link_result* r = best[i];
    const ptrdiff_t link = r - out->result;
    printf("%d %-8s  score %.13a %.6f  bound %.13a %.6f  optimal %-3s  hold %8" PRId64 " ns\n", i + 1,
           in->candidate[link], r->score_lower, r->score_lower, r->upper_bound, r->upper_bound,
           r->optimal ? "yes" : "no", r->hold_ns);
    for (int64_t j = in->job_offset[link]; j < in->job_offset[link + 1]; j++) {
      printf("    %s  shift %9" PRId64 " ns  slack %8" PRId64 " ns\n", in->job[j], out->shift[j], out->slack[j]);
    }
  }
}

int main(void) {
  if (cassini_abi_version() != CASSINI_ABI_VERSION) {
    fprintf(stderr, "rank: libcassini has ABI %" PRId32 ", expected %d\n", cassini_abi_version(), CASSINI_ABI_VERSION);
    return EXIT_FAILURE;
  }
  /* a and b compute for 141 ms and send for 114 ms; c sends twice in 510 ms. */
  const struct links links = {
      .candidate = {"together", "apart"},
      .job = {"a", "b", "c", "a", "b"},
      .job_offset = {0, 3, 5},
      .capacity = {50 * GBPS, 50 * GBPS},
      .period = {255 * MS, 255 * MS, 510 * MS, 255 * MS, 255 * MS},
      .phase_offset = {0, 1, 2, 4, 5, 6},
      .phase_start = {141 * MS, 141 * MS, 0, 300 * MS, 141 * MS, 141 * MS},
      .phase_length = {114 * MS, 114 * MS, 60 * MS, 50 * MS, 114 * MS, 114 * MS},
      .phase_rate = {45 * GBPS, 45 * GBPS, 40 * GBPS, 25 * GBPS, 45 * GBPS, 45 * GBPS},
  };
  const int32_t cancel = 0; /* a program with threads hands its address to whoever may cancel */
  struct answers answers;
  cassini_error error = {CASSINI_SIZE(cassini_error)};
  const int32_t status = solve(&links, 10000 * MS, &cancel, &answers, &error);
  if (status != CASSINI_OK) {
    fprintf(stderr, "rank: %s\n", error.text[0] != '\0' ? error.text : cassini_strerror(status));
    return EXIT_FAILURE;
  }
  print_ranking(&links, &answers);
  return EXIT_SUCCESS;
}
