// The best shifts of a block: local search, and a proof where that is in reach.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "block.hpp"
#include "block_state.hpp"
#include "budget.hpp"

namespace cassini {

struct BlockStart {
  std::span<const int64_t> shift;      // [jobs] where to begin; empty: nowhere in particular
  std::span<const uint8_t> dirty;      // [jobs] whose surroundings changed since; empty: all
  double slack_tolerance = -1.0;       // score; not negative: single jobs move where their slack grows
  const Standing* standing = nullptr;  // what is known at `shift` of a block much like this one; may be null
  const Sources* from = nullptr;       // with it: where the links come from
};

struct FoundBlock {
  std::vector<int64_t> shift;  // [jobs]
  double lower = 0.0;          // no shifts have less on the links that guide
  bool limited = false;        // the search met the limits of folding and stopped there
};

FoundBlock solve_block(const Block& block, const BlockStart& start, Budget& budget);

}  // namespace cassini
