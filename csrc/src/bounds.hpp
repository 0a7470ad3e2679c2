// Lower bounds on the best excess, and certified intervals where exact scoring is out of reach (F1, F3).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "budget.hpp"
#include "link.hpp"

namespace cassini {

struct Interval {
  double lower = 0.0;
  double upper = 0.0;
};

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

// Mean excess no shifts can avoid, whatever the edges: the least over all joint distributions of the jobs' demands at a
// random instant, each job's own distribution kept. Time is forgotten, which levels can stand together is not: two
// jobs of 0.6 C each that are Up 60 % of the time must overlap for a fifth of it, though their area fits.
//
// Lagrangian dual of that linear program: prices on the levels of each job; the cheapest combination of levels by a table
// over their sum (rounded down, so that the bound stays one); subgradient steps towards `known`, the least excess seen.
// Any prices give a true bound. Ends early where it reaches `known`.
double coupling_bound(const Link& link, double known, Budget& budget);

// Mean excess of given shifts of the movable jobs as an interval, in bounded time and memory whatever the periods.
//
// The movable jobs are split into groups that can be folded. Below: excess is superadditive over groups, and never less
// than the area. Above: no dependence between the groups causes more excess than comonotone demands (largest with
// largest). Levels beyond the limit are merged to means (below) or spread over bins (above).
Interval certified_excess(const Link& link, std::span<const int64_t> shift, int64_t* work);

// Splits movable jobs into groups within max_events, largest mean first.
std::vector<std::vector<std::size_t>> foldable_groups(const Link& link);

}  // namespace cassini
