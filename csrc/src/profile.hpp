// A link's mean excess as a function of one job's shift, kept as a list of its kinks.
#pragma once

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

// Memory that building profiles shares.
struct ProfileScratch {
  std::vector<SlopeChange> bends;
  std::vector<SlopeChange> merged;
  std::vector<std::size_t> runs;
};

// Periodic and piecewise linear.
struct Profile {
  int64_t turn = 1;
  std::vector<Knot> knots{{0, 0.0, 0.0}};  // ascending within [0, turn), the first at 0

  double at(int64_t shift) const;
  double least() const;
  double most() const;
  void clear();

  // The knot whose piece holds `shift` in [0, turn).
  std::size_t piece_of(int64_t shift) const;
};

}  // namespace cassini
