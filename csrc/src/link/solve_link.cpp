#include "link/solve_link.hpp"

#include <algorithm>
#include <utility>

#include "base/periods.hpp"
#include "link/angle_grid.hpp"
#include "link/branch_and_bound.hpp"
#include "robustness/centering.hpp"

namespace cassini {
namespace {

// What is proven of the link whose search came to this lower bound, but for so much noise.
double certified(const Link& link, double lower, double noise) {
  return std::max(link.area_bound(), lower - rounding_of_bound(noise, link.capacity));
}

// Beyond the limits of folding: groups that can be folded are solved one by one, and only bounds are certified.
Found solve_by_groups(const Link& link, Budget& budget) {
  Found found;
  found.shift.assign(link.size(), 0);
  const auto groups = foldable_groups(link);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (g > 0 && !budget.left()) break;  // the rest stands at 0
    try {
      const Link sub = link.only(groups[g], g == 0);
      if (!sub.within_limits) continue;
      const Found part = search(sub, budget);
      for (std::size_t i = 0; i < groups[g].size(); ++i) found.shift[groups[g][i]] = part.shift[i];
      found.lower += part.lower;  // excess is superadditive over groups
      found.noise += part.noise;
    } catch (const LimitExceeded&) {
    }
  }
  return found;
}

}  // namespace

LinkAnswer solve_exact(const Link& link, double slack_tolerance, bool centred, Budget& budget) {
  LinkAnswer answer;
  if (link.within_limits) {
    try {
      Found found = search(link, budget);
      answer.beyond_limits = found.limited;
      answer.lower = certified(link, found.lower, found.noise);
      answer.movable = std::move(found.shift);
      try {
        if (centred) answer.slack = centre(link, answer.movable, slack_tolerance * link.capacity, budget);
      } catch (const LimitExceeded&) {
        // Not centred, as good as before.
      }
      return answer;
    } catch (const LimitExceeded&) {
    }
  }
  Found found = solve_by_groups(link, budget);
  answer.movable = std::move(found.shift);
  answer.lower = certified(link, found.lower, found.noise);
  answer.beyond_limits = true;
  return answer;
}

LinkAnswer solve_by_angles(const Link& link, int64_t angles, Budget& budget) {
  LinkAnswer answer;
  const Angles found = solve_angles(link.jobs, link.capacity, angles, budget);
  answer.movable = movable_shifts(link, found.shift);
  answer.claimed = found.excess;
  answer.has_claim = true;
  // The grid proves nothing about continuous time; what holds for any shifts does.
  answer.lower = link.area_bound();
  return answer;
}

// Rotating all jobs alike changes nothing.
std::vector<int64_t> all_shifts(const Link& link, std::span<const int64_t> movable) {
  std::vector<int64_t> shift(link.jobs.size(), 0);
  if (link.size() == 0) return shift;
  std::size_t first = 0;
  for (std::size_t m = 1; m < link.size(); ++m) {
    if (link.movable[m] < link.movable[first]) first = m;
  }
  for (std::size_t m = 0; m < link.size(); ++m) {
    shift[link.movable[m]] = wrap(movable[m] - movable[first], link.modulus[m]);
  }
  return shift;
}

Hold hold_of(const Link& link, std::span<const int64_t> movable, const Interval& excess, std::span<const int64_t> slack,
             double tolerance, Budget& budget) {
  if (link.within_limits && (excess.lower == excess.upper || link.size() < 3)) {
    try {
      return slack_and_hold(link, movable, excess.lower, slack, tolerance * link.capacity, budget);
    } catch (const LimitExceeded&) {
    }
  }
  // Nothing is promised where the score itself is not known exactly, but for jobs that have no shift to hold.
  Hold none;
  for (const JobPattern& job : link.jobs) none.slack.push_back(job.period / 2);
  for (const std::size_t j : link.movable) none.slack[j] = 0;
  if (link.size() == 0) none.hold = *std::min_element(none.slack.begin(), none.slack.end());
  return none;
}

}  // namespace cassini
