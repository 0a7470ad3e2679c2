// A joint problem at given shifts, and joint problems that differ from it in few links: these cost what differs, but
// for a few passes over short lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "joint/joint_problem.hpp"
#include "joint/joint_state.hpp"
#include "link/score_interval.hpp"

namespace cassini {

// A joint problem before its links are sorted and joined. Weights are as the caller says: only their ratios matter.
struct Baseline {
  std::vector<JointLink> given;          // own_shift is not used
  std::vector<std::size_t> origin;       // [given] link of the joint problem
  std::vector<std::size_t> joined;       // [given] sorted by where they went
  std::vector<std::size_t> first_given;  // [links of the joint problem + 1] into joined
  int exponent = 0;                      // weights in the joint problem are those given, times 2 to the minus this
  JointProblem problem;
  Snapshot snapshot;
};

// What differs. The joint problem is what make_joint_problem makes of the links that are left and those that came, down
// to the last bit, so that whatever is found in it does not depend on the baseline.
struct DeltaProblem {
  JointProblem problem;
  Origins from;                     // the baseline's joint problem
  std::vector<std::size_t> origin;  // [given and not dropped, then added] link of the joint problem
};

// `shift`: [jobs] modulo the periods. Of the budget only the cancel flag counts.
Baseline make_baseline(std::vector<int64_t> period, std::vector<JointLink> given, std::span<const int64_t> shift,
                       Budget& budget);

// `is_dropped`: [given] not 0 for those that are not there. Scores what is new: adds to *work.
DeltaProblem apply_delta(const Baseline& baseline, std::span<const uint8_t> is_dropped, std::vector<JointLink> added,
                         int64_t* work);

// A power of two that brings the largest weight near 1, exactly, so that no sum overflows; 0 without links.
int weight_exponent(std::span<const JointLink> links);

// What is reported of each link. Where its jobs stand as in the baseline that is known, mostly.
class DeltaScores {
 public:
  // `excess`: [links of the baseline's joint problem] as reported. `found`: shifts, not yet canonical.
  DeltaScores(const Baseline& baseline, std::span<const Interval> excess, const DeltaProblem& varied,
              const std::vector<int64_t>& found);

  // At canonical shifts of what was found.
  std::vector<Interval> at(std::span<const int64_t> shift, int64_t* work);

 private:
  const Interval* known_of(std::size_t l);
  bool stands(std::size_t l, std::span<const int64_t> shift);

  const Baseline& baseline_;
  std::span<const Interval> excess_;
  const DeltaProblem& varied_;
  std::vector<uint8_t> moved_;  // [jobs]
  std::vector<int64_t> here_;
  std::vector<int64_t> there_;
  Interval scored_;
};

}  // namespace cassini
