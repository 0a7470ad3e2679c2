#include "api/c_joint_input.hpp"

#include <algorithm>
#include <cmath>

#include "api/sized_struct.hpp"
#include "base/periods.hpp"

namespace cassini {
namespace {

JointInput checked(const JointInput& in) {
  require_given(in.prepared, "prepared");
  require_in(in.n_links, 0, CASSINI_MAX_JOINT_LINKS, "n_links");
  if (in.n_links > 0) require_given(in.link, "link");
  if (in.n_links > 0) require_given(in.member, "member");
  const auto n_jobs = static_cast<int64_t>(in.period.size());
  const auto n_prepared = static_cast<int64_t>(in.prepared->link.size());
  std::vector<int64_t> last_on(in.period.size(), -1);  // no job twice on a link
  int64_t at = 0;
  for (int64_t i = 0; i < in.n_links; ++i) {
    require_in(in.link[i], 0, n_prepared - 1, "link", i);
    require(in.prepared->link[static_cast<std::size_t>(in.link[i])].has_value(), "link", "one that was not refused", i);
    const std::vector<JobPattern>& jobs = in.at(i).link.jobs;
    require(static_cast<int64_t>(jobs.size()) <= in.n_members - at, "n_members", "a member for each job of each link");
    for (const JobPattern& job : jobs) {
      const int64_t j = in.member[at];
      require_in(j, 0, n_jobs - 1, "member", at);
      require(in.period[static_cast<std::size_t>(j)] == job.period, "member", "a job of the period the link has there",
              at);
      require(last_on[static_cast<std::size_t>(j)] != i, "member", "no job twice on a link", at);
      last_on[static_cast<std::size_t>(j)] = i;
      ++at;
    }
  }
  require_in(in.n_members, at, at, "n_members");
  return in;
}

}  // namespace

std::vector<int64_t> JointInput::wrapped(const int64_t* shift) const {
  std::vector<int64_t> out(period.size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = wrap(shift[j], period[j]);
  return out;
}

JointInput joint_input(const cassini_prepared_links* prepared, const cassini_joint* given) {
  const cassini_joint in = read_sized(given, "joint");
  require_in(in.n_jobs, 1, CASSINI_MAX_JOINT_JOBS, "n_jobs");
  require_given(in.period_ns, "period_ns");
  for (int64_t j = 0; j < in.n_jobs; ++j) require_in(in.period_ns[j], 1, CASSINI_MAX_PERIOD_NS, "period_ns", j);
  return checked({prepared,
                  {in.period_ns, static_cast<std::size_t>(in.n_jobs)},
                  in.n_links,
                  in.link,
                  in.n_members,
                  in.member,
                  in.weight,
                  in.upper_bound,
                  in.own_shift_ns});
}

JointInput joint_input(const cassini_prepared_links* prepared, std::span<const int64_t> period,
                       const cassini_delta& delta) {
  require_in(delta.n_added, 0, CASSINI_MAX_JOINT_LINKS, "n_added");
  return checked({prepared, period, delta.n_added, delta.link, delta.n_members, delta.member, delta.weight,
                  delta.upper_bound, nullptr});
}

std::vector<JointLink> joint_links(const JointInput& in) {
  std::vector<JointLink> out;
  out.reserve(static_cast<std::size_t>(in.n_links));
  std::size_t first = 0;
  for (int64_t i = 0; i < in.n_links; ++i) {
    const PreparedLink& prepared = in.at(i);
    const Link& link = prepared.link;
    JointLink& at = out.emplace_back(prepared);
    for (const std::size_t place : link.movable) {
      at.job.push_back(static_cast<std::size_t>(in.member[first + place]));
      if (in.own_shift != nullptr) at.own_shift.push_back(wrap(in.own_shift[first + place], link.jobs[place].period));
    }
    at.weight = in.weight == nullptr ? 1.0 : in.weight[i];
    require(std::isfinite(at.weight) && at.weight > 0.0, "weight", "a finite number above 0", i);
    at.lower_bound = link.area_bound();
    if (in.upper_bound != nullptr) {
      require(std::isfinite(in.upper_bound[i]), "upper_bound", "a finite number", i);
      at.lower_bound = std::max(at.lower_bound, (1.0 - in.upper_bound[i]) * link.capacity);
    }
    first += link.jobs.size();
  }
  return out;
}

JointOutput checked(const cassini_joint_output* given, cassini_joint_result* result, int64_t n_links) {
  const cassini_joint_output out = read_sized(given, "output");
  require_given(out.shift_ns, "shift_ns");
  if (n_links > 0) require_given(out.score_lower, "score_lower");
  if (n_links > 0) require_given(out.score_upper, "score_upper");
  require_given(result, "result");
  require_size<cassini_joint_result>(result->size, "result");
  return {out.shift_ns, out.score_lower, out.score_upper, result};
}

void report(const JointProblem& problem, const JointAnswer& found, std::span<const Interval> excess,
            std::span<const std::size_t> origin, const Budget& budget, const JointOutput& to) {
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
  cassini_joint_result r{};
  r.score = 1.0 - achieved / weight;
  r.upper_bound = std::max(r.score, 1.0 - lower / weight);
  r.optimal = is_proven(r.score, r.upper_bound) ? 1 : 0;
  r.nodes = budget.nodes();
  r.stopped_by = stop_reason(budget, beyond_limits, r.optimal != 0, true);
  std::copy(found.shift.begin(), found.shift.end(), to.shift);
  for (std::size_t i = 0; i < origin.size(); ++i) {
    const double capacity = problem.links[origin[i]].capacity;
    to.score_lower[i] = 1.0 - excess[origin[i]].upper / capacity;
    to.score_upper[i] = 1.0 - excess[origin[i]].lower / capacity;
  }
  write_sized(to.result, to.result->size, r);
}

}  // namespace cassini
