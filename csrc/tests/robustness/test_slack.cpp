// What slack, hold and centring rely on to be cheap.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/budget.hpp"
#include "base/periods.hpp"
#include "check.hpp"
#include "demand/folded_demand.hpp"
#include "demand/job_pattern.hpp"
#include "demand/link_problem.hpp"
#include "demand/marginal.hpp"
#include "demand/shifted_demand.hpp"
#include "link/branch_and_bound.hpp"
#include "random_problem.hpp"
#include "robustness/centering.hpp"
#include "robustness/flat_range.hpp"
#include "robustness/hold.hpp"
#include "robustness/slack.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr std::array<int64_t, 5> kPeriods{24, 36, 36, 48, 72};
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

struct Drawn {
  Problem problem;
  Link link;
  std::vector<int64_t> shift;  // [movable]

  std::vector<int64_t> of_all() const {
    std::vector<int64_t> out(problem.period.size(), 0);
    for (std::size_t m = 0; m < link.size(); ++m) out[link.movable[m]] = shift[m];
    return out;
  }
};

Drawn draw(std::mt19937& rng, std::size_t n_jobs, int max_phases) {
  Drawn out;
  out.problem = random_problem(rng, n_jobs, kPeriods, max_phases);
  out.link =
      make_link(out.problem.patterns(), std::vector<uint8_t>(n_jobs, 0), static_cast<double>(out.problem.capacity), {});
  for (std::size_t m = 0; m < out.link.size(); ++m) {
    out.shift.push_back(std::uniform_int_distribution<int64_t>(0, out.link.modulus[m] - 1)(rng));
  }
  return out;
}

// The problem at its shifts, every job demanding at each tick the most that it demands within `radius` of it.
double envelope_by_ticks(const Drawn& drawn, int64_t radius) {
  const Problem& p = drawn.problem;
  const std::vector<int64_t> shift = drawn.of_all();
  Problem wide = p;
  for (std::size_t m = 0; m < drawn.link.size(); ++m) {
    const std::size_t j = drawn.link.movable[m];
    const auto period = static_cast<std::size_t>(p.period[j]);
    std::vector<int64_t> rate(period, 0);
    for (const Phase& phase : p.phases[j]) {
      for (int64_t x = 0; x < phase.length; ++x) {
        rate[static_cast<std::size_t>((phase.start + x) % p.period[j])] += phase.rate;
      }
    }
    wide.phases[j].clear();
    for (int64_t t = 0; t < p.period[j]; ++t) {
      int64_t most = 0;
      for (int64_t d = -std::min(radius, p.period[j]); d <= std::min(radius, p.period[j]); ++d) {
        most = std::max(most, rate[static_cast<std::size_t>(wrap(t + d, p.period[j]))]);
      }
      wide.phases[j].push_back({t, 1, most});
    }
  }
  return excess_by_ticks(wide, shift);
}

int64_t least(const std::vector<int64_t>& slack) { return *std::min_element(slack.begin(), slack.end()); }

std::vector<int64_t> movable_slack(const Link& link, const std::vector<int64_t>& shift, double tolerance) {
  Budget budget(kNone, kNone, nullptr);
  const Hold hold = slack_and_hold(link, shift, link.excess(shift, &budget.work), {}, tolerance, budget);
  std::vector<int64_t> out;
  for (const std::size_t j : link.movable) out.push_back(hold.slack[j]);
  return out;
}

}  // namespace

TEST(a_walk_reads_the_marginal_and_misses_no_kink) {
  std::mt19937 rng(41);
  for (int round = 0; round < 300; ++round) {
    const Drawn d = draw(rng, 2 + static_cast<std::size_t>(round) % 3, 3);
    for (std::size_t m = 0; m < d.link.size(); ++m) {
      int64_t work = 0;
      Demand others;
      Marginal marginal;
      d.link.total(d.shift, m, others, &work);
      marginal.build(others, d.link.pattern(m), d.link.capacity, &work);
      const Marginal::Walk start(marginal, d.shift[m]);
      for (const int direction : {1, -1}) {
        Marginal::Walk walk = direction > 0 ? start : start.reversed();
        double before = walk.value();
        for (int64_t done = 0; done < 2 * marginal.modulus();) {
          const int64_t step = walk.step();
          CHECK(step >= 1);
          // Linear on the way.
          for (int64_t x = 0; x <= step; ++x) {
            const double part = static_cast<double>(x) / static_cast<double>(step);
            const double line = before + part * (walk.value() - before);
            CHECK(std::abs(marginal.at(d.shift[m] + direction * (done + x)) - line) < 1e-9);
          }
          done += step;
          before = walk.value();
        }
      }
    }
  }
}

