/* The header from C: it compiles as C99, the two-job example comes out right, and bad calls are refused with a status
 * and nothing written. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cassini/cassini.h"

static int failures = 0;

#define CHECK(condition)                                             \
  do {                                                               \
    if (!(condition)) {                                              \
      printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++failures;                                                    \
    }                                                                \
  } while (0)

#define MS ((int64_t)1000000)
#define GBPS ((int64_t)1000000)

static const int64_t period[2] = {255 * MS, 255 * MS};
static const int64_t offset[3] = {0, 1, 2};
static const int64_t start[2] = {141 * MS, 141 * MS};
static const int64_t length[2] = {114 * MS, 114 * MS};
static const int64_t rate[2] = {45 * GBPS, 45 * GBPS};

static void test_two_jobs(void) {
  int64_t shift[2], slack[2];
  uint8_t is_free[2];
  cassini_result result;
  result.size = (int64_t)sizeof result;
  CHECK(cassini_solve_link(2, period, offset, start, length, rate, 50 * GBPS, NULL, shift, slack, is_free, &result) ==
        CASSINI_OK);
  CHECK(result.score_lower == 1.0 && result.score_upper == 1.0 && result.upper_bound == 1.0 && result.optimal == 1);
  CHECK(shift[0] == 0 && shift[1] == 127500000);
  CHECK(!is_free[0] && !is_free[1]);

  double lower = 0, upper = 0;
  int64_t hold = 0;
  const int64_t in_phase[2] = {0, 0};
  CHECK(cassini_evaluate_link(2, period, offset, start, length, rate, 50 * GBPS, in_phase, NULL, &lower, &upper, slack,
                              &hold, is_free) == CASSINI_OK);
  CHECK(lower == upper && fabs(lower - (1.0 - 40.0 * 114.0 / 255.0 / 50.0)) < 1e-12);

  const int64_t query[3] = {0, 127500000, 255 * MS};
  double excess[3];
  CHECK(cassini_marginals(2, period, offset, start, length, rate, 50 * GBPS, in_phase, 1, 3, query, NULL, excess) ==
        CASSINI_OK);
  CHECK(fabs(excess[0] - 40e6 * 114.0 / 255.0) < 1e-3 && excess[1] == 0.0 && excess[2] == excess[0]);
}

static void test_optional_outputs_and_long_deadlines(void) {
  int64_t shift[2];
  uint8_t is_free[2];
  cassini_result result;
  cassini_options options;
  result.size = (int64_t)sizeof result;
  cassini_init_options(&options, sizeof options);
  options.deadline_ns = INT64_MAX - 1; /* must not overflow when added to the clock */
  CHECK(cassini_solve_link(2, period, offset, start, length, rate, 50 * GBPS, &options, shift, NULL, is_free,
                           &result) == CASSINI_OK);
  CHECK(result.score_lower == 1.0 && result.optimal == 1 && result.hold == 0);
  CHECK(result.stopped_by == CASSINI_STOP_COMPLETE);
}

static void test_batch(void) {
  const int64_t job_offset[3] = {0, 2, 3};
  const int64_t periods[3] = {255 * MS, 255 * MS, 100 * MS};
  const int64_t offsets[4] = {0, 1, 2, 3};
  const int64_t starts[3] = {141 * MS, 141 * MS, 0};
  const int64_t lengths[3] = {114 * MS, 114 * MS, 50 * MS};
  const int64_t rates[3] = {45 * GBPS, 45 * GBPS, 100 * GBPS};
  const int64_t capacity[2] = {50 * GBPS, 50 * GBPS};
  int64_t shift[3], slack[3];
  uint8_t is_free[3];
  int32_t status[2];
  cassini_result result[2];
  result[0].size = result[1].size = (int64_t)sizeof result[0];
  CHECK(cassini_solve_links(2, job_offset, periods, offsets, starts, lengths, rates, capacity, NULL, shift, slack,
                            is_free, result, status) == CASSINI_OK);
  CHECK(status[0] == CASSINI_OK && status[1] == CASSINI_OK);
  CHECK(result[0].score_lower == 1.0 && shift[1] == 127500000);
  CHECK(result[1].score_lower == 0.5 && result[1].optimal == 1);
  result[1].size = 1;
  CHECK(cassini_solve_links(2, job_offset, periods, offsets, starts, lengths, rates, capacity, NULL, shift, slack,
                            is_free, result, status) == CASSINI_OK);
  CHECK(status[0] == CASSINI_OK && status[1] == CASSINI_EINVAL);
}

