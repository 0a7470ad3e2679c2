// Random link problems, and an oracle that lays out every tick.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "demand/job_pattern.hpp"

namespace cassini::test {

// A link of a few jobs with small whole periods, some wrapping, overlapping, constant or silent.
struct Problem {
  std::vector<int64_t> period;
  std::vector<std::vector<Phase>> phases;
  int64_t capacity = 1;
  std::vector<JobPattern> patterns() const;
};

Problem random_problem(std::mt19937& rng, std::size_t n_jobs, std::span<const int64_t> periods, int max_phases);

// Mean excess by laying out every tick of the LCM circle: shares no code with the kernel.
double excess_by_ticks(const Problem& problem, std::span<const int64_t> shift);

// Least mean excess over all whole shifts, the first job at 0.
double best_by_ticks(const Problem& problem);

}  // namespace cassini::test
