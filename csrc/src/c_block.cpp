// The C functions of cassini.h on prepared links and blocks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "block.hpp"
#include "block_solve.hpp"
#include "c_input.hpp"
#include "cassini/cassini.h"

struct cassini_links {
  std::vector<std::optional<cassini::PreparedLink>> link;  // empty where the input was refused
};

namespace cassini {
namespace {

struct BlockInput {
  const cassini_links* links;
  int64_t n_jobs;
  const int64_t* period;
  int64_t n_links;
  const int64_t* link;
  const int64_t* member;

  const PreparedLink& at(int64_t i) const { return *links->link[static_cast<std::size_t>(link[i])]; }
};

void check(const BlockInput& in) {
  require(in.links != nullptr && in.period != nullptr);
  require(in.n_jobs >= 1 && in.n_jobs <= CASSINI_MAX_BLOCK_JOBS);
  require(in.n_links >= 0 && in.n_links <= CASSINI_MAX_BLOCK_LINKS);
  require(in.n_links == 0 || (in.link != nullptr && in.member != nullptr));
  for (int64_t j = 0; j < in.n_jobs; ++j) require(in.period[j] >= 1 && in.period[j] <= CASSINI_MAX_TICKS);
  std::vector<int64_t> last_on(static_cast<std::size_t>(in.n_jobs), -1);  // no job twice on a link
  const int64_t* member = in.member;
  for (int64_t i = 0; i < in.n_links; ++i) {
    require(in.link[i] >= 0 && in.link[i] < static_cast<int64_t>(in.links->link.size()));
    require(in.links->link[static_cast<std::size_t>(in.link[i])].has_value());
    for (const Circle& job : in.at(i).link.jobs) {
      const int64_t j = *member++;
      require(j >= 0 && j < in.n_jobs && in.period[j] == job.period);
      require(last_on[static_cast<std::size_t>(j)] != i);
      last_on[static_cast<std::size_t>(j)] = i;
    }
  }
}

struct Wishes {
  const double* weight;
  const double* upper_bound;
  const int64_t* own_shift;
};

// Only ratios of weights matter. A power of two brings the largest near 1, exactly, so that no sum overflows.
int weight_exponent(const BlockInput& in, const double* weight) {
  double most = 0.0;
  for (int64_t i = 0; i < in.n_links; ++i) {
    require(std::isfinite(weight[i]) && weight[i] > 0.0);
    most = std::max(most, weight[i]);
  }
  return in.n_links > 0 ? std::ilogb(most) : 0;
}

Block block_of(const BlockInput& in, const Wishes& wishes, std::vector<std::size_t>& origin) {
  const int exponent = weight_exponent(in, wishes.weight);
  std::vector<BlockLink> out;
  std::size_t first = 0;
  for (int64_t i = 0; i < in.n_links; ++i) {
    const PreparedLink& prepared = in.at(i);
    const Link& link = prepared.link;
    BlockLink at;
    at.prepared = &prepared;
    for (const std::size_t place : link.movable) {
      at.job.push_back(static_cast<std::size_t>(in.member[first + place]));
      if (wishes.own_shift != nullptr) {
        at.own_shift.push_back(wrap(wishes.own_shift[first + place], link.jobs[place].period));
      }
    }
    at.weight = std::ldexp(wishes.weight[i], -exponent);
    at.least = link.area_bound();
    if (wishes.upper_bound != nullptr) {
      require(std::isfinite(wishes.upper_bound[i]));
      at.least = std::max(at.least, (1.0 - wishes.upper_bound[i]) * link.capacity);
    }
    first += link.jobs.size();
    out.push_back(std::move(at));
  }
  return make_block({in.period, in.period + in.n_jobs}, std::move(out), origin);
}

int32_t why_stopped(const Budget& budget, bool beyond_limits, bool optimal) {
  if (beyond_limits) return CASSINI_STOP_LIMITS;
  if (optimal) return CASSINI_STOP_COMPLETE;
  if (budget.out_of_time()) return CASSINI_STOP_DEADLINE;
  return budget.out_of_nodes() ? CASSINI_STOP_NODES : CASSINI_STOP_COMPLETE;
}

struct Output {
  int64_t* shift;
  double* score_lower;
  double* score_upper;
  cassini_block_result* result;
};

void solve(const BlockInput& in, const Wishes& wishes, const int64_t* start, const uint8_t* dirty, bool centred,
           const cassini_options& options, const Output& out) {
  require(wishes.weight != nullptr || in.n_links == 0);
  require(out.shift != nullptr && out.result != nullptr);
  require(in.n_links == 0 || (out.score_lower != nullptr && out.score_upper != nullptr));
  require(out.result->size == static_cast<int64_t>(sizeof(cassini_block_result)));
  check(in);
  Budget budget(options.node_limit, options.deadline_ns, options.cancel);
  std::vector<std::size_t> origin;
  const Block block = block_of(in, wishes, origin);
  BlockStart begin;
  const auto n_jobs = static_cast<std::size_t>(in.n_jobs);
  std::vector<int64_t> wrapped(n_jobs);
  for (std::size_t j = 0; j < n_jobs && start != nullptr; ++j) wrapped[j] = wrap(start[j], in.period[j]);
  if (start != nullptr) begin.shift = wrapped;
  if (start != nullptr && dirty != nullptr) begin.dirty = {dirty, n_jobs};
  if (centred) begin.slack_tolerance = options.slack_tolerance;
  FoundBlock found = solve_block(block, begin, budget);
  canonical_shifts(block, found.shift);

  // What is reported is computed from the shifts as they are returned.
  std::vector<Interval> excess(block.links.size());
  std::vector<int64_t> movable;
  double achieved = 0.0;
  double lower = found.lower;
  bool beyond_limits = found.limited;
  for (std::size_t l = 0; l < block.links.size(); ++l) {
    const BlockLink& at = block.links[l];
    shifts_on(at, found.shift, movable);
    excess[l] = excess_interval(at.link(), movable, &budget.work);
    achieved += at.per_excess() * excess[l].upper;
    beyond_limits = beyond_limits || excess[l].lower != excess[l].upper;
    if (!at.prepared->guides) lower += at.per_excess() * std::min(at.least, excess[l].upper);
  }
  const double weight = in.n_links > 0 ? block.weight : 1.0;
  cassini_block_result r{};
  r.size = sizeof(cassini_block_result);
  r.score = 1.0 - achieved / weight;
  r.upper_bound = std::max(r.score, 1.0 - lower / weight);
  r.optimal = r.score >= r.upper_bound - kProofTolerance * std::max(1.0, std::abs(r.score)) ? 1 : 0;
  r.nodes = budget.nodes();
  r.stopped_by = why_stopped(budget, beyond_limits, r.optimal != 0);
  std::copy(found.shift.begin(), found.shift.end(), out.shift);
  for (std::size_t i = 0; i < origin.size(); ++i) {
    const Link& link = block.links[origin[i]].link();
    out.score_lower[i] = 1.0 - excess[origin[i]].upper / link.capacity;
    out.score_upper[i] = 1.0 - excess[origin[i]].lower / link.capacity;
  }
  *out.result = r;
}

void evaluate(const BlockInput& in, const int64_t* shift, const cassini_options& options, double* score_lower,
              double* score_upper, int64_t* slack, int64_t* hold) {
  require(shift != nullptr && (slack == nullptr) == (hold == nullptr));
  require(in.n_links == 0 || (score_lower != nullptr && score_upper != nullptr));
  check(in);
  Budget budget(std::numeric_limits<int64_t>::max(), options.deadline_ns, options.cancel);
  // Complete before the first output is written.
  std::vector<Interval> excess;
  std::vector<Hold> holds;
  std::vector<int64_t> own;
  const int64_t* member = in.member;
  for (int64_t i = 0; i < in.n_links; ++i) {
    const Link& link = in.at(i).link;
    own.clear();
    for (std::size_t j = 0; j < link.jobs.size(); ++j) own.push_back(shift[*member++]);
    const std::vector<int64_t> movable = movable_shifts(link, own);
    budget.in_time();  // sees the cancel flag
    excess.push_back(excess_interval(link, movable, &budget.work));
    if (slack != nullptr) holds.push_back(hold_of(link, movable, excess.back(), {}, options.slack_tolerance, budget));
  }
  for (std::size_t i = 0; i < excess.size(); ++i) {
    const double capacity = in.at(static_cast<int64_t>(i)).link.capacity;
    score_lower[i] = 1.0 - excess[i].upper / capacity;
    score_upper[i] = 1.0 - excess[i].lower / capacity;
    if (slack == nullptr) continue;
    slack = std::copy(holds[i].slack.begin(), holds[i].slack.end(), slack);
    hold[i] = holds[i].hold;
  }
}

}  // namespace
}  // namespace cassini