static void test_batch_without_slack_and_canceled(void) {
  const int64_t job_offset[3] = {0, 2, 4};
  const int64_t periods[4] = {255 * MS, 255 * MS, 255 * MS, 255 * MS};
  const int64_t offsets[5] = {0, 1, 2, 3, 4};
  const int64_t starts[4] = {141 * MS, 141 * MS, 0, 0};
  const int64_t lengths[4] = {114 * MS, 114 * MS, 50 * MS, 60 * MS};
  const int64_t rates[4] = {45 * GBPS, 45 * GBPS, 45 * GBPS, 45 * GBPS};
  const int64_t capacity[2] = {50 * GBPS, 50 * GBPS};
  int64_t shift[4], alone[2];
  uint8_t is_free[4];
  int32_t status[2], cancel = 1;
  cassini_result result[2], single;
  cassini_options options;
  int i;
  result[0].size = result[1].size = single.size = (int64_t)sizeof single;
  CHECK(cassini_solve_links(2, job_offset, periods, offsets, starts, lengths, rates, capacity, NULL, shift, NULL,
                            is_free, result, status) == CASSINI_OK);
  for (i = 0; i < 2; ++i) {
    CHECK(status[i] == CASSINI_OK && result[i].score_lower == 1.0 && result[i].hold == 0);
    CHECK(cassini_solve_link(2, periods + 2 * i, offsets + 2 * i, starts, lengths, rates, capacity[i], NULL, alone,
                             NULL, is_free, &single) == CASSINI_OK);
    CHECK(memcmp(alone, shift + 2 * i, sizeof alone) == 0);
  }

  /* Links of two jobs are solved without a search: the flag is seen all the same, and nothing is written. */
  cassini_init_options(&options, sizeof options);
  options.cancel = &cancel;
  shift[0] = shift[3] = -7;
  CHECK(cassini_solve_links(2, job_offset, periods, offsets, starts, lengths, rates, capacity, &options, shift, NULL,
                            is_free, result, status) == CASSINI_ECANCELED);
  CHECK(status[0] == CASSINI_ECANCELED && status[1] == CASSINI_ECANCELED && shift[0] == -7 && shift[3] == -7);
}

/* Slack and hold of an answer are those of its shifts, whoever asks. */
static void test_evaluation_agrees_with_solution(void) {
  const int64_t periods[3] = {100 * MS, 150 * MS, 200 * MS};
  const int64_t offsets[4] = {0, 1, 2, 4};
  int64_t starts[4], lengths[4], rates[4];
  int64_t shift[3], slack[3], again[3], hold;
  uint8_t is_free[3];
  double lower, upper;
  cassini_result result;
  uint64_t seed = 1;
  int round, i;
  for (round = 0; round < 200; ++round) {
    for (i = 0; i < 4; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      starts[i] = (int64_t)(seed >> 33) % 100 * MS;
      lengths[i] = (1 + (int64_t)(seed >> 40) % 40) * MS;
      rates[i] = (5 + (int64_t)(seed >> 50) % 40) * GBPS;
    }
    memset(&result, 0, sizeof result);
    result.size = (int64_t)sizeof result;
    CHECK(cassini_solve_link(3, periods, offsets, starts, lengths, rates, 50 * GBPS, NULL, shift, slack, is_free,
                             &result) == CASSINI_OK);
    CHECK(cassini_evaluate_link(3, periods, offsets, starts, lengths, rates, 50 * GBPS, shift, NULL, &lower, &upper,
                                again, &hold, is_free) == CASSINI_OK);
    CHECK(lower == result.score_lower && hold == result.hold);
    CHECK(memcmp(slack, again, sizeof slack) == 0);
  }
}

