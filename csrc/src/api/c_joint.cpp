// The C functions of cassini.h on prepared links and blocks.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "api/c_joint_input.hpp"
#include "api/c_link_input.hpp"
#include "base/periods.hpp"
#include "cassini/cassini.h"
#include "demand/link_problem.hpp"
#include "joint/baseline.hpp"
#include "joint/joint_problem.hpp"
#include "joint/solve_joint.hpp"
#include "link/score_interval.hpp"
#include "link/solve_link.hpp"
#include "robustness/hold.hpp"

namespace cassini {
namespace {

void solve(const LinksInput& in, const LinkParameters& parameters, const int64_t* start, const uint8_t* dirty,
           bool centred, const cassini_options& options, const JointOutput& out) {
  require(parameters.weight != nullptr || in.n_links == 0);
  check(out, in.n_links);
  Budget budget(options.node_limit, options.deadline_ns, options.cancel);
  std::vector<JointLink> links = joint_links(in, parameters);
  const int exponent = weight_exponent(links);
  for (JointLink& at : links) at.weight = std::ldexp(at.weight, -exponent);
  std::vector<std::size_t> origin;
  const JointProblem problem = make_joint_problem({in.period.begin(), in.period.end()}, std::move(links), origin);
  JointStart begin;
  const std::size_t n_jobs = in.period.size();
  std::vector<int64_t> wrapped(n_jobs);
  for (std::size_t j = 0; j < n_jobs && start != nullptr; ++j) wrapped[j] = wrap(start[j], in.period[j]);
  if (start != nullptr) begin.shift = wrapped;
  if (start != nullptr && dirty != nullptr) begin.dirty = {dirty, n_jobs};
  if (centred) begin.slack_tolerance = options.slack_tolerance;
  JointAnswer found = solve_joint(problem, begin, budget);
  rotate_to_zero(problem, found.shift);
  // What is reported is computed from the shifts as they are returned.
  std::vector<Interval> excess;
  for (const JointLink& at : problem.links) excess.push_back(canonical_excess(at, found.shift, &budget.work));
  report(problem, found, excess, origin, budget, out);
}

void evaluate(const LinksInput& in, const int64_t* shift, const cassini_options& options, double* score_lower,
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
    std::vector<int64_t> movable = movable_shifts(link, own);
    in.at(i).canonical.apply(movable);  // jobs that stand alike score alike, to the last bit
    budget.in_time();                   // sees the cancel flag
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
    out->job_offset.push_back(0);
    std::vector<int32_t> outcome;
    for (int64_t i = 0; i < n_links; ++i) {
      budget.in_time();  // sees the cancel flag
      const int64_t j = job_offset[i];
      const Input in{job_offset[i + 1] - j, period + j, phase_offset + j, phase_start,
                     phase_length,          phase_rate, capacity[i]};
      out->link.emplace_back();
      out->job_offset.push_back(job_offset[i + 1] - job_offset[0]);
      outcome.push_back(status_of([&] { out->link.back() = prepare_link(prepare(in, o).link); }));
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
    solve({links, checked_periods(n_jobs, period), n_links, link, member}, {weight, upper_bound, own_shift}, start,
          dirty, centred != 0, checked(options), {shift, score_lower, score_upper, result});
  });
}

int32_t cassini_evaluate_block(const cassini_links* links, int64_t n_jobs, const int64_t* period, int64_t n_links,
                               const int64_t* link, const int64_t* member, const int64_t* shift,
                               const cassini_options* options, double* score_lower, double* score_upper, int64_t* slack,
                               int64_t* hold) {
  return guarded([&] {
    evaluate({links, checked_periods(n_jobs, period), n_links, link, member}, shift, checked(options), score_lower,
             score_upper, slack, hold);
  });
}
