// One job on its circle: demand as a step function of one iteration, its edges, and the arithmetic of periods.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "small_vector.hpp"

namespace cassini {

// Demand `rate` during [begin, end); rates are whole multiples of Problem::unit and held as doubles.
struct Segment {
  int64_t begin;
  int64_t end;
  int32_t level;  // index into Circle::levels
};

struct Edge {
  int64_t at;
  bool rising;
};

struct Circle {
  int64_t period = 1;
  SmallVector<Segment, 8> segments;  // non-zero demand; in order, disjoint, within [0, period)
  SmallVector<double, 4> levels;     // the distinct non-zero rates, ascending
  SmallVector<Edge, 12> edges;       // where the job's own demand jumps, around the circle; empty if it is constant
  double peak = 0.0;                 // largest rate
  double area = 0.0;                 // rate x ticks over one iteration

  double mean() const { return area / static_cast<double>(period); }
  bool silent() const { return segments.empty(); }
  bool constant() const { return edges.empty(); }
};

struct Phase {
  int64_t start;
  int64_t length;
  int64_t rate;
};

// Overlapping phases add up, phases wrap; rates are divided by `unit`, which divides all of them.
Circle make_circle(int64_t period, std::span<const Phase> phases, int64_t unit);

// The job with every phase widened by `reach` on both sides, overlaps taking the larger rate: an upper envelope of the
// demand under any move of at most `reach`.
Circle widen(const Circle& circle, int64_t reach);

bool operator==(const Circle& a, const Circle& b);

// An order by content alone, largest mean first, so that answers do not depend on the order in which jobs were given.
bool content_before(const Circle& a, const Circle& b);

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
std::vector<uint8_t> mark_free(std::span<const int64_t> periods, int64_t resolution);

// F1: R_j = lcm over k != j of gcd(T_j, T_k), among the jobs with keep[j]; the only one keeps its period.
std::vector<int64_t> folded_turns(std::span<const int64_t> periods, std::span<const uint8_t> keep);

}  // namespace cassini