static void test_bad_calls(void) {
  int64_t shift[2] = {-7, -7}, slack[2] = {-7, -7};
  uint8_t is_free[2] = {9, 9};
  cassini_result result;
  cassini_options options;
  int64_t bad[3];
  memset(&result, 0, sizeof result);
  result.size = (int64_t)sizeof result;
#define SOLVE(n, p, o, s, l, r, c, opt) cassini_solve_link(n, p, o, s, l, r, c, opt, shift, slack, is_free, &result)
  CHECK(SOLVE(0, period, offset, start, length, rate, 1, NULL) == CASSINI_EINVAL);
  CHECK(SOLVE(-1, period, offset, start, length, rate, 1, NULL) == CASSINI_EINVAL);
  CHECK(SOLVE(CASSINI_MAX_JOBS + 1, period, offset, start, length, rate, 1, NULL) == CASSINI_EINVAL);
  CHECK(SOLVE(2, NULL, offset, start, length, rate, 1, NULL) == CASSINI_EINVAL);
  CHECK(SOLVE(2, period, NULL, start, length, rate, 1, NULL) == CASSINI_EINVAL);
  CHECK(SOLVE(2, period, offset, NULL, length, rate, 1, NULL) == CASSINI_EINVAL);
  CHECK(SOLVE(2, period, offset, start, length, rate, 0, NULL) == CASSINI_EINVAL);
  CHECK(SOLVE(2, period, offset, start, length, rate, CASSINI_MAX_RATE + 1, NULL) == CASSINI_EINVAL);
  bad[0] = 0, bad[1] = 255 * MS;
  CHECK(SOLVE(2, bad, offset, start, length, rate, 50 * GBPS, NULL) == CASSINI_EINVAL);
  bad[0] = 255 * MS, bad[1] = 0;
  CHECK(SOLVE(2, period, offset, bad, length, rate, 50 * GBPS, NULL) == CASSINI_EINVAL); /* start == period */
  bad[0] = 255 * MS + 1;
  CHECK(SOLVE(2, period, offset, start, bad, rate, 50 * GBPS, NULL) == CASSINI_EINVAL);
  bad[0] = -1;
  CHECK(SOLVE(2, period, offset, start, length, bad, 50 * GBPS, NULL) == CASSINI_EINVAL);
  bad[0] = 0, bad[1] = 2, bad[2] = 1;
  CHECK(SOLVE(2, period, bad, start, length, rate, 50 * GBPS, NULL) == CASSINI_EINVAL);
  CHECK(cassini_init_options(&options, sizeof options) == CASSINI_OK);
  options.size = 8;
  CHECK(SOLVE(2, period, offset, start, length, rate, 50 * GBPS, &options) == CASSINI_EINVAL);
  cassini_init_options(&options, sizeof options);
  options.slack_tolerance = NAN;
  CHECK(SOLVE(2, period, offset, start, length, rate, 50 * GBPS, &options) == CASSINI_EINVAL);
  cassini_init_options(&options, sizeof options);
  options.node_limit = 0;
  CHECK(SOLVE(2, period, offset, start, length, rate, 50 * GBPS, &options) == CASSINI_EINVAL);
  cassini_init_options(&options, sizeof options);
  options.method = 7;
  CHECK(SOLVE(2, period, offset, start, length, rate, 50 * GBPS, &options) == CASSINI_EINVAL);
  cassini_init_options(&options, sizeof options);
  options.reserved = 1;
  CHECK(SOLVE(2, period, offset, start, length, rate, 50 * GBPS, &options) == CASSINI_EINVAL);
  result.size = 0;
  CHECK(SOLVE(2, period, offset, start, length, rate, 50 * GBPS, NULL) == CASSINI_EINVAL);
  CHECK(cassini_solve_link(2, period, offset, start, length, rate, 1, NULL, NULL, slack, is_free, &result) ==
        CASSINI_EINVAL);
  CHECK(cassini_init_options(NULL, sizeof options) == CASSINI_EINVAL);
  CHECK(shift[0] == -7 && slack[1] == -7 && is_free[0] == 9 && result.nodes == 0);
}

