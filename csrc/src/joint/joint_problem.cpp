#include "joint/joint_problem.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "base/periods.hpp"
#include "demand/marginal.hpp"

namespace cassini {
namespace {

void tabulate_pair(PreparedLink& out) {
  const Link& link = out.link;
  SweepScratch scratch;
  Marginal marginal;
  Demand other;
  int64_t work = 0;
  for (std::size_t m = 0; m < 2; ++m) {
    const double drop = link.capacity - link.pattern(m).peak;
    add(link.base, link.folded[1 - m], 0, drop, link.limits, other, &work);
    marginal.build(other, link.pattern(m), link.capacity, &work);
    marginal.profile(mean_excess(other, link.capacity), out.pair[m], scratch);
  }
}

bool few_kinks(const Link& link) {
  std::vector<const JobPattern*> jobs;
  std::size_t most = 0;
  for (std::size_t m = 0; m < link.size(); ++m) {
    jobs.push_back(&link.pattern(m));
    most = std::max(most, jobs[m]->edges.size());
  }
  return folded_events(link.modulus, jobs) * static_cast<double>(most) <= link.limits.max_guiding_kinks();
}

// Beyond the limits of folding nothing is known but the jobs themselves.
int compare_all_jobs(const Link& a, const Link& b) {
  if (a.jobs.size() != b.jobs.size()) return a.jobs.size() < b.jobs.size() ? -1 : 1;
  for (std::size_t j = 0; j < a.jobs.size(); ++j) {
    if (content_before(a.jobs[j], b.jobs[j])) return -1;
    if (content_before(b.jobs[j], a.jobs[j])) return 1;
  }
  return a.is_free == b.is_free ? 0 : (a.is_free < b.is_free ? -1 : 1);
}

// By what is asked for, whichever prepared problem says so.
int compare_content(const Link& a, const Link& b) {
  if (a.capacity != b.capacity) return a.capacity < b.capacity ? -1 : 1;
  if (a.within_limits != b.within_limits) return a.within_limits ? -1 : 1;
  if (!a.within_limits) return compare_all_jobs(a, b);
  for (std::size_t m = 0; m < a.size(); ++m) {
    if (content_before(a.pattern(m), b.pattern(m))) return -1;
    if (content_before(b.pattern(m), a.pattern(m))) return 1;
  }
  // Free and constant jobs count by their distribution alone.
  const auto less = [](const Atom& u, const Atom& v) {
    return u.value != v.value ? u.value < v.value : u.weight < v.weight;
  };
  const auto base_before = [&](const Demand& u, const Demand& v) {
    if (u.weight != v.weight) return u.weight < v.weight;
    return std::lexicographical_compare(u.atoms.begin(), u.atoms.end(), v.atoms.begin(), v.atoms.end(), less);
  };
  if (base_before(a.base, b.base)) return -1;
  return base_before(b.base, a.base) ? 1 : 0;
}

void find_components(JointProblem& problem) {
  const std::size_t n = problem.n_jobs();
  std::vector<std::size_t> root(n);
  std::iota(root.begin(), root.end(), std::size_t{0});
  const auto find = [&](std::size_t j) {
    while (root[j] != j) j = root[j] = root[root[j]];
    return j;
  };
  for (const JointLink& at : problem.links) {
    if (!at.guides) continue;
    for (std::size_t m = 1; m < at.job.size(); ++m) {
      const std::size_t a = find(at.job[0]);
      const std::size_t b = find(at.job[m]);
      root[std::max(a, b)] = std::min(a, b);
    }
  }
  problem.component.assign(n, 0);
  problem.n_components = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t r = find(j);
    problem.component[j] = r == j ? problem.n_components++ : problem.component[r];
  }
}

}  // namespace

int compare(const JointLink& a, const JointLink& b) {
  if (a.job.size() != b.job.size()) return a.job.size() < b.job.size() ? -1 : 1;
  for (std::size_t m = 0; m < a.job.size(); ++m) {
    if (a.job[m] != b.job[m]) return a.job[m] < b.job[m] ? -1 : 1;
  }
  return a.prepared == b.prepared ? 0 : compare_content(a.link(), b.link());
}

// Does not depend on the order in which links were given: only equal ones are not told apart.
bool before(const JointLink& a, const JointLink& b) {
  const int order = compare(a, b);
  if (order != 0) return order < 0;
  return std::tie(a.lower_bound, a.weight, a.own_shift) < std::tie(b.lower_bound, b.weight, b.own_shift);
}

