#include <array>
#include <chrono>
#include <cmath>
#include <limits>

#include "base/budget.hpp"
#include "base/periods.hpp"
#include "check.hpp"
#include "demand/job_pattern.hpp"
#include "demand/link_problem.hpp"
#include "link/angle_grid.hpp"
#include "link/branch_and_bound.hpp"
#include "link/lagrangian_bound.hpp"
#include "link/pair_bounds.hpp"
#include "link/solve_link.hpp"
#include "random_problem.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr std::array<int64_t, 5> kPeriods{4, 6, 8, 9, 12};
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

Link link_of(const Problem& p) {
  return make_link(p.patterns(), std::vector<uint8_t>(p.period.size(), 0), static_cast<double>(p.capacity), {});
}

}  // namespace

TEST(search_finds_the_best_whole_shifts) {
  std::mt19937 rng(31);
  for (int round = 0; round < 300; ++round) {
    const Problem p = random_problem(rng, 2 + static_cast<std::size_t>(round) % 3, kPeriods, 2);
    const Link link = link_of(p);
    Budget budget(kNone, kNone, nullptr);
    const Found found = search(link, budget);
    const double best = best_by_ticks(p);
    CHECK(std::abs(found.excess - best) < 1e-9);
    CHECK(std::abs(found.lower - best) < 1e-9);
  }
}

TEST(bounds_hold_whatever_the_node_limit) {
  std::mt19937 rng(32);
  for (int round = 0; round < 200; ++round) {
    const Problem p = random_problem(rng, 3 + static_cast<std::size_t>(round) % 2, kPeriods, 2);
    const Link link = link_of(p);
    const double best = best_by_ticks(p);
    for (const int64_t limit : {int64_t{1}, int64_t{2}, int64_t{5}, int64_t{20}}) {
      Budget budget(limit, kNone, nullptr);
      const Found found = search(link, budget);
      CHECK(found.lower <= best + 1e-9);
      CHECK(found.excess >= best - 1e-9);
    }
    Budget budget(kNone, kNone, nullptr);
    CHECK(static_bound(link, pair_gains(link, budget)) <= best + 1e-9);
    const double relaxed = lagrangian_bound(link, best, budget);
    CHECK(relaxed <= best + 1e-9);
    CHECK(relaxed >= link.area_bound() - 1e-9);
  }
}

TEST(the_heaviest_tree_weighs_most_of_all_trees) {
  std::mt19937 rng(38);
  for (int round = 0; round < 100; ++round) {
    const std::size_t n = 4;
    std::vector<double> root(n);
    std::vector<double> gain(n * n, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      root[i] = static_cast<double>(rng() % 8U);
      for (std::size_t k = 0; k < i; ++k) gain[i * n + k] = gain[k * n + i] = static_cast<double>(rng() % 8U);
    }
    // Job k hangs on parent[k] (n: the root): a tree if everybody reaches the root.
    double most = 0.0;
    for (std::size_t code = 0; code < 625; ++code) {
      std::array<std::size_t, 4> parent{code % 5, code / 5 % 5, code / 25 % 5, code / 125};
      double weight = 0.0;
      bool tree = true;
      for (std::size_t k = 0; k < n; ++k) {
        weight += parent[k] == n ? root[k] : gain[parent[k] * n + k];
        std::size_t at = k;
        for (std::size_t step = 0; step <= n && at < n; ++step) at = parent[at];
        tree = tree && at == n;
      }
      if (tree) most = std::max(most, weight);
    }
    const std::array<std::size_t, 4> jobs{2, 0, 3, 1};
    CHECK(heaviest_tree(jobs, root, gain) == most);
  }
}

