// Joint problems: exhaustive search against plain enumeration, local search against exhaustive search.
#include <algorithm>
#include <array>
#include <cfenv>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "base/budget.hpp"
#include "base/periods.hpp"
#include "base/piecewise_linear.hpp"
#include "check.hpp"
#include "demand/link_problem.hpp"
#include "joint/joint_branch_and_bound.hpp"
#include "joint/joint_case.hpp"
#include "joint/joint_centering.hpp"
#include "joint/joint_problem.hpp"
#include "joint/joint_state.hpp"
#include "joint/solve_joint.hpp"
#include "link/branch_and_bound.hpp"
#include "random_problem.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
constexpr std::array<int64_t, 4> kPeriods{4, 6, 8, 12};

JointAnswer solve(const JointProblem& joint, int64_t nodes = kNone, const JointStart& start = {}) {
  Budget budget(nodes, kNone, nullptr);
  return solve_joint(joint, start, budget);
}

// On links that guide: the bound that belongs to found.lower.
bool proven(const JointCase& c, const JointAnswer& found) { return found.lower >= c.objective(found.shift) - 1e-9; }

}  // namespace

TEST(a_joint_problem_without_node_limit_gets_the_best_whole_shifts_and_a_proof) {
  std::mt19937 rng(51);
  for (int round = 0; round < 250; ++round) {
    const JointCase c =
        random_case(rng, 2 + static_cast<std::size_t>(round) % 3, 1 + static_cast<std::size_t>(round) % 4, kPeriods, 2);
    const JointAnswer found = solve(c.joint());
    const double best = c.best();
    CHECK(std::abs(c.objective(found.shift) - best) < 1e-9);
    CHECK(proven(c, found));
    CHECK(found.lower <= best + 1e-9);
  }
}

TEST(exhaustive_search_alone_finds_the_best_from_nothing) {
  // Without local search before it, the tree itself must reach the optimum.
  std::mt19937 rng(52);
  for (int round = 0; round < 150; ++round) {
    const JointCase c = random_case(rng, 3 + static_cast<std::size_t>(round) % 2, 3, kPeriods, 2);
    const JointProblem joint = c.joint();
    double sum = 0.0;  // of the parts' optima and of links that no shift changes
    std::vector<int64_t> zero(joint.n_jobs(), 0);
    for (const JointLink& at : joint.links) {
      if (at.job.size() < 2) sum += at.per_excess() * at.lower_bound;
    }
    for (std::size_t part = 0; part < joint.n_components; ++part) {
      std::vector<std::size_t> jobs;
      for (std::size_t j = 0; j < joint.n_jobs(); ++j) {
        if (joint.component[j] == part) jobs.push_back(j);
      }
      if (links_of(joint, jobs).empty()) continue;
      Budget budget(kNone, kNone, nullptr);
      const Proof proof = prove_joint(joint, jobs, 1e6, budget);
      CHECK(proof.improved);
      CHECK(proof.lower == proof.objective);
      sum += proof.objective;
    }
    CHECK(std::abs(sum - c.best()) < 1e-9);
  }
}

TEST(bounds_of_joint_problems_hold_whatever_the_node_limit) {
  std::mt19937 rng(53);
  for (int round = 0; round < 150; ++round) {
    const JointCase c = random_case(rng, 3 + static_cast<std::size_t>(round) % 2, 3, kPeriods, 2);
    const JointProblem joint = c.joint();
    const double best = c.best();
    for (const int64_t limit : {int64_t{1}, int64_t{3}, int64_t{10}, int64_t{40}, int64_t{200}}) {
      const JointAnswer found = solve(joint, limit);
      CHECK(found.lower <= best + 1e-9);
      CHECK(c.objective(found.shift) >= best - 1e-9);
    }
  }
}

TEST(a_start_is_never_lost_and_only_its_neighbourhood_need_be_dirty) {
  std::mt19937 rng(54);
  for (int round = 0; round < 150; ++round) {
    const JointCase c = random_case(rng, 5, 4, kPeriods, 3);
    const JointProblem joint = c.joint();
    std::vector<int64_t> start;
    std::vector<uint8_t> dirty;
    for (const int64_t period : c.jobs.period) {
      start.push_back(static_cast<int64_t>(rng() % static_cast<uint64_t>(period)));
      dirty.push_back(rng() % 2);
    }
    for (const int64_t limit : {int64_t{1}, int64_t{20}, int64_t{2000}}) {
      const JointAnswer found = solve(joint, limit, {start, dirty});
      CHECK(c.objective(found.shift) <= c.objective(start) + 1e-9);
    }
  }
}

