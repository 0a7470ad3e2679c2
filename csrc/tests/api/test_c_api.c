/* The header from C: it compiles as C99, the two-job example comes out right, and bad calls are refused with a status, a
 * reason, and nothing else written. */
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

static cassini_link two_jobs(void) {
  const cassini_link link = {CASSINI_SIZE(cassini_link), .capacity_kbps = 50 * GBPS, .n_jobs = 2,
                             .period_ns = period,        .phase_offset = offset,     .n_phases = 2,
                             .phase_start_ns = start,    .phase_length_ns = length,  .phase_rate_kbps = rate};
  return link;
}

static cassini_options usual(void) {
  cassini_options options;
  CHECK(cassini_init_options(&options, sizeof options) == CASSINI_OK);
  return options;
}

static int64_t shift[6], slack[6];
static uint8_t is_free[6];
static const cassini_link_output output = {CASSINI_SIZE(cassini_link_output), shift, slack, is_free};
static const cassini_link_output without_slack = {CASSINI_SIZE(cassini_link_output), shift, NULL, is_free};

static void test_two_jobs(void) {
  const cassini_link link = two_jobs();
  cassini_link_result result = {CASSINI_SIZE(cassini_link_result)};
  double lower = 0, upper = 0;
  int64_t hold = 0;
  const int64_t in_phase[2] = {0, 0};
  const cassini_evaluation evaluation = {CASSINI_SIZE(cassini_evaluation), &lower, &upper, slack, &hold, is_free};
  CHECK(cassini_solve_link(&link, NULL, NULL, &output, &result, NULL) == CASSINI_OK);
  CHECK(result.score_lower == 1.0 && result.score_upper == 1.0 && result.upper_bound == 1.0 && result.optimal == 1);
  CHECK(shift[0] == 0 && shift[1] == 127500000);
  CHECK(!is_free[0] && !is_free[1]);
  CHECK(strcmp(cassini_stop_string(result.stopped_by), "complete") == 0);

  CHECK(cassini_evaluate_link(&link, in_phase, NULL, NULL, &evaluation, NULL) == CASSINI_OK);
  CHECK(lower == upper && fabs(lower - (1.0 - 40.0 * 114.0 / 255.0 / 50.0)) < 1e-12);
}

static void test_angles(void) {
  const cassini_link link = two_jobs();
  cassini_link_result result = {CASSINI_SIZE(cassini_link_result)};
  cassini_error error = {CASSINI_SIZE(cassini_error)};
  double claimed = -7.0;
  CHECK(cassini_solve_link_angles(&link, 72, NULL, NULL, &output, &result, &claimed, NULL) == CASSINI_OK);
  CHECK(claimed == 1.0 && result.score_lower > 0.99 && result.score_lower <= 1.0);
  CHECK(cassini_solve_link_angles(&link, 0, NULL, NULL, &output, &result, &claimed, &error) == CASSINI_EINVAL);
  CHECK(strcmp(error.argument, "angles") == 0);
  CHECK(strcmp(error.text, "angles: expected 1 .. 1048576, got 0") == 0);
  CHECK(cassini_solve_link_angles(&link, CASSINI_MAX_ANGLES + 1, NULL, NULL, &output, &result, &claimed, NULL) ==
        CASSINI_EINVAL);
  CHECK(cassini_solve_link_angles(&link, 72, NULL, NULL, &output, &result, NULL, NULL) == CASSINI_EINVAL);
}

static void test_optional_outputs_and_long_deadlines(void) {
  const cassini_link link = two_jobs();
  cassini_link_result result = {CASSINI_SIZE(cassini_link_result)};
  cassini_options options = usual();
  options.deadline_ns = INT64_MAX - 1; /* must not overflow when added to the clock */
  CHECK(cassini_solve_link(&link, &options, NULL, &without_slack, &result, NULL) == CASSINI_OK);
  CHECK(result.score_lower == 1.0 && result.optimal == 1 && result.hold_ns == 0);
  CHECK(result.stopped_by == CASSINI_STOP_COMPLETE);
}

/* Two links: the two jobs of above, and a job that asks for twice the capacity half of the time. */
static const int64_t both_job_offset[3] = {0, 2, 3};
static const int64_t both_period[3] = {255 * MS, 255 * MS, 100 * MS};
static const int64_t both_offset[4] = {0, 1, 2, 3};
static const int64_t both_start[3] = {141 * MS, 141 * MS, 0};
static const int64_t both_length[3] = {114 * MS, 114 * MS, 50 * MS};
static const int64_t both_rate[3] = {45 * GBPS, 45 * GBPS, 100 * GBPS};
static const int64_t both_capacity[2] = {50 * GBPS, 50 * GBPS};

static cassini_links both_links(void) {
  const cassini_links links = {CASSINI_SIZE(cassini_links),
                               .n_links = 2,
                               .capacity_kbps = both_capacity,
                               .job_offset = both_job_offset,
                               .n_jobs = 3,
                               .period_ns = both_period,
                               .phase_offset = both_offset,
                               .n_phases = 3,
                               .phase_start_ns = both_start,
                               .phase_length_ns = both_length,
                               .phase_rate_kbps = both_rate};
  return links;
}

static void test_batch(void) {
  const cassini_links links = both_links();
  int32_t status[2];
  cassini_link_result result[2] = {{CASSINI_SIZE(cassini_link_result)}, {CASSINI_SIZE(cassini_link_result)}};
  cassini_error error = {CASSINI_SIZE(cassini_error)};
  CHECK(cassini_solve_links(&links, NULL, NULL, &output, result, status, &error) == CASSINI_OK);
  CHECK(status[0] == CASSINI_OK && status[1] == CASSINI_OK && error.text[0] == '\0');
  CHECK(result[0].score_lower == 1.0 && shift[1] == 127500000);
  CHECK(result[1].score_lower == 0.5 && result[1].optimal == 1);
  result[1].size = 1;
  CHECK(cassini_solve_links(&links, NULL, NULL, &output, result, status, &error) == CASSINI_OK);
  CHECK(status[0] == CASSINI_OK && status[1] == CASSINI_EINVAL);
  CHECK(error.status == CASSINI_EINVAL && error.link == 1 && error.index == 1);
  CHECK(strcmp(error.argument, "result") == 0);
}