TEST(equal_jobs_may_stand_at_the_same_shift) {
  // What was explored for one of several equal jobs is dead for the others only afterwards, not below.
  const auto solve = [](const std::vector<std::pair<int, std::vector<Phase>>>& kinds, double capacity) {
    std::vector<JobPattern> jobs;
    for (const auto& [count, phases] : kinds) {
      for (int i = 0; i < count; ++i) jobs.push_back(make_pattern(15, phases, 1));
    }
    const std::size_t n = jobs.size();
    const Link link = make_link(std::move(jobs), std::vector<uint8_t>(n, 0), capacity, {});
    Budget budget(kNone, kNone, nullptr);
    return 1.0 - search(link, budget).excess / capacity;
  };
  const double first = solve(
      {{3, {{14, 3, 1}}}, {2, {{7, 2, 4}, {14, 6, 6}, {7, 7, 3}}}, {1, {{0, 4, 10}, {3, 1, 4}, {4, 3, 12}}}}, 12.0);
  CHECK(std::abs(first - 0.738888888888889) < 1e-12);
  const double second =
      solve({{2, {{9, 4, 6}, {1, 1, 7}}}, {3, {{4, 4, 2}}}, {1, {{14, 6, 8}, {7, 5, 6}, {11, 3, 12}}}}, 13.0);
  CHECK(std::abs(second - 12.0 / 13.0) < 1e-12);

  std::mt19937 rng(37);
  const std::array<int64_t, 2> periods{5, 6};
  for (int round = 0; round < 150; ++round) {
    Problem p = random_problem(rng, 2, periods, 2);
    const std::size_t copies = 2 + static_cast<std::size_t>(round) % 2;
    for (std::size_t i = 0; i < copies; ++i) {
      p.period.push_back(p.period[1]);
      p.phases.push_back(p.phases[1]);
    }
    p.capacity = 2 + round % 12;
    const Link link = link_of(p);
    Budget budget(kNone, kNone, nullptr);
    const Found found = search(link, budget);
    CHECK(std::abs(found.excess - best_by_ticks(p)) < 1e-9);
  }
}

TEST(overloaded_links_whose_root_already_reaches_the_best_are_proven) {
  // Peaks and loads such that the room bound alone decides, at the root or below it.
  std::mt19937 rng(36);
  const std::array<int64_t, 2> periods{6, 12};
  for (int round = 0; round < 400; ++round) {
    Problem p = random_problem(rng, 3 + static_cast<std::size_t>(round) % 2, periods, 2);
    p.capacity = 1 + round % 5;
    const Link link = link_of(p);
    Budget budget(kNone, kNone, nullptr);
    const Found found = search(link, budget);
    const double best = best_by_ticks(p);
    CHECK(std::abs(found.excess - best) < 1e-9);
    CHECK(std::abs(found.lower - best) < 1e-9);
  }
}

TEST(levels_that_cannot_stand_together_bound_the_excess_better_than_the_area) {
  // Eight jobs of 40 on a link of 50, Up for 1.3 turns together: one at a time leaves 10 unused, two are 30 too much.
  std::vector<JobPattern> jobs;
  for (int64_t j = 0; j < 8; ++j) {
    const std::vector<Phase> phases{{10 * j, 20, 40}, {60 + 5 * j, 21, 40}};
    jobs.push_back(make_pattern(255, phases, 1));
  }
  const Link link = make_link(std::move(jobs), std::vector<uint8_t>(8, 0), 50.0, {});
  Budget budget(kNone, kNone, nullptr);
  const double area = link.area_bound();
  // By hand: at best one job at all instants, and the rest of their time on top of each other: 40 x (1.286 - 1) + 10.
  const double share = 8.0 * 41.0 / 255.0;
  const double expected = 40.0 * share - 40.0;
  CHECK(lagrangian_bound(link, 20.0, budget) > area + 5.0);
  CHECK(lagrangian_bound(link, 20.0, budget) <= expected + 1e-9);
}

TEST(an_expired_deadline_still_gives_a_valid_answer) {
  std::mt19937 rng(33);
  const Problem p = random_problem(rng, 4, kPeriods, 2);
  const Link link = link_of(p);
  Budget budget(kNone, 0, nullptr);
  const Found found = search(link, budget);
  const double best = best_by_ticks(p);
  CHECK(found.lower <= best + 1e-9);
  CHECK(found.excess >= best - 1e-9);
}

TEST(a_set_cancel_flag_throws) {
  std::mt19937 rng(34);
  const std::array<int64_t, 1> periods{24};
  const int32_t cancel = 1;
  bool thrown = false;
  for (int round = 0; round < 20 && !thrown; ++round) {
    const Link link = link_of(random_problem(rng, 5, periods, 3));
    Budget budget(kNone, kNone, &cancel);
    try {
      search(link, budget);
    } catch (const Canceled&) {
      thrown = true;
    }
  }
  CHECK(thrown);
}

