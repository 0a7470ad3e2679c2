// A link problem, prepared: circles, free jobs, folded circles, limits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/limits.hpp"
#include "demand/folded_demand.hpp"
#include "demand/job_pattern.hpp"

namespace cassini {

struct Link {
  double capacity = 1.0;             // in the same unit as the rates of the circles
  std::vector<JobPattern> jobs;      // in the caller's order
  std::vector<uint8_t> is_free;      // F1b
  std::vector<std::size_t> movable;  // jobs whose shift matters, in canonical order: largest mean first, then content
  std::vector<int64_t> modulus;      // [movable] R_j
  std::vector<Demand> folded;        // [movable]
  Demand base;                       // free and constant jobs together; independent of every shift
  Limits limits;
  bool within_limits = true;  // false: only certified intervals
  double noise = 0.0;         // what counts as nothing beside a mean excess: more than rounding leaves of it

  std::size_t size() const { return movable.size(); }
  const JobPattern& pattern(std::size_t m) const { return jobs[movable[m]]; }

  bool is_movable(std::size_t j) const { return !is_free[j] && !jobs[j].constant(); }

  // Sum of the peaks of all movable jobs.
  double movable_peak() const;

  // Mean demand of all jobs minus capacity, at least 0: a lower bound on the mean excess (area).
  double area_bound() const;

  // Sum of the peaks of movable jobs with placed[m] == 0: what may still be added.
  double peak_left(std::span<const uint8_t> placed) const;

  // base + all movable jobs but `without` (size(): none) at the given shifts.
  void total(std::span<const int64_t> shift, std::size_t without, Demand& out, int64_t* work) const;

  // Mean excess at the given shifts of the movable jobs.
  double excess(std::span<const int64_t> shift, int64_t* work) const;

  // The link with the jobs of `keep` (indices into movable, ascending) alone, with or without the base.
  Link only(std::span<const std::size_t> keep, bool with_base) const;
};

Link make_link(std::vector<JobPattern> jobs, std::vector<uint8_t> is_free, double capacity, const Limits& limits);

// Of shifts of all jobs, those of the movable ones, in canonical order and modulo their moduli R_j.
std::vector<int64_t> movable_shifts(const Link& link, std::span<const int64_t> shift);

}  // namespace cassini
