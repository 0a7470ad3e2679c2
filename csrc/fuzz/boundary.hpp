// The C boundary under any arguments: each function takes part of the input and checks what the header promises.
#pragma once

#include <cmath>
#include <cstdint>

#include "bytes.hpp"
#include "cassini/cassini.h"

namespace cassini::fuzz {

void fuzz_link(Bytes& in);    // cassini_solve_link, cassini_evaluate_link, cassini_marginals
void fuzz_links(Bytes& in);   // cassini_solve_links
void fuzz_blocks(Bytes& in);  // cassini_prepare_links and all that uses prepared links

// What came back is what had to: sound input is answered, or canceled if it was to be; other input is refused.
inline bool expected(int32_t status, bool sound, bool canceled) {
  if (!sound) return status == CASSINI_EINVAL;
  return status == CASSINI_OK || (canceled && status == CASSINI_ECANCELED);
}

// Of a struct at the caller, which may be of a later age than the library; and sizes that no struct ever had.
template <class T>
std::size_t struct_words(Bytes& in) {
  return sizeof(T) / sizeof(int64_t) + (in.once_in(8) ? in.index(5) : 0);
}
inline int64_t wrong_size(Bytes& in) { return in.pick({0, -1, 8, 32, 81, 5000, int64_t{1} << 62}); }

// A certified interval of a score.
inline bool interval(double lower, double upper) {
  return std::isfinite(lower) && lower <= upper && upper <= 1.0 + 1e-9;
}

inline double slop(double score) { return 1e-9 * std::fmax(1.0, std::fabs(score)); }

}  // namespace cassini::fuzz