/* Two links that carry the two jobs of above, and a third where the second job meets a short one. */
static const int64_t block_job_offset[3] = {0, 2, 4};
static const int64_t block_periods[4] = {255 * MS, 255 * MS, 255 * MS, 85 * MS};
static const int64_t block_offsets[5] = {0, 1, 2, 3, 4};
static const int64_t block_starts[4] = {141 * MS, 141 * MS, 141 * MS, 0};
static const int64_t block_lengths[4] = {114 * MS, 114 * MS, 114 * MS, 20 * MS};
static const int64_t block_rates[4] = {45 * GBPS, 45 * GBPS, 45 * GBPS, 30 * GBPS};
static const int64_t block_capacity[2] = {50 * GBPS, 50 * GBPS};
static const int64_t job_period[3] = {255 * MS, 255 * MS, 85 * MS};
static const int64_t block_link[3] = {0, 0, 1};
static const int64_t block_member[6] = {0, 1, 0, 1, 1, 2};
static const double block_weight[3] = {1.0, 1.0, 2.0};

static cassini_links* prepared(void) {
  cassini_links* links = NULL;
  int32_t link_status[2] = {-1, -1};
  CHECK(cassini_prepare_links(2, block_job_offset, block_periods, block_offsets, block_starts, block_lengths,
                              block_rates, block_capacity, NULL, &links, link_status) == CASSINI_OK);
  CHECK(links != NULL && link_status[0] == CASSINI_OK && link_status[1] == CASSINI_OK);
  return links;
}

static void test_block(void) {
  cassini_links* links = prepared();
  int64_t shift[3], slack[6], hold[3];
  double lower[3], upper[3], again_lower[3], again_upper[3];
  const double none_better[3] = {1.0, 1.0, 1.0};
  const int64_t own[6] = {0, 127500000, 0, 127500000, 0, 0};
  const uint8_t dirty[3] = {0, 0, 0};
  int i;
  cassini_options options;
  cassini_block_result result, warm;
  result.size = warm.size = (int64_t)sizeof result;
  CHECK(cassini_solve_block(links, 3, job_period, 3, block_link, block_member, block_weight, none_better, own, NULL,
                            NULL, 1, NULL, shift, lower, upper, &result) == CASSINI_OK);
  CHECK(shift[0] == 0 && lower[0] == 1.0 && lower[1] == 1.0 && lower[0] == upper[0]);
  CHECK(fabs(result.score - (lower[0] + lower[1] + 2.0 * lower[2]) / 4.0) < 1e-12);
  CHECK(result.upper_bound >= result.score && result.optimal == 1 && result.stopped_by == CASSINI_STOP_COMPLETE);
  CHECK(cassini_evaluate_block(links, 3, job_period, 3, block_link, block_member, shift, NULL, again_lower, again_upper,
                               slack, hold) == CASSINI_OK);
  for (i = 0; i < 3; ++i) {
    CHECK(again_lower[i] == lower[i] && again_upper[i] == upper[i]);
    CHECK(hold[i] <= slack[2 * i] && hold[i] <= slack[2 * i + 1]);
  }
  CHECK(cassini_solve_block(links, 3, job_period, 3, block_link, block_member, block_weight, NULL, NULL, shift, dirty,
                            0, NULL, shift, lower, upper, &warm) == CASSINI_OK);
  CHECK(warm.score >= result.score - 1e-12 && warm.upper_bound >= warm.score);

  /* No links: nothing to lose. */
  CHECK(cassini_solve_block(links, 3, job_period, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, NULL, shift, NULL,
                            NULL, &result) == CASSINI_OK);
  CHECK(result.score == 1.0 && result.optimal == 1 && shift[2] == 0);

  cassini_init_options(&options, sizeof options);
  i = 1;
  options.cancel = (const int32_t*)&i;
  CHECK(cassini_solve_block(links, 3, job_period, 3, block_link, block_member, block_weight, NULL, NULL, NULL, NULL, 0,
                            &options, shift, lower, upper, &result) == CASSINI_ECANCELED);
  cassini_free_links(links);
  cassini_free_links(NULL);
}

