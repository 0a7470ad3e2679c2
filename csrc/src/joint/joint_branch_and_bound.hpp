// The best shifts of a small joint problem, with proof: branch and bound over edge alignments (F2, F3) on all links at
// once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "joint/joint_problem.hpp"

namespace cassini {

inline constexpr std::size_t kMostProofJobs = 12;

struct Proof {
  bool improved = false;
  std::vector<int64_t> shift;  // [jobs of the part] better than what was known, if improved
  double objective = 0.0;      // of the best shifts known, on the part's links
  double lower = 0.0;          // no shifts have less, proven
};

// Links of the joint problem that hold one of `jobs` together with others.
std::vector<std::size_t> links_of(const JointProblem& problem, std::span<const std::size_t> jobs);

// `jobs` are one component; `known` is what the best shifts so far cost on its links. LimitExceeded where a partial
// placement cannot be scored.
//
// Facts the search stands on; those of search.hpp hold for sums over links:
//  * Moving a group of jobs against the rest, the sum is piecewise linear, and a kink is convex only where opposite edges
//    of two jobs meet on a link that both can be moved on. So some optimum has all jobs of the component connected by
//    such meetings. One fixes the shift of k only modulo gcd(T_i, T_k): all lifts on the circle on which k matters,
//    the lcm over its links of R_k, are branched on.
//  * Excess is superadditive on each link, so what jobs left add at least may be summed, over links for one shift of each
//    job, or over jobs with a shift of its own on each link; and links may be split between the two.
//
// The same among shifts that leave `kept` jobs at `at`: `jobs` then are what links hold together without those, and the
// optimum has each of them connected by such meetings to a job that is kept, where one is on their links. Kept jobs are
// not in the proof.
Proof prove_joint(const JointProblem& problem, std::span<const std::size_t> jobs, double known, Budget& budget,
                  std::span<const uint8_t> kept = {}, std::span<const int64_t> at = {});

}  // namespace cassini
