// Room for jitter in a joint problem (F5): optimal shifts have edges exactly aligned, and an agent cannot hold them.
#pragma once

#include <cstdint>
#include <span>

#include "base/budget.hpp"
#include "joint/joint_state.hpp"

namespace cassini {

// Moves single jobs within the interval on which the objective does not grow to where the least slack of the job and
// all it shares links with grows. Slack: the largest move of a job alone that keeps each of its links within
// `tolerance` (a score) of where it is. Those `kept` [jobs] stay; empty: none. Bounded work.
void centre_joint(JointState& state, double tolerance, std::span<const uint8_t> kept, Budget& budget);

// Slack of one job at the present shifts, over its links that guide; at most half its period.
int64_t joint_slack(JointState& state, std::size_t j, double tolerance, int64_t* work);

}  // namespace cassini
