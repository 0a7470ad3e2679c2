#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <limits>

#include "base/budget.hpp"
#include "check.hpp"
#include "demand/job_pattern.hpp"
#include "demand/link_problem.hpp"
#include "link/branch_and_bound.hpp"
#include "random_problem.hpp"
#include "robustness/centering.hpp"
#include "robustness/hold.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr std::array<int64_t, 5> kPeriods{8, 12, 12, 16, 24};
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

Problem scaled(Problem p, int64_t factor) {
  for (int64_t& t : p.period) t *= factor;
  for (auto& phases : p.phases) {
    for (Phase& phase : phases) {
      phase.start *= factor;
      phase.length *= factor;
    }
  }
  return p;
}

}  // namespace

TEST(slack_is_the_largest_move_that_keeps_the_excess) {
  std::mt19937 rng(21);
  for (int round = 0; round < 150; ++round) {
    const Problem p = scaled(random_problem(rng, 2 + static_cast<std::size_t>(round) % 3, kPeriods, 2), 2);
    const Link link =
        make_link(p.patterns(), std::vector<uint8_t>(p.period.size(), 0), static_cast<double>(p.capacity), {});
    std::vector<int64_t> shift;
    for (const int64_t t : p.period) shift.push_back(std::uniform_int_distribution<int64_t>(0, t - 1)(rng));
    std::vector<int64_t> own;
    for (std::size_t m = 0; m < link.size(); ++m) own.push_back(shift[link.movable[m]]);
    const double tolerance = 0.05 * static_cast<double>(round % 3);
    Budget budget(kNone, kNone, nullptr);
    const Hold hold = slack_and_hold(link, own, link.excess(own, &budget.work), {}, tolerance, budget);
    const double limit = excess_by_ticks(p, shift) + tolerance + 1e-9;
    for (std::size_t j = 0; j < p.period.size(); ++j) {
      int64_t reach = 0;
      const auto fits = [&](int64_t move) {
        auto moved = shift;
        moved[j] += move;
        return excess_by_ticks(p, moved) <= limit;
      };
      while (reach < p.period[j] / 2 && fits(reach + 1) && fits(-reach - 1)) ++reach;
      CHECK(hold.slack[j] == reach);
    }
  }
}

TEST(hold_keeps_the_excess_at_every_corner) {
  std::mt19937 rng(22);
  for (int round = 0; round < 150; ++round) {
    const Problem p = scaled(random_problem(rng, 3 + static_cast<std::size_t>(round) % 2, kPeriods, 1), 4);
    const Link link =
        make_link(p.patterns(), std::vector<uint8_t>(p.period.size(), 0), static_cast<double>(p.capacity), {});
    Budget budget(kNone, kNone, nullptr);
    Found found = search(link, budget);
    centre(link, found.shift, 0.0, budget);
    std::vector<int64_t> shift(p.period.size(), 0);
    for (std::size_t m = 0; m < link.size(); ++m) shift[link.movable[m]] = found.shift[m];
    const int64_t hold =
        slack_and_hold(link, found.shift, link.excess(found.shift, &budget.work), {}, 0.0, budget).hold;
    const double limit = excess_by_ticks(p, shift) + 1e-9;
    for (std::size_t corner = 0; corner < (std::size_t{1} << p.period.size()); ++corner) {
      auto moved = shift;
      for (std::size_t j = 0; j < moved.size(); ++j) moved[j] += ((corner >> j) & 1U) ? hold : -hold;
      CHECK(excess_by_ticks(p, moved) <= limit);
    }
  }
}

TEST(a_pair_stands_in_the_middle_of_its_widest_plateau) {
  const std::vector<Phase> a{{0, 30, 5}};
  const std::vector<Phase> b{{0, 20, 5}, {50, 10, 5}};
  std::vector<JobPattern> jobs{make_pattern(100, a, 1), make_pattern(100, b, 1)};
  const Link link = make_link(std::move(jobs), {0, 0}, 5.0, {});
  Budget budget(kNone, kNone, nullptr);
  const Found found = search(link, budget);
  // The first (larger mean, then content) job is b-like or a; what counts is the distance: b's gaps are 30 and 40 wide,
  // the 30 of a fits the 40 with 10 to spare: 5 on each side.
  const Hold hold = slack_and_hold(link, found.shift, link.excess(found.shift, &budget.work), {}, 0.0, budget);
  CHECK(found.excess == 0.0);
  CHECK(hold.slack[0] == 5);
  CHECK(hold.slack[1] == 5);
  CHECK(hold.hold == 2);
}

TEST(centring_never_costs_excess_nor_slack) {
  std::mt19937 rng(23);
  for (int round = 0; round < 100; ++round) {
    const Problem p = scaled(random_problem(rng, 3, kPeriods, 2), 10);
    const Link link =
        make_link(p.patterns(), std::vector<uint8_t>(p.period.size(), 0), static_cast<double>(p.capacity), {});
    if (link.size() < 3) continue;
    Budget budget(kNone, kNone, nullptr);
    const Found found = search(link, budget);
    std::vector<int64_t> centred = found.shift;
    centre(link, centred, 0.0, budget);
    int64_t work = 0;
    CHECK(link.excess(centred, &work) <= found.excess + 1e-9);
    const auto least = [&](const std::vector<int64_t>& shift) {
      const Hold hold = slack_and_hold(link, shift, link.excess(shift, &budget.work), {}, 0.0, budget);
      return *std::min_element(hold.slack.begin(), hold.slack.end());
    };
    CHECK(least(centred) >= least(found.shift));
  }
}

TEST(slack_and_hold_end_soon_where_rounding_or_a_zero_tolerance_could_make_them_crawl) {
  const std::clock_t begin = std::clock();
  // Three jobs that touch: at tolerance 0 the hold's search starts from a difference of exactly 0.
  const std::vector<Phase> third{{0, 60000000, 5}};
  const Link touching = make_link(std::vector<JobPattern>(3, make_pattern(250000000, third, 1)), {0, 0, 0}, 5.0, {});
  Budget budget(kNone, kNone, nullptr);
  const std::vector<int64_t> spread_out{0, 83333333, 166666666};
  const Hold hold = slack_and_hold(touching, spread_out, touching.excess(spread_out, &budget.work), {}, 0.0, budget);
  CHECK(hold.hold >= 11640000 && hold.hold <= 11666666);
  // Rates a hundred thousand times the capacity, times near 2^40: noise is larger than a tick's worth of excess.
  constexpr int64_t kPeriod = 549755813887;
  const std::vector<std::vector<Phase>> wild{
      {{91101747091, 212597680515, 689012599634}, {384074852296, 16137774993, 641992466110}},
      {{479347019990, 74670184866, 549302606027}, {486476172510, 108397677246, 628719835896}},
      {{465366938182, 259034834741, 650187876119}, {513808317802, 209102294638, 930716773222}}};
  std::vector<JobPattern> jobs;
  for (const auto& phases : wild) jobs.push_back(make_pattern(kPeriod, phases, 1));
  const Link noisy = make_link(std::move(jobs), {0, 0, 0}, 1e8, {});
  Found found = search(noisy, budget);
  centre(noisy, found.shift, 0.0, budget);
  slack_and_hold(noisy, found.shift, noisy.excess(found.shift, &budget.work), {}, 0.0, budget);
  CHECK(std::clock() - begin < 2 * CLOCKS_PER_SEC);
}
