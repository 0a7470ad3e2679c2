// Structs of cassini.h filled from vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "cassini/cassini.h"

namespace cassini::test {

// With its size set, all else 0.
template <class Sized>
Sized sized() {
  Sized out{};
  out.size = sizeof(Sized);
  return out;
}

// As many as there are.
template <class Vector>
int64_t length_of(const Vector& values) {
  return static_cast<int64_t>(values.size());
}

// Jobs first .. last-1 of some arrays as one link.
inline cassini_link link_of(int64_t capacity, int64_t first, int64_t last, const std::vector<int64_t>& period,
                            const std::vector<int64_t>& phase_offset, const std::vector<int64_t>& start,
                            const std::vector<int64_t>& length, const std::vector<int64_t>& rate) {
  cassini_link out = sized<cassini_link>();
  out.capacity_kbps = capacity;
  out.n_jobs = last - first;
  out.period_ns = period.data() + first;
  out.phase_offset = phase_offset.data() + first;
  out.n_phases = length_of(start);
  out.phase_start_ns = start.data();
  out.phase_length_ns = length.data();
  out.phase_rate_kbps = rate.data();
  return out;
}

inline cassini_links links_of(const std::vector<int64_t>& capacity, const std::vector<int64_t>& job_offset,
                              const std::vector<int64_t>& period, const std::vector<int64_t>& phase_offset,
                              const std::vector<int64_t>& start, const std::vector<int64_t>& length,
                              const std::vector<int64_t>& rate) {
  cassini_links out = sized<cassini_links>();
  out.n_links = length_of(capacity);
  out.capacity_kbps = capacity.data();
  out.job_offset = job_offset.data();
  out.n_jobs = length_of(period);
  out.period_ns = period.data();
  out.phase_offset = phase_offset.data();
  out.n_phases = length_of(start);
  out.phase_start_ns = start.data();
  out.phase_length_ns = length.data();
  out.phase_rate_kbps = rate.data();
  return out;
}

inline cassini_link_output link_output(int64_t* shift, int64_t* slack, uint8_t* is_free) {
  cassini_link_output out = sized<cassini_link_output>();
  out.shift_ns = shift;
  out.slack_ns = slack;
  out.is_free = is_free;
  return out;
}

inline cassini_evaluation evaluation(double* lower, double* upper, int64_t* slack, int64_t* hold,
                                     uint8_t* is_free = nullptr) {
  cassini_evaluation out = sized<cassini_evaluation>();
  out.score_lower = lower;
  out.score_upper = upper;
  out.slack_ns = slack;
  out.hold_ns = hold;
  out.is_free = is_free;
  return out;
}

// Weights, bounds and own shifts may be null.
inline cassini_joint joint_of(const std::vector<int64_t>& period, const std::vector<int64_t>& link,
                              const std::vector<int64_t>& member, const double* weight = nullptr,
                              const double* upper_bound = nullptr, const int64_t* own_shift = nullptr) {
  cassini_joint out = sized<cassini_joint>();
  out.n_jobs = length_of(period);
  out.period_ns = period.data();
  out.n_links = length_of(link);
  out.link = link.data();
  out.n_members = length_of(member);
  out.member = member.data();
  out.weight = weight;
  out.upper_bound = upper_bound;
  out.own_shift_ns = own_shift;
  return out;
}

inline cassini_joint_search search_of(const int64_t* start, const uint8_t* is_dirty, bool centred,
                                      const uint8_t* is_kept = nullptr) {
  cassini_joint_search out = sized<cassini_joint_search>();
  out.start_ns = start;
  out.is_dirty = is_dirty;
  out.is_kept = is_kept;
  out.centred = centred ? 1 : 0;
  return out;
}

inline cassini_delta delta_of(const std::vector<int64_t>& dropped, const std::vector<int64_t>& link,
                              const std::vector<int64_t>& member, const double* weight = nullptr,
                              const double* upper_bound = nullptr) {
  cassini_delta out = sized<cassini_delta>();
  out.n_dropped = length_of(dropped);
  out.dropped = dropped.data();
  out.n_added = length_of(link);
  out.link = link.data();
  out.n_members = length_of(member);
  out.member = member.data();
  out.weight = weight;
  out.upper_bound = upper_bound;
  return out;
}

inline cassini_joint_output joint_output(int64_t* shift, double* lower, double* upper) {
  cassini_joint_output out = sized<cassini_joint_output>();
  out.shift_ns = shift;
  out.score_lower = lower;
  out.score_upper = upper;
  return out;
}

}  // namespace cassini::test