PreparedLink prepare_link(Link link) {
  PreparedLink out{std::move(link), {}, {}, true};
  out.canonical = CanonicalShifts(out.link);
  out.guides = out.link.within_limits && few_kinks(out.link);
  if (!out.guides) return out;
  try {
    // Whether sums of all jobs stay within the limits shows only when they are made.
    int64_t work = 0;
    const std::vector<int64_t> zero(out.link.size(), 0);
    out.link.excess(zero, &work);
    if (out.link.size() == 2) tabulate_pair(out);
  } catch (const LimitExceeded&) {
    out.guides = false;
  }
  return out;
}

Places::Places(std::size_t n_jobs, std::span<const JointLink> links) : first_(n_jobs + 1, 0) {
  for (const JointLink& at : links) {
    if (!at.guides) continue;
    for (const std::size_t j : at.job) ++first_[j + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  at_.resize(first_.back());
  std::vector<std::size_t> next(first_.begin(), first_.end() - 1);
  for (std::size_t l = 0; l < links.size(); ++l) {
    if (!links[l].guides) continue;
    for (std::size_t m = 0; m < links[l].job.size(); ++m) at_[next[links[l].job[m]]++] = {l, m};
  }
}

double JointProblem::floor() const {
  double sum = 0.0;
  for (const JointLink& at : links) {
    if (at.guides) sum += at.per_excess() * at.lower_bound;
  }
  return sum;
}

JointProblem make_joint_problem(std::vector<int64_t> period, std::vector<JointLink> links,
                                std::vector<std::size_t>& origin) {
  JointProblem problem;
  problem.period = std::move(period);
  std::vector<std::size_t> order(links.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t x, std::size_t y) { return before(links[x], links[y]); });
  origin.assign(links.size(), 0);
  for (const std::size_t i : order) {
    if (problem.links.empty() || compare(problem.links.back(), links[i]) != 0) {
      problem.links.push_back(std::move(links[i]));
    } else {
      join(problem.links.back(), links[i]);
    }
    origin[i] = problem.links.size() - 1;
  }
  for (JointLink& at : problem.links) set_constant_excess(at);
  fill(problem);
  return problem;
}

void join(JointLink& at, const JointLink& equal) {
  at.weight += equal.weight;
  at.lower_bound = std::max(at.lower_bound, equal.lower_bound);
}

void set_constant_excess(JointLink& at) {
  if (!at.guides || at.job.size() >= 2) return;
  int64_t work = 0;
  at.lower_bound = at.link().excess(std::vector<int64_t>(at.job.size(), 0), &work);
}

void fill(JointProblem& problem, std::vector<int64_t> modulus) {
  problem.places = Places(problem.n_jobs(), problem.links);
  problem.modulus = std::move(modulus);
  problem.modulus.resize(problem.n_jobs(), 0);
  for (std::size_t j = 0; j < problem.n_jobs(); ++j) {
    if (problem.modulus[j] != 0) continue;
    problem.modulus[j] = 1;
    for (const Place& p : problem.places[j]) {
      if (problem.modulus[j] == problem.period[j]) break;  // each divides the period
      problem.modulus[j] = lcm_capped(problem.modulus[j], problem.links[p.link].link().modulus[p.member]);
    }
  }
  problem.weight = 0.0;
  double rounding = 0.0;
  for (const JointLink& at : problem.links) {
    problem.weight += at.weight;
    if (at.guides) rounding += at.per_excess() * at.noise;
  }
  problem.noise = noise_of(problem.weight, rounding);
  find_components(problem);
}

void shifts_on(const JointLink& at, std::span<const int64_t> shift, std::vector<int64_t>& out) {
  out.resize(at.job.size());
  for (std::size_t m = 0; m < at.job.size(); ++m) out[m] = wrap(shift[at.job[m]], at.link().modulus[m]);
}

double excess_at(const JointLink& at, std::span<const int64_t> shift, std::vector<int64_t>& movable, int64_t* work) {
  if (at.job.size() == 2) return at.prepared->pair[1].at(shift[at.job[1]] - shift[at.job[0]]);
  shifts_on(at, shift, movable);
  at.prepared->canonical.apply(movable);
  return at.link().excess(movable, work);
}

void rotate_to_zero(const JointProblem& problem, std::vector<int64_t>& shift) {
  std::vector<int64_t> first(problem.n_components, -1);
  for (std::size_t j = 0; j < problem.n_jobs(); ++j) {
    int64_t& zero = first[problem.component[j]];
    if (zero < 0 && !problem.places[j].empty()) zero = shift[j];
    shift[j] = problem.places[j].empty() ? 0 : wrap(shift[j] - zero, problem.modulus[j]);
  }
}

Interval canonical_excess(const JointLink& at, std::span<const int64_t> shift, int64_t* work) {
  std::vector<int64_t> movable;
  shifts_on(at, shift, movable);
  at.prepared->canonical.apply(movable);
  return excess_interval(at.link(), movable, work);
}

}  // namespace cassini