TEST(jobs_that_are_kept_stay_and_the_others_get_the_best_places_beside_them_with_proof) {
  std::mt19937 rng(63);
  for (int round = 0; round < 300; ++round) {
    const JointCase c =
        random_case(rng, 2 + static_cast<std::size_t>(round) % 3, 1 + static_cast<std::size_t>(round) % 4, kPeriods, 2);
    const JointProblem joint = c.joint();
    const std::size_t n = joint.n_jobs();
    std::vector<int64_t> start;
    std::vector<uint8_t> kept;
    for (const int64_t period : c.jobs.period) {
      start.push_back(static_cast<int64_t>(rng() % static_cast<uint64_t>(period)));
      kept.push_back(rng() % 2);
    }
    double best = std::numeric_limits<double>::infinity();
    std::vector<int64_t> shift = start;
    for (std::size_t j = 0; j < n; ++j) shift[j] *= kept[j];
    for (std::size_t j = 0; j < n;) {
      best = std::min(best, c.objective(shift));
      for (j = 0; j < n; ++j) {
        if (kept[j]) continue;
        if (++shift[j] < c.jobs.period[j]) break;
        shift[j] = 0;
      }
    }
    for (const double tolerance : {-1.0, 0.05}) {
      for (const int64_t limit : {kNone, int64_t{2}, int64_t{15}}) {
        JointStart begin;
        begin.shift = start;
        begin.kept = kept;
        begin.slack_tolerance = tolerance;
        const JointAnswer found = solve(joint, limit, begin);
        for (std::size_t j = 0; j < n; ++j) {
          CHECK(!kept[j] || wrap(found.shift[j] - start[j], joint.modulus[j]) == 0);
        }
        CHECK(found.lower <= best + 1e-9);
        CHECK(c.objective(found.shift) <= c.objective(start) + 1e-9);
        if (limit != kNone) continue;
        CHECK(std::abs(c.objective(found.shift) - best) < 1e-9);
        CHECK(proven(c, found));
      }
    }
  }
}

TEST(exhaustive_search_beside_kept_jobs_finds_the_best_from_nothing) {
  std::mt19937 rng(64);
  for (int round = 0; round < 200; ++round) {
    const JointCase c = random_case(rng, 4, 3, kPeriods, 2);
    const JointProblem joint = c.joint();
    // Those to be placed have to hang together without the others: one or two on one link do.
    const JointLink& on = joint.links[static_cast<std::size_t>(rng() % joint.links.size())];
    if (on.job.size() < 2) continue;
    std::vector<std::size_t> jobs{on.job[0]};
    if (rng() % 2 == 0) jobs.push_back(on.job[1]);
    std::vector<int64_t> shift;
    for (const int64_t period : c.jobs.period) {
      shift.push_back(static_cast<int64_t>(rng() % static_cast<uint64_t>(period)));
    }
    std::vector<uint8_t> kept(joint.n_jobs(), 1);
    for (const std::size_t j : jobs) kept[j] = 0;
    double others = 0.0;
    std::vector<int64_t> movable;
    int64_t work = 0;
    const std::vector<std::size_t> links = links_of(joint, jobs);
    for (std::size_t l = 0; l < joint.links.size(); ++l) {
      if (std::find(links.begin(), links.end(), l) != links.end()) continue;
      others += joint.links[l].per_excess() * excess_at(joint.links[l], shift, movable, &work);
    }
    Budget budget(kNone, kNone, nullptr);
    const Proof proof = prove_joint(joint, jobs, 1e6, budget, kept, shift);
    CHECK(proof.improved);
    CHECK(proof.shift.size() == jobs.size());
    double best = std::numeric_limits<double>::infinity();
    const std::vector<int64_t> at = shift;
    for (shift[jobs[0]] = 0; shift[jobs[0]] < c.jobs.period[jobs[0]]; ++shift[jobs[0]]) {
      const std::size_t last = jobs.back();
      if (jobs.size() == 1) {
        best = std::min(best, c.objective(shift));
        continue;
      }
      for (shift[last] = 0; shift[last] < c.jobs.period[last]; ++shift[last]) best = std::min(best, c.objective(shift));
    }
    CHECK(std::abs(proof.lower + others - best) < 1e-9);
    shift = at;
    for (std::size_t k = 0; k < jobs.size(); ++k) shift[jobs[k]] = proof.shift[k];
    CHECK(std::abs(c.objective(shift) - best) < 1e-9);
  }
}