TEST(equal_jobs_are_searched_once_not_in_every_order) {
  // Six equal jobs that do not fit: without symmetry the tree is 120 times as large.
  const std::vector<Phase> phases{{0, 37, 5}, {60, 11, 3}};
  std::vector<JobPattern> jobs(6, make_pattern(100, phases, 1));
  const Link link = make_link(std::move(jobs), std::vector<uint8_t>(6, 0), 9.0, {});
  Budget budget(kNone, kNone, nullptr);
  const Found found = search(link, budget);
  CHECK(found.lower == found.excess);
  CHECK(budget.nodes() < 20000);
}

TEST(angles_agree_with_plain_enumeration) {
  std::mt19937 rng(35);
  for (int round = 0; round < 100; ++round) {
    const Problem p = random_problem(rng, 2, kPeriods, 2);
    const std::vector<JobPattern> patterns = p.patterns();
    int64_t perimeter = 1;
    for (const int64_t t : p.period) perimeter = std::lcm(perimeter, t);
    const int64_t angles = 1 + round % 13;
    Budget budget(kNone, kNone, nullptr);
    const Angles found = solve_angles(patterns, static_cast<double>(p.capacity), angles, budget);
    int64_t best = kNone;
    const auto demand = [&](std::size_t j, int64_t index) {
      const int64_t t = ((index % angles + angles) % angles) * perimeter / angles % p.period[j];
      int64_t sum = 0;
      for (const Phase& phase : p.phases[j]) sum += wrap(t - phase.start, p.period[j]) < phase.length ? phase.rate : 0;
      return sum;
    };
    const auto rotations = [&](std::size_t j) { return (angles * p.period[j] + perimeter - 1) / perimeter; };
    for (int64_t x = 0; x < rotations(0); ++x) {
      for (int64_t y = 0; y < rotations(1); ++y) {
        int64_t sum = 0;
        for (int64_t a = 0; a < angles; ++a) {
          sum += std::max<int64_t>(0, demand(0, a - x) + demand(1, a - y) - p.capacity);
        }
        best = std::min(best, sum);
      }
    }
    CHECK(!budget.out_of_nodes() && !budget.out_of_time());
    CHECK(std::abs(found.excess * static_cast<double>(angles) - static_cast<double>(best)) < 1e-9);
  }
}

TEST(no_shifts_beat_the_bound_however_far_rates_are_from_the_capacity) {
  std::mt19937 rng(39);
  for (int round = 0; round < 300; ++round) {
    const SpikedSlots slots(rng);
    const auto capacity = static_cast<double>(slots.capacity);
    const Link link = make_link(slots.patterns(), std::vector<uint8_t>(3, 0), capacity, {});
    Budget budget(kNone, kNone, nullptr);
    CHECK(solve_exact(link, 0.0, false, budget).lower <= slots.best() + 1e-9 * capacity);
  }
}

TEST(what_rounding_hides_in_each_group_of_a_link_beyond_the_limits_is_not_lost_in_their_sum) {
  // Three jobs of each group have a period in common, and no two groups do. Of a group by itself the search takes for
  // nothing what spikes of a few thousand times the capacity cost beside the rest: that much, and no more, is promised.
  std::mt19937 rng(40);
  std::vector<JobPattern> jobs;
  double best = 0.0;
  SpikedSlots slots(rng);
  for (int64_t group = 0; group < 30; ++group) {
    slots = SpikedSlots(rng);
    slots.capacity = 30000;
    slots.spike = 8000 * slots.capacity;
    slots.slot = (int64_t{1} << 35) - 68 * group;
    slots.spike_ticks = 2290 * (400 - 12 * group);  // jobs of one group have means that are next to each other
    for (JobPattern& job : slots.patterns()) jobs.push_back(std::move(job));
    best += slots.best();
  }
  const auto capacity = static_cast<double>(slots.capacity);
  const std::size_t n = jobs.size();
  const Link link = make_link(std::move(jobs), std::vector<uint8_t>(n, 0), capacity, {});
  Budget budget(kNone, kNone, nullptr);
  const LinkAnswer found = solve_exact(link, 0.0, false, budget);
  CHECK(found.beyond_limits);
  CHECK(found.lower <= best + 1e-9 * capacity);
  CHECK(found.lower >= best - 1e-6 * capacity);
}
