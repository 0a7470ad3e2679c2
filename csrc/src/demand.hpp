// Demand as a distribution at every residue of a circle (F1): the sum of several jobs at given shifts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <vector>

#include "circle.hpp"

namespace cassini {

// A demand level and how many of the equally likely samples show it.
struct Atom {
  double value;
  double weight;
};

using AtomList = SmallVector<Atom, 24>;

// At residues [begin[i], begin[i+1]) of a circle of `turn` ticks the demand is distributed as atoms
// [offset[i], offset[i+1]), in ascending order of value, of total weight `weight`. Atoms that can never reach the
// capacity may be missing, or stand at a value far below zero.
struct Demand {
  int64_t turn = 1;
  double weight = 1.0;
  SmallVector<int64_t, 24> begin{0};
  SmallVector<uint32_t, 25> offset{0, 1};
  AtomList atoms{{0.0, 1.0}};

  std::size_t size() const { return begin.size(); }
  int64_t end_of(std::size_t i) const { return i + 1 < begin.size() ? begin[i + 1] : turn; }
};

// Exact folding needs more levels or atoms than the limits allow. Never leaves the kernel.
struct LimitExceeded : std::exception {
  const char* what() const noexcept override { return "beyond the limits of folding"; }
};

// How distinct partial sums are kept in bounds.
enum class Levels {
  exact,  // LimitExceeded beyond max_levels
  inner,  // merged to their mean: a lower bound on any convex function's expectation
  outer,  // spread over the ends of a bin: an upper bound
};

struct Limits {
  int64_t max_events = 262144;
  int64_t max_levels = 65536;
  static constexpr std::size_t max_atoms = std::size_t{1} << 22;  // of one Demand; 64 MiB
  static constexpr std::size_t max_kinks = std::size_t{1} << 22;  // of one marginal

  // What follows is as large as it gets at the defaults of these two. Less of them is less of all: whoever has thousands
  // of links bounds by them what one look at each may cost.

  // Levels touched to add up all jobs once: one score must cost less than a whole search does by default.
  int64_t max_sum_work() const { return std::min(int64_t{1} << 24, 64 * max_events); }
  // Atoms of all jobs of a link, folded; 16 bytes each are kept.
  std::size_t max_folded_atoms() const { return std::min(max_atoms, 16 * static_cast<std::size_t>(max_events)); }
  // Levels touched to bound a score that is out of reach.
  double max_interval_work() const { return std::min(268435456.0, 1024.0 * static_cast<double>(max_events)); }
  // Bins of demand levels in an interval computation.
  double max_bins() const { return std::clamp(static_cast<double>(max_levels) / 16.0, 8.0, 4096.0); }
  // Kinks of one marginal at most, for a link to guide the search of a block: more cost more than the link is worth.
  double max_guiding_kinks() const { return std::min(131072.0, 0.5 * static_cast<double>(max_events)); }
  // Whether a job of so many levels or phases can be moved against so many events: a marginal has a cell, or a kink, for
  // each of both. By default the marginal itself says so.
  bool allows_cells(double events, double most) const {
    constexpr int64_t kDefault = 262144;
    return max_events >= kDefault || events * most <= 16.0 * static_cast<double>(max_events);
  }
};

// Job on its folded circle. `probability`: weights sum to 1 instead of the number of samples T/turn; for use where the
// product of sample counts would leave the range in which doubles count exactly. LimitExceeded beyond max_atoms.
Demand fold(const Circle& circle, int64_t turn, bool probability);

// The job at a uniformly random phase, independent of all else (a free job).
Demand spread(const Circle& circle, bool probability);

// The same level at all times.
Demand always(double level);

// out = a + b delayed by `shift`. Atoms at or below `drop` are left out: with drop = capacity - (peak of all that may
// still be added) they can never cause excess. Adds the number of atoms touched to *work. `bin` is the width of a bin
// for Levels::inner and outer.
void add(const Demand& a, const Demand& b, int64_t shift, double drop, const Limits& limits, Demand& out, int64_t* work,
         Levels levels = Levels::exact, double bin = 0.0);

// Puts the levels of a demand into bins (Levels::inner or outer; nothing for exact).
void coarsen(Demand& demand, Levels levels, double bin);

// Mean of (demand - capacity)+.
double mean_excess(const Demand& demand, double capacity);

// Mean of min((capacity - demand)+, most): how much of further demand, never more than `most` at once, can find room.
// Atoms that are missing from the demand must lie at or below capacity - most.
double mean_room(const Demand& demand, double capacity, double most);

}  // namespace cassini
