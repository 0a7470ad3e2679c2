// Links and options as a caller might pass them: mostly sound, with anything wrong that a caller can get wrong short of
// arrays that are shorter than it says.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../tests/c_structs.hpp"
#include "bytes.hpp"
#include "cassini/cassini.h"

namespace cassini::fuzz {

// Arrays of exactly their length, so that the address sanitizer sees who reads past them.
using Array = std::vector<int64_t>;

struct WildLink {
  int64_t n_jobs = 0;
  Array period;
  Array offset;
  Array start;
  Array length;
  Array rate;
  int64_t n_phases = 0;  // that the caller says there are
  int64_t capacity = 0;
  bool no_period = false;  // passed as null
  bool no_offset = false;
  bool no_phases = false;

  const int64_t* periods() const { return no_period ? nullptr : period.data(); }
  const int64_t* offsets() const { return no_offset ? nullptr : offset.data(); }
  const int64_t* starts() const { return no_phases ? nullptr : start.data(); }

  // As the kernel takes it.
  cassini_link c() const;

  // Whether the header allows it: written from the header, not from the kernel.
  bool sound() const;
};

// Whether the header allows jobs first .. first + n_jobs - 1 of some arrays as one link.
bool sound_link(const WildLink& all, int64_t first, int64_t n_jobs, int64_t capacity);

WildLink wild_link(Bytes& in);

// Makes the arrays of phases as long as the offsets say, or null where that is too long to have.
void keep_promised_lengths(WildLink& link, int64_t n_total_jobs);

// Rarely another number; `often` times rarer.
void spoil(Bytes& in, int64_t& number, int64_t often = 40);

struct WildOptions {
  std::vector<unsigned char> given;  // as many bytes as the size says
  int32_t flag = 0;                  // what cancel points to
  bool has_flag = false;
  int64_t angles = 0;  // of the grid that a single link is solved on; 0: the exact method
  bool none = false;
  bool sound = true;
  bool in_haste = false;  // a deadline, or a flag that is set: not the same answer each time

  const cassini_options* pointer() const {
    return none ? nullptr : reinterpret_cast<const cassini_options*>(given.data());
  }
  const int32_t* cancel() const { return has_flag ? &flag : nullptr; }
  bool canceled() const { return !none && has_flag && flag != 0; }
};

// Limits are kept low enough for a call to end soon. `small`: the problem is, and may get the defaults.
std::unique_ptr<WildOptions> wild_options(Bytes& in, bool small);

}  // namespace cassini::fuzz
