// Certified intervals of the mean excess where exact scoring is out of reach (F1, F3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "demand/link_problem.hpp"

namespace cassini {

struct Interval {
  double lower = 0.0;
  double upper = 0.0;
};

// Mean excess of given shifts of the movable jobs as an interval, in bounded time and memory whatever the periods.
//
// The movable jobs are split into groups that can be folded. Below: excess is superadditive over groups, and never less
// than the area. Above: no dependence between the groups causes more excess than comonotone demands (largest with
// largest). Levels beyond the limit are merged to means (below) or spread over bins (above).
Interval certified_excess(const Link& link, std::span<const int64_t> shift, int64_t* work);

// Splits movable jobs into groups within max_events, largest mean first.
std::vector<std::vector<std::size_t>> foldable_groups(const Link& link);

// Mean excess of given shifts: exact where folding allows, else certified bounds.
Interval excess_interval(const Link& link, std::span<const int64_t> movable, int64_t* work);

}  // namespace cassini
