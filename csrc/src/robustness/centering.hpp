// Centring: single jobs move within their plateaus as long as that raises the least slack, or frees one of those that
// have it. Of three jobs side by side with room at one end, two gaps are nothing: no single move widens both.
#pragma once

#include <cstdint>
#include <vector>

#include "base/budget.hpp"
#include "demand/link_problem.hpp"

namespace cassini {

// Moves single jobs within their plateaus as long as that raises the least slack; the excess never grows.
// Returns the slack of the movable jobs where it ends; none for a pair, which stands in the middle already.
std::vector<int64_t> centre(const Link& link, std::vector<int64_t>& shift, double tolerance, Budget& budget);

}  // namespace cassini
