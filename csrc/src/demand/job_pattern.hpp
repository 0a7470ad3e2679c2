// One job on its circle: demand as a step function of one iteration, its edges.
#pragma once

#include <cstdint>
#include <span>

#include "base/small_vector.hpp"

namespace cassini {

// Demand `rate` during [begin, end); rates are whole multiples of Problem::unit and held as doubles.
struct Segment {
  int64_t begin;
  int64_t end;
  int32_t level;  // index into JobPattern::levels
};

struct Edge {
  int64_t at;
  bool rising;
};

struct JobPattern {
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

// F1: sum over jobs of edges_j P'/R_j, with P' the lcm of the moduli R_j; infinite where P' is too large.
double folded_events(std::span<const int64_t> moduli, std::span<const JobPattern* const> jobs);

struct Phase {
  int64_t start;
  int64_t length;
  int64_t rate;
};

// Overlapping phases add up, phases wrap; rates are divided by `unit`, which divides all of them.
JobPattern make_pattern(int64_t period, std::span<const Phase> phases, int64_t unit);

// The job with every phase widened by `reach` on both sides, overlaps taking the larger rate: an upper envelope of the
// demand under any move of at most `reach`.
JobPattern widen(const JobPattern& pattern, int64_t reach);

bool operator==(const JobPattern& a, const JobPattern& b);

// An order by content alone, largest mean first, so that answers do not depend on the order in which jobs were given.
bool content_before(const JobPattern& a, const JobPattern& b);

}  // namespace cassini
