// The arithmetic of periods: multiples in common, what of a shift matters, and which jobs have none that does.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/budget.hpp"

namespace cassini {

// Least common multiple, or kTooLarge when it would pass it. kTooLarge absorbs.
inline constexpr int64_t kTooLarge = int64_t{1} << 62;
int64_t lcm_capped(int64_t a, int64_t b);

// x modulo m, in [0, m).
inline int64_t wrap(int64_t x, int64_t m) {
  if (x >= 0 && x < m) return x;  // mostly; a division takes longer than all else here
  const int64_t r = x % m;
  return r < 0 ? r + m : r;
}

// F1b, literally: again and again, all jobs with R_j <= 2 * resolution among those not yet free become free, where R_j
// is the lcm over the other jobs not yet free of gcd(T_j, T_k), and T_j for the only job left.
//
// With a thousand jobs that become free one after the other this takes long: out of time, those not yet marked stay as
// they are, and a set cancel flag throws Canceled.
std::vector<uint8_t> mark_free(std::span<const int64_t> periods, int64_t resolution, Budget& budget);

// F1: R_j = lcm over k != j of gcd(T_j, T_k); a job alone keeps its period.
std::vector<int64_t> folded_moduli(std::span<const int64_t> periods);

}  // namespace cassini
