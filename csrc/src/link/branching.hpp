// What the searches of one link and of a joint problem have in common: placements to choose from, and equal jobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace cassini {

// A job put somewhere, and a lower bound on all that can follow.
struct Pick {
  double bound;
  double excess;  // of the jobs placed and this one, where the search knows it
  std::size_t job;
  int64_t shift;
};

// The most promising first; the order is that of job and shift among those that promise alike.
inline void sort_by_bound(std::vector<Pick>& picks) {
  std::sort(picks.begin(), picks.end(), [](const Pick& x, const Pick& y) {
    if (x.bound != y.bound) return x.bound < y.bound;
    return x.job != y.job ? x.job < y.job : x.shift < y.shift;
  });
}

// Jobs that can change places: of those not yet placed only the first is branched on, and what was explored for one is
// explored for all.
class EqualJobs {
 public:
  EqualJobs() = default;

  // `same(i, k)`: whether jobs i < k of n are equal.
  template <class Same>
  EqualJobs(std::size_t n, const Same& same) : first_(n) {
    for (std::size_t k = 0; k < n; ++k) {
      first_[k] = k;
      for (std::size_t i = 0; i < k && first_[k] == k; ++i) {
        if (first_[i] == i && same(i, k)) first_[k] = i;
      }
    }
  }

  bool alike(std::size_t i, std::size_t k) const { return first_[i] == first_[k]; }

  bool waits_for_another(std::size_t k, std::span<const uint8_t> placed) const {
    for (std::size_t i = first_[k]; i < k; ++i) {
      if (alike(i, k) && !placed[i]) return true;
    }
    return false;
  }

 private:
  std::vector<std::size_t> first_;  // of those equal to a job
};

}  // namespace cassini
