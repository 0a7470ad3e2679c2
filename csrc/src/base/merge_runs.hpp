// Merging lists that are sorted piece by piece: cheaper than sorting them afresh.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cassini {

// `items` consists of runs that ascend by `at`; run r begins at begin[r], the first at 0. Afterwards all items ascend;
// equal ones keep their order. `begin` and `scratch` are used up.
template <class Item>
void merge_runs(std::vector<Item>& items, std::vector<std::size_t>& begin, std::vector<Item>& scratch) {
  scratch.resize(items.size());
  begin.push_back(items.size());
  while (begin.size() > 2) {
    std::size_t kept = 0;
    for (std::size_t r = 0; r + 1 < begin.size(); r += 2) {
      const std::size_t first = begin[r];
      const std::size_t middle = begin[r + 1];
      const std::size_t last = r + 2 < begin.size() ? begin[r + 2] : middle;
      const Item* a = items.data() + first;
      const Item* const a_end = items.data() + middle;
      const Item* b = a_end;
      const Item* const b_end = items.data() + last;
      Item* out = scratch.data() + first;
      while (a != a_end && b != b_end) {
        const bool second = b->at < a->at;
        *out++ = second ? *b : *a;
        b += second;
        a += !second;
      }
      out = std::copy(a, a_end, out);
      std::copy(b, b_end, out);
      begin[kept++] = first;
    }
    begin[kept++] = items.size();
    begin.resize(kept);
    items.swap(scratch);
  }
}

}  // namespace cassini