TEST(the_excess_of_a_few_demands_needs_no_sum) {
  std::mt19937 rng(42);
  int asked = 0;
  for (int round = 0; round < 400; ++round) {
    const Drawn d = draw(rng, 1 + static_cast<std::size_t>(round) % 4, 2);
    if (d.link.size() == 0) continue;
    int64_t work = 0;
    std::vector<ShiftedDemand> parts;
    Demand room[2];
    ShiftedDemand sum = shifted_base(d.link, 0);
    double left = d.link.movable_peak();
    for (std::size_t m = 0; m < d.link.size(); ++m) {
      parts.push_back({&d.link.folded[m], d.shift[m]});
      left -= d.link.pattern(m).peak;
      sum = together(sum, parts.back(), d.link.capacity - left, d.link.limits, room[m % 2], &work);
    }
    const double expected = d.link.excess(d.shift, &work);
    CHECK(std::abs(mean_excess(*sum.demand, d.link.capacity) - expected) < 1e-9);
    if (shifted_base(d.link, 0).demand != nullptr) parts.push_back(shifted_base(d.link, 0));
    double excess = -1.0;
    if (!excess_of_few(parts, d.link.capacity, &excess, &work)) continue;
    ++asked;
    CHECK(std::abs(excess - expected) < 1e-9);
  }
  CHECK(asked > 200);
}

TEST(an_envelope_is_the_largest_demand_within_its_radius) {
  std::mt19937 rng(43);
  for (int round = 0; round < 60; ++round) {
    const Drawn d = draw(rng, 2 + static_cast<std::size_t>(round) % 4, 2);
    if (d.link.size() == 0) continue;
    WidenedDemand envelope(d.link, d.shift);
    int64_t work = 0;
    // In any order: what one radius left behind must not show at the next.
    for (const int64_t radius : {3, 0, 40, 1, 7, 2, 12}) {
      CHECK(std::abs(envelope.excess(radius, &work) - envelope_by_ticks(d, radius)) < 1e-9);
    }
  }
}

TEST(an_envelope_of_single_phases_is_convex_in_its_radius) {
  std::mt19937 rng(44);
  for (int round = 0; round < 200; ++round) {
    const Drawn d = draw(rng, 3, 1);
    if (d.link.size() == 0) continue;
    WidenedDemand envelope(d.link, d.shift);
    int64_t dip = kNone;  // the shortest Down time
    for (std::size_t m = 0; m < d.link.size(); ++m) {
      int64_t up = 0;
      for (const Segment& s : d.link.pattern(m).segments) up += s.end - s.begin;
      dip = std::min(dip, d.link.pattern(m).period - up);
    }
    int64_t work = 0;
    for (int64_t r = 1; 2 * (r + 1) <= dip; ++r) {
      const double middle = envelope.excess(r, &work);
      CHECK(2.0 * middle <= envelope.excess(r - 1, &work) + envelope.excess(r + 1, &work) + 1e-9);
    }
  }
}

TEST(a_hold_is_the_largest_radius_the_envelope_allows_and_at_most_half_the_least_slack) {
  std::mt19937 rng(45);
  for (int round = 0; round < 90; ++round) {
    Drawn d = draw(rng, 3 + static_cast<std::size_t>(round) % 2, 2);
    if (d.link.size() < 3) continue;
    const double tolerance = 0.08 * static_cast<double>(round % 3);
    Budget budget(kNone, kNone, nullptr);
    if (round % 2 == 0) d.shift = search(d.link, budget).shift;
    centre(d.link, d.shift, tolerance, budget);
    const Hold found = slack_and_hold(d.link, d.shift, d.link.excess(d.shift, &budget.work), {}, tolerance, budget);
    const double limit = envelope_by_ticks(d, 0) + tolerance + 1e-9;
    int64_t largest = 0;
    while (largest < 36 && envelope_by_ticks(d, largest + 1) <= limit) ++largest;
    const int64_t slack = least(movable_slack(d.link, d.shift, tolerance));
    bool capped = false;
    for (std::size_t m = 0; m < d.link.size(); ++m) capped = capped || slack == d.link.pattern(m).period / 2;
    CHECK(capped || largest <= slack / 2);
    CHECK(found.hold == std::min(largest, slack));
  }
}

TEST(a_hold_found_on_real_time_scales_is_within_a_thousandth_of_the_largest) {
  std::mt19937 rng(49);
  for (int round = 0; round < 300; ++round) {
    const std::size_t n = 3 + static_cast<std::size_t>(round) % 3;
    Problem p = random_problem(rng, n, kPeriods, 1 + round % 3);
    for (std::size_t j = 0; j < n; ++j) {
      p.period[j] *= 1000000;
      for (Phase& phase : p.phases[j]) phase = {phase.start * 1000000, phase.length * 1000000, phase.rate};
    }
    const Link link = make_link(p.patterns(), std::vector<uint8_t>(n, 0), static_cast<double>(p.capacity), {});
    if (link.size() < 3) continue;
    Budget budget(kNone, kNone, nullptr);
    std::vector<int64_t> shift = search(link, budget).shift;
    const double tolerance = 0.05 * static_cast<double>(round % 3);
    const int64_t slack = least(centre(link, shift, tolerance, budget));
    WidenedDemand envelope(link, shift);
    const double limit = link.excess(shift, &budget.work) + tolerance + link.noise;
    int64_t low = 0;
    for (int64_t high = slack + 1; low + 1 < high;) {
      const int64_t middle = low + (high - low) / 2;
      (envelope.excess(middle, &budget.work) <= limit ? low : high) = middle;
    }
    const int64_t hold = slack_and_hold(link, shift, link.excess(shift, &budget.work), {}, tolerance, budget).hold;
    CHECK(envelope.excess(hold, &budget.work) <= limit);
    CHECK(static_cast<double>(hold) >= 0.998 * static_cast<double>(low) - 2.0);
  }
}