/* Links from the middle of longer arrays: answers stand where their jobs do. */
static void test_batch_that_begins_at_a_later_job(void) {
  static const int64_t offsets[3][2] = {{0, 2}, {1, 3}, {2, 3}};
  int32_t status, i, j;
  cassini_link_result result = {CASSINI_SIZE(cassini_link_result)};
  cassini_link_result again = {CASSINI_SIZE(cassini_link_result)};
  int64_t alone[3], alone_slack[3];
  for (i = 0; i < 3; ++i) {
    const int64_t first = offsets[i][0], last = offsets[i][1];
    cassini_links links = both_links();
    cassini_link link = {CASSINI_SIZE(cassini_link), .capacity_kbps = both_capacity[0], .n_jobs = last - first};
    const cassini_link_output to = {CASSINI_SIZE(cassini_link_output), alone, alone_slack, is_free};
    link.period_ns = both_period + first;
    link.phase_offset = both_offset + first;
    link.n_phases = 3;
    link.phase_start_ns = both_start;
    link.phase_length_ns = both_length;
    link.phase_rate_kbps = both_rate;
    CHECK(cassini_solve_link(&link, NULL, NULL, &to, &again, NULL) == CASSINI_OK);
    links.n_links = 1;
    links.job_offset = offsets[i];
    for (j = 0; j < 3; ++j) shift[j] = slack[j] = -7;
    CHECK(cassini_solve_links(&links, NULL, NULL, &output, &result, &status, NULL) == CASSINI_OK);
    CHECK(status == CASSINI_OK && memcmp(&result, &again, sizeof result) == 0);
    for (j = 0; j < 3; ++j) {
      const int inside = first <= j && j < last;
      CHECK(shift[j] == (inside ? alone[j - first] : -7) && slack[j] == (inside ? alone_slack[j - first] : -7));
    }
  }
}

/* The same links, prepared once. */
static void test_prepared_links_are_solved_as_others(void) {
  const cassini_links links = both_links();
  cassini_prepared_links* prepared = NULL;
  int64_t alone[3], alone_slack[3];
  int32_t status[2], i, with_slack;
  cassini_link_result result[2] = {{CASSINI_SIZE(cassini_link_result)}, {CASSINI_SIZE(cassini_link_result)}};
  cassini_link_result again[2] = {{CASSINI_SIZE(cassini_link_result)}, {CASSINI_SIZE(cassini_link_result)}};
  const int32_t cancel = 1;
  CHECK(cassini_prepare_links(&links, NULL, NULL, &prepared, status, NULL) == CASSINI_OK);
  for (with_slack = 0; with_slack < 2; ++with_slack) {
    const cassini_link_output to = with_slack ? output : without_slack;
    CHECK(cassini_solve_links(&links, NULL, NULL, &to, result, status, NULL) == CASSINI_OK);
    memcpy(alone, shift, sizeof alone);
    memcpy(alone_slack, slack, sizeof alone_slack);
    CHECK(cassini_solve_prepared_links(prepared, 0, 2, NULL, NULL, &to, again, status, NULL) == CASSINI_OK);
    CHECK(memcmp(result, again, sizeof result) == 0 && memcmp(alone, shift, sizeof alone) == 0);
    CHECK(!with_slack || memcmp(alone_slack, slack, sizeof alone_slack) == 0);
    CHECK(cassini_solve_prepared_links(prepared, 1, 2, NULL, NULL, &to, again, status, NULL) == CASSINI_OK);
    CHECK(memcmp(&result[1], again, sizeof again[0]) == 0 && shift[0] == alone[2]);
  }
  CHECK(cassini_solve_prepared_links(prepared, 2, 2, NULL, NULL, NULL, NULL, NULL, NULL) == CASSINI_OK);
  CHECK(cassini_solve_prepared_links(prepared, 2, 2, NULL, &cancel, NULL, NULL, NULL, NULL) == CASSINI_ECANCELED);
  shift[0] = -7;
  CHECK(cassini_solve_prepared_links(prepared, 0, 2, NULL, &cancel, &output, again, status, NULL) == CASSINI_ECANCELED);
  CHECK(status[0] == CASSINI_ECANCELED && status[1] == CASSINI_ECANCELED && shift[0] == -7);
  for (i = 0; i < 3; ++i) {
    static const int64_t first[3] = {-1, 2, 0}, last[3] = {1, 1, 3};
    CHECK(cassini_solve_prepared_links(prepared, first[i], last[i], NULL, NULL, &output, again, status, NULL) ==
          CASSINI_EINVAL);
  }
  CHECK(cassini_solve_prepared_links(NULL, 0, 0, NULL, NULL, &output, again, status, NULL) == CASSINI_EINVAL);
  cassini_free_prepared_links(prepared);
}

