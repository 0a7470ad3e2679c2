// The best shifts of the movable jobs: branch and bound over edge alignments (F2, F3).
#pragma once

#include <cstdint>
#include <vector>

#include "base/budget.hpp"
#include "demand/link_problem.hpp"

namespace cassini {

struct Found {
  std::vector<int64_t> shift;  // [movable], each in [0, modulus)
  double excess = 0.0;         // mean, at shift
  double lower = 0.0;          // no shifts have less than this less `noise`, proven
  double noise = 0.0;          // what rounding and the search take for nothing
  bool limited = false;        // the search met the limits of folding and stopped there
};

// Requires link.within_limits. LimitExceeded where not even one placement of all jobs can be scored.
//
// Facts the search stands on. F is the mean excess.
//  * F2, sharpened: moving a group of jobs against the rest, F is piecewise linear, and a kink is convex only where a
//    rising edge of one job meets a falling edge of another (f is convex, so f(a + x) - f(x) grows with x: two edges of
//    the same direction meeting make the slope fall). Between convex kinks F is concave, hence least at an end. So some
//    optimum has all movable jobs connected by meetings of opposite edges; meetings of like edges need no branch.
//  * Every partial placement that is connected in this way is enumerated once: a candidate that was explored is dead in
//    all that follows (enumeration of connected subgraphs).
//  * Rounding: a branch is left where it promises less than some noise, ten times that of a mean excess.
//  * F3 (a): excess(partial) + sum over jobs left of their least marginal is a lower bound. The least marginal of a job
//    is found among its meetings with the jobs placed, for the same reason.
Found search(const Link& link, Budget& budget);

}  // namespace cassini
