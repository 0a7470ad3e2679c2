#include "api/c_joint_input.hpp"

#include <algorithm>
#include <cmath>

#include "api/sized_struct.hpp"
#include "base/periods.hpp"

namespace cassini {

std::span<const int64_t> checked_periods(int64_t n_jobs, const int64_t* period) {
  require(period != nullptr && n_jobs >= 1 && n_jobs <= CASSINI_MAX_BLOCK_JOBS);
  for (int64_t j = 0; j < n_jobs; ++j) require(period[j] >= 1 && period[j] <= CASSINI_MAX_TICKS);
  return {period, static_cast<std::size_t>(n_jobs)};
}

void check(const LinksInput& in) {
  require(in.links != nullptr);
  require(in.n_links >= 0 && in.n_links <= CASSINI_MAX_BLOCK_LINKS);
  require(in.n_links == 0 || (in.link != nullptr && in.member != nullptr));
  const auto n_jobs = static_cast<int64_t>(in.period.size());
  std::vector<int64_t> last_on(in.period.size(), -1);  // no job twice on a link
  const int64_t* member = in.member;
  for (int64_t i = 0; i < in.n_links; ++i) {
    require(in.link[i] >= 0 && in.link[i] < static_cast<int64_t>(in.links->link.size()));
    require(in.links->link[static_cast<std::size_t>(in.link[i])].has_value());
    for (const JobPattern& job : in.at(i).link.jobs) {
      const int64_t j = *member++;
      require(j >= 0 && j < n_jobs && in.period[static_cast<std::size_t>(j)] == job.period);
      require(last_on[static_cast<std::size_t>(j)] != i);
      last_on[static_cast<std::size_t>(j)] = i;
    }
  }
}

std::vector<JointLink> joint_links(const LinksInput& in, const LinkParameters& parameters) {
  check(in);
  std::vector<JointLink> out;
  out.reserve(static_cast<std::size_t>(in.n_links));
  std::size_t first = 0;
  for (int64_t i = 0; i < in.n_links; ++i) {
    const PreparedLink& prepared = in.at(i);
    const Link& link = prepared.link;
    JointLink& at = out.emplace_back(prepared);
    for (const std::size_t place : link.movable) {
      at.job.push_back(static_cast<std::size_t>(in.member[first + place]));
      if (parameters.own_shift != nullptr) {
        at.own_shift.push_back(wrap(parameters.own_shift[first + place], link.jobs[place].period));
      }
    }
    at.weight = parameters.weight == nullptr ? 1.0 : parameters.weight[i];
    require(std::isfinite(at.weight) && at.weight > 0.0);
    at.lower_bound = link.area_bound();
    if (parameters.upper_bound != nullptr) {
      require(std::isfinite(parameters.upper_bound[i]));
      at.lower_bound = std::max(at.lower_bound, (1.0 - parameters.upper_bound[i]) * link.capacity);
    }
    first += link.jobs.size();
  }
  return out;
}

void check(const JointOutput& out, int64_t n_links) {
  require(out.shift != nullptr && out.result != nullptr);
  require(n_links == 0 || (out.score_lower != nullptr && out.score_upper != nullptr));
  require_size<cassini_block_result>(out.result->size);
}

void report(const JointProblem& problem, const JointAnswer& found, std::span<const Interval> excess,
            std::span<const std::size_t> origin, const Budget& budget, const JointOutput& out) {
  double achieved = 0.0;
  double lower = found.lower;
  bool beyond_limits = found.limited;
  for (std::size_t l = 0; l < problem.links.size(); ++l) {
    const JointLink& at = problem.links[l];
    achieved += at.per_excess() * excess[l].upper;
    beyond_limits = beyond_limits || excess[l].lower != excess[l].upper;
    if (!at.guides) lower += at.per_excess() * std::min(at.lower_bound, excess[l].upper);
  }
  const double weight = problem.links.empty() ? 1.0 : problem.weight;
  cassini_block_result r{};
  r.score = 1.0 - achieved / weight;
  r.upper_bound = std::max(r.score, 1.0 - lower / weight);
  r.optimal = is_proven(r.score, r.upper_bound) ? 1 : 0;
  r.nodes = budget.nodes();
  r.stopped_by = stop_reason(budget, beyond_limits, r.optimal != 0);
  std::copy(found.shift.begin(), found.shift.end(), out.shift);
  for (std::size_t i = 0; i < origin.size(); ++i) {
    const double capacity = problem.links[origin[i]].capacity;
    out.score_lower[i] = 1.0 - excess[origin[i]].upper / capacity;
    out.score_upper[i] = 1.0 - excess[origin[i]].lower / capacity;
  }
  write_sized(out.result, out.result->size, r);
}

}  // namespace cassini
