#include "api/c_link_input.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "api/sized_struct.hpp"
#include "base/periods.hpp"

namespace cassini {
namespace {

constexpr int64_t kMaxRateSum = int64_t{1} << 53;  // peaks must stay exact in double

void check(const Input& in) {
  require(in.n_jobs >= 1 && in.n_jobs <= CASSINI_MAX_JOBS);
  require(in.period != nullptr && in.phase_offset != nullptr);
  require(in.capacity >= 1 && in.capacity <= CASSINI_MAX_RATE);
  const int64_t first = in.phase_offset[0];
  require(first >= 0);
  for (int64_t j = 0; j < in.n_jobs; ++j) {
    require(in.period[j] >= 1 && in.period[j] <= CASSINI_MAX_TICKS);
    require(in.phase_offset[j + 1] >= in.phase_offset[j]);
  }
  const int64_t n_phases = in.phase_offset[in.n_jobs] - first;
  require(n_phases <= CASSINI_MAX_PHASES);
  require(n_phases == 0 || (in.phase_start != nullptr && in.phase_length != nullptr && in.phase_rate != nullptr));
  int64_t rates = 0;
  for (int64_t j = 0; j < in.n_jobs; ++j) {
    for (int64_t i = in.phase_offset[j]; i < in.phase_offset[j + 1]; ++i) {
      require(in.phase_start[i] >= 0 && in.phase_start[i] < in.period[j]);
      require(in.phase_length[i] >= 0 && in.phase_length[i] <= in.period[j]);
      require(in.phase_rate[i] >= 0 && in.phase_rate[i] <= CASSINI_MAX_RATE);
      rates += in.phase_rate[i];  // at most 2^17 phases of 2^40
      require(rates <= kMaxRateSum);
    }
  }
}

}  // namespace

cassini_options defaults() {
  cassini_options options{};
  options.size = sizeof(cassini_options);
  options.method = CASSINI_METHOD_EXACT;
  options.angles = 72;
  options.resolution = 500000;
  options.slack_tolerance = 0.01;
  options.node_limit = CASSINI_DEFAULT_NODE_LIMIT;
  options.deadline_ns = std::numeric_limits<int64_t>::max();
  options.max_events = 262144;
  options.max_levels = 65536;
  return options;
}

cassini_options checked(const cassini_options* given) {
  if (given == nullptr) return defaults();
  const cassini_options options = read_sized(given, defaults());
  require(options.method == CASSINI_METHOD_EXACT || options.method == CASSINI_METHOD_ANGLES);
  require(options.reserved == 0);
  require(options.angles >= 1 && options.angles <= CASSINI_MAX_ANGLES);
  require(options.resolution >= 0 && options.resolution <= CASSINI_MAX_TICKS);
  require(std::isfinite(options.slack_tolerance) && options.slack_tolerance >= 0.0);
  require(options.node_limit >= 1 && options.deadline_ns >= 0);
  require(options.max_events >= 1 && options.max_events <= (int64_t{1} << 22));
  require(options.max_levels >= 1 && options.max_levels <= (int64_t{1} << 22));
  return options;
}

Prepared prepare(const Input& in, const cassini_options& options) {
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
  const std::vector<uint8_t> marked = mark_free(periods, options.resolution);
  std::vector<uint8_t> is_free(jobs.size(), 0);
  for (std::size_t j = 0, k = 0; j < jobs.size(); ++j) {
    if (!jobs[j].silent()) is_free[j] = marked[k++];
  }
  const Limits limits{options.max_events, options.max_levels};
  return {make_link(std::move(jobs), std::move(is_free), static_cast<double>(in.capacity / unit), limits),
          static_cast<double>(unit)};
}

int32_t stop_reason(const Budget& budget, bool beyond_limits, bool optimal) {
  if (beyond_limits) return CASSINI_STOP_LIMITS;
  if (optimal) return CASSINI_STOP_COMPLETE;
  if (budget.out_of_time()) return CASSINI_STOP_DEADLINE;
  return budget.out_of_nodes() ? CASSINI_STOP_NODES : CASSINI_STOP_COMPLETE;
}

bool is_proven(double score, double upper_bound) {
  return score >= upper_bound - kProofTolerance * std::max(1.0, std::abs(score));
}

}  // namespace cassini
