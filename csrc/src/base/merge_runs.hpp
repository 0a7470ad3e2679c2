// Merging lists that are sorted piece by piece: cheaper than sorting them afresh.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace cassini {

// `items` consists of runs that ascend; run r begins at begin[r], the first at 0. Afterwards all items ascend; equal
// ones keep their order. `before(x, y)`: x comes before y. `begin` and `scratch` are used up.
template <class Item, class Before>
void merge_runs(Item* items, std::size_t count, std::vector<std::size_t>& begin, std::vector<Item>& scratch,
                const Before& before) {
  scratch.resize(count);
  begin.push_back(count);
  Item* from = items;
  Item* to = scratch.data();
  while (begin.size() > 2) {
    std::size_t kept = 0;
    for (std::size_t r = 0; r + 1 < begin.size(); r += 2) {
      const std::size_t middle = begin[r + 1];
      const std::size_t last = r + 2 < begin.size() ? begin[r + 2] : middle;
      const Item* a = from + begin[r];
      const Item* const a_end = from + middle;
      const Item* b = a_end;
      const Item* const b_end = from + last;
      Item* out = to + begin[r];
      while (a != a_end && b != b_end) {
        const bool second = before(*b, *a);
        *out++ = second ? *b : *a;
        b += second;
        a += !second;
      }
      out = std::copy(a, a_end, out);
      std::copy(b, b_end, out);
      begin[kept++] = begin[r];
    }
    begin[kept++] = count;
    begin.resize(kept);
    std::swap(from, to);
  }
  if (from != items) std::copy(from, from + count, items);
}

}  // namespace cassini
