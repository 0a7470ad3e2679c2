// Structs of the C API that may grow at their end: caller and library each say or know how many bytes theirs has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "api/c_link_input.hpp"
#include "cassini/cassini.h"

namespace cassini {

// Bytes of the first published layout: no caller has less. Never to be changed; a test compares with the committed
// list.
template <class Sized>
inline constexpr int64_t kFirstSize = 0;
template <>
inline constexpr int64_t kFirstSize<cassini_options> = 72 + static_cast<int64_t>(sizeof(void*));
template <>
inline constexpr int64_t kFirstSize<cassini_result> = 64;
template <>
inline constexpr int64_t kFirstSize<cassini_block_result> = 40;

// No struct is as large in the next decades; more is garbage, and reading or writing that much would be harm.
inline constexpr int64_t kLargestSize = 4096;

template <class Sized>
void require_size(int64_t size) {
  require(size >= kFirstSize<Sized> && size <= kLargestSize && size % int64_t{alignof(Sized)} == 0);
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
Sized read_sized(const Sized* caller, Sized own) {
  static_assert(std::is_trivially_copyable_v<Sized>);
  const int64_t size = caller->size;
  require_size<Sized>(size);
  const auto theirs = static_cast<std::size_t>(size);
  const std::size_t both = std::min(theirs, sizeof(Sized));
  const auto* bytes = reinterpret_cast<const unsigned char*>(caller);
  require(std::all_of(bytes + both, bytes + theirs, [](unsigned char byte) { return byte == 0; }));
  std::memcpy(&own, bytes, both);
  own.size = sizeof(Sized);
  return own;
}

}  // namespace cassini
