// The C boundary under any arguments: each function takes part of the input and checks what the header promises.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../tests/c_structs.hpp"
#include "bytes.hpp"
#include "cassini/cassini.h"
#include "guarded.hpp"

namespace cassini::fuzz {

void fuzz_link(Bytes& in);   // cassini_solve_link, cassini_solve_link_angles, cassini_evaluate_link
void fuzz_links(Bytes& in);  // cassini_solve_links
void fuzz_joint(Bytes& in);  // cassini_prepare_links and all that uses prepared links

// What came back is what had to: sound input is answered, other input is refused. A call that begins canceled says so,
// unless it refuses something first.
inline bool expected(int32_t status, bool sound, bool canceled) {
  if (canceled && status == CASSINI_ECANCELED) return true;
  return sound ? !canceled && status == CASSINI_OK : status == CASSINI_EINVAL;
}

// Of a struct at the caller, which may be of a later age than the library; and sizes that no struct ever had.
template <class T>
std::size_t struct_words(Bytes& in) {
  return sizeof(T) / sizeof(int64_t) + (in.once_in(8) ? in.index(5) : 0);
}
inline int64_t wrong_size(Bytes& in) { return in.pick({0, -1, 8, 32, 81, 5000, int64_t{1} << 62}); }

// An error of the caller's between guard zones, and whether what it says is what has to be said.
class Told {
 public:
  Told() : room_(1) {
    std::memset(static_cast<void*>(room_.data()), 0, sizeof(cassini_error));
    room_[0].size = sizeof(cassini_error);
    room_.remember();
  }
  cassini_error* error() { return room_.data(); }

  // After a call of this status that is no batch.
  bool of(int32_t status) { return status == CASSINI_OK ? room_.unchanged() : of_link(status, -1); }

  // After a batch that was not refused itself.
  bool of_first_refused(const std::vector<int32_t>& status) {
    for (std::size_t i = 0; i < status.size(); ++i) {
      if (status[i] != CASSINI_OK) return of_link(status[i], static_cast<int64_t>(i));
    }
    return room_.unchanged();
  }

 private:
  bool of_link(int32_t status, int64_t link) {
    const cassini_error& e = room_[0];
    const std::size_t name = strnlen(e.argument, sizeof e.argument), said = strnlen(e.text, sizeof e.text);
    return e.status == status && e.link == link && e.index >= -1 && e.reserved == 0 && name < sizeof e.argument &&
           said > 0 && said < sizeof e.text && (name > 0) == (status == CASSINI_EINVAL) &&
           std::strncmp(e.text, e.argument, name) == 0;
  }

  Output<cassini_error> room_;
};

// A certified interval of a score.
inline bool interval(double lower, double upper) {
  return std::isfinite(lower) && lower <= upper && upper <= 1.0 + 1e-9;
}

inline double slop(double score) { return 1e-9 * std::fmax(1.0, std::fabs(score)); }

}  // namespace cassini::fuzz
