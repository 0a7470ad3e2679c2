// Several links in concatenated arrays, as a caller might pass them.
#pragma once

#include "wild_link.hpp"

namespace cassini::fuzz {

struct ManyLinks {
  int64_t n_links = 0;
  Array job_offset;
  WildLink all;  // its capacity and number of jobs mean nothing
  Array capacity;
  bool no_offset = false;

  const int64_t* offsets() const { return no_offset ? nullptr : job_offset.data(); }

  // As the kernel takes them.
  cassini_links c() const;

  // Whether the header allows the call as such, and link i.
  bool callable() const;
  bool sound(std::size_t i) const;
};

ManyLinks many_links(Bytes& in);

}  // namespace cassini::fuzz
