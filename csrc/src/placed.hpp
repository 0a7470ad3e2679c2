// Demands that stand somewhere: a sum keeps the delay of its first part, so that nothing is turned that need not be.
#pragma once

#include <cstdint>
#include <span>

#include "demand.hpp"

namespace cassini {

// A demand delayed by `shift`. No demand: nothing stands there.
struct Placed {
  const Demand* demand = nullptr;
  int64_t shift = 0;
};

// Both together; uses `room` if there are two. For drop and work see add().
inline Placed together(const Placed& a, const Placed& b, double drop, const Limits& limits, Demand& room,
                       int64_t* work) {
  if (a.demand == nullptr) return b;
  if (b.demand == nullptr) return a;
  add(*a.demand, *b.demand, b.shift - a.shift, drop, limits, room, work);
  return {&room, a.shift};
}

// Mean of (their sum - capacity)+, without laying out the sum. Only for a few demands of few levels and intervals:
// false, and nothing set, where adding them up is better.
bool excess_of_few(std::span<const Placed> parts, double capacity, double* excess, int64_t* work);

}  // namespace cassini
