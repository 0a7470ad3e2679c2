#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <span>

#include "base/budget.hpp"
#include "base/periods.hpp"
#include "check.hpp"
#include "demand/job_pattern.hpp"
#include "random_problem.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

}  // namespace

namespace {

double rate_at(const JobPattern& pattern, int64_t tick) {
  for (const Segment& s : pattern.segments) {
    if (s.begin <= tick && tick < s.end) return pattern.levels[static_cast<std::size_t>(s.level)];
  }
  return 0.0;
}

}  // namespace

TEST(a_circle_shows_the_sum_of_its_phases_at_every_tick) {
  std::mt19937 rng(1);
  const std::array<int64_t, 3> periods{7, 12, 20};
  for (int round = 0; round < 500; ++round) {
    const Problem p = random_problem(rng, 1, periods, 5);
    const JobPattern pattern = p.patterns()[0];
    double area = 0.0;
    for (int64_t t = 0; t < p.period[0]; ++t) {
      int64_t sum = 0;
      for (const Phase& phase : p.phases[0]) {
        if (wrap(t - phase.start, p.period[0]) < phase.length) sum += phase.rate;
      }
      CHECK(rate_at(pattern, t) == static_cast<double>(sum));
      area += static_cast<double>(sum);
    }
    CHECK(area == pattern.area);
  }
}

TEST(edges_are_where_the_demand_jumps_around_the_circle) {
  std::mt19937 rng(2);
  const std::array<int64_t, 3> periods{5, 9, 16};
  for (int round = 0; round < 500; ++round) {
    const JobPattern pattern = random_problem(rng, 1, periods, 4).patterns()[0];
    std::size_t seen = 0;
    for (int64_t t = 0; t < pattern.period; ++t) {
      const double before = rate_at(pattern, wrap(t - 1, pattern.period));
      const double now = rate_at(pattern, t);
      const auto edge =
          std::find_if(pattern.edges.begin(), pattern.edges.end(), [&](const Edge& e) { return e.at == t; });
      CHECK((edge != pattern.edges.end()) == (before != now));
      if (edge != pattern.edges.end()) {
        CHECK(edge->rising == (now > before));
        ++seen;
      }
    }
    CHECK(seen == pattern.edges.size());
  }
}

TEST(a_widened_circle_is_the_largest_demand_within_reach) {
  std::mt19937 rng(3);
  const std::array<int64_t, 3> periods{6, 11, 18};
  for (int round = 0; round < 500; ++round) {
    const JobPattern pattern = random_problem(rng, 1, periods, 4).patterns()[0];
    const int64_t reach = std::uniform_int_distribution<int64_t>(0, pattern.period)(rng);
    const JobPattern wide = widen(pattern, reach);
    for (int64_t t = 0; t < pattern.period; ++t) {
      double largest = 0.0;
      for (int64_t d = -reach; d <= reach; ++d)
        largest = std::max(largest, rate_at(pattern, wrap(t + d, pattern.period)));
      CHECK(rate_at(wide, t) == largest);
    }
  }
}

TEST(folded_moduli_of_the_documented_examples) {
  const auto moduli = [](std::vector<int64_t> periods) { return folded_moduli(periods); };
  CHECK((moduli({40, 60}) == std::vector<int64_t>{20, 20}));
  CHECK((moduli({200, 250, 300}) == std::vector<int64_t>{100, 50, 100}));
  CHECK((moduli({255, 247, 331}) == std::vector<int64_t>{1, 1, 1}));
  CHECK((moduli({255}) == std::vector<int64_t>{255}));
}

TEST(jobs_are_marked_free_in_passes) {
  // In ms 255, 247 and 331 share nothing: all three at once, or the last one left would count as alone.
  const std::array<int64_t, 3> coprime{255000000, 247000000, 331000000};
  Budget budget(kNone, kNone, nullptr);
  CHECK((mark_free(coprime, 500000, budget) == std::vector<uint8_t>{1, 1, 1}));
  CHECK((mark_free(coprime, 0, budget) == std::vector<uint8_t>{0, 0, 0}));
  const std::array<int64_t, 3> mixed{255000000, 255000000, 247000001};
  CHECK((mark_free(mixed, 500000, budget) == std::vector<uint8_t>{0, 0, 1}));
}

