// Canonical shifts: one form for all shifts that stand alike.
#include <algorithm>
#include <array>
#include <numeric>

#include "base/periods.hpp"
#include "check.hpp"
#include "demand/job_pattern.hpp"
#include "demand/link_problem.hpp"
#include "link/canonical_shifts.hpp"
#include "random_problem.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr std::array<int64_t, 6> kPeriods{4, 6, 8, 9, 10, 12};

Link random_link(std::mt19937& rng, Problem& problem) {
  problem = random_problem(rng, 2 + rng() % 4, kPeriods, 3);
  return make_link(problem.patterns(), std::vector<uint8_t>(problem.period.size(), 0),
                   static_cast<double>(problem.capacity), {});
}

std::vector<int64_t> stance_of(const Link& link, std::vector<int64_t> shift) {
  CanonicalShifts(link).apply(shift);
  return shift;
}

}  // namespace

TEST(the_canonical_shifts_are_the_first_of_all_common_rotations) {
  std::mt19937 rng(71);
  for (int round = 0; round < 400; ++round) {
    Problem problem;
    const Link link = random_link(rng, problem);
    std::vector<int64_t> shift;
    for (const int64_t modulus : link.modulus) shift.push_back(static_cast<int64_t>(rng() % 1000) - 500 + modulus);
    std::vector<int64_t> first;
    for (int64_t by = 0; by < 360; ++by) {  // all periods divide 360
      std::vector<int64_t> rotated;
      for (std::size_t m = 0; m < shift.size(); ++m) rotated.push_back(wrap(shift[m] - by, link.modulus[m]));
      if (by == 0 || rotated < first) first = rotated;
      CHECK(stance_of(link, rotated) == stance_of(link, shift));
    }
    CHECK(stance_of(link, shift) == first);
  }
}

TEST(a_link_at_its_canonical_shifts_has_the_excess_of_the_shifts) {
  std::mt19937 rng(72);
  for (int round = 0; round < 200; ++round) {
    Problem problem;
    const Link link = random_link(rng, problem);
    std::vector<int64_t> shift(problem.period.size(), 0);
    std::vector<int64_t> movable;
    for (const std::size_t j : link.movable) {
      shift[j] = static_cast<int64_t>(rng() % 1000);
      movable.push_back(shift[j]);
    }
    int64_t work = 0;
    CHECK(std::abs(link.excess(stance_of(link, movable), &work) - excess_by_ticks(problem, shift)) < 1e-9);
  }
}

TEST(canonical_shifts_of_long_periods_do_not_overflow) {
  // Large prime periods in pairs: common turns up to 2^61, and lifts by the hundred million.
  const int64_t p = 1048573, q = 1048571, r = 1048559;
  std::vector<JobPattern> jobs;
  for (const int64_t period : {p * q, q * r, p * r}) {
    const std::array<Phase, 1> phase{Phase{0, period / 3, 2}};
    jobs.push_back(make_pattern(period, phase, 1));
  }
  const Link link = make_link(jobs, {0, 0, 0}, 3.0, {});
  std::mt19937_64 rng(73);
  for (int round = 0; round < 200; ++round) {
    std::vector<int64_t> shift;
    for (std::size_t m = 0; m < 3; ++m) shift.push_back(static_cast<int64_t>(rng() % (int64_t{1} << 40)));
    const auto by = static_cast<int64_t>(rng() % (int64_t{1} << 61));
    std::vector<int64_t> rotated;
    for (std::size_t m = 0; m < 3; ++m) rotated.push_back(wrap(shift[m] - by, link.modulus[m]));
    const std::vector<int64_t> canonical = stance_of(link, shift);
    CHECK(canonical == stance_of(link, rotated));
    for (std::size_t m = 0; m < 3; ++m) CHECK(canonical[m] >= 0 && canonical[m] < link.modulus[m]);
    for (std::size_t m = 0; m < 3; ++m) {
      for (std::size_t k = 0; k < m; ++k) {
        CHECK((canonical[m] - canonical[k] - shift[m] + shift[k]) % std::gcd(link.modulus[m], link.modulus[k]) == 0);
      }
    }
  }
}
