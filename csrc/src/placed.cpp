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

// The circle of all parts, or 0 if they are more, or of more levels, than are worth going through.
int64_t circle_of_few(std::span<const Placed> parts) {
  constexpr std::size_t kMostLevels = 3;  // on average, of one interval of one demand
  constexpr double kMostChanges = 256.0;
  if (parts.empty() || parts.size() > kParts) return 0;
  int64_t turn = 1;
  for (const Placed& part : parts) {
    if (part.demand->atoms.size() > kMostLevels * part.demand->size()) return 0;
    turn = turn == part.demand->turn ? turn : lcm_capped(turn, part.demand->turn);
  }
  if (turn >= kTooLarge) return 0;
  double changes = 0.0;
  for (const Placed& part : parts) {
    const auto size = static_cast<double>(part.demand->size());
    if (size > 1.0) changes += turn == part.demand->turn ? size : size * static_cast<double>(turn / part.demand->turn);
  }
  return changes <= kMostChanges ? turn : 0;
}

// Of the parts as they stand, weighed by the product of their levels' weights.
double excess_now(std::span<const Turning> parts, double capacity) {
  std::array<const Turning*, kParts> uncertain;
  std::size_t count = 0;
  double over = -capacity;
  double share = 1.0;
  for (const Turning& part : parts) {
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

bool excess_of_few(std::span<const Placed> parts, double capacity, double* excess, int64_t* work) {
  const int64_t turn = circle_of_few(parts);
  if (turn == 0) return false;
  std::array<Turning, kParts> room;
  const std::span<Turning> turning(room.data(), parts.size());
  double weight = 1.0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    weight *= parts[p].demand->weight;
    turning[p] = Turning(*parts[p].demand, parts[p].shift - parts[0].shift, turn);
  }
  double sum = 0.0;
  for (int64_t at = 0; at < turn; ++*work) {
    int64_t next = turn;
    for (const Turning& part : turning) next = std::min(next, part.next());
    sum += excess_now(turning, capacity) * static_cast<double>(next - at);
    if (next < turn) {
      for (Turning& part : turning) {
        if (part.next() == next) part.advance();
      }
    }
    at = next;
  }
  *excess = sum / (static_cast<double>(turn) * weight);
  return true;
}

}  // namespace cassini
