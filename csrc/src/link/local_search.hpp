// Good answers without proof: greedy placement, one job at a time, and random moves out of local optima.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "demand/link_problem.hpp"
#include "demand/marginal.hpp"

namespace cassini {

struct Placement {
  std::vector<int64_t> shift;  // [movable], each in [0, modulus)
  double excess = 0.0;         // mean, at shift
};

class LocalSearch {
 public:
  // A move must gain more than `noise`.
  LocalSearch(const Link& link, double noise, Budget& budget);

  // Greedy placements in several orders, each improved one job at a time until none can be. Ends where the excess falls
  // to `enough`.
  void start(double enough, Placement& best);

  // Moves two jobs of the best answer to random shifts, then each job to its best place, again and again. Reproducible: the random
  // numbers are always the same.
  void perturb(double enough, Placement& best);

 private:
  void greedy(std::span<const std::size_t> order, std::vector<int64_t>& shift);
  void descend(std::vector<int64_t>& shift);
  void offer(const std::vector<int64_t>& shift, Placement& best);

  const Link& link_;
  const double noise_;
  Budget& budget_;
  Demand demand_;
  Marginal marginal_;
  Kinks valleys_;
  Values values_;
};

}  // namespace cassini
