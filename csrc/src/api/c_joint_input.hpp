// What the C functions on joint problems have in common: prepared links as the caller uses them, and what is reported.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "api/c_link_input.hpp"
#include "cassini/cassini.h"
#include "joint/joint_problem.hpp"
#include "joint/solve_joint.hpp"

struct cassini_prepared_links {
  std::vector<std::optional<cassini::PreparedLink>> link;  // empty where the input was refused
  std::vector<int64_t> job_offset;                         // [links + 1] from 0
};

namespace cassini {

// Prepared links that hold jobs together.
struct JointInput {
  const cassini_prepared_links* prepared;
  std::span<const int64_t> period;  // [jobs]
  int64_t n_links;
  const int64_t* link;
  int64_t n_members;
  const int64_t* member;
  const double* weight;       // null: all 1
  const double* upper_bound;  // may be null
  const int64_t* own_shift;   // may be null

  const PreparedLink& at(int64_t i) const { return *prepared->link[static_cast<std::size_t>(link[i])]; }
  std::vector<int64_t> wrapped(const int64_t* shift) const;  // [jobs] modulo the periods
};

// Checked, but for weights and bounds.
JointInput joint_input(const cassini_prepared_links* prepared, const cassini_joint* given);

// The links that a delta adds for jobs of these periods; the same.
JointInput joint_input(const cassini_prepared_links* prepared, std::span<const int64_t> period,
                       const cassini_delta& delta);

// Checks weights and bounds. Weights as they are given.
std::vector<JointLink> joint_links(const JointInput& in);

struct JointOutput {
  int64_t* shift;
  double* score_lower;
  double* score_upper;
  cassini_joint_result* result;
};

JointOutput checked(const cassini_joint_output* given, cassini_joint_result* result, int64_t n_links);

// `excess`: [links of the joint problem] at the shifts found. `origin`: which of them each link of the caller is.
void report(const JointProblem& problem, const JointAnswer& found, std::span<const Interval> excess,
            std::span<const std::size_t> origin, const Budget& budget, const JointOutput& to);

}  // namespace cassini
