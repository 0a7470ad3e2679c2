// How the jobs of a link stand to each other, whatever shifts say it.
#pragma once

#include <cstdint>
#include <span>

#include "link.hpp"

namespace cassini {

// Brings the shifts of the movable jobs (any integers) to the one form that all shifts have which stand alike: the first
// job at 0, and each of the others in turn as early as a common turn of all jobs allows that leaves those before it where
// they are. A score computed from it is the same to the last bit for all of them. Two stand alike if a common turn takes
// one to the other, each job modulo its own turn; beyond the limits of folding the form may differ even so.
void take_stance(const Link& link, std::span<int64_t> shift);

}  // namespace cassini
