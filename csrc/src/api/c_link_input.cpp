#include "api/c_link_input.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "api/sized_struct.hpp"
#include "base/limits.hpp"
#include "base/periods.hpp"

namespace cassini {
namespace {

constexpr int64_t kMaxRateSum = int64_t{1} << 53;  // peaks must stay exact in double
constexpr int64_t kMaxLimit = int64_t{1} << 22;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

void check(const LinkInput& in) {
  require_in(in.n_jobs, 1, CASSINI_MAX_JOBS, "n_jobs");
  require_in(in.capacity, 1, CASSINI_MAX_RATE_KBPS, "capacity_kbps", in.index);
  require_given(in.period, "period_ns");
  require_given(in.phase_offset, "phase_offset");
  const int64_t first = in.phase_offset[0];
  require_in(first, 0, in.n_phases, "phase_offset", in.first_job);
  for (int64_t j = 0; j < in.n_jobs; ++j) {
    require_in(in.period[j], 1, CASSINI_MAX_PERIOD_NS, "period_ns", in.first_job + j);
    require_in(in.phase_offset[j + 1], in.phase_offset[j], in.n_phases, "phase_offset", in.first_job + j + 1);
  }
  const int64_t n_phases = in.phase_offset[in.n_jobs] - first;
  require(n_phases <= CASSINI_MAX_PHASES, "phase_offset", "at most 131072 phases on a link", in.first_job + in.n_jobs);
  if (n_phases == 0) return;
  require_given(in.phase_start, "phase_start_ns");
  require_given(in.phase_length, "phase_length_ns");
  require_given(in.phase_rate, "phase_rate_kbps");
  int64_t rates = 0;
  for (int64_t j = 0; j < in.n_jobs; ++j) {
    for (int64_t i = in.phase_offset[j]; i < in.phase_offset[j + 1]; ++i) {
      require_in(in.phase_start[i], 0, in.period[j] - 1, "phase_start_ns", i);
      require_in(in.phase_length[i], 0, in.period[j], "phase_length_ns", i);
      require_in(in.phase_rate[i], 0, CASSINI_MAX_RATE_KBPS, "phase_rate_kbps", i);
      rates += in.phase_rate[i];  // at most 2^17 phases of 2^40
      require(rates <= kMaxRateSum, "phase_rate_kbps", "at most 2^53 for all phases of the link together", i);
    }
  }
}

}  // namespace

cassini_options defaults() {
  cassini_options options{};
  options.size = sizeof(cassini_options);
  options.resolution_ns = 500000;
  options.slack_tolerance = 0.01;
  options.node_limit = CASSINI_DEFAULT_NODE_LIMIT;
  options.deadline_ns = kMost;
  options.max_events = 262144;
  options.max_levels = 65536;
  return options;
}

cassini_options checked(const cassini_options* given) {
  if (given == nullptr) return defaults();
  const cassini_options options = read_sized(given, "options", defaults());
  require_in(options.resolution_ns, 0, CASSINI_MAX_PERIOD_NS, "resolution_ns");
  require(std::isfinite(options.slack_tolerance) && options.slack_tolerance >= 0.0, "slack_tolerance",
          "a finite number, at least 0");
  require_in(options.node_limit, 1, kMost, "node_limit");
  require_in(options.deadline_ns, 0, kMost, "deadline_ns");
  require_in(options.max_events, 1, kMaxLimit, "max_events");
  require_in(options.max_levels, 1, kMaxLimit, "max_levels");
  return options;
}

Budget budget_of(const cassini_options& options, const int32_t* cancel) {
  const Budget out(options.node_limit, options.deadline_ns, cancel);
  out.throw_if_canceled();
  return out;
}

Budget budget_without_nodes(cassini_options options, const int32_t* cancel) {
  options.node_limit = kMost;
  return budget_of(options, cancel);
}

LinkInput link_input(const cassini_link* given) {
  const cassini_link in = read_sized(given, "link");
  require(in.n_phases >= 0, "n_phases", "at least 0");
  return {in.capacity_kbps, in.n_jobs,         in.period_ns,       in.phase_offset,
          in.n_phases,      in.phase_start_ns, in.phase_length_ns, in.phase_rate_kbps};
}

cassini_links checked(const cassini_links* given) {
  const cassini_links in = read_sized(given, "links");
  require_in(in.n_links, 0, kMost, "n_links");
  if (in.n_links == 0) return in;
  require_in(in.n_jobs, 0, kMost, "n_jobs");
  require_in(in.n_phases, 0, kMost, "n_phases");
  require_given(in.capacity_kbps, "capacity_kbps");
  require_given(in.job_offset, "job_offset");
  require_given(in.period_ns, "period_ns");
  require_given(in.phase_offset, "phase_offset");
  require_in(in.job_offset[0], 0, in.n_jobs, "job_offset", 0);
  for (int64_t i = 0; i < in.n_links; ++i) {
    require_in(in.job_offset[i + 1], in.job_offset[i], in.n_jobs, "job_offset", i + 1);
  }
  return in;
}

LinkInput link_input(const cassini_links& links, int64_t i) {
  const int64_t j = links.job_offset[i];
  return {links.capacity_kbps[i],
          links.job_offset[i + 1] - j,
          links.period_ns + j,
          links.phase_offset + j,
          links.n_phases,
          links.phase_start_ns,
          links.phase_length_ns,
          links.phase_rate_kbps,
          i,
          j};
}

Link prepare(const LinkInput& in, const cassini_options& options, Budget& budget) {
  check(in);
  int64_t unit = in.capacity;
  for (int64_t i = in.phase_offset[0]; i < in.phase_offset[in.n_jobs]; ++i) {
    if (in.phase_rate[i] % unit != 0) unit = std::gcd(unit, in.phase_rate[i]);
  }
  const auto n_jobs = static_cast<std::size_t>(in.n_jobs);
  std::vector<JobPattern> jobs;
  std::vector<int64_t> periods;  // of jobs with demand: the others are not on the link
  jobs.reserve(n_jobs);
  periods.reserve(n_jobs);
  SmallVector<Phase, 8> phases;
  for (int64_t j = 0; j < in.n_jobs; ++j) {
    phases.clear();
    for (int64_t i = in.phase_offset[j]; i < in.phase_offset[j + 1]; ++i) {
      phases.push_back({in.phase_start[i], in.phase_length[i], in.phase_rate[i]});
    }
    jobs.push_back(make_pattern(in.period[j], {phases.data(), phases.size()}, unit));
    if (!jobs.back().silent()) periods.push_back(in.period[j]);
  }
  const std::vector<uint8_t> marked = mark_free(periods, options.resolution_ns, budget);
  std::vector<uint8_t> is_free(jobs.size(), 0);
  for (std::size_t j = 0, k = 0; j < jobs.size(); ++j) {
    if (!jobs[j].silent()) is_free[j] = marked[k++];
  }
  const Limits limits{options.max_events, options.max_levels};
  return make_link(std::move(jobs), std::move(is_free), static_cast<double>(in.capacity / unit), limits);
}

LinkOutput checked(const cassini_link_output* given) {
  const cassini_link_output out = read_sized(given, "output");
  require_given(out.shift_ns, "shift_ns");
  require_given(out.is_free, "is_free");
  return {out.shift_ns, out.slack_ns, out.is_free};
}

cassini_evaluation checked(const cassini_evaluation* given, int64_t n_links) {
  const cassini_evaluation out = read_sized(given, "evaluation");
  require((out.slack_ns == nullptr) == (out.hold_ns == nullptr), "slack_ns", "to be null together with hold_ns");
  if (n_links == 0) return out;
  require_given(out.score_lower, "score_lower");
  require_given(out.score_upper, "score_upper");
  return out;
}

void report(const Link& link, const Interval& excess, const Hold& hold, cassini_evaluation& to) {
  *to.score_lower++ = 1.0 - excess.upper / link.capacity;
  *to.score_upper++ = 1.0 - excess.lower / link.capacity;
  if (to.is_free != nullptr) to.is_free = std::copy(link.is_free.begin(), link.is_free.end(), to.is_free);
  if (to.slack_ns == nullptr) return;
  to.slack_ns = std::copy(hold.slack.begin(), hold.slack.end(), to.slack_ns);
  *to.hold_ns++ = hold.hold;
}

int32_t stop_reason(const Budget& budget, bool beyond_limits, bool optimal, bool exact) {
  if (beyond_limits) return CASSINI_STOP_LIMITS;
  if (optimal) return CASSINI_STOP_COMPLETE;
  if (budget.out_of_time()) return CASSINI_STOP_DEADLINE;
  if (budget.out_of_nodes()) return CASSINI_STOP_NODES;
  return exact ? CASSINI_STOP_UNPROVEN : CASSINI_STOP_COMPLETE;
}

bool is_proven(double score, double upper_bound) {
  return score >= upper_bound - kProofTolerance * std::max(1.0, std::abs(score));
}

}  // namespace cassini
