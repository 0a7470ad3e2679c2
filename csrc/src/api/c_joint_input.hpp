// What the C functions on blocks have in common: the links of a block as the caller passed them, and what is reported.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "api/c_link_input.hpp"
#include "cassini/cassini.h"
#include "joint/joint_problem.hpp"
#include "joint/solve_joint.hpp"

struct cassini_links {
  std::vector<std::optional<cassini::PreparedLink>> link;  // empty where the input was refused
  std::vector<int64_t> job_offset;                         // [links + 1] from 0
};

namespace cassini {

// Links of a block of jobs that are known.
struct LinksInput {
  const cassini_links* links;
  std::span<const int64_t> period;  // [jobs]
  int64_t n_links;
  const int64_t* link;
  const int64_t* member;

  const PreparedLink& at(int64_t i) const { return *links->link[static_cast<std::size_t>(link[i])]; }
};

// The jobs of a block; throws what becomes EINVAL.
std::span<const int64_t> checked_periods(int64_t n_jobs, const int64_t* period);

// Throws what becomes EINVAL.
void check(const LinksInput& in);

struct LinkParameters {
  const double* weight;       // null: all 1
  const double* upper_bound;  // may be null
  const int64_t* own_shift;   // may be null
};

// Checked; weights as they are given.
std::vector<JointLink> joint_links(const LinksInput& in, const LinkParameters& parameters);

struct JointOutput {
  int64_t* shift;
  double* score_lower;
  double* score_upper;
  cassini_block_result* result;
};

void check(const JointOutput& out, int64_t n_links);

// `excess`: [links of the block] at the shifts found. `origin`: which of them each link of the caller is.
void report(const JointProblem& problem, const JointAnswer& found, std::span<const Interval> excess,
            std::span<const std::size_t> origin, const Budget& budget, const JointOutput& out);

}  // namespace cassini