TEST(centring_ends_where_no_tried_move_raises_the_least_slack) {
  std::mt19937 rng(46);
  int centred = 0;
  for (int round = 0; round < 160; ++round) {
    Drawn d = draw(rng, 3 + static_cast<std::size_t>(round) % 4, 1 + round % 2);
    if (d.link.size() < 3) continue;
    const double tolerance = 0.08 * static_cast<double>(round % 3);
    Budget budget(kNone, kNone, nullptr);
    d.shift = search(d.link, budget).shift;
    const std::vector<int64_t> slack = centre(d.link, d.shift, tolerance, budget);
    CHECK(slack == movable_slack(d.link, d.shift, tolerance));
    int64_t work = 0;
    for (std::size_t m = 0; m < d.link.size(); ++m) {
      Demand others;
      Marginal marginal;
      d.link.total(d.shift, m, others, &work);
      marginal.build(others, d.link.pattern(m), d.link.capacity, &work);
      const Reach flat = reaches(marginal, d.shift[m], d.link.noise, d.link.noise, kReadable, &work).near;
      const int64_t width = flat.early + flat.late;
      if (flat.everywhere || width < 2) continue;
      for (const int64_t eighths : {1, 2, 4, 6, 7}) {
        std::vector<int64_t> moved = d.shift;
        moved[m] = wrap(moved[m] - flat.early + width * eighths / 8, d.link.modulus[m]);
        CHECK(least(movable_slack(d.link, moved, tolerance)) <= least(slack));
        ++centred;
      }
    }
  }
  CHECK(centred > 500);
}

TEST(slack_and_hold_do_not_depend_on_a_common_rotation_nor_on_what_is_known) {
  std::mt19937 rng(47);
  for (int round = 0; round < 200; ++round) {
    const Drawn d = draw(rng, 2 + static_cast<std::size_t>(round) % 4, 2);
    if (d.link.size() < 2) continue;
    const double tolerance = 0.08 * static_cast<double>(round % 3);
    Budget budget(kNone, kNone, nullptr);
    const Hold hold = slack_and_hold(d.link, d.shift, d.link.excess(d.shift, &budget.work), {}, tolerance, budget);
    std::vector<int64_t> rotated = d.shift;
    for (std::size_t m = 0; m < d.link.size(); ++m) rotated[m] = wrap(rotated[m] + 17, d.link.modulus[m]);
    const Hold other = slack_and_hold(d.link, rotated, d.link.excess(rotated, &budget.work), {}, tolerance, budget);
    CHECK(other.slack == hold.slack && other.hold == hold.hold);
    const std::vector<int64_t> slack = movable_slack(d.link, d.shift, tolerance);
    const double excess = d.link.excess(d.shift, &budget.work);
    const Hold again = slack_and_hold(d.link, d.shift, excess, slack, tolerance, budget);
    CHECK(again.slack == hold.slack && again.hold == hold.hold);
  }
}

TEST(a_slack_measured_again_after_a_move_is_that_measured_anew) {
  std::mt19937 rng(48);
  for (int round = 0; round < 300; ++round) {
    Drawn d = draw(rng, 3 + static_cast<std::size_t>(round) % 4, 2);
    const std::size_t n = d.link.size();
    if (n < 3) continue;
    const double tolerance = 0.08 * static_cast<double>(round % 3);
    Budget budget(kNone, kNone, nullptr);
    SlackTable table(d.link, tolerance, budget);
    Slacks slacks;
    table.measure(d.shift, n, SlackTable::kAny, slacks);
    table.keep(n);
    for (int moves = 0; moves < 6; ++moves) {
      const auto m = static_cast<std::size_t>(rng() % n);
      const std::vector<int64_t> before = d.shift;
      d.shift[m] = wrap(d.shift[m] + static_cast<int64_t>(rng() % 9) - 4, d.link.modulus[m]);
      CHECK(table.measure(d.shift, m, SlackTable::kAny, slacks));
      const std::vector<int64_t> anew = movable_slack(d.link, d.shift, tolerance);
      CHECK(std::equal(anew.begin(), anew.end(), slacks.movable.begin(), slacks.movable.end()));
      CHECK(slacks.least == least(anew));
      CHECK(std::abs(slacks.excess - d.link.excess(d.shift, &budget.work)) < 1e-9);
      CHECK(!table.measure(d.shift, m, slacks.least, slacks));
      if (moves % 2 == 0) {
        table.measure(d.shift, m, SlackTable::kAny, slacks);
        table.keep(m);
      } else {
        d.shift = before;  // a move that is not kept
      }
    }
  }
}
