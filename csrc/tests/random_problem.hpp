// Random link problems, and an oracle that lays out every tick.
#pragma once

#include <array>
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

// Three jobs of a few rates on equal slots, each with one tick at a rate 10^11 times the capacity: of such a sum
// rounding leaves less than shifts differ by.
struct SpikedSlots {
  static constexpr std::size_t kSlots = 16;
  int64_t slot = int64_t{1} << 36;   // ticks
  int64_t spike = int64_t{1} << 40;  // rate
  int64_t spike_ticks = 1;
  int64_t capacity = 11;

  explicit SpikedSlots(std::mt19937& rng);
  std::vector<JobPattern> patterns() const;

  // Least mean excess over shifts of quarters of a slot, summed in whole numbers. A slot has a multiple of four ticks.
  double best() const;

 private:
  std::array<std::array<int64_t, kSlots>, 3> rate_;  // [job][slot]
  std::array<std::size_t, 3> spike_slot_;            // [job] the slot that begins with it
};

}  // namespace cassini::test
