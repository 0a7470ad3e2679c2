// Prepared links and joint problems of them, as a caller might pass them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "many_links.hpp"

namespace cassini::fuzz {

// Links of a few jobs that have one period each, prepared; some are refused.
struct PreparedLinks {
  Array period;                              // of the jobs of the problem
  ManyLinks input;                           // one link after the other
  Array job;                                 // which job stands at each place of the links
  std::vector<int32_t> status;               // of each link
  cassini_prepared_links* handle = nullptr;  // null where the call was refused

  PreparedLinks() = default;
  PreparedLinks(const PreparedLinks&) = delete;
  PreparedLinks& operator=(const PreparedLinks&) = delete;
  ~PreparedLinks() { cassini_free_prepared_links(handle); }

  std::size_t first(std::size_t i) const { return static_cast<std::size_t>(input.job_offset[i]); }
  std::size_t size(std::size_t i) const { return first(i + 1) - first(i); }
};

std::unique_ptr<PreparedLinks> prepared_links(Bytes& in);

// Links of one joint problem, or those added to a baseline.
struct Use {
  Array link;
  Array member;
  std::vector<double> weight;
  std::vector<double> upper_bound;
  Array own_shift;
  bool no_weight = false;
  bool no_bound = false;
  bool no_link = false;

  int64_t n() const { return static_cast<int64_t>(link.size()); }
  const int64_t* links() const { return no_link ? nullptr : link.data(); }
  const double* weights() const { return no_weight ? nullptr : weight.data(); }
  const double* bounds() const { return no_bound ? nullptr : upper_bound.data(); }
  // For jobs of these periods, and as what differs from a baseline.
  cassini_joint joint(const Array& period) const;
  cassini_delta delta(const Array& dropped) const;
  // Whether the header allows it, and its weights and bounds.
  bool sound(const PreparedLinks& prepared, const Array& period) const;
  bool sound_wishes() const;
};

Use wild_use(Bytes& in, const PreparedLinks& prepared);

}  // namespace cassini::fuzz
