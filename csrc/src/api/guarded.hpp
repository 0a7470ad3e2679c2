// The body of a C function: nothing of C++ leaves it, the host's state is as it was, and what was wrong is said.
#pragma once

#include <cstdint>
#include <new>
#include <stdexcept>
#include <type_traits>

#include "api/host_state.hpp"
#include "api/ready_to_throw.hpp"
#include "base/budget.hpp"
#include "cassini/cassini.h"

namespace cassini {

// Thrown for an argument that is out of its range; becomes CASSINI_EINVAL. All text is static.
struct Refused {
  const char* argument;  // its name, or that of a field
  const char* expected;  // in words; null: low .. high
  int64_t index = -1;    // entry of an array, or -1
  int64_t low = 0;
  int64_t high = 0;
  int64_t got = 0;
  bool has_got = false;
};

// Out of line, so that a check costs its comparison alone.
[[noreturn]] void refuse(const Refused& what);

inline void require(bool condition, const char* argument, const char* expected, int64_t index = -1) {
  if (!condition) refuse({argument, expected, index});
}

inline void require_in(int64_t value, int64_t low, int64_t high, const char* argument, int64_t index = -1) {
  if (value < low || value > high) refuse({argument, nullptr, index, low, high, value, true});
}

template <class T>
void require_given(const T* pointer, const char* argument) {
  if (pointer == nullptr) refuse({argument, "an address, got null"});
}

// Whether there is room for an error; null is fine.
bool is_sound(const cassini_error* error) noexcept;

// Writes to an error, unless it is null. `link`: which of several, or -1.
void say(cassini_error* error, const Refused& what, int64_t link) noexcept;
void say(cassini_error* error, int32_t status, int64_t link) noexcept;

// What becomes of a body's exceptions: a status each, and an error that says why. A body may also return a status; then
// the error is its own affair.
template <class Body>
int32_t status_of(cassini_error* error, int64_t link, Body&& body) noexcept {
  int32_t status = CASSINI_EINTERNAL;
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return CASSINI_OK;
    } else {
      return body();
    }
  } catch (const Refused& what) {
    say(error, what, link);
    return CASSINI_EINVAL;
  } catch (const std::bad_alloc&) {
    status = CASSINI_ENOMEM;
  } catch (const std::length_error&) {
    status = CASSINI_ENOMEM;
  } catch (const Canceled&) {
    status = CASSINI_ECANCELED;
  } catch (...) {
  }
  say(error, status, link);
  return status;
}

template <class Body>
int32_t guarded(cassini_error* error, Body&& body) noexcept {
  const HostState host;
  if (!is_sound(error)) return CASSINI_EINVAL;
  if (!ready_to_throw()) {
    say(error, CASSINI_ENOMEM, -1);
    return CASSINI_ENOMEM;
  }
  return status_of(error, -1, body);
}

}  // namespace cassini
