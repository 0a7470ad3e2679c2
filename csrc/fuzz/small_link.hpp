// Links small enough for brute force, as arrays for the kernel and as ticks for the reference.
#pragma once

#include <cstdint>
#include <vector>

#include "../tests/c_structs.hpp"
#include "brute_force.hpp"
#include "bytes.hpp"
#include "cassini/cassini.h"

namespace cassini::fuzz {

struct SmallLinks {
  std::vector<int64_t> period;           // of the jobs of the problem; a single link has all of them
  std::vector<std::vector<int64_t>> on;  // [links] jobs
  std::vector<TickLink> tick;            // [links]
  int64_t resolution = 0;

  // Concatenated, as the kernel wants them.
  std::vector<int64_t> job_offset{0};
  std::vector<int64_t> job_period;
  std::vector<int64_t> phase_offset{0};
  std::vector<int64_t> start;
  std::vector<int64_t> length;
  std::vector<int64_t> rate;
  std::vector<int64_t> capacity;

  // The shifts of a link's jobs, of those of all jobs.
  std::vector<int64_t> shifts_on(std::size_t link, const std::vector<int64_t>& shift) const;
};

// One link of all jobs, or several of some.
SmallLinks small_links(Bytes& in, bool joint);

std::vector<int64_t> small_shifts(Bytes& in, const std::vector<int64_t>& period);

// The promises of F5, by trying: `exact` slack is as large as it can be.
void check_slack(const TickLink& link, const std::vector<int64_t>& shift, const int64_t* slack, double tolerance,
                 bool exact);
void check_hold(Bytes& in, const TickLink& link, const std::vector<int64_t>& shift, int64_t hold, double tolerance);

// Rounding that scores are allowed.
double slack_of_rounding(double score);

void fuzz_small_link(Bytes& in);
void fuzz_small_joint(Bytes& in);

// Rates up to 10^12 times the capacity for one tick: what rounding hides must not be called proven.
void fuzz_spiked_link(Bytes& in);

}  // namespace cassini::fuzz
