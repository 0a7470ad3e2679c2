// Demands that stand somewhere: a sum keeps the delay of its first part, so that nothing is turned that need not be.
#pragma once

#include <cstdint>
#include <span>

#include "demand/folded_demand.hpp"
#include "demand/link_problem.hpp"

namespace cassini {

// A demand delayed by `shift`. No demand: nothing stands there.
struct ShiftedDemand {
  const Demand* demand = nullptr;
  int64_t shift = 0;
};

// Both together; uses `room` if there are two. For drop and work see add().
inline ShiftedDemand together(const ShiftedDemand& a, const ShiftedDemand& b, double drop, const Limits& limits,
                              Demand& room, int64_t* work) {
  if (a.demand == nullptr) return b;
  if (b.demand == nullptr) return a;
  add(*a.demand, *b.demand, b.shift - a.shift, drop, limits, room, work);
  return {&room, a.shift};
}

// Mean of (their sum - capacity)+, without laying out the sum. Only for a few demands of few levels and intervals:
// false, and nothing set, where adding them up is better.
bool excess_of_few(std::span<const ShiftedDemand> parts, double capacity, double* excess, int64_t* work);

// Free and constant jobs, unless there is nothing of them; they look the same from everywhere.
ShiftedDemand shifted_base(const Link& link, int64_t shift);

}  // namespace cassini
