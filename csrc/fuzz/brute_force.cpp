#include "brute_force.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

namespace cassini::fuzz {
namespace {

int64_t perimeter(const std::vector<TickJob>& jobs, const std::vector<uint8_t>& is_free) {
  int64_t out = 1;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (!is_free[j]) out = std::lcm(out, jobs[j].period);
  }
  return out;
}

int64_t demand_at(const TickJob& job, int64_t tick) {
  return job.demand[static_cast<std::size_t>((tick % job.period + job.period) % job.period)];
}

// Sums of the free jobs' demands at positions chosen independently, and how many choices give each.
std::map<int64_t, double> free_sums(const TickLink& link) {
  std::map<int64_t, double> sums{{0, 1.0}};
  for (std::size_t j = 0; j < link.jobs.size(); ++j) {
    if (!link.is_free[j]) continue;
    std::map<int64_t, double> more;
    for (const auto& [sum, ways] : sums) {
      for (const int64_t demand : link.jobs[j].demand) more[sum + demand] += ways;
    }
    sums = more;
  }
  return sums;
}

}  // namespace

std::vector<int64_t> lay_out(int64_t period, const std::vector<int64_t>& start, const std::vector<int64_t>& length,
                             const std::vector<int64_t>& rate) {
  std::vector<int64_t> out(static_cast<std::size_t>(period), 0);
  for (std::size_t p = 0; p < start.size(); ++p) {
    for (int64_t t = 0; t < length[p]; ++t) out[static_cast<std::size_t>((start[p] + t) % period)] += rate[p];
  }
  return out;
}

double mean_excess(const TickLink& link, const std::vector<int64_t>& shift) {
  const std::map<int64_t, double> loose = free_sums(link);
  double ways = 0.0;
  for (const auto& [sum, n] : loose) ways += n;
  const std::vector<std::pair<int64_t, double>> sums(loose.begin(), loose.end());
  const int64_t ticks = perimeter(link.jobs, link.is_free);
  double excess = 0.0;
  for (int64_t t = 0; t < ticks; ++t) {
    int64_t held = 0;
    for (std::size_t j = 0; j < link.jobs.size(); ++j) {
      if (!link.is_free[j]) held += demand_at(link.jobs[j], t - shift[j] % link.jobs[j].period);
    }
    for (const auto& [sum, n] : sums) {
      excess += n * static_cast<double>(std::max<int64_t>(0, held + sum - link.capacity));
    }
  }
  return excess / ways / static_cast<double>(ticks);
}

double score(const TickLink& link, const std::vector<int64_t>& shift) {
  return 1.0 - mean_excess(link, shift) / static_cast<double>(link.capacity);
}

void for_all_shifts(const std::vector<int64_t>& period, const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> shift(period.size(), 0);
  for (;;) {
    visit(shift);
    std::size_t j = 1;
    for (; j < shift.size(); ++j) {
      if (++shift[j] < period[j]) break;
      shift[j] = 0;
    }
    if (j >= shift.size()) return;
  }
}

std::vector<uint8_t> free_jobs(const std::vector<TickJob>& jobs, int64_t resolution) {
  std::vector<uint8_t> is_free(jobs.size(), 0);
  std::vector<std::size_t> left;  // jobs without demand are not on the link
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    if (std::any_of(jobs[j].demand.begin(), jobs[j].demand.end(), [](int64_t d) { return d > 0; })) left.push_back(j);
  }
  for (bool found = true; found;) {
    found = false;
    std::vector<std::size_t> kept;
    for (const std::size_t j : left) {
      int64_t turn = left.size() == 1 ? jobs[j].period : 1;
      for (const std::size_t k : left) {
        if (k != j) turn = std::lcm(turn, std::gcd(jobs[j].period, jobs[k].period));
      }
      is_free[j] = turn <= 2 * resolution ? 1 : 0;
      found = found || is_free[j];
      if (!is_free[j]) kept.push_back(j);
    }
    left = kept;
  }
  return is_free;
}

int64_t cost(const std::vector<TickJob>& jobs, const std::vector<uint8_t>& is_free) {
  return perimeter(jobs, is_free) * static_cast<int64_t>(jobs.size());
}

}  // namespace cassini::fuzz
