// Joint problems of random small link problems, with an oracle.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "check.hpp"
#include "joint/joint_problem.hpp"
#include "random_problem.hpp"

namespace cassini::test {

// A joint problem with its links as problems of their own, for tests to look at.
struct JointCase {
  Problem jobs;                               // capacity unused
  std::vector<std::vector<std::size_t>> on;   // [links] jobs
  std::vector<std::vector<int64_t>> factor;   // [links][place] demand is scaled by this
  std::vector<int64_t> capacity;              // [links]
  std::vector<double> weight;                 // [links]
  std::vector<std::vector<uint8_t>> is_free;  // [links][place]
  std::vector<std::unique_ptr<PreparedLink>> prepared;

  Problem problem(std::size_t l) const;
  void prepare();
  std::vector<JointLink> links() const;
  JointProblem joint() const;

  // Mean excess of one link, and the objective, by laying out every tick; share no code with the kernel.
  double excess(std::size_t l, std::span<const int64_t> shift) const;
  double objective(std::span<const int64_t> shift) const;

  // Least objective over all whole shifts, the first job at 0.
  double best() const;
};

JointCase random_case(std::mt19937& rng, std::size_t n_jobs, std::size_t n_links, std::span<const int64_t> periods,
                      int max_phases);

}  // namespace cassini::test