TEST(lcm_is_capped_instead_of_overflowing) {
  CHECK(lcm_capped(40, 60) == 120);
  CHECK(lcm_capped((int64_t{1} << 40) - 1, (int64_t{1} << 40) - 3) == kTooLarge);
  CHECK(lcm_capped(kTooLarge, 1) == kTooLarge);
}

namespace {

// Each shares a large prime with the one before and the one after, so that they become free one by one.
std::vector<int64_t> chain_of_primes(std::size_t n) {
  std::vector<int64_t> primes;
  for (int64_t p = 131071; primes.size() <= n; p += 2) {
    bool is_prime = true;
    for (int64_t d = 3; d * d <= p && is_prime; d += 2) is_prime = p % d != 0;
    if (is_prime) primes.push_back(p);
  }
  std::vector<int64_t> out;
  for (std::size_t j = 0; j < n; ++j) out.push_back(2 * primes[j] * primes[j + 1]);
  return out;
}

// F1b, word by word.
std::vector<uint8_t> free_by_definition(std::span<const int64_t> periods, int64_t resolution) {
  std::vector<uint8_t> is_free(periods.size(), 0);
  for (bool more = true; more;) {
    more = false;
    std::vector<std::size_t> left;
    std::vector<int64_t> periods_left;
    for (std::size_t j = 0; j < periods.size(); ++j) {
      if (is_free[j]) continue;
      left.push_back(j);
      periods_left.push_back(periods[j]);
    }
    const std::vector<int64_t> moduli = folded_moduli(periods_left);
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (moduli[i] <= 2 * resolution) is_free[left[i]] = more = true;
    }
  }
  return is_free;
}

}  // namespace

TEST(free_jobs_are_those_of_the_definition) {
  std::mt19937 rng(27);
  for (int round = 0; round < 500; ++round) {
    std::vector<int64_t> periods;
    for (std::size_t j = 0; j < 2 + static_cast<std::size_t>(round) % 12; ++j) {
      periods.push_back(static_cast<int64_t>((1 + rng() % 6U) * (1 + rng() % 6U) * (1 + rng() % 7U)));
    }
    const int64_t resolution = static_cast<int64_t>(rng() % 8U);
    Budget budget(kNone, kNone, nullptr);
    CHECK(mark_free(periods, resolution, budget) ==
          (resolution == 0 ? std::vector<uint8_t>(periods.size(), 0) : free_by_definition(periods, resolution)));
  }
  const std::vector<int64_t> chain = chain_of_primes(40);
  Budget budget(kNone, kNone, nullptr);
  CHECK(mark_free(chain, 500000, budget) == free_by_definition(chain, 500000));
}

TEST(looking_for_free_jobs_ends_with_the_deadline_and_the_cancel_flag) {
  const std::vector<int64_t> chain = chain_of_primes(1024);
  Budget late(kNone, 0, nullptr);
  CHECK((mark_free(chain, 500000, late) == std::vector<uint8_t>(chain.size(), 0)));
  CHECK(late.out_of_time());
  const int32_t cancel = 1;
  Budget canceled(kNone, kNone, &cancel);
  bool thrown = false;
  try {
    mark_free(chain, 500000, canceled);
  } catch (const Canceled&) {
    thrown = true;
  }
  CHECK(thrown);
}

TEST(the_clock_is_looked_at_while_jobs_become_free_whoever_is_free_already) {
  // The jobs that share nothing are free after the first pass; the others follow one by one.
  std::vector<int64_t> periods;
  for (const int64_t period : chain_of_primes(896)) {
    periods.push_back(period);
    if (periods.size() % 8 == 7) periods.push_back(1);
  }
  const auto begin = Budget::Clock::now();
  Budget endless(kNone, kNone, nullptr);
  const std::vector<uint8_t> all = mark_free(periods, 500000, endless);
  CHECK(all == std::vector<uint8_t>(periods.size(), 1));
  const auto whole = std::chrono::duration_cast<std::chrono::nanoseconds>(Budget::Clock::now() - begin).count();
  Budget quarter(kNone, whole / 4, nullptr);
  CHECK(mark_free(periods, 500000, quarter) != all);
  CHECK(quarter.out_of_time());
}