TEST(one_link_as_a_joint_problem_is_as_good_as_the_link_alone) {
  std::mt19937 rng(55);
  for (int round = 0; round < 100; ++round) {
    JointCase c = random_case(rng, 4, 1, kPeriods, 3);
    const Link& link = c.prepared[0]->link;
    Budget budget(kNone, kNone, nullptr);
    const double best = search(link, budget).excess;
    const JointAnswer found = solve(c.joint());
    CHECK(std::abs(c.objective(found.shift) - c.weight[0] * best / link.capacity) < 1e-9);
  }
}

TEST(jobs_may_be_free_on_one_link_and_movable_on_another) {
  std::mt19937 rng(56);
  for (int round = 0; round < 100; ++round) {
    JointCase c = random_case(rng, 4, 3, kPeriods, 2);
    for (std::size_t l = 0; l < c.on.size(); ++l) {
      for (std::size_t p = 0; p < c.on[l].size(); ++p)
        c.is_free[l][p] = rng() % 4 == 0 && !c.problem(l).phases[p].empty();
    }
    c.prepared.clear();
    c.prepare();
    const JointProblem joint = c.joint();
    // The kernel's own scores: ticks cannot show a random phase.
    const auto objective = [&](const std::vector<int64_t>& shift) {
      double sum = 0.0;
      int64_t work = 0;
      std::vector<int64_t> movable;
      for (const JointLink& at : joint.links) {
        shifts_on(at, shift, movable);
        sum += at.per_excess() * at.link().excess(movable, &work);
      }
      return sum;
    };
    const JointAnswer found = solve(joint);
    double least = std::numeric_limits<double>::infinity();
    std::vector<int64_t> shift(4, 0);
    for (std::size_t j = 0; j < 4;) {
      least = std::min(least, objective(shift));
      for (j = 1; j < 4; ++j) {
        if (++shift[j] < joint.modulus[j]) break;
        shift[j] = 0;
      }
    }
    CHECK(objective(found.shift) <= least + 1e-9);
    CHECK(found.lower >= least - 1e-9);
    CHECK(found.lower <= least + 1e-9);
  }
}

TEST(the_state_of_a_joint_problem_follows_its_moves) {
  std::mt19937 rng(57);
  for (int round = 0; round < 60; ++round) {
    const JointCase c = random_case(rng, 6, 5, kPeriods, 3);
    const JointProblem joint = c.joint();
    Budget budget(kNone, kNone, nullptr);
    JointState state(joint, budget);
    const std::vector<int64_t> zero(6, 0);
    state.set(zero);
    for (int step = 0; step < 12; ++step) {
      const auto j = static_cast<std::size_t>(rng() % 6);
      if (joint.places[j].empty()) continue;
      const double before = state.objective();
      const std::vector<int64_t> old = state.shift();
      // The total profile promises what the move then does.
      const Minimum best = state.best(j);
      CHECK(best.value <= state.part_of(j) + 1e-9);
      state.mark();
      if (step % 3 == 2) {
        const std::array<std::size_t, 2> group{j, (j + 1) % 6};
        state.move_all(group, static_cast<int64_t>(rng() % 12));
      } else {
        state.move(j, step % 3 == 0 ? best.shift : static_cast<int64_t>(rng() % 12) % joint.modulus[j]);
        if (step % 3 == 0) CHECK(std::abs(state.part_of(j) - best.value) < 1e-9);
      }
      CHECK(std::abs(state.objective() - c.objective(state.shift())) < 1e-9);
      if (rng() % 2 == 0) {
        state.undo();
        CHECK(state.objective() == before);
        CHECK(state.shift() == old);
      }
    }
  }
}

TEST(the_least_of_a_sum_is_where_every_whole_shift_says) {
  std::mt19937 rng(58);
  for (int round = 0; round < 100; ++round) {
    const JointCase c = random_case(rng, 5, 5, kPeriods, 3);
    const JointProblem joint = c.joint();
    Budget budget(kNone, kNone, nullptr);
    JointState state(joint, budget);
    std::vector<int64_t> shift(5);
    for (std::size_t j = 0; j < 5; ++j)
      shift[j] = static_cast<int64_t>(rng() % static_cast<uint64_t>(joint.modulus[j]));
    state.set(shift);
    for (std::size_t j = 0; j < 5; ++j) {
      if (joint.places[j].empty()) continue;
      double least = std::numeric_limits<double>::infinity();
      TermSum& sum = state.terms(j);
      for (int64_t s = 0; s < joint.modulus[j]; ++s) least = std::min(least, sum.at(s));
      const Minimum found = sum.minimum(joint.modulus[j], true, &budget.work);
      CHECK(std::abs(found.value - least) < 1e-9);
      CHECK(std::abs(sum.at(found.shift) - least) < 1e-9);
      for (const Minimum& m : sum.minima) {
        CHECK(std::abs(sum.at(m.shift) - m.value) < 1e-9);
        CHECK(sum.at(m.shift - 1) >= m.value - 1e-9 && sum.at(m.shift + 1) >= m.value - 1e-9);
      }
    }
  }
}