static void test_block_beyond_limits(void) {
  cassini_links* links = NULL;
  int32_t link_status[2];
  int64_t shift[3];
  double lower[3], upper[3];
  cassini_options options;
  cassini_block_result result;
  cassini_init_options(&options, sizeof options);
  options.max_events = 1;
  result.size = (int64_t)sizeof result;
  CHECK(cassini_prepare_links(2, block_job_offset, block_periods, block_offsets, block_starts, block_lengths,
                              block_rates, block_capacity, &options, &links, link_status) == CASSINI_OK);
  CHECK(cassini_solve_block(links, 3, job_period, 3, block_link, block_member, block_weight, NULL, NULL, NULL, NULL, 0,
                            NULL, shift, lower, upper, &result) == CASSINI_OK);
  CHECK(lower[0] < upper[0] && result.score <= result.upper_bound && result.stopped_by == CASSINI_STOP_LIMITS);
  cassini_free_links(links);
}

/* The same problem prepared twice is one problem; weights count by their ratios, shifts modulo the period. */
static void test_block_links_are_told_apart_by_content(void) {
  static const int64_t twice[2][3] = {{0, 2, 1}, {2, 1, 0}};
  static const int64_t members[2][6] = {{0, 1, 1, 2, 0, 1}, {1, 2, 0, 1, 0, 1}};
  /* Prepared problems 0 and 1 are equal, 2 is another; the order in which links are given must not matter. */
  const int64_t offset[4] = {0, 2, 4, 6};
  int64_t period[6], first[7], start[6], length[6], rate[6], capacity[3], links_of[2][3];
  int64_t shift[2][3], own[6];
  double lower[3], upper[3], weight[2][3];
  int32_t link_status[3];
  cassini_links* links = NULL;
  cassini_block_result result[2];
  int i, k;
  for (i = 0; i < 6; ++i) {
    const int from = i < 2 ? i : i - 2;
    period[i] = block_periods[from], start[i] = block_starts[from], length[i] = block_lengths[from];
    rate[i] = block_rates[from], first[i] = i;
    own[i] = i % 2 == 0 ? INT64_MAX : INT64_MIN;
  }
  first[6] = 6;
  for (i = 0; i < 3; ++i) capacity[i] = 50 * GBPS;
  CHECK(cassini_prepare_links(3, offset, period, first, start, length, rate, capacity, NULL, &links, link_status) ==
        CASSINI_OK);
  memcpy(links_of, twice, sizeof links_of);
  for (k = 0; k < 2; ++k) {
    for (i = 0; i < 3; ++i) weight[k][i] = 1e308;
    memset(&result[k], 0, sizeof result[k]);
    result[k].size = (int64_t)sizeof result[k];
    CHECK(cassini_solve_block(links, 3, job_period, 3, links_of[k], members[k], weight[k], NULL, own, NULL, NULL, 1,
                              NULL, shift[k], lower, upper, &result[k]) == CASSINI_OK);
    CHECK(isfinite(result[k].score) && fabs(result[k].score - (lower[0] + lower[1] + lower[2]) / 3.0) < 1e-12);
  }
  CHECK(memcmp(shift[0], shift[1], sizeof shift[0]) == 0);
  CHECK(memcmp(&result[0], &result[1], sizeof result[0]) == 0);
  cassini_free_links(links);
}

