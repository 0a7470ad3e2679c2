// What every C function needs: checks of what the caller passed, and its translation to the kernel's types.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

#include "bounds.hpp"
#include "budget.hpp"
#include "cassini/cassini.h"
#include "host_state.hpp"
#include "link.hpp"
#include "plateau.hpp"
#include "ready_to_throw.hpp"

namespace cassini {

inline constexpr double kProofTolerance = 1e-9;

// What becomes of a body's exceptions: a status each.
template <class Body>
int32_t status_of(Body&& body) noexcept {
  try {
    body();
    return CASSINI_OK;
  } catch (const std::invalid_argument&) {
    return CASSINI_EINVAL;
  } catch (const std::bad_alloc&) {
    return CASSINI_ENOMEM;
  } catch (const std::length_error&) {
    return CASSINI_ENOMEM;
  } catch (const Canceled&) {
    return CASSINI_ECANCELED;
  } catch (...) {
    return CASSINI_EINTERNAL;
  }
}

// The body of a C function: no exception leaves it, and the host's state is as it was.
template <class Body>
int32_t guarded(Body&& body) noexcept {
  const HostState host;
  if (!ready_to_throw()) return CASSINI_ENOMEM;
  return status_of(body);
}

// Throws what becomes EINVAL.
inline void require(bool condition) {
  if (!condition) throw std::invalid_argument("");
}

cassini_options defaults();

// The options with all fields in range; defaults for null.
cassini_options checked(const cassini_options* given);

// The arrays of one link as the caller passed them.
struct Input {
  int64_t n_jobs;
  const int64_t* period;
  const int64_t* phase_offset;
  const int64_t* phase_start;
  const int64_t* phase_length;
  const int64_t* phase_rate;
  int64_t capacity;
};

struct Prepared {
  Link link;
  double unit;  // kbit/s per unit of rate
};

Prepared prepare(const Input& in, const cassini_options& options);

// Of shifts of all jobs, those of the movable ones, in canonical order and modulo their turns.
std::vector<int64_t> movable_shifts(const Link& link, std::span<const int64_t> shift);

// Mean excess of given shifts: exact where folding allows, else certified bounds.
Interval excess_interval(const Link& link, std::span<const int64_t> movable, int64_t* work);

// Slack and hold of given shifts, whose excess is `excess` and, if known, slack `slack` [movable]; none is promised
// beyond the limits of folding.
Hold hold_of(const Link& link, std::span<const int64_t> movable, const Interval& excess, std::span<const int64_t> slack,
             double tolerance, Budget& budget);

}  // namespace cassini