TEST(the_order_of_links_does_not_matter) {
  std::mt19937 rng(59);
  for (int round = 0; round < 60; ++round) {
    const JointCase c = random_case(rng, 6, 6, kPeriods, 2);
    std::vector<JointLink> links = c.links();
    std::vector<std::size_t> origin;
    const JointProblem joint = make_joint_problem(c.jobs.period, links, origin);
    std::shuffle(links.begin(), links.end(), rng);
    const JointProblem other = make_joint_problem(c.jobs.period, links, origin);
    CHECK(solve(joint, 3000).shift == solve(other, 3000).shift);
  }
}

TEST(canonical_shifts_change_no_score) {
  std::mt19937 rng(60);
  for (int round = 0; round < 60; ++round) {
    const JointCase c = random_case(rng, 5, 3, kPeriods, 2);
    const JointProblem joint = c.joint();
    std::vector<int64_t> shift;
    for (const int64_t period : c.jobs.period)
      shift.push_back(static_cast<int64_t>(rng() % static_cast<uint64_t>(period)));
    std::vector<int64_t> rotated = shift;
    rotate_to_zero(joint, rotated);
    CHECK(std::abs(c.objective(shift) - c.objective(rotated)) < 1e-9);
    for (std::size_t j = 0; j < 5; ++j) CHECK(rotated[j] >= 0 && rotated[j] < joint.modulus[j]);
  }
}

TEST(a_joint_problem_stops_for_a_deadline_and_for_a_cancel_flag) {
  std::mt19937 rng(61);
  const JointCase c = random_case(rng, 6, 8, kPeriods, 3);
  const JointProblem joint = c.joint();
  Budget late(kNone, 0, nullptr);
  const JointAnswer found = solve_joint(joint, {}, late);
  CHECK(found.lower <= c.objective(found.shift) + 1e-9);
  const int32_t cancel = 1;
  Budget canceled(kNone, kNone, &cancel);
  bool thrown = false;
  try {
    solve_joint(joint, {}, canceled);
  } catch (const Canceled&) {
    thrown = true;
  }
  CHECK(thrown);
}

TEST(centring_raises_the_least_slack_and_costs_nothing) {
  std::mt19937 rng(62);
  int raised = 0;
  for (int round = 0; round < 80; ++round) {
    const std::array<int64_t, 3> periods{120, 60, 240};
    const JointCase c = random_case(rng, 4, 3, periods, 2);
    const JointProblem joint = c.joint();
    const double tolerance = 0.02;
    const auto least_slack = [&](std::span<const int64_t> shift) {
      Budget budget(kNone, kNone, nullptr);
      JointState state(joint, budget);
      state.set(shift);
      int64_t least = kNone;
      for (std::size_t j = 0; j < 4; ++j) least = std::min(least, joint_slack(state, j, tolerance, &budget.work));
      return least;
    };
    const JointAnswer edge = solve(joint);
    JointStart wish;
    wish.slack_tolerance = tolerance;
    const JointAnswer middle = solve(joint, kNone, wish);
    CHECK(c.objective(middle.shift) <= c.objective(edge.shift) + 1e-9);
    CHECK(least_slack(middle.shift) >= least_slack(edge.shift));
    raised += least_slack(middle.shift) > least_slack(edge.shift);
  }
  CHECK(raised > 10);
}

TEST(the_slack_of_a_job_is_the_farthest_whole_move_that_keeps_every_link) {
  std::mt19937 rng(63);
  for (int round = 0; round < 80; ++round) {
    const JointCase c = random_case(rng, 4, 3, kPeriods, 2);
    const JointProblem joint = c.joint();
    Budget budget(kNone, kNone, nullptr);
    JointState state(joint, budget);
    std::vector<int64_t> shift;
    for (const int64_t period : c.jobs.period)
      shift.push_back(static_cast<int64_t>(rng() % static_cast<uint64_t>(period)));
    state.set(shift);
    const double tolerance = 0.05;
    const auto kept = [&](std::size_t j, int64_t by) {
      std::vector<int64_t> moved = shift;
      moved[j] = wrap(moved[j] + by, c.jobs.period[j]);
      for (std::size_t l = 0; l < c.on.size(); ++l) {
        std::vector<int64_t> old_own;
        std::vector<int64_t> new_own;
        for (const std::size_t k : c.on[l]) {
          old_own.push_back(shift[k]);
          new_own.push_back(moved[k]);
        }
        const Problem p = c.problem(l);
        const double limit = excess_by_ticks(p, old_own) + tolerance * static_cast<double>(p.capacity) + 1e-9;
        if (excess_by_ticks(p, new_own) > limit) return false;
      }
      return true;
    };
    for (std::size_t j = 0; j < 4; ++j) {
      int64_t by_ticks = 0;
      const int64_t half = c.jobs.period[j] / 2;
      while (by_ticks < half && kept(j, by_ticks + 1) && kept(j, -by_ticks - 1)) ++by_ticks;
      CHECK(joint_slack(state, j, tolerance, &budget.work) == by_ticks);
    }
  }
}

