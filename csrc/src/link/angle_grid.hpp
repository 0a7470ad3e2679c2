// The paper's formulation to the letter (Table 1): demand on |A| angles of the unified circle, whole rotations.
#pragma once

#include <cstdint>
#include <vector>

#include "base/budget.hpp"
#include "demand/job_pattern.hpp"

namespace cassini {

struct Angles {
  std::vector<int64_t> shift;  // [jobs] ticks, the rotation times perimeter over |A|, modulo the period (Eq. 5)
  double excess = 0.0;         // mean over the angles, as the method itself sees it
};

// Minimises sum_a max(0, sum_j b_j(a - d_j) - C) over rotations d_j = 0 .. ceil(|A| / r_j) - 1 angles, where angle a
// samples the demand at time a * p / |A| (half-open phases). Least rotations lexicographically among equals. Any |A|,
// any perimeter p, however large: only p modulo |A| T_j is needed.
Angles solve_angles(const std::vector<JobPattern>& jobs, double capacity, int64_t angles, Budget& budget);

}  // namespace cassini
