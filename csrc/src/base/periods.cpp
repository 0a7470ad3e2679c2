#include "base/periods.hpp"

#include <numeric>

#include "base/small_vector.hpp"

namespace cassini {

int64_t lcm_capped(int64_t a, int64_t b) {
  if (a >= kTooLarge || b >= kTooLarge) return kTooLarge;
  if (a == b || b == 1) return a;  // most calls: no gcd
  if (a == 1) return b;
  const int64_t factor = b / std::gcd(a, b);
  if (a > kTooLarge / factor) return kTooLarge;
  return a * factor;
}

std::vector<int64_t> folded_moduli(std::span<const int64_t> periods) {
  const std::size_t n = periods.size();
  if (n == 1) return {periods[0]};
  std::vector<int64_t> moduli(n, 1);
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < n && moduli[j] < periods[j]; ++k) {  // divides T_j: never too large
      if (k != j) moduli[j] = lcm_capped(moduli[j], std::gcd(periods[j], periods[k]));
    }
  }
  return moduli;
}

std::vector<uint8_t> mark_free(std::span<const int64_t> periods, int64_t resolution, Budget& budget) {
  const std::size_t n = periods.size();
  std::vector<uint8_t> is_free(n, 0);
  if (resolution == 0) return is_free;
  SmallVector<int64_t, 64> common;  // [j * n + k] gcd of two periods
  common.resize(n * n);
  // Between two looks at the clock some thousand periods are compared.
  constexpr std::size_t kPeriodsPerLook = 4096;
  std::size_t compared = 0;
  const auto late = [&](std::size_t more) {
    compared += more;
    if (compared < kPeriodsPerLook) return false;
    compared = 0;
    return !budget.in_time();
  };
  for (std::size_t j = 0; j < n; ++j) {
    if (late(j)) return is_free;
    for (std::size_t k = 0; k < j; ++k) common[j * n + k] = common[k * n + j] = std::gcd(periods[j], periods[k]);
  }
  SmallVector<uint8_t, 32> stale;  // R_j must be computed again: a job that shares a factor with j became free
  SmallVector<std::size_t, 32> marked;
  stale.assign(n, 1);
  std::size_t left = n;
  do {
    marked.clear();
    for (std::size_t j = 0; j < n; ++j) {
      if (is_free[j] || (!stale[j] && left > 1)) continue;
      if (late(n)) return is_free;
      stale[j] = 0;
      int64_t modulus = left > 1 ? 1 : periods[j];
      for (std::size_t k = 0; k < n && modulus <= 2 * resolution; ++k) {
        if (k != j && !is_free[k]) modulus = lcm_capped(modulus, common[j * n + k]);
      }
      if (modulus <= 2 * resolution) marked.push_back(j);
    }
    for (const std::size_t j : marked) {
      if (late(n)) return is_free;
      is_free[j] = 1;
      for (std::size_t k = 0; k < n; ++k) stale[k] = stale[k] || common[j * n + k] > 1;
    }
    left -= marked.size();
  } while (!marked.empty() && left > 0);
  return is_free;
}

}  // namespace cassini
