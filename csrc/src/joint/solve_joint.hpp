// The best shifts of a joint problem: local search, and a proof where that is in reach.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "joint/joint_problem.hpp"
#include "joint/joint_state.hpp"

namespace cassini {

struct JointStart {
  std::span<const int64_t> shift;      // [jobs] where to begin; empty: nowhere in particular
  std::span<const uint8_t> dirty;      // [jobs] whose surroundings changed since; empty: all
  std::span<const uint8_t> kept = {};  // [jobs] not 0: stays where `shift` has it; empty: none
  double slack_tolerance = -1.0;       // score; not negative: single jobs move where their slack grows
  const Snapshot* snapshot = nullptr;  // what is known at `shift` of a joint problem much like this one; may be null
  const Origins* from = nullptr;       // with it: where the links come from
};

struct JointAnswer {
  std::vector<int64_t> shift;  // [jobs]
  double lower = 0.0;          // no shifts have less on the links that guide, none that keep what is to be kept
  bool limited = false;        // the search met the limits of folding and stopped there
};

JointAnswer solve_joint(const JointProblem& problem, const JointStart& start, Budget& budget);

}  // namespace cassini
