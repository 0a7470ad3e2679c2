#include <array>
#include <cmath>

#include "base/limits.hpp"
#include "check.hpp"
#include "demand/folded_demand.hpp"
#include "demand/job_pattern.hpp"
#include "demand/link_problem.hpp"
#include "demand/marginal.hpp"
#include "link/score_interval.hpp"
#include "random_problem.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr std::array<int64_t, 6> kPeriods{4, 6, 9, 10, 12, 15};

Link link_of(const Problem& p, const Limits& limits = {}) {
  return make_link(p.patterns(), std::vector<uint8_t>(p.period.size(), 0), static_cast<double>(p.capacity), limits);
}

std::vector<int64_t> random_shifts(std::mt19937& rng, const Problem& p) {
  std::vector<int64_t> shift;
  for (const int64_t t : p.period) shift.push_back(std::uniform_int_distribution<int64_t>(0, t - 1)(rng));
  return shift;
}

std::vector<int64_t> movable(const Link& link, const std::vector<int64_t>& shift) {
  std::vector<int64_t> out;
  for (std::size_t m = 0; m < link.size(); ++m) out.push_back(shift[link.movable[m]]);
  return out;
}

}  // namespace

TEST(folded_excess_equals_every_tick_of_the_lcm_circle) {
  std::mt19937 rng(11);
  for (int round = 0; round < 400; ++round) {
    const Problem p = random_problem(rng, 1 + static_cast<std::size_t>(round) % 5, kPeriods, 3);
    const Link link = link_of(p);
    const auto shift = random_shifts(rng, p);
    int64_t work = 0;
    CHECK(std::abs(link.excess(movable(link, shift), &work) - excess_by_ticks(p, shift)) < 1e-9);
  }
}

TEST(marginals_equal_excess_with_minus_without) {
  std::mt19937 rng(12);
  for (int round = 0; round < 200; ++round) {
    const Problem p = random_problem(rng, 2 + static_cast<std::size_t>(round) % 3, kPeriods, 3);
    const Link link = link_of(p);
    if (link.size() == 0) continue;
    auto shift = random_shifts(rng, p);
    const std::size_t m = static_cast<std::size_t>(round) % link.size();
    const std::size_t job = link.movable[m];
    int64_t work = 0;
    Demand others;
    link.total(movable(link, shift), m, others, &work);
    Marginal marginal;
    marginal.build(others, link.pattern(m), link.capacity, &work);
    for (int64_t s = 0; s < p.period[job]; ++s) {
      shift[job] = s;
      CHECK(std::abs(mean_excess(others, link.capacity) + marginal.at(s) - excess_by_ticks(p, shift)) < 1e-9);
    }
  }
}

TEST(certified_intervals_contain_the_excess_however_small_the_limits) {
  std::mt19937 rng(13);
  for (int round = 0; round < 300; ++round) {
    const Problem p = random_problem(rng, 2 + static_cast<std::size_t>(round) % 4, kPeriods, 2);
    Limits limits;
    limits.max_events = 1 + round % 20;
    const Link link = link_of(p, limits);
    const auto shift = random_shifts(rng, p);
    int64_t work = 0;
    const Interval interval = certified_excess(link, movable(link, shift), &work);
    const double exact = excess_by_ticks(p, shift);
    CHECK(interval.lower <= exact + 1e-9);
    CHECK(interval.upper >= exact - 1e-9);
  }
}

TEST(a_demand_of_one_interval_costs_nothing_per_tick) {
  // A constant on a circle of one tick must not be tiled over a circle of 2^40.
  const std::vector<Phase> always{{0, int64_t{1} << 40, 3}};
  const std::vector<Phase> half{{0, int64_t{1} << 39, 5}};
  std::vector<JobPattern> jobs{make_pattern(int64_t{1} << 40, always, 1), make_pattern(int64_t{1} << 40, half, 1)};
  const Link link = make_link(std::move(jobs), {0, 0}, 6.0, {});
  int64_t work = 0;
  CHECK(link.excess(std::vector<int64_t>{0}, &work) == 1.0);
  CHECK(work < 100);
}

TEST(levels_beyond_the_limit_are_refused_not_dropped) {
  std::vector<JobPattern> jobs;
  for (int64_t j = 0; j < 12; ++j) {
    const std::vector<Phase> phases{{0, 1, int64_t{1} << j}};
    jobs.push_back(make_pattern(2, phases, 1));
  }
  Limits limits;
  limits.max_levels = 100;
  const Link link = make_link(jobs, std::vector<uint8_t>(12, 1), 1.0, limits);
  CHECK(!link.within_limits);
  CHECK(make_link(jobs, std::vector<uint8_t>(12, 1), 1.0, {}).within_limits);
}

TEST(rounding_of_a_marginal_stays_below_what_it_says_however_many_breakpoints_there_are) {
  // Sums that need more than the 53 bits of a double, over a hundred thousand breakpoints; the same in whole numbers.
  __extension__ using Wide = __int128;
  std::mt19937_64 rng(28);
  for (const std::size_t n : {std::size_t{2}, std::size_t{100}, std::size_t{100000}}) {
    constexpr int64_t kPeriod = int64_t{1} << 40;
    const int64_t step = kPeriod / static_cast<int64_t>(n);
    Demand demand;
    demand.modulus = kPeriod;
    demand.begin.clear();
    demand.offset.assign(1, 0);
    demand.atoms.clear();
    for (std::size_t i = 0; i < n; ++i) {
      demand.begin.push_back(static_cast<int64_t>(i) * step);
      demand.atoms.push_back({static_cast<double>(rng() % 1000000007U), 1.0});
      demand.offset.push_back(static_cast<uint32_t>(i + 1));
    }
    constexpr int64_t kLevel = 2000000011;
    constexpr double kCapacity = 1000000007.0;
    const std::vector<Phase> phases{{0, kPeriod / 3, kLevel}};
    const JobPattern job = make_pattern(kPeriod, phases, 1);
    Marginal marginal;
    int64_t work = 0;
    marginal.build(demand, job, kCapacity, &work);
    for (int round = 0; round < 50; ++round) {
      const auto shift = static_cast<int64_t>(rng() % static_cast<uint64_t>(kPeriod));
      Wide sum = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const auto gain = static_cast<int64_t>(demand.atoms[i].value + static_cast<double>(kLevel) - kCapacity);
        for (const int64_t turn : {int64_t{0}, kPeriod}) {  // the arc goes on past the end of the circle
          const int64_t from = std::max(demand.begin[i] + turn, shift);
          const int64_t to = std::min(demand.end_of(i) + turn, shift + kPeriod / 3);
          if (to > from) sum += static_cast<Wide>(gain) * (to - from);
        }
      }
      // The difference first: what is left of it a double holds.
      const auto found = static_cast<long double>(marginal.at(shift)) * static_cast<long double>(kPeriod);
      CHECK(std::abs(static_cast<double>(found - static_cast<long double>(sum))) <=
            marginal.rounding() * static_cast<double>(kPeriod));
    }
  }
}