/* Thousands of levels at thousands of intervals, and thousands of levels of many jobs: bounded time and memory. */
static void test_hostile_sizes(void) {
  enum { PHASES = 18000, JOBS = 300 };
  static int64_t start[2 * PHASES], length[2 * PHASES], rate[2 * PHASES];
  static int64_t period[JOBS], offset[JOBS + 1], shift[JOBS], slack[JOBS];
  static uint8_t is_free[JOBS];
  const int64_t step = 14000;
  int64_t hold = -1, i;
  double lower = 2.0, upper = -2.0;
  cassini_result result;
  for (i = 0; i < 2 * PHASES; ++i) {
    start[i] = i % PHASES * step, length[i] = step / 3 + i % 97, rate[i] = 1000 + i;
  }
  period[0] = period[1] = PHASES * step;
  offset[1] = PHASES, offset[2] = 2 * PHASES;
  CHECK(cassini_evaluate_link(2, period, offset, start, length, rate, 20000, shift, NULL, &lower, &upper, slack, &hold,
                              is_free) == CASSINI_OK);
  CHECK(lower <= upper && hold >= 0 && hold <= slack[0]);
  for (i = 0; i < JOBS; ++i) {
    period[i] = 1100000 * (101 + 2 * i), offset[i] = i;
    start[i] = 0, length[i] = period[i] / 2 + 100000 * (i % 11), rate[i] = 1 + i % 32;
  }
  offset[JOBS] = JOBS;
  result.size = (int64_t)sizeof result;
  CHECK(cassini_solve_link(JOBS, period, offset, start, length, rate, 1000, NULL, shift, slack, is_free, &result) ==
        CASSINI_OK);
  CHECK(result.score_lower <= result.score_upper && result.score_lower <= result.upper_bound);
}

