// Lower bounds on the best excess from what two jobs cost each other at least (F3).
#pragma once

#include <span>
#include <vector>

#include "base/budget.hpp"
#include "demand/link_problem.hpp"

namespace cassini {

// What movable jobs cost at least, alone and two together, wherever they stand.
struct PairGains {
  std::vector<double> single;  // [movable] mean excess a job adds to the base; the base is the same at all times
  std::vector<double> gain;  // [i * n + k] what i and k add to it together beyond that, at least; symmetric, 0 unknown
  bool any = false;          // some gain is positive
};

// Gains of all pairs; none with fewer than four jobs or more than sixty-four. Less than all once the budget is spent.
PairGains pair_gains(const Link& link, Budget& budget);

// Weight of the heaviest tree that spans a root and `jobs`: attached to the root job k weighs root[k], to job i
// gain[i * n + k], with n the length of root. By F3 (a) job k adds to all that came before it at least what it adds to
// any one of them: so with the jobs placed as root, any tree is a lower bound on what the others add.
double heaviest_tree(std::span<const std::size_t> jobs, std::span<const double> root, std::span<const double> gain);

// F3 (a) to (c): no shifts have less mean excess than the area, nor than the base and the heaviest tree of pairs.
double static_bound(const Link& link, const PairGains& gains);

}  // namespace cassini
