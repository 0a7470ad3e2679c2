#include "demand/link_problem.hpp"

#include <algorithm>

#include "base/periods.hpp"

namespace cassini {
namespace {

void fold_jobs(Link& link) {
  const std::size_t n = link.size();
  std::vector<int64_t> periods(n);
  std::vector<const JobPattern*> jobs(n);
  for (std::size_t m = 0; m < n; ++m) {
    jobs[m] = &link.pattern(m);
    periods[m] = jobs[m]->period;
  }
  link.modulus = folded_moduli(periods);

  // Weights count samples as long as every product of counts is a whole number that doubles hold exactly.
  double samples = 1.0;
  for (std::size_t m = 0; m < n; ++m) samples *= static_cast<double>(periods[m] / link.modulus[m]);
  for (std::size_t j = 0; j < link.jobs.size(); ++j) {
    if (link.is_free[j]) samples *= static_cast<double>(link.jobs[j].period);
  }
  const bool probability = samples > 9007199254740992.0;

  std::size_t most = 0;
  for (const JobPattern* job : jobs) most = std::max({most, job->levels.size(), job->edges.size() / 2});
  const double events = folded_events(link.modulus, jobs);
  link.within_limits = events <= static_cast<double>(link.limits.max_events) &&
                       link.limits.allows_cells(events, static_cast<double>(most));
  link.folded.clear();
  link.folded.reserve(n);
  try {
    std::size_t atoms = 0;
    for (std::size_t m = 0; m < n && link.within_limits; ++m) {
      link.folded.push_back(fold(*jobs[m], link.modulus[m], probability));
      atoms += link.folded.back().atoms.size();
      if (atoms > link.limits.max_folded_atoms()) throw LimitExceeded{};
    }
  } catch (const LimitExceeded&) {
    link.within_limits = false;
    link.folded.clear();
  }

  // Free and constant jobs: one distribution for the whole circle.
  int64_t work = 0;
  double left = 0.0;
  for (const JobPattern& job : link.jobs) left += job.peak;
  link.base = Demand{};
  try {
    for (std::size_t j = 0; j < link.jobs.size(); ++j) {
      const JobPattern& job = link.jobs[j];
      if (link.is_movable(j) || job.silent()) continue;
      left -= job.peak;
      Demand sum;
      const Demand one = job.constant() ? always(job.peak) : spread(job, probability);
      add(link.base, one, 0, link.capacity - left, link.limits, sum, &work);
      if (work > link.limits.max_sum_work()) throw LimitExceeded{};
      link.base = std::move(sum);
    }
  } catch (const LimitExceeded&) {
    link.within_limits = false;
    link.base = Demand{};
  }
}

}  // namespace

Link make_link(std::vector<JobPattern> jobs, std::vector<uint8_t> is_free, double capacity, const Limits& limits) {
  Link link;
  link.capacity = capacity;
  link.jobs = std::move(jobs);
  link.is_free = std::move(is_free);
  link.limits = limits;
  link.movable.reserve(link.jobs.size());
  for (std::size_t j = 0; j < link.jobs.size(); ++j) {
    if (link.is_movable(j)) link.movable.push_back(j);
  }
  // Equal jobs stay in the order in which they were given.
  std::sort(link.movable.begin(), link.movable.end(), [&](std::size_t x, std::size_t y) {
    if (content_before(link.jobs[x], link.jobs[y])) return true;
    return x < y && !content_before(link.jobs[y], link.jobs[x]);
  });
  double peak = 0.0;
  for (const JobPattern& job : link.jobs) peak += job.peak;
  // Sums are exact below 2^53. Beyond, each addition is off by up to u = 2^-53 of the sum so far, to either side: ten
  // thousand of them by some 100 u / 3 = 4e-15 of the whole sum (docs/method.md, F3). No demand is above all peaks.
  link.noise = std::max(1e-12 * capacity, 4e-15 * peak);
  fold_jobs(link);
  return link;
}

Link Link::only(std::span<const std::size_t> keep, bool with_base) const {
  std::vector<JobPattern> kept_jobs;
  std::vector<uint8_t> kept_free;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const auto m = static_cast<std::size_t>(std::find(movable.begin(), movable.end(), j) - movable.begin());
    const bool kept = m == movable.size() ? with_base : std::find(keep.begin(), keep.end(), m) != keep.end();
    if (kept) {
      kept_jobs.push_back(jobs[j]);
      kept_free.push_back(is_free[j]);
    }
  }
  return make_link(std::move(kept_jobs), std::move(kept_free), capacity, limits);
}

double Link::area_bound() const {
  double mean = 0.0;
  for (const JobPattern& job : jobs) mean += job.mean();
  return std::max(0.0, mean - capacity);
}

double Link::movable_peak() const {
  double peak = 0.0;
  for (std::size_t m = 0; m < size(); ++m) peak += pattern(m).peak;
  return peak;
}

double Link::peak_left(std::span<const uint8_t> placed) const {
  double left = 0.0;
  for (std::size_t m = 0; m < size(); ++m) {
    if (!placed[m]) left += pattern(m).peak;
  }
  return left;
}

void Link::total(std::span<const int64_t> shift, std::size_t without, Demand& out, int64_t* work) const {
  double left = movable_peak();
  // Two buffers in turn; the last sum must land in `out`.
  Demand other;
  const std::size_t sums = size() - (without < size() ? 1 : 0);
  const Demand* sum = &base;
  const int64_t before = *work;
  std::size_t done = 0;
  for (std::size_t m = 0; m < size(); ++m) {
    if (m == without) continue;
    left -= pattern(m).peak;
    Demand& next = (sums - ++done) % 2 == 0 ? out : other;
    add(*sum, folded[m], shift[m], capacity - left, limits, next, work);
    if (*work - before > limits.max_sum_work()) throw LimitExceeded{};
    sum = &next;
  }
  if (sums == 0) out = base;
}

double Link::excess(std::span<const int64_t> shift, int64_t* work) const {
  Demand demand;
  total(shift, size(), demand, work);
  return mean_excess(demand, capacity);
}

std::vector<int64_t> movable_shifts(const Link& link, std::span<const int64_t> shift) {
  std::vector<int64_t> out;
  out.reserve(link.size());
  for (std::size_t m = 0; m < link.size(); ++m) out.push_back(wrap(shift[link.movable[m]], link.modulus[m]));
  return out;
}

}  // namespace cassini