using namespace cassini;

int32_t cassini_prepare_links(int64_t n_links, const int64_t* job_offset, const int64_t* period,
                              const int64_t* phase_offset, const int64_t* phase_start, const int64_t* phase_length,
                              const int64_t* phase_rate, const int64_t* capacity, const cassini_options* options,
                              cassini_links** links, int32_t* status) {
  return guarded([&] {
    require(n_links >= 0 && links != nullptr);
    require(n_links == 0 || (job_offset != nullptr && period != nullptr && phase_offset != nullptr));
    require(n_links == 0 || (capacity != nullptr && status != nullptr && job_offset[0] >= 0));
    for (int64_t i = 0; i < n_links; ++i) require(job_offset[i + 1] >= job_offset[i]);
    const cassini_options o = checked(options);
    Budget budget(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max(), o.cancel);
    auto out = std::make_unique<cassini_links>();
    std::vector<int32_t> outcome;
    for (int64_t i = 0; i < n_links; ++i) {
      budget.in_time();  // sees the cancel flag
      const int64_t j = job_offset[i];
      const Input in{job_offset[i + 1] - j, period + j, phase_offset + j, phase_start,
                     phase_length,          phase_rate, capacity[i]};
      out->link.emplace_back();
      outcome.push_back(guarded([&] { out->link.back() = prepare_link(prepare(in, o).link); }));
    }
    std::copy(outcome.begin(), outcome.end(), status);
    *links = out.release();
  });
}

void cassini_free_links(cassini_links* links) { delete links; }

int32_t cassini_solve_block(const cassini_links* links, int64_t n_jobs, const int64_t* period, int64_t n_links,
                            const int64_t* link, const int64_t* member, const double* weight, const double* upper_bound,
                            const int64_t* own_shift, const int64_t* start, const uint8_t* dirty, int32_t centred,
                            const cassini_options* options, int64_t* shift, double* score_lower, double* score_upper,
                            cassini_block_result* result) {
  return guarded([&] {
    solve({links, n_jobs, period, n_links, link, member}, {weight, upper_bound, own_shift}, start, dirty, centred != 0,
          checked(options), {shift, score_lower, score_upper, result});
  });
}

int32_t cassini_evaluate_block(const cassini_links* links, int64_t n_jobs, const int64_t* period, int64_t n_links,
                               const int64_t* link, const int64_t* member, const int64_t* shift,
                               const cassini_options* options, double* score_lower, double* score_upper, int64_t* slack,
                               int64_t* hold) {
  return guarded([&] {
    evaluate({links, n_jobs, period, n_links, link, member}, shift, checked(options), score_lower, score_upper, slack,
             hold);
  });
}
