#include <algorithm>
#include <array>

#include "base/periods.hpp"
#include "check.hpp"
#include "demand/job_pattern.hpp"
#include "random_problem.hpp"

using namespace cassini;
using namespace cassini::test;

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

TEST(folded_turns_of_the_documented_examples) {
  const auto turns = [](std::vector<int64_t> periods) {
    return folded_moduli(periods, std::vector<uint8_t>(periods.size(), 1));
  };
  CHECK((turns({40, 60}) == std::vector<int64_t>{20, 20}));
  CHECK((turns({200, 250, 300}) == std::vector<int64_t>{100, 50, 100}));
  CHECK((turns({255, 247, 331}) == std::vector<int64_t>{1, 1, 1}));
  CHECK((turns({255}) == std::vector<int64_t>{255}));
}

TEST(jobs_are_marked_free_in_passes) {
  // In ms 255, 247 and 331 share nothing: all three at once, or the last one left would count as alone.
  const std::array<int64_t, 3> coprime{255000000, 247000000, 331000000};
  CHECK((mark_free(coprime, 500000) == std::vector<uint8_t>{1, 1, 1}));
  CHECK((mark_free(coprime, 0) == std::vector<uint8_t>{0, 0, 0}));
  const std::array<int64_t, 3> mixed{255000000, 255000000, 247000001};
  CHECK((mark_free(mixed, 500000) == std::vector<uint8_t>{0, 0, 1}));
}

TEST(lcm_is_capped_instead_of_overflowing) {
  CHECK(lcm_capped(40, 60) == 120);
  CHECK(lcm_capped((int64_t{1} << 40) - 1, (int64_t{1} << 40) - 3) == kTooLarge);
  CHECK(lcm_capped(kTooLarge, 1) == kTooLarge);
}
