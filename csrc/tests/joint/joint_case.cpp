#include "joint/joint_case.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "demand/job_pattern.hpp"
#include "demand/link_problem.hpp"
#include "joint/joint_problem.hpp"

namespace cassini::test {

Problem JointCase::problem(std::size_t l) const {
  Problem out;
  out.capacity = capacity[l];
  for (std::size_t p = 0; p < on[l].size(); ++p) {
    out.period.push_back(jobs.period[on[l][p]]);
    std::vector<Phase> phases = jobs.phases[on[l][p]];
    for (Phase& phase : phases) phase.rate *= factor[l][p];
    out.phases.push_back(phases);
  }
  return out;
}

void JointCase::prepare() {
  for (std::size_t l = 0; l < on.size(); ++l) {
    const Problem p = problem(l);
    prepared.push_back(std::make_unique<PreparedLink>(
        prepare_link(make_link(p.patterns(), is_free[l], static_cast<double>(capacity[l]), {}))));
  }
}

std::vector<JointLink> JointCase::links() const {
  std::vector<JointLink> out;
  for (std::size_t l = 0; l < on.size(); ++l) {
    JointLink at(*prepared[l]);
    for (const std::size_t p : at.link().movable) at.job.push_back(on[l][p]);
    at.weight = weight[l];
    at.lower_bound = at.link().area_bound();
    out.push_back(at);
  }
  return out;
}

JointProblem JointCase::joint() const {
  std::vector<std::size_t> origin;
  return make_joint_problem(jobs.period, links(), origin);
}

double JointCase::excess(std::size_t l, std::span<const int64_t> shift) const {
  std::vector<int64_t> own;
  for (const std::size_t j : on[l]) own.push_back(shift[j]);
  return excess_by_ticks(problem(l), own);
}

double JointCase::objective(std::span<const int64_t> shift) const {
  double sum = 0.0;
  for (std::size_t l = 0; l < on.size(); ++l) sum += weight[l] / static_cast<double>(capacity[l]) * excess(l, shift);
  return sum;
}

double JointCase::best() const {
  std::vector<int64_t> shift(jobs.period.size(), 0);
  double least = std::numeric_limits<double>::infinity();
  for (;;) {
    least = std::min(least, objective(shift));
    std::size_t j = 1;
    for (; j < shift.size(); ++j) {
      if (++shift[j] < jobs.period[j]) break;
      shift[j] = 0;
    }
    if (j >= shift.size()) return least;
  }
}

JointCase random_case(std::mt19937& rng, std::size_t n_jobs, std::size_t n_links, std::span<const int64_t> periods,
                      int max_phases) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  JointCase out;
  out.jobs = random_problem(rng, n_jobs, periods, max_phases);
  if (pick(0, 2) == 0) {  // equal jobs
    out.jobs.period[1] = out.jobs.period[0];
    out.jobs.phases[1] = out.jobs.phases[0];
  }
  for (std::size_t l = 0; l < n_links; ++l) {
    if (l > 0 && pick(0, 4) == 0) {  // an equal link
      out.on.push_back(out.on[l - 1]);
      out.factor.push_back(out.factor[l - 1]);
      out.capacity.push_back(out.capacity[l - 1]);
    } else {
      std::vector<std::size_t> all(n_jobs);
      std::iota(all.begin(), all.end(), std::size_t{0});
      std::shuffle(all.begin(), all.end(), rng);
      all.resize(static_cast<std::size_t>(pick(1, static_cast<int64_t>(n_jobs))));
      out.on.push_back(all);
      out.factor.emplace_back();
      for (std::size_t p = 0; p < all.size(); ++p) out.factor.back().push_back(pick(0, 5) == 0 ? 2 : 1);
      out.capacity.push_back(pick(3, 8));
    }
    out.weight.push_back(static_cast<double>(pick(1, 3)));
    out.is_free.emplace_back(out.on[l].size(), 0);
  }
  out.prepare();
  return out;
}

}  // namespace cassini::test
