// How far all jobs may move at once (F5): the excess of jobs that stand anywhere within a radius at every instant.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "base/small_vector.hpp"
#include "demand/link_problem.hpp"
#include "demand/shifted_demand.hpp"

namespace cassini {

// Mean excess as a function of the radius: what every movable job demands at an instant is the most that it demands
// within the radius of it. No move within the radius costs more. Grows with the radius, piecewise linearly; convex
// where no Down time of a job closes, since two jobs that grow into one another cost at least what they cost apart.
class WidenedDemand {
 public:
  // Of a link that has movable jobs.
  WidenedDemand(const Link& link, std::span<const int64_t> shift);
  WidenedDemand(const WidenedDemand&) = delete;
  WidenedDemand& operator=(const WidenedDemand&) = delete;

  double excess(int64_t radius, int64_t* work);

 private:
  // A job that stands on its own circle with certainty: its edges, from a rising one on.
  struct Step {
    int64_t at;         // from the first one
    uint32_t interval;  // of the folded demand that begins here
    bool falls;
  };
  struct Steps {
    SmallVector<Step, 12> step;
    int64_t origin = 0;     // where the first one stands on the job's circle
    int64_t least_dip = 0;  // the shortest way from a falling edge to a rising one; 0: not such a job
    Demand wide;            // at the radius asked for
  };
  static void steps_of(const Demand& folded, Steps& out);
  ShiftedDemand widened(std::size_t m, int64_t radius);

  const Link& link_;
  std::span<const int64_t> shift_;
  std::array<Steps, 4> few_;  // links of few jobs touch no heap
  std::vector<Steps> many_;
  Steps* steps_;  // [movable]
  SmallVector<ShiftedDemand, 8> part_;
  Demand room_[2];
};

struct Hold {
  std::vector<int64_t> slack;  // [jobs of the link] ticks
  int64_t hold = 0;            // ticks
};

// Slack and hold of given shifts [movable]: exact slack, certified hold; out of time, less. `excess` is their mean
// excess, which pairs do not need; `slack` [movable] that of the movable jobs, or empty if it is not known. `tolerance`
// is a mean excess in the link's unit.
Hold slack_and_hold(const Link& link, std::span<const int64_t> shift, double excess, std::span<const int64_t> slack,
                    double tolerance, Budget& budget);

}  // namespace cassini
