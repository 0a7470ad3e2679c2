// Demand as a distribution at every residue of a circle (F1): the sum of several jobs at given shifts.
#pragma once

#include <cstdint>

#include "base/limits.hpp"
#include "base/small_vector.hpp"
#include "demand/job_pattern.hpp"

namespace cassini {

// A demand level and how many of the equally likely samples show it.
struct Atom {
  double value;
  double weight;
};

using AtomList = SmallVector<Atom, 24>;

// At residues [begin[i], begin[i+1]) of a circle of `modulus` ticks the demand is distributed as atoms
// [offset[i], offset[i+1]), in ascending order of value, of total weight `weight`. Atoms that can never reach the
// capacity may be missing, or stand at a value far below zero.
struct Demand {
  int64_t modulus = 1;
  double weight = 1.0;
  SmallVector<int64_t, 24> begin{0};
  SmallVector<uint32_t, 25> offset{0, 1};
  AtomList atoms{{0.0, 1.0}};

  std::size_t size() const { return begin.size(); }
  int64_t end_of(std::size_t i) const { return i + 1 < begin.size() ? begin[i + 1] : modulus; }
};

// How distinct partial sums are kept in bounds.
enum class Levels {
  exact,  // LimitExceeded beyond max_levels
  inner,  // merged to their mean: a lower bound on any convex function's expectation
  outer,  // spread over the ends of a bin: an upper bound
};

// Job on its folded circle. `probability`: weights sum to 1 instead of the number of samples T/modulus; for use where
// the product of sample counts would leave the range in which doubles count exactly. LimitExceeded beyond max_atoms.
Demand fold(const JobPattern& pattern, int64_t modulus, bool probability);

// The job at a uniformly random phase, independent of all else (a free job).
Demand spread(const JobPattern& pattern, bool probability);

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
