// What every C function needs: checks of what the caller passed, and its translation to the kernel's types.
#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <vector>

#include "api/host_state.hpp"
#include "api/ready_to_throw.hpp"
#include "base/budget.hpp"
#include "cassini/cassini.h"
#include "demand/link_problem.hpp"

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

// Why a search ended: one of CASSINI_STOP_*.
int32_t stop_reason(const Budget& budget, bool beyond_limits, bool optimal);

// Whether a score reaches the bound on all scores.
bool is_proven(double score, double upper_bound);

}  // namespace cassini
