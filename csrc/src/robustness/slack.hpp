// The slack of every job at given shifts, kept so that it can be asked again after one job has moved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "demand/link_problem.hpp"
#include "demand/marginal.hpp"
#include "demand/shifted_demand.hpp"
#include "robustness/flat_range.hpp"

namespace cassini {

struct Slacks {
  SmallVector<int64_t, 8> movable;  // [movable] min(early, late), at most period / 2
  SmallVector<Reaches, 8> reach;    // [movable] near: without any loss; far: within the tolerance
  int64_t least = std::numeric_limits<int64_t>::max();
  std::size_t tightest = 0;  // who has the least
  double excess = 0.0;       // mean, at the shifts
};

class SlackTable {
 public:
  static constexpr int64_t kAny = -1;

  SlackTable(const Link& link, double tolerance, Budget& budget);

  // Slacks at the given shifts. Ends with false as soon as one is not above `floor`. Out of time the jobs left have
  // none. If only the job `moved` has moved since the last measurement that was kept, its own marginal serves again.
  bool measure(std::span<const int64_t> shift, std::size_t moved, int64_t floor, Slacks& out);

  // The last measurement is that from which the next move counts.
  void keep(std::size_t moved);

 private:
  // Marginals of few jobs are kept, twice: of the shifts that were kept and of those just measured.
  static constexpr std::size_t kFew = 4;
  struct Own {
    Marginal marginal;
    int64_t origin = 0;  // where the demand of the others begins
    int64_t shift = 0;   // of the job, when last asked
    Reaches reach;       // from there
  };
  Own& kept(std::size_t m) { return own_[few_ ? 2 * m + kept_half_[m] : 0]; }
  Own& fresh(std::size_t m) { return own_[few_ ? 2 * m + 1 - kept_half_[m] : 0]; }
  bool update_reach(std::size_t m, Own& own, int64_t shift, bool again, int64_t floor, Slacks& out);
  bool slide(Own& own, int64_t shift, int64_t modulus) const;
  void sum_suffixes(std::span<const int64_t> shift, std::size_t moved);

  const Link& link_;
  double tolerance_;
  Budget& budget_;
  bool few_;
  std::array<Own, 2 * kFew> own_;
  SmallVector<uint8_t, kFew> kept_half_;         // [movable] which of two is kept
  std::vector<Demand> room_;                     // of sums of the jobs from m on
  SmallVector<ShiftedDemand, kFew + 1> suffix_;  // [movable + 1]
  Demand others_;
  Demand prefix_room_[2];
};

}  // namespace cassini