static void test_bad_block_calls(void) {
  cassini_links* links = prepared();
  int64_t shift[3] = {-7, -7, -7};
  double lower[3], upper[3], bad_weight[3] = {1.0, 1.0, 0.0};
  const double bad_bound[3] = {1.0, NAN, 1.0};
  int64_t bad[6];
  int32_t link_status[2];
  cassini_links* unset = NULL;
  cassini_block_result result;
  memset(&result, 0, sizeof result);
  result.size = (int64_t)sizeof result;
#define BLOCK(n, p, m, l, b, w, u) \
  cassini_solve_block(links, n, p, m, l, b, w, u, NULL, NULL, NULL, 0, NULL, shift, lower, upper, &result)
  CHECK(BLOCK(0, job_period, 3, block_link, block_member, block_weight, NULL) == CASSINI_EINVAL);
  CHECK(BLOCK(3, NULL, 3, block_link, block_member, block_weight, NULL) == CASSINI_EINVAL);
  CHECK(BLOCK(3, job_period, -1, block_link, block_member, block_weight, NULL) == CASSINI_EINVAL);
  CHECK(BLOCK(3, job_period, 3, NULL, block_member, block_weight, NULL) == CASSINI_EINVAL);
  CHECK(BLOCK(3, job_period, 3, block_link, NULL, block_weight, NULL) == CASSINI_EINVAL);
  CHECK(BLOCK(3, job_period, 3, block_link, block_member, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BLOCK(3, job_period, 3, block_link, block_member, bad_weight, NULL) == CASSINI_EINVAL);
  bad_weight[2] = INFINITY;
  CHECK(BLOCK(3, job_period, 3, block_link, block_member, bad_weight, NULL) == CASSINI_EINVAL);
  CHECK(BLOCK(3, job_period, 3, block_link, block_member, block_weight, bad_bound) == CASSINI_EINVAL);
  bad[0] = 0, bad[1] = 2, bad[2] = 1; /* no such link */
  CHECK(BLOCK(3, job_period, 3, bad, block_member, block_weight, NULL) == CASSINI_EINVAL);
  bad[1] = -1;
  CHECK(BLOCK(3, job_period, 3, bad, block_member, block_weight, NULL) == CASSINI_EINVAL);
  memcpy(bad, block_member, sizeof bad);
  bad[5] = 1; /* another period, and twice on the link */
  CHECK(BLOCK(3, job_period, 3, block_link, bad, block_weight, NULL) == CASSINI_EINVAL);
  bad[5] = 2, bad[1] = 0; /* twice on the link */
  CHECK(BLOCK(3, job_period, 3, block_link, bad, block_weight, NULL) == CASSINI_EINVAL);
  bad[1] = 3;
  CHECK(BLOCK(3, job_period, 3, block_link, bad, block_weight, NULL) == CASSINI_EINVAL);
  result.size = 1;
  CHECK(BLOCK(3, job_period, 3, block_link, block_member, block_weight, NULL) == CASSINI_EINVAL);
  CHECK(cassini_evaluate_block(links, 3, job_period, 3, block_link, block_member, NULL, NULL, lower, upper, NULL,
                               NULL) == CASSINI_EINVAL);
  CHECK(cassini_solve_block(NULL, 3, job_period, 3, block_link, block_member, block_weight, NULL, NULL, NULL, NULL, 0,
                            NULL, shift, lower, upper, &result) == CASSINI_EINVAL);
  CHECK(shift[0] == -7 && shift[2] == -7 && result.nodes == 0);
  cassini_free_links(links);

  CHECK(cassini_prepare_links(2, block_job_offset, block_periods, block_offsets, block_starts, block_lengths,
                              block_rates, block_capacity, NULL, NULL, link_status) == CASSINI_EINVAL);
  CHECK(cassini_prepare_links(-1, block_job_offset, block_periods, block_offsets, block_starts, block_lengths,
                              block_rates, block_capacity, NULL, &unset, link_status) == CASSINI_EINVAL);
  CHECK(unset == NULL);
  /* One link that is refused does not spoil the other, but cannot be used. */
  bad[0] = 0, bad[1] = 50 * GBPS;
  CHECK(cassini_prepare_links(2, block_job_offset, block_periods, block_offsets, block_starts, block_lengths,
                              block_rates, bad, NULL, &links, link_status) == CASSINI_OK);
  CHECK(link_status[0] == CASSINI_EINVAL && link_status[1] == CASSINI_OK);
  result.size = (int64_t)sizeof result;
  CHECK(BLOCK(3, job_period, 3, block_link, block_member, block_weight, NULL) == CASSINI_EINVAL);
  cassini_free_links(links);
}

/* The block without its third link, and with the first once more. */
static void test_bad_anchor_calls(void) {
  static const int64_t at[3] = {0, INT64_MIN, INT64_MAX}, two = 2;
  int64_t shift[3] = {-7, -7, -7}, bad[6];
  double lower[4], upper[4], bad_weight[3] = {1.0, 1.0, -1.0};
  const double bad_bound[3] = {1.0, NAN, 1.0};
  cassini_links* links = prepared();
  cassini_anchor *anchor = NULL, *none = NULL;
  cassini_options options;
  cassini_block_result result;
  memset(&result, 0, sizeof result);
  result.size = (int64_t)sizeof result;
  cassini_init_options(&options, sizeof options);
#define ANCHOR(k, n, p, m, l, b, w, u, s, o, a) cassini_prepare_anchor(k, n, p, m, l, b, w, u, s, o, a)
  CHECK(ANCHOR(NULL, 3, job_period, 3, block_link, block_member, NULL, NULL, at, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 0, job_period, 3, block_link, block_member, NULL, NULL, at, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 3, NULL, 3, block_link, block_member, NULL, NULL, at, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 3, job_period, -1, block_link, block_member, NULL, NULL, at, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 3, job_period, 3, NULL, block_member, NULL, NULL, at, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 3, job_period, 3, block_link, NULL, NULL, NULL, at, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 3, job_period, 3, block_link, block_member, bad_weight, NULL, at, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 3, job_period, 3, block_link, block_member, NULL, bad_bound, at, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 3, job_period, 3, block_link, block_member, NULL, NULL, NULL, NULL, &none) == CASSINI_EINVAL);
  CHECK(ANCHOR(links, 3, job_period, 3, block_link, block_member, NULL, NULL, at, NULL, NULL) == CASSINI_EINVAL);
  options.size = 1;
  CHECK(ANCHOR(links, 3, job_period, 3, block_link, block_member, NULL, NULL, at, &options, &none) == CASSINI_EINVAL);
  CHECK(none == NULL);
  CHECK(ANCHOR(links, 3, job_period, 3, block_link, block_member, NULL, NULL, at, NULL, &anchor) == CASSINI_OK);

#define BESIDE(a, d, dropped, n, l, b, w, u, o) \
  cassini_solve_beside(a, d, dropped, n, l, b, w, u, o, shift, lower, upper, &result)
  CHECK(BESIDE(NULL, 1, &two, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, -1, &two, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, NULL, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, INT64_MAX, &two, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  bad[0] = 1, bad[1] = 1; /* dropped twice */
  CHECK(BESIDE(anchor, 2, bad, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  bad[1] = 3; /* no such link */
  CHECK(BESIDE(anchor, 2, bad, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  bad[1] = INT64_MIN;
  CHECK(BESIDE(anchor, 2, bad, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, &two, -1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, &two, INT64_MAX, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, &two, 1, NULL, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, &two, 1, block_link, NULL, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, &two, 3, block_link, block_member, bad_weight, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, &two, 3, block_link, block_member, NULL, bad_bound, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, &two, 1, &two, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  bad[0] = 0, bad[1] = 0; /* twice on the link */
  CHECK(BESIDE(anchor, 1, &two, 1, block_link, bad, NULL, NULL, NULL) == CASSINI_EINVAL);
  bad[1] = 2; /* another period */
  CHECK(BESIDE(anchor, 1, &two, 1, block_link, bad, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(BESIDE(anchor, 1, &two, 1, block_link, block_member, NULL, NULL, &options) == CASSINI_EINVAL);
  CHECK(cassini_solve_beside(anchor, 1, &two, 1, block_link, block_member, NULL, NULL, NULL, NULL, lower, upper,
                             &result) == CASSINI_EINVAL);
  CHECK(cassini_solve_beside(anchor, 1, &two, 1, block_link, block_member, NULL, NULL, NULL, shift, NULL, upper,
                             &result) == CASSINI_EINVAL);
  result.size = 1;
  CHECK(BESIDE(anchor, 1, &two, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_EINVAL);
  CHECK(shift[0] == -7 && shift[2] == -7 && result.nodes == 0);

  result.size = (int64_t)sizeof result;
  CHECK(BESIDE(anchor, 1, &two, 1, block_link, block_member, NULL, NULL, NULL) == CASSINI_OK);
  CHECK(result.optimal == 1 && result.score == 1.0 && lower[0] == 1.0 && lower[1] == 1.0 && lower[2] == 1.0);
  CHECK(shift[0] == 0 && shift[1] >= 114 * MS && shift[1] <= 141 * MS && shift[2] == 0);
  CHECK(BESIDE(anchor, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL) == CASSINI_OK);
  cassini_free_anchor(anchor);
  cassini_free_anchor(NULL);
  cassini_free_links(links);
}

int main(void) {
  int32_t status;
  CHECK(cassini_abi_version() == CASSINI_ABI_VERSION);
  CHECK(strlen(cassini_version()) >= 5);
  for (status = -1; status < 10; ++status) CHECK(cassini_strerror(status) != NULL);
  test_two_jobs();
  test_optional_outputs_and_long_deadlines();
  test_batch();
  test_batch_without_slack_and_canceled();
  test_evaluation_agrees_with_solution();
  test_bad_calls();
  test_block();
  test_block_beyond_limits();
  test_block_links_are_told_apart_by_content();
  test_hostile_sizes();
  test_bad_block_calls();
  test_bad_anchor_calls();
  printf("%d failed checks\n", failures);
  return failures == 0 ? 0 : 1;
}
