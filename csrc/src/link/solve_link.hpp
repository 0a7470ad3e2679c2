// The best shifts of one link and what is promised of them, within the limits of folding or beyond.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "demand/link_problem.hpp"
#include "link/score_interval.hpp"
#include "robustness/hold.hpp"

namespace cassini {

struct LinkAnswer {
  std::vector<int64_t> movable;  // shifts
  std::vector<int64_t> slack;    // [movable], or empty
  double lower = 0.0;            // bound on the least mean excess
  double claimed = 0.0;          // what the method says
  bool has_claim = false;
  bool beyond_limits = false;
};

// By branch and bound. `centred`: then by centring, within a tolerance of the score.
LinkAnswer solve_exact(const Link& link, double slack_tolerance, bool centred, Budget& budget);

// On a grid of so many angles.
LinkAnswer solve_by_angles(const Link& link, int64_t angles, Budget& budget);

// [jobs] Of shifts of the movable jobs. The first job given that has a shift to choose stands at 0.
std::vector<int64_t> all_shifts(const Link& link, std::span<const int64_t> movable);

// Slack and hold of given shifts, whose excess is `excess` and, if known, slack `slack` [movable]; none is promised
// beyond the limits of folding.
Hold hold_of(const Link& link, std::span<const int64_t> movable, const Interval& excess, std::span<const int64_t> slack,
             double tolerance, Budget& budget);

}  // namespace cassini
