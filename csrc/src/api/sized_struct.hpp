// Structs of the C API that may grow at their end: caller and library each say or know how many bytes theirs has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "api/guarded.hpp"
#include "cassini/cassini.h"

namespace cassini {

// Bytes of the first published layout: no caller has less. A struct without a line below is not one of these.
template <class Sized>
constexpr int64_t first_size() = delete;

// The last field of the first published layout. Never to be changed; a test compares with the committed list.
#define CASSINI_FIRST_ENDS_WITH(type, field)                                                \
  template <>                                                                               \
  constexpr int64_t first_size<type>() {                                                    \
    constexpr std::size_t end = offsetof(type, field) + sizeof(type::field);                \
    return static_cast<int64_t>((end + alignof(type) - 1) / alignof(type) * alignof(type)); \
  }
CASSINI_FIRST_ENDS_WITH(cassini_error, text)
CASSINI_FIRST_ENDS_WITH(cassini_options, max_levels)
CASSINI_FIRST_ENDS_WITH(cassini_link, phase_rate_kbps)
CASSINI_FIRST_ENDS_WITH(cassini_links, phase_rate_kbps)
CASSINI_FIRST_ENDS_WITH(cassini_link_output, is_free)
CASSINI_FIRST_ENDS_WITH(cassini_link_result, stopped_by)
CASSINI_FIRST_ENDS_WITH(cassini_evaluation, is_free)
CASSINI_FIRST_ENDS_WITH(cassini_joint, own_shift_ns)
CASSINI_FIRST_ENDS_WITH(cassini_joint_search, reserved)
CASSINI_FIRST_ENDS_WITH(cassini_joint_output, score_upper)
CASSINI_FIRST_ENDS_WITH(cassini_joint_result, stopped_by)
CASSINI_FIRST_ENDS_WITH(cassini_delta, upper_bound)
#undef CASSINI_FIRST_ENDS_WITH

// No struct is as large in the next decades; more is garbage, and reading or writing that much would be harm.
inline constexpr int64_t kLargestSize = 4096;

template <class Sized>
constexpr bool is_size_of(int64_t size) {
  return size >= first_size<Sized>() && size <= kLargestSize && size % int64_t{alignof(Sized)} == 0;
}

template <class Sized>
void require_size(int64_t size, const char* argument) {
  if (!is_size_of<Sized>(size)) refuse({argument, "the size of the struct in its first field", -1, 0, 0, size, true});
}

// The fields that both know; what the caller has beyond that is set to zero.
template <class Sized>
void write_sized(void* caller, int64_t size, Sized own) {
  static_assert(std::is_trivially_copyable_v<Sized>);
  own.size = size;
  const auto theirs = static_cast<std::size_t>(size);
  const std::size_t both = std::min(theirs, sizeof(Sized));
  std::memcpy(caller, &own, both);
  std::memset(static_cast<unsigned char*>(caller) + both, 0, theirs - both);
}

// The caller's fields over `own`; fields unknown here must be 0, which always means "as before there was this field".
template <class Sized>
Sized read_sized(const Sized* caller, const char* argument, Sized own = {}) {
  static_assert(std::is_trivially_copyable_v<Sized>);
  require_given(caller, argument);
  const int64_t size = caller->size;
  if (size == int64_t{sizeof(Sized)}) return *caller;
  require_size<Sized>(size, argument);
  const auto theirs = static_cast<std::size_t>(size);
  const std::size_t both = std::min(theirs, sizeof(Sized));
  const auto* bytes = reinterpret_cast<const unsigned char*>(caller);
  const auto is_zero = [](unsigned char byte) { return byte == 0; };
  require(std::all_of(bytes + both, bytes + theirs, is_zero), argument, "zeros beyond the fields of this library");
  std::memcpy(&own, bytes, both);
  own.size = sizeof(Sized);
  return own;
}

}  // namespace cassini
