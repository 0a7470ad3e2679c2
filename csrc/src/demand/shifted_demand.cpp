#include "demand/shifted_demand.hpp"

#include <algorithm>
#include <array>

#include "base/periods.hpp"
#include "demand/interval_cursor.hpp"

namespace cassini {
namespace {

constexpr std::size_t kParts = 4;

// Over all combinations of levels of the parts.
double expected(const IntervalCursor* const* part, std::size_t count, double over, double weight) {
  if (count == 0) return over > 0.0 ? weight * over : 0.0;
  double sum = 0.0;
  for (const Atom* atom = (*part)->first(); atom != (*part)->last(); ++atom) {
    sum += expected(part + 1, count - 1, over + atom->value, weight * atom->weight);
  }
  return sum;
}

// The circle of all parts, or 0 if they are more, or of more levels, than are worth going through.
int64_t circle_of_few(std::span<const ShiftedDemand> parts) {
  constexpr std::size_t kMostLevels = 3;  // on average, of one interval of one demand
  constexpr double kMostChanges = 256.0;
  if (parts.empty() || parts.size() > kParts) return 0;
  int64_t modulus = 1;
  for (const ShiftedDemand& part : parts) {
    if (part.demand->atoms.size() > kMostLevels * part.demand->size()) return 0;
    modulus = modulus == part.demand->modulus ? modulus : lcm_capped(modulus, part.demand->modulus);
  }
  if (modulus >= kTooLarge) return 0;
  double changes = 0.0;
  for (const ShiftedDemand& part : parts) {
    const auto size = static_cast<double>(part.demand->size());
    if (size > 1.0)
      changes += modulus == part.demand->modulus ? size : size * static_cast<double>(modulus / part.demand->modulus);
  }
  return changes <= kMostChanges ? modulus : 0;
}

// Of the parts as they stand, weighed by the product of their levels' weights.
double excess_now(std::span<const IntervalCursor> parts, double capacity) {
  std::array<const IntervalCursor*, kParts> uncertain;
  std::size_t count = 0;
  double over = -capacity;
  double share = 1.0;
  for (const IntervalCursor& part : parts) {
    if (part.last() - part.first() == 1) {
      over += part.first()->value;
      share *= part.first()->weight;
    } else {
      uncertain[count++] = &part;
    }
  }
  return expected(uncertain.data(), count, over, share);
}

}  // namespace

bool excess_of_few(std::span<const ShiftedDemand> parts, double capacity, double* excess, int64_t* work) {
  const int64_t modulus = circle_of_few(parts);
  if (modulus == 0) return false;
  std::array<IntervalCursor, kParts> room;
  const std::span<IntervalCursor> cursor(room.data(), parts.size());
  double weight = 1.0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    weight *= parts[p].demand->weight;
    cursor[p] = IntervalCursor(*parts[p].demand, parts[p].shift - parts[0].shift, modulus);
  }
  double sum = 0.0;
  for (int64_t at = 0; at < modulus; ++*work) {
    int64_t next = modulus;
    for (const IntervalCursor& part : cursor) next = std::min(next, part.next());
    sum += excess_now(cursor, capacity) * static_cast<double>(next - at);
    if (next < modulus) {
      for (IntervalCursor& part : cursor) {
        if (part.next() == next) part.advance();
      }
    }
    at = next;
  }
  *excess = sum / (static_cast<double>(modulus) * weight);
  return true;
}

ShiftedDemand shifted_base(const Link& link, int64_t shift) {
  const Demand& base = link.base;
  const bool none = base.size() == 1 && base.atoms.size() == 1 && base.atoms[0].value == 0.0 && base.weight == 1.0 &&
                    base.atoms[0].weight == 1.0;
  return none ? ShiftedDemand{} : ShiftedDemand{&base, shift};
}

}  // namespace cassini