static void test_batch_without_slack_and_canceled(void) {
  const int64_t job_offset[3] = {0, 2, 4};
  const int64_t periods[4] = {255 * MS, 255 * MS, 255 * MS, 255 * MS};
  const int64_t offsets[5] = {0, 1, 2, 3, 4};
  const int64_t starts[4] = {141 * MS, 141 * MS, 0, 0};
  const int64_t lengths[4] = {114 * MS, 114 * MS, 50 * MS, 60 * MS};
  const int64_t rates[4] = {45 * GBPS, 45 * GBPS, 45 * GBPS, 45 * GBPS};
  const int64_t capacity[2] = {50 * GBPS, 50 * GBPS};
  const cassini_links links = {CASSINI_SIZE(cassini_links),
                               .n_links = 2,
                               .capacity_kbps = capacity,
                               .job_offset = job_offset,
                               .n_jobs = 4,
                               .period_ns = periods,
                               .phase_offset = offsets,
                               .n_phases = 4,
                               .phase_start_ns = starts,
                               .phase_length_ns = lengths,
                               .phase_rate_kbps = rates};
  int64_t alone[2];
  const cassini_link_output to_alone = {CASSINI_SIZE(cassini_link_output), alone, NULL, is_free};
  int32_t status[2];
  const int32_t cancel = 1;
  cassini_link_result result[2] = {{CASSINI_SIZE(cassini_link_result)}, {CASSINI_SIZE(cassini_link_result)}};
  cassini_link_result single = {CASSINI_SIZE(cassini_link_result)};
  cassini_error error = {CASSINI_SIZE(cassini_error)};
  int i;
  CHECK(cassini_solve_links(&links, NULL, NULL, &without_slack, result, status, NULL) == CASSINI_OK);
  for (i = 0; i < 2; ++i) {
    cassini_link link = two_jobs();
    link.period_ns = periods + 2 * i;
    link.phase_offset = offsets + 2 * i; /* from 2 on: the arrays of phases are those of all */
    link.n_phases = 4;
    link.phase_start_ns = starts, link.phase_length_ns = lengths, link.phase_rate_kbps = rates;
    CHECK(status[i] == CASSINI_OK && result[i].score_lower == 1.0 && result[i].hold_ns == 0);
    CHECK(cassini_solve_link(&link, NULL, NULL, &to_alone, &single, NULL) == CASSINI_OK);
    CHECK(memcmp(alone, shift + 2 * i, sizeof alone) == 0);
  }

  /* Links of two jobs are solved without a search: the flag is seen all the same, and nothing is written. */
  shift[0] = shift[3] = -7;
  CHECK(cassini_solve_links(&links, NULL, &cancel, &without_slack, result, status, &error) == CASSINI_ECANCELED);
  CHECK(status[0] == CASSINI_ECANCELED && status[1] == CASSINI_ECANCELED && shift[0] == -7 && shift[3] == -7);
  CHECK(error.status == CASSINI_ECANCELED && strcmp(error.text, "canceled") == 0 && error.argument[0] == '\0');
}

/* Slack and hold of an answer are those of its shifts, whoever asks. */
static void test_evaluation_agrees_with_solution(void) {
  const int64_t periods[3] = {100 * MS, 150 * MS, 200 * MS};
  const int64_t offsets[4] = {0, 1, 2, 4};
  int64_t starts[4], lengths[4], rates[4], again[3], hold;
  double lower, upper;
  const cassini_evaluation evaluation = {CASSINI_SIZE(cassini_evaluation), &lower, &upper, again, &hold, is_free};
  const cassini_link link = {CASSINI_SIZE(cassini_link), .capacity_kbps = 50 * GBPS, .n_jobs = 3,
                             .period_ns = periods,       .phase_offset = offsets,    .n_phases = 4,
                             .phase_start_ns = starts,   .phase_length_ns = lengths, .phase_rate_kbps = rates};
  uint64_t seed = 1;
  int round, i;
  for (round = 0; round < 200; ++round) {
    cassini_link_result result = {CASSINI_SIZE(cassini_link_result)};
    for (i = 0; i < 4; ++i) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      starts[i] = (int64_t)(seed >> 33) % 100 * MS;
      lengths[i] = (1 + (int64_t)(seed >> 40) % 40) * MS;
      rates[i] = (5 + (int64_t)(seed >> 50) % 40) * GBPS;
    }
    CHECK(cassini_solve_link(&link, NULL, NULL, &output, &result, NULL) == CASSINI_OK);
    CHECK(cassini_evaluate_link(&link, shift, NULL, NULL, &evaluation, NULL) == CASSINI_OK);
    CHECK(lower == result.score_lower && hold == result.hold_ns);
    CHECK(memcmp(slack, again, sizeof again) == 0);
  }
}

/* Refused, and the error names the argument and the entry. */
static cassini_error error;
#define REFUSED(call, name, at)                                    \
  do {                                                             \
    memset(&error, 0, sizeof error);                               \
    error.size = (int64_t)sizeof error;                            \
    CHECK((call) == CASSINI_EINVAL);                               \
    CHECK(error.status == CASSINI_EINVAL && error.link == -1);     \
    CHECK(strcmp(error.argument, (name)) == 0);                    \
    CHECK(error.index == (at));                                    \
    CHECK(strncmp(error.text, error.argument, strlen(name)) == 0); \
    CHECK(strstr(error.text, ": expected ") != NULL);              \
  } while (0)

/* With one field changed. */
#define SOLVE_WITH(field, value, name, at)                                                   \
  do {                                                                                       \
    cassini_link link = two_jobs();                                                          \
    link.field = (value);                                                                    \
    REFUSED(cassini_solve_link(&link, NULL, NULL, &output, &result, &error), name, at);      \
    REFUSED(cassini_evaluate_link(&link, start, NULL, NULL, &evaluation, &error), name, at); \
  } while (0)
