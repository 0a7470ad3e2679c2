// Periodic piecewise linear functions as lists of their kinks, and sums of them: what the mean excess of links is of
// one job's shift.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cassini {

// From shift `at` to the next knot the function is value + slope * (shift - at).
struct Knot {
  int64_t at;
  double value;
  double slope;
};

// A change of slope on the way to knots.
struct SlopeChange {
  int64_t at;
  double change;
};

// An object, not a function: where it is handed over, it is compiled in.
struct Earlier {
  bool operator()(const SlopeChange& x, const SlopeChange& y) const { return x.at < y.at; }
};
inline constexpr Earlier is_earlier{};

// Memory that building profiles shares.
struct SweepScratch {
  std::vector<SlopeChange> bends;
  std::vector<SlopeChange> merged;
  std::vector<std::size_t> runs;
};

// Periodic and piecewise linear.
struct PiecewiseLinear {
  int64_t modulus = 1;
  std::vector<Knot> knots{{0, 0.0, 0.0}};  // ascending within [0, modulus), the first at 0

  double at(int64_t shift) const;

  // The knot whose piece holds `shift` in [0, modulus).
  std::size_t piece_of(int64_t shift) const;
};

struct Minimum {
  int64_t shift = 0;
  double value = 0.0;
};

inline bool lower_first(const Minimum& x, const Minimum& y) {
  return x.value != y.value ? x.value < y.value : x.shift < y.shift;
}

// A way to see one link move: its excess as a function of how far it is turned, `lag` ticks late.
struct Term {
  const PiecewiseLinear* profile;
  int64_t lag;    // the function at shift s is profile(s - lag)
  double weight;  // objective per unit of excess
};

// Sums of periodic piecewise linear functions on a circle.
class TermSum {
 public:
  std::vector<Term> terms;

  // Looks at every kink of the sum on a circle of `modulus` ticks, a multiple of the modulus of each term. Where
  // there are more than kMostKinks, the terms with the largest influence are looked at, the others read at their kinks.
  // Finds the minimum, the first on ties, and with `all` every local minimum, ascending by shift.
  Minimum minimum(int64_t modulus, bool all, int64_t* work);
  double at(int64_t shift) const;
  double kinks_on(int64_t modulus) const;

  std::vector<Minimum> minima;
  static constexpr double kMostKinks = 65536.0;

 private:
  void gather(const Term& term, int64_t modulus);
  Minimum sample(int64_t modulus, bool all, int64_t* work);

  std::vector<SlopeChange> bends_;
  std::vector<SlopeChange> merged_;
  std::vector<std::size_t> runs_;
};

}  // namespace cassini
