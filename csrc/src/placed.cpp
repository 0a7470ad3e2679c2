#include "placed.hpp"

#include <algorithm>
#include <array>

#include "turning.hpp"

namespace cassini {
namespace {

constexpr std::size_t kParts = 4;

// Over all combinations of levels of the parts.
double expected(const Turning* const* part, std::size_t count, double over, double weight) {
  if (count == 0) return over > 0.0 ? weight * over : 0.0;
  double sum = 0.0;
  for (const Atom* atom = (*part)->first(); atom != (*part)->last(); ++atom) {
    sum += expected(part + 1, count - 1, over + atom->value, weight * atom->weight);
  }
  return sum;
}

}  // namespace

bool excess_of_few(std::span<const Placed> parts, double capacity, double* excess, int64_t* work) {
  constexpr double kMostChanges = 256.0;
  constexpr std::size_t kMostLevels = 3;
  if (parts.empty() || parts.size() > kParts) return false;
  int64_t turn = 1;
  double weight = 1.0;
  for (const Placed& part : parts) {
    if (part.demand->atoms.size() > kMostLevels * part.demand->size()) return false;
    turn = lcm_capped(turn, part.demand->turn);
    weight *= part.demand->weight;
  }
  if (turn >= kTooLarge) return false;
  double changes = 0.0;
  std::array<Turning, kParts> turning;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Demand& demand = *parts[p].demand;
    if (demand.size() > 1) changes += static_cast<double>(turn / demand.turn) * static_cast<double>(demand.size());
    turning[p] = Turning(demand, parts[p].shift - parts[0].shift, turn);
  }
  if (changes > kMostChanges) return false;
  double sum = 0.0;
  std::array<const Turning*, kParts> uncertain;
  for (int64_t at = 0; at < turn;) {
    int64_t next = turn;
    double over = -capacity;
    double share = 1.0;
    std::size_t count = 0;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const Turning& part = turning[p];
      next = std::min(next, part.next());
      if (part.last() - part.first() == 1) {
        over += part.first()->value;
        share *= part.first()->weight;
      } else {
        uncertain[count++] = &part;
      }
    }
    sum += expected(uncertain.data(), count, over, share) * static_cast<double>(next - at);
    for (std::size_t p = 0; p < parts.size() && next < turn; ++p) {
      if (turning[p].next() == next) turning[p].advance();
    }
    at = next;
  }
  *work += static_cast<int64_t>(changes);
  *excess = sum / (static_cast<double>(turn) * weight);
  return true;
}

}  // namespace cassini
