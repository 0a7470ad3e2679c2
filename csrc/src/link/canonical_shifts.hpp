// How the jobs of a link stand to each other, whatever shifts say it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "demand/link_problem.hpp"

namespace cassini {

// Two shifts of a link's movable jobs stand alike if rotating all jobs alike takes one to the other, each job modulo
// its own modulus. Of all that stand alike one form is chosen, so that what is computed from it is the same to the last
// bit.
class CanonicalShifts {
 public:
  CanonicalShifts() = default;
  explicit CanonicalShifts(const Link& link);

  // Brings shifts [movable], any integers, to their form: the first job at 0, each of the others in turn as early as a
  // common rotation allows that leaves those before it where they are. Where the moduli have too large a common
  // multiple, the form may differ between shifts that stand alike.
  void apply(std::span<int64_t> shift) const;

 private:
  struct Member {
    int64_t modulus;  // of the job
    int64_t common;   // after so much those before it stand as before
    int64_t step;     // gcd of the two; the modulus itself if those before leave no choice
    int64_t inverse;  // of common / step modulo modulus / step
  };
  std::vector<Member> member_;
};

}  // namespace cassini
