// What exact folding may cost, the error beyond that, and how exact answers are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>

namespace cassini {

// Scores and bounds on them are promised to this, and it is as much below a bound that a score counts as optimal.
inline constexpr double kProofTolerance = 1e-9;

// What to take off a lower bound that rounding may have made too high by `noise`: nothing within what is promised.
// `whole` is what a score of 1 is worth. Only rates far above the capacity, 25,000 times and more, come to that.
inline double rounding_of_bound(double noise, double whole) { return noise > kProofTolerance * whole ? noise : 0.0; }

// Exact folding needs more levels or atoms than the limits allow. Never leaves the kernel.
struct LimitExceeded : std::exception {
  const char* what() const noexcept override { return "beyond the limits of folding"; }
};

struct Limits {
  int64_t max_events = 262144;
  int64_t max_levels = 65536;
  static constexpr std::size_t max_atoms = std::size_t{1} << 22;  // of one Demand; 64 MiB
  static constexpr std::size_t max_kinks = std::size_t{1} << 22;  // of one marginal

  // What follows is as large as it gets at the defaults of these two. Less of them is less of all: whoever has
  // thousands of links bounds by them what one look at each may cost.

  // Levels touched to add up all jobs once: one score must cost less than a whole search does by default.
  int64_t max_sum_work() const { return std::min(int64_t{1} << 24, 64 * max_events); }
  // Atoms of all jobs of a link, folded; 16 bytes each are kept.
  std::size_t max_folded_atoms() const { return std::min(max_atoms, 16 * static_cast<std::size_t>(max_events)); }
  // Levels touched to bound a score that is out of reach.
  double max_interval_work() const { return std::min(268435456.0, 1024.0 * static_cast<double>(max_events)); }
  // Bins of demand levels in an interval computation.
  double max_bins() const { return std::clamp(static_cast<double>(max_levels) / 16.0, 8.0, 4096.0); }
  // Kinks of one marginal at most, for a link to guide the search of a joint problem: more cost more than the link is
  // worth.
  double max_guiding_kinks() const { return std::min(131072.0, 0.5 * static_cast<double>(max_events)); }
  // Whether a job of so many levels or phases can be moved against so many events: a marginal has a cell, or a kink,
  // for each of both. By default the marginal itself says so.
  bool allows_cells(double events, double most) const {
    constexpr int64_t kDefault = 262144;
    return max_events >= kDefault || events * most <= 16.0 * static_cast<double>(max_events);
  }
};

}  // namespace cassini