TEST(no_shifts_beat_the_bound_of_a_joint_problem_however_far_rates_are_from_the_capacity) {
  std::mt19937 rng(40);
  for (int round = 0; round < 300; ++round) {
    const SpikedSlots slots(rng);
    const PreparedLink prepared =
        prepare_link(make_link(slots.patterns(), std::vector<uint8_t>(3, 0), static_cast<double>(slots.capacity), {}));
    JointLink link(prepared);
    for (const std::size_t j : prepared.link.movable) link.job.push_back(j);
    std::vector<std::size_t> origin;
    const JointProblem joint =
        make_joint_problem(std::vector<int64_t>(3, prepared.link.jobs[0].period), {link}, origin);
    Budget budget(kNone, kNone, nullptr);
    CHECK(solve_joint(joint, {}, budget).lower <= slots.best() / static_cast<double>(slots.capacity) + 1e-9);
  }
}

TEST(a_link_whose_weight_vanishes_beside_others_divides_nothing_by_nothing) {
  std::mt19937 rng(41);
  const std::array<int64_t, 3> periods{12, 12, 24};
  JointCase c = random_case(rng, 4, 3, periods, 2);
  c.prepare();
  std::vector<JointLink> links = c.links();
  links[0].weight = 0.0;  // what scaling leaves of the smallest weight that is not 0
  std::vector<std::size_t> origin;
  const JointProblem joint = make_joint_problem(c.jobs.period, std::move(links), origin);
  std::feclearexcept(FE_ALL_EXCEPT);
  Budget budget(kNone, kNone, nullptr);
  const JointAnswer found = solve_joint(joint, {}, budget);
  std::vector<std::size_t> all(joint.n_jobs());
  std::iota(all.begin(), all.end(), std::size_t{0});
  prove_joint(joint, all, 1e300, budget);
  CHECK(std::fetestexcept(FE_INVALID | FE_DIVBYZERO) == 0);
  CHECK(std::isfinite(found.lower));
}

TEST(what_counts_as_nothing_in_one_component_is_nothing_in_the_sum_of_many_too) {
  // Pairs, each on a link of its own. All but the first stand one tick beside the best, and the proof alone looks there.
  constexpr std::size_t kPairs = 500;
  constexpr int64_t kPeriod = 250'000'000;
  const std::array<Phase, 2> gaps{{{0, 3 * kPeriod / 10, 1}, {kPeriod / 2, 3 * kPeriod / 10, 1}}};
  const std::array<Phase, 1> burst{{{0, 9 * kPeriod / 20, 1}}};
  const PreparedLink prepared =
      prepare_link(make_link({make_pattern(kPeriod, gaps, 1), make_pattern(kPeriod, burst, 1)}, {0, 0}, 1.0, {}));
  std::vector<JointLink> links;
  std::vector<int64_t> shift;
  for (std::size_t i = 0; i < kPairs; ++i) {
    JointLink& link = links.emplace_back(prepared);
    for (const std::size_t place : prepared.link.movable) link.job.push_back(2 * i + place);
    shift.insert(shift.end(), {0, 3 * kPeriod / 10 + (i > 0 ? 1 : 0)});
  }
  std::vector<std::size_t> origin;
  const JointProblem joint = make_joint_problem(std::vector<int64_t>(2 * kPairs, kPeriod), std::move(links), origin);
  std::vector<uint8_t> dirty(2 * kPairs, 0);
  dirty[0] = dirty[1] = 1;
  JointStart start;
  start.shift = shift;
  start.dirty = dirty;
  // The burst fills one gap of a fifth: a quarter of the period is left above the capacity.
  CHECK(solve(joint, kNone, start).lower <= (0.25 + 1e-9) * kPairs);
}
