// The problem by looking at every tick: slow, obvious, and without a line of the kernel.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace cassini::fuzz {

struct TickJob {
  int64_t period = 1;
  std::vector<int64_t> demand;  // [period] kbit/s at each tick
};

struct TickLink {
  std::vector<TickJob> jobs;
  std::vector<uint8_t> is_free;  // scored as independent uniform phases
  int64_t capacity = 1;
};

// Demand of phases on the ticks of one iteration.
std::vector<int64_t> lay_out(int64_t period, const std::vector<int64_t>& start, const std::vector<int64_t>& length,
                             const std::vector<int64_t>& rate);

// Mean excess at whole shifts, kbit/s.
double mean_excess(const TickLink& link, const std::vector<int64_t>& shift);
double score(const TickLink& link, const std::vector<int64_t>& shift);

// Calls `visit` with all whole shifts of jobs of these periods, the first job standing at 0.
void for_all_shifts(const std::vector<int64_t>& period, const std::function<void(const std::vector<int64_t>&)>& visit);

// F1b as the documentation has it: passes over the jobs that are not yet free, each marking all with R <= 2 * resolution.
std::vector<uint8_t> free_jobs(const std::vector<TickJob>& jobs, int64_t resolution);

// Ticks that mean_excess looks at.
int64_t cost(const std::vector<TickJob>& jobs, const std::vector<uint8_t>& is_free);

}  // namespace cassini::fuzz