#define OPTION_WITH(field, value)                                                             \
  do {                                                                                        \
    cassini_options options = usual();                                                        \
    options.field = (value);                                                                  \
    REFUSED(cassini_solve_link(&link, &options, NULL, &output, &result, &error), #field, -1); \
  } while (0)

static void test_bad_calls(void) {
  cassini_link_result result = {CASSINI_SIZE(cassini_link_result)};
  double lower = -7.0, upper = -7.0;
  int64_t bad[3];
  cassini_evaluation evaluation = {CASSINI_SIZE(cassini_evaluation), &lower, &upper, NULL, NULL, NULL};
  cassini_link_output to = output;
  const cassini_link link = two_jobs();
  cassini_options options = usual();
  shift[0] = slack[1] = -7, is_free[0] = 9;
  SOLVE_WITH(n_jobs, 0, "n_jobs", -1);
  SOLVE_WITH(n_jobs, -1, "n_jobs", -1);
  SOLVE_WITH(n_jobs, CASSINI_MAX_JOBS + 1, "n_jobs", -1);
  SOLVE_WITH(period_ns, NULL, "period_ns", -1);
  SOLVE_WITH(phase_offset, NULL, "phase_offset", -1);
  SOLVE_WITH(n_phases, -1, "n_phases", -1);
  SOLVE_WITH(n_phases, 1, "phase_offset", 2);
  SOLVE_WITH(phase_start_ns, NULL, "phase_start_ns", -1);
  SOLVE_WITH(phase_length_ns, NULL, "phase_length_ns", -1);
  SOLVE_WITH(phase_rate_kbps, NULL, "phase_rate_kbps", -1);
  SOLVE_WITH(capacity_kbps, 0, "capacity_kbps", -1);
  SOLVE_WITH(capacity_kbps, CASSINI_MAX_RATE_KBPS + 1, "capacity_kbps", -1);
  SOLVE_WITH(size, 8, "link", -1);
  bad[0] = 255 * MS, bad[1] = 0;
  SOLVE_WITH(period_ns, bad, "period_ns", 1);
  bad[1] = 255 * MS;
  SOLVE_WITH(phase_start_ns, bad, "phase_start_ns", 0); /* start == period */
  CHECK(strcmp(error.text, "phase_start_ns[0]: expected 0 .. 254999999, got 255000000") == 0);
  bad[0] = 0, bad[1] = 255 * MS + 1;
  SOLVE_WITH(phase_length_ns, bad, "phase_length_ns", 1);
  bad[1] = -1;
  SOLVE_WITH(phase_rate_kbps, bad, "phase_rate_kbps", 1);
  bad[0] = 0, bad[1] = 2, bad[2] = 1;
  SOLVE_WITH(phase_offset, bad, "phase_offset", 2);
  REFUSED(cassini_solve_link(NULL, NULL, NULL, &output, &result, &error), "link", -1);
  REFUSED(cassini_solve_link(&link, NULL, NULL, NULL, &result, &error), "output", -1);
  REFUSED(cassini_solve_link(&link, NULL, NULL, &output, NULL, &error), "result", -1);
  to.shift_ns = NULL;
  REFUSED(cassini_solve_link(&link, NULL, NULL, &to, &result, &error), "shift_ns", -1);
  to = output, to.is_free = NULL;
  REFUSED(cassini_solve_link(&link, NULL, NULL, &to, &result, &error), "is_free", -1);
  REFUSED(cassini_evaluate_link(&link, NULL, NULL, NULL, &evaluation, &error), "shift_ns", -1);
  REFUSED(cassini_evaluate_link(&link, start, NULL, NULL, NULL, &error), "evaluation", -1);
  evaluation.slack_ns = slack; /* without hold_ns */
  REFUSED(cassini_evaluate_link(&link, start, NULL, NULL, &evaluation, &error), "slack_ns", -1);
  evaluation.slack_ns = NULL, evaluation.score_lower = NULL;
  REFUSED(cassini_evaluate_link(&link, start, NULL, NULL, &evaluation, &error), "score_lower", -1);
  OPTION_WITH(node_limit, 0);
  OPTION_WITH(deadline_ns, -1);
  OPTION_WITH(resolution_ns, CASSINI_MAX_PERIOD_NS + 1);
  OPTION_WITH(slack_tolerance, NAN);
  OPTION_WITH(slack_tolerance, -1e-9);
  OPTION_WITH(max_events, 0);
  OPTION_WITH(max_levels, 4194305);
  options.size = 1;
  REFUSED(cassini_solve_link(&link, &options, NULL, &output, &result, &error), "options", -1);
  result.size = 0;
  REFUSED(cassini_solve_link(&link, NULL, NULL, &output, &result, &error), "result", -1);
  CHECK(cassini_init_options(NULL, sizeof options) == CASSINI_EINVAL);
  CHECK(shift[0] == -7 && slack[1] == -7 && is_free[0] == 9 && result.nodes == 0 && lower == -7.0 && upper == -7.0);
}

static void test_bad_batches(void) {
  cassini_link_result result[2] = {{CASSINI_SIZE(cassini_link_result)}, {CASSINI_SIZE(cassini_link_result)}};
  cassini_prepared_links* none = NULL;
  int32_t status[2] = {-7, -7};
  int64_t bad[4] = {0, 2, 1, 3};
  int i;
  for (i = 0; i < 7; ++i) {
    static const char* const names[7] = {"n_links",    "capacity_kbps", "job_offset", "period_ns",
                                         "job_offset", "job_offset",    "links"};
    static const int64_t at[7] = {-1, -1, -1, -1, 2, 2, -1};
    cassini_links links = both_links();
    if (i == 0) links.n_links = -1;
    if (i == 1) links.capacity_kbps = NULL;
    if (i == 2) links.job_offset = NULL;
    if (i == 3) links.period_ns = NULL;
    if (i == 4) links.job_offset = bad; /* decreasing */
    if (i == 5) links.n_jobs = 2;
    if (i == 6) links.size = 8;
    REFUSED(cassini_solve_links(&links, NULL, NULL, &output, result, status, &error), names[i], at[i]);
    REFUSED(cassini_prepare_links(&links, NULL, NULL, &none, status, &error), names[i], at[i]);
  }
  {
    /* A wrong entry is named as it stands in the arrays of all links; the others are solved. */
    cassini_links links = both_links();
    bad[0] = 0, bad[1] = 0, bad[2] = -5;
    links.phase_start_ns = bad;
    memset(&error, 0, sizeof error);
    error.size = (int64_t)sizeof error;
    CHECK(cassini_solve_links(&links, NULL, NULL, &output, result, status, &error) == CASSINI_OK);
    CHECK(status[0] == CASSINI_OK && status[1] == CASSINI_EINVAL);
    CHECK(error.link == 1 && error.index == 2 && strcmp(error.argument, "phase_start_ns") == 0);
    CHECK(strcmp(error.text, "phase_start_ns[2]: expected 0 .. 99999999, got -5") == 0);
    memset(&error, 0, sizeof error);
    error.size = (int64_t)sizeof error;
    CHECK(cassini_prepare_links(&links, NULL, NULL, &none, status, &error) == CASSINI_OK);
    CHECK(error.link == 1 && error.index == 2 && status[0] == CASSINI_OK && status[1] == CASSINI_EINVAL);
    memset(&error, 0, sizeof error);
    error.size = (int64_t)sizeof error;
    CHECK(cassini_solve_prepared_links(none, 0, 2, NULL, NULL, &output, result, status, &error) == CASSINI_OK);
    CHECK(error.link == 1 && error.index == 1 && strcmp(error.argument, "prepared") == 0);
    CHECK(status[0] == CASSINI_OK && status[1] == CASSINI_EINVAL);
    cassini_free_prepared_links(none);
    REFUSED(cassini_prepare_links(&links, NULL, NULL, NULL, status, &error), "prepared", -1);
  }
}

/* The error is the caller's: what it has no room for is not written. */
static void test_errors_stay_in_their_room(void) {
  struct {
    cassini_error error;
    char beyond[64];
  } room;
  const cassini_link link = two_jobs();
  cassini_link_result result = {CASSINI_SIZE(cassini_link_result)};
  int64_t size;
  size_t i;
  for (size = -8; size <= (int64_t)sizeof room; ++size) {
    const int known = size >= (int64_t)sizeof room.error && size % 8 == 0;
    memset(&room, 0x5A, sizeof room);
    room.error.size = size;
    CHECK(cassini_solve_link(NULL, NULL, NULL, &output, &result, &room.error) == CASSINI_EINVAL);
    if (known) CHECK(strcmp(room.error.text, "link: expected an address, got null") == 0);
    for (i = known ? (size_t)size : sizeof room.error.size; i < sizeof room; ++i) {
      CHECK(((const unsigned char*)&room)[i] == 0x5A);
    }
    /* An error that is no error of this header is refused, whatever else is right. */
    CHECK(cassini_solve_link(&link, NULL, NULL, &output, &result, &room.error) ==
          (known ? CASSINI_OK : CASSINI_EINVAL));
  }
}

/* Two links that carry the two jobs of above, and a third where the second job meets a short one. */
static const int64_t joint_job_offset[3] = {0, 2, 4};
static const int64_t joint_periods[4] = {255 * MS, 255 * MS, 255 * MS, 85 * MS};
static const int64_t joint_offsets[5] = {0, 1, 2, 3, 4};
static const int64_t joint_starts[4] = {141 * MS, 141 * MS, 141 * MS, 0};
static const int64_t joint_lengths[4] = {114 * MS, 114 * MS, 114 * MS, 20 * MS};
static const int64_t joint_rates[4] = {45 * GBPS, 45 * GBPS, 45 * GBPS, 30 * GBPS};
static const int64_t job_period[3] = {255 * MS, 255 * MS, 85 * MS};
static const int64_t joint_link[3] = {0, 0, 1};
static const int64_t joint_member[6] = {0, 1, 0, 1, 1, 2};
static const double joint_weight[3] = {1.0, 1.0, 2.0};

static cassini_prepared_links* prepared_with(const cassini_options* options) {
  cassini_prepared_links* prepared = NULL;
  int32_t status[2] = {-1, -1};
  const cassini_links links = {CASSINI_SIZE(cassini_links),
                               .n_links = 2,
                               .capacity_kbps = both_capacity,
                               .job_offset = joint_job_offset,
                               .n_jobs = 4,
                               .period_ns = joint_periods,
                               .phase_offset = joint_offsets,
                               .n_phases = 4,
                               .phase_start_ns = joint_starts,
                               .phase_length_ns = joint_lengths,
                               .phase_rate_kbps = joint_rates};
  CHECK(cassini_prepare_links(&links, options, NULL, &prepared, status, NULL) == CASSINI_OK);
  CHECK(prepared != NULL && status[0] == CASSINI_OK && status[1] == CASSINI_OK);
  return prepared;
}

static cassini_joint three_links(void) {
  const cassini_joint joint = {
      CASSINI_SIZE(cassini_joint), .n_jobs = 3,    .period_ns = job_period, .n_links = 3,
      .link = joint_link,          .n_members = 6, .member = joint_member,  .weight = joint_weight};
  return joint;
}

static double lower[4], upper[4];
static const cassini_joint_output joint_output = {CASSINI_SIZE(cassini_joint_output), shift, lower, upper};

static void test_joint(void) {
  cassini_prepared_links* prepared = prepared_with(NULL);
  int64_t hold[3];
  double again_lower[3], again_upper[3];
  uint8_t again_free[6];
  const double none_better[3] = {1.0, 1.0, 1.0}, all_one[3] = {1.0, 1.0, 1.0};
  const int64_t own[6] = {0, 127500000, 0, 127500000, 0, 0};
  const uint8_t is_dirty[3] = {0, 0, 0}, all_kept[3] = {1, 1, 1};
  const int32_t cancel = 1;
  int64_t before[3];
  int i;
  const cassini_evaluation evaluation = {
      CASSINI_SIZE(cassini_evaluation), again_lower, again_upper, slack, hold, again_free};
  cassini_joint joint = three_links();
  cassini_joint_search search = {CASSINI_SIZE(cassini_joint_search), .centred = 1};
  cassini_joint_result result = {CASSINI_SIZE(cassini_joint_result)}, warm = {CASSINI_SIZE(cassini_joint_result)};
  joint.upper_bound = none_better, joint.own_shift_ns = own;
  CHECK(cassini_solve_joint(prepared, &joint, &search, NULL, NULL, &joint_output, &result, NULL) == CASSINI_OK);
  CHECK(shift[0] == 0 && lower[0] == 1.0 && lower[1] == 1.0 && lower[0] == upper[0]);
  CHECK(fabs(result.score - (lower[0] + lower[1] + 2.0 * lower[2]) / 4.0) < 1e-12);
  CHECK(result.upper_bound >= result.score && result.optimal == 1 && result.stopped_by == CASSINI_STOP_COMPLETE);
  CHECK(cassini_evaluate_joint(prepared, &joint, shift, NULL, NULL, &evaluation, NULL) == CASSINI_OK);
  for (i = 0; i < 3; ++i) {
    CHECK(again_lower[i] == lower[i] && again_upper[i] == upper[i]);
    CHECK(hold[i] <= slack[2 * i] && hold[i] <= slack[2 * i + 1]);
    CHECK(again_free[2 * i] == 0 && again_free[2 * i + 1] == 0);
  }
  joint = three_links();
  search.start_ns = shift, search.is_dirty = is_dirty, search.centred = 0;
  CHECK(cassini_solve_joint(prepared, &joint, &search, NULL, NULL, &joint_output, &warm, NULL) == CASSINI_OK);
  CHECK(warm.score >= result.score - 1e-12 && warm.upper_bound >= warm.score);

  /* Where all stay there is nothing to search, and nothing better among such shifts. */
  search.is_dirty = NULL, search.is_kept = all_kept;
  CHECK(cassini_solve_joint(prepared, &joint, &search, NULL, NULL, &joint_output, &warm, NULL) == CASSINI_OK);
  CHECK(warm.optimal == 1 && warm.nodes <= 1);
  search.start_ns = NULL;
  CHECK(cassini_solve_joint(prepared, &joint, &search, NULL, NULL, &joint_output, &warm, NULL) == CASSINI_EINVAL);

  /* No weights are weights of 1, here as everywhere. */
  joint.weight = all_one;
  CHECK(cassini_solve_joint(prepared, &joint, NULL, NULL, NULL, &joint_output, &result, NULL) == CASSINI_OK);
  memcpy(before, shift, sizeof before);
  joint.weight = NULL;
  CHECK(cassini_solve_joint(prepared, &joint, NULL, NULL, NULL, &joint_output, &warm, NULL) == CASSINI_OK);
  CHECK(memcmp(&result, &warm, sizeof result) == 0 && memcmp(before, shift, sizeof before) == 0);

  /* No links: nothing to lose. */
  joint.n_links = joint.n_members = 0, joint.link = joint.member = NULL;
  {
    const cassini_joint_output shifts_alone = {CASSINI_SIZE(cassini_joint_output), .shift_ns = shift};
    CHECK(cassini_solve_joint(prepared, &joint, NULL, NULL, NULL, &shifts_alone, &result, NULL) == CASSINI_OK);
  }
  CHECK(result.score == 1.0 && result.optimal == 1 && shift[2] == 0);

  joint = three_links();
  CHECK(cassini_solve_joint(prepared, &joint, NULL, NULL, &cancel, &joint_output, &result, NULL) == CASSINI_ECANCELED);
  CHECK(cassini_evaluate_joint(prepared, &joint, shift, NULL, &cancel, &evaluation, NULL) == CASSINI_ECANCELED);
  cassini_free_prepared_links(prepared);
  cassini_free_prepared_links(NULL);
}

static void test_joint_beyond_limits(void) {
  cassini_options options = usual();
  cassini_prepared_links* prepared;
  const cassini_joint joint = three_links();
  cassini_joint_result result = {CASSINI_SIZE(cassini_joint_result)};
  options.max_events = 1;
  prepared = prepared_with(&options);
  CHECK(cassini_solve_joint(prepared, &joint, NULL, NULL, NULL, &joint_output, &result, NULL) == CASSINI_OK);
  CHECK(lower[0] < upper[0] && result.score <= result.upper_bound && result.stopped_by == CASSINI_STOP_LIMITS);
  CHECK(strcmp(cassini_stop_string(result.stopped_by), "limits") == 0);
  cassini_free_prepared_links(prepared);
}

/* The same problem prepared twice is one problem; weights count by their ratios, shifts modulo the period. */
static void test_links_are_told_apart_by_content(void) {
  static const int64_t twice[2][3] = {{0, 2, 1}, {2, 1, 0}};
  static const int64_t members[2][6] = {{0, 1, 1, 2, 0, 1}, {1, 2, 0, 1, 0, 1}};
  /* Prepared problems 0 and 1 are equal, 2 is another; the order in which links are given must not matter. */
  const int64_t job_offset[4] = {0, 2, 4, 6};
  int64_t periods[6], first[7], starts[6], lengths[6], rates[6], capacity[3], shifts[2][3], own[6];
  double weight[3];
  int32_t status[3];
  cassini_prepared_links* prepared = NULL;
  cassini_joint_result result[2] = {{CASSINI_SIZE(cassini_joint_result)}, {CASSINI_SIZE(cassini_joint_result)}};
  const cassini_joint_search search = {CASSINI_SIZE(cassini_joint_search), .centred = 1};
  cassini_joint joint = three_links();
  const cassini_links links = {CASSINI_SIZE(cassini_links),
                               .n_links = 3,
                               .capacity_kbps = capacity,
                               .job_offset = job_offset,
                               .n_jobs = 6,
                               .period_ns = periods,
                               .phase_offset = first,
                               .n_phases = 6,
                               .phase_start_ns = starts,
                               .phase_length_ns = lengths,
                               .phase_rate_kbps = rates};
  int i, k;
  for (i = 0; i < 6; ++i) {
    const int from = i < 2 ? i : i - 2;
    periods[i] = joint_periods[from], starts[i] = joint_starts[from], lengths[i] = joint_lengths[from];
    rates[i] = joint_rates[from], first[i] = i;
    own[i] = i % 2 == 0 ? INT64_MAX : INT64_MIN;
  }
  first[6] = 6;
  for (i = 0; i < 3; ++i) capacity[i] = 50 * GBPS, weight[i] = 1e308;
  CHECK(cassini_prepare_links(&links, NULL, NULL, &prepared, status, NULL) == CASSINI_OK);
  joint.weight = weight, joint.own_shift_ns = own;
  for (k = 0; k < 2; ++k) {
    joint.link = twice[k], joint.member = members[k];
    CHECK(cassini_solve_joint(prepared, &joint, &search, NULL, NULL, &joint_output, &result[k], NULL) == CASSINI_OK);
    memcpy(shifts[k], shift, sizeof shifts[k]);
    CHECK(isfinite(result[k].score) && fabs(result[k].score - (lower[0] + lower[1] + lower[2]) / 3.0) < 1e-12);
  }
  CHECK(memcmp(shifts[0], shifts[1], sizeof shifts[0]) == 0);
  CHECK(memcmp(&result[0], &result[1], sizeof result[0]) == 0);
  cassini_free_prepared_links(prepared);
}

/* Thousands of levels at thousands of intervals, and thousands of levels of many jobs: bounded time and memory. */
static void test_hostile_sizes(void) {
  enum { PHASES = 18000, JOBS = 300 };
  static int64_t starts[2 * PHASES], lengths[2 * PHASES], rates[2 * PHASES];
  static int64_t periods[JOBS], offsets[JOBS + 1], shifts[JOBS], slacks[JOBS];
  static uint8_t frees[JOBS];
  const int64_t step = 14000;
  int64_t hold = -1, i;
  double low = 2.0, high = -2.0;
  cassini_link_result result = {CASSINI_SIZE(cassini_link_result)};
  const cassini_evaluation evaluation = {CASSINI_SIZE(cassini_evaluation), &low, &high, slacks, &hold, frees};
  const cassini_link_output to = {CASSINI_SIZE(cassini_link_output), shifts, slacks, frees};
  cassini_link link = {CASSINI_SIZE(cassini_link), .capacity_kbps = 20000,     .n_jobs = 2,
                       .period_ns = periods,       .phase_offset = offsets,    .n_phases = 2 * PHASES,
                       .phase_start_ns = starts,   .phase_length_ns = lengths, .phase_rate_kbps = rates};
  for (i = 0; i < 2 * PHASES; ++i) {
    starts[i] = i % PHASES * step, lengths[i] = step / 3 + i % 97, rates[i] = 1000 + i;
  }
  periods[0] = periods[1] = PHASES * step;
  offsets[1] = PHASES, offsets[2] = 2 * PHASES;
  CHECK(cassini_evaluate_link(&link, shifts, NULL, NULL, &evaluation, NULL) == CASSINI_OK);
  CHECK(low <= high && hold >= 0 && hold <= slacks[0]);
  for (i = 0; i < JOBS; ++i) {
    periods[i] = 1100000 * (101 + 2 * i), offsets[i] = i;
    starts[i] = 0, lengths[i] = periods[i] / 2 + 100000 * (i % 11), rates[i] = 1 + i % 32;
  }
  offsets[JOBS] = JOBS;
  link.n_jobs = JOBS, link.capacity_kbps = 1000;
  CHECK(cassini_solve_link(&link, NULL, NULL, &to, &result, NULL) == CASSINI_OK);
  CHECK(result.score_lower <= result.score_upper && result.score_lower <= result.upper_bound);
}

/* With one field changed. */
#define JOINT_WITH(field, value, name, at)                                                                      \
  do {                                                                                                          \
    cassini_joint joint = three_links();                                                                        \
    joint.field = (value);                                                                                      \
    REFUSED(cassini_solve_joint(prepared, &joint, NULL, NULL, NULL, &joint_output, &result, &error), name, at); \
    REFUSED(cassini_prepare_baseline(prepared, &joint, start_at, NULL, NULL, &none, &error), name, at);         \
  } while (0)
#define DELTA_WITH(field, value, name, at)                                                                \
  do {                                                                                                    \
    cassini_delta delta = good;                                                                           \
    delta.field = (value);                                                                                \
    REFUSED(cassini_solve_delta(baseline, &delta, NULL, NULL, &joint_output, &result, &error), name, at); \
  } while (0)

static void test_bad_joint_calls(void) {
  static const int64_t start_at[3] = {0, INT64_MIN, INT64_MAX}, two = 2;
  const double zero_weight[3] = {1.0, 1.0, 0.0}, endless_weight[3] = {1.0, INFINITY, 1.0},
               bad_bound[3] = {1.0, NAN, 1.0};
  cassini_prepared_links* prepared = prepared_with(NULL);
  cassini_baseline *baseline = NULL, *none = NULL;
  const cassini_joint joint = three_links();
  const cassini_delta good = {CASSINI_SIZE(cassini_delta), .n_dropped = 1, .dropped = &two,       .n_added = 1,
                              .link = joint_link,          .n_members = 2, .member = joint_member};
  cassini_delta empty = {CASSINI_SIZE(cassini_delta)};
  cassini_joint_search search = {CASSINI_SIZE(cassini_joint_search)};
  cassini_joint_result result = {CASSINI_SIZE(cassini_joint_result)};
  cassini_joint_output to = joint_output;
  cassini_options options = usual();
  const cassini_evaluation evaluation = {CASSINI_SIZE(cassini_evaluation), lower, upper, NULL, NULL, NULL};
  int64_t bad[6];
  shift[0] = shift[2] = -7;
  JOINT_WITH(size, 8, "joint", -1);
  JOINT_WITH(n_jobs, 0, "n_jobs", -1);
  JOINT_WITH(period_ns, NULL, "period_ns", -1);
  JOINT_WITH(n_links, -1, "n_links", -1);
  JOINT_WITH(link, NULL, "link", -1);
  JOINT_WITH(member, NULL, "member", -1);
  JOINT_WITH(n_members, 5, "n_members", -1);
  JOINT_WITH(n_members, 7, "n_members", -1);
  JOINT_WITH(weight, zero_weight, "weight", 2);
  JOINT_WITH(weight, endless_weight, "weight", 1);
  JOINT_WITH(upper_bound, bad_bound, "upper_bound", 1);
  bad[0] = 0, bad[1] = 2, bad[2] = 1; /* no such link */
  JOINT_WITH(link, bad, "link", 1);
  bad[1] = -1;
  JOINT_WITH(link, bad, "link", 1);
  memcpy(bad, joint_member, sizeof bad);
  bad[5] = 0; /* another period */
  JOINT_WITH(member, bad, "member", 5);
  bad[5] = 2, bad[1] = 0; /* twice on the link */
  JOINT_WITH(member, bad, "member", 1);
  bad[1] = 3;
  JOINT_WITH(member, bad, "member", 1);
  search.reserved = 1;
  REFUSED(cassini_solve_joint(prepared, &joint, &search, NULL, NULL, &joint_output, &result, &error), "reserved", -1);
  REFUSED(cassini_solve_joint(prepared, NULL, NULL, NULL, NULL, &joint_output, &result, &error), "joint", -1);
  REFUSED(cassini_solve_joint(NULL, &joint, NULL, NULL, NULL, &joint_output, &result, &error), "prepared", -1);
  REFUSED(cassini_evaluate_joint(prepared, &joint, NULL, NULL, NULL, &evaluation, &error), "shift_ns", -1);
  REFUSED(cassini_prepare_baseline(NULL, &joint, start_at, NULL, NULL, &none, &error), "prepared", -1);
  REFUSED(cassini_prepare_baseline(prepared, &joint, NULL, NULL, NULL, &none, &error), "shift_ns", -1);
  REFUSED(cassini_prepare_baseline(prepared, &joint, start_at, NULL, NULL, NULL, &error), "baseline", -1);
  options.size = 1;
  REFUSED(cassini_prepare_baseline(prepared, &joint, start_at, &options, NULL, &none, &error), "options", -1);
  CHECK(none == NULL);
  CHECK(cassini_prepare_baseline(prepared, &joint, start_at, NULL, NULL, &baseline, NULL) == CASSINI_OK);

  REFUSED(cassini_solve_delta(NULL, &good, NULL, NULL, &joint_output, &result, &error), "baseline", -1);
  REFUSED(cassini_solve_delta(baseline, NULL, NULL, NULL, &joint_output, &result, &error), "delta", -1);
  REFUSED(cassini_solve_delta(baseline, &good, &options, NULL, &joint_output, &result, &error), "options", -1);
  DELTA_WITH(size, 8, "delta", -1);
  DELTA_WITH(n_dropped, -1, "n_dropped", -1);
  DELTA_WITH(n_dropped, INT64_MAX, "n_dropped", -1);
  DELTA_WITH(dropped, NULL, "dropped", -1);
  bad[0] = 3; /* no such link */
  DELTA_WITH(dropped, bad, "dropped", 0);
  bad[0] = INT64_MIN;
  DELTA_WITH(dropped, bad, "dropped", 0);
  DELTA_WITH(n_added, -1, "n_added", -1);
  DELTA_WITH(n_added, INT64_MAX, "n_added", -1);
  DELTA_WITH(link, NULL, "link", -1);
  DELTA_WITH(link, &two, "link", 0);
  DELTA_WITH(member, NULL, "member", -1);
  DELTA_WITH(n_members, 3, "n_members", -1);
  DELTA_WITH(weight, zero_weight + 2, "weight", 0);
  DELTA_WITH(upper_bound, bad_bound + 1, "upper_bound", 0);
  bad[0] = 0, bad[1] = 0; /* twice on the link */
  DELTA_WITH(member, bad, "member", 1);
  bad[1] = 2; /* another period */
  DELTA_WITH(member, bad, "member", 1);
  {
    cassini_delta delta = good;
    delta.n_dropped = 2, delta.dropped = bad, bad[0] = bad[1] = 1;
    REFUSED(cassini_solve_delta(baseline, &delta, NULL, NULL, &joint_output, &result, &error), "dropped", 1);
  }
  to.shift_ns = NULL;
  REFUSED(cassini_solve_delta(baseline, &good, NULL, NULL, &to, &result, &error), "shift_ns", -1);
  to = joint_output, to.score_lower = NULL;
  REFUSED(cassini_solve_delta(baseline, &good, NULL, NULL, &to, &result, &error), "score_lower", -1);
  result.size = 1;
  REFUSED(cassini_solve_delta(baseline, &good, NULL, NULL, &joint_output, &result, &error), "result", -1);
  REFUSED(cassini_solve_joint(prepared, &joint, NULL, NULL, NULL, &joint_output, &result, &error), "result", -1);
  CHECK(shift[0] == -7 && shift[2] == -7 && result.nodes == 0);

  /* The problem without its third link, and with the first once more. */
  result.size = (int64_t)sizeof result;
  CHECK(cassini_solve_delta(baseline, &good, NULL, NULL, &joint_output, &result, NULL) == CASSINI_OK);
  CHECK(result.optimal == 1 && result.score == 1.0 && lower[0] == 1.0 && lower[1] == 1.0 && lower[2] == 1.0);
  CHECK(shift[0] == 0 && shift[1] >= 114 * MS && shift[1] <= 141 * MS && shift[2] == 0);
  CHECK(cassini_solve_delta(baseline, &empty, NULL, NULL, &joint_output, &result, NULL) == CASSINI_OK);
  cassini_free_baseline(baseline);
  cassini_free_baseline(NULL);
  cassini_free_prepared_links(prepared);
}

int main(void) {
  int32_t status, stop, other;
  CHECK(cassini_abi_version() == CASSINI_ABI_VERSION);
  CHECK(strlen(cassini_version()) >= 5);
  for (status = -1; status < 10; ++status) CHECK(strlen(cassini_strerror(status)) > 0);
  for (stop = CASSINI_STOP_COMPLETE; stop <= CASSINI_STOP_UNPROVEN; ++stop) {
    CHECK(strcmp(cassini_stop_string(stop), "unknown") != 0);
    for (other = 0; other < stop; ++other) CHECK(strcmp(cassini_stop_string(stop), cassini_stop_string(other)) != 0);
  }
  CHECK(strcmp(cassini_stop_string(-1), "unknown") == 0 && strcmp(cassini_stop_string(INT32_MAX), "unknown") == 0);
  test_two_jobs();
  test_angles();
  test_optional_outputs_and_long_deadlines();
  test_batch();
  test_batch_that_begins_at_a_later_job();
  test_prepared_links_are_solved_as_others();
  test_batch_without_slack_and_canceled();
  test_evaluation_agrees_with_solution();
  test_bad_calls();
  test_bad_batches();
  test_errors_stay_in_their_room();
  test_joint();
  test_joint_beyond_limits();
  test_links_are_told_apart_by_content();
  test_hostile_sizes();
  test_bad_joint_calls();
  printf("%d failed checks\n", failures);
  return failures == 0 ? 0 : 1;
}
