// A block at given shifts, and blocks that differ from it in few links: these cost what differs, but for a few passes
// over short lists.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "block.hpp"
#include "block_state.hpp"
#include "budget.hpp"

namespace cassini {

// A block before its links are sorted and joined. Weights are as the caller says: only their ratios matter.
struct Anchor {
  std::vector<BlockLink> given;          // own_shift is not used
  std::vector<std::size_t> origin;       // [given] link of the block
  std::vector<std::size_t> joined;       // [given] sorted by where they went
  std::vector<std::size_t> first_given;  // [links of the block + 1] into joined
  int exponent = 0;                      // weights in the block are those given, times 2 to the minus this
  Block block;
  Standing standing;
};

// What differs. The block is what make_block makes of the links that are left and those that came, down to the last
// bit, so that whatever is found in it does not depend on the anchor.
struct Variation {
  Block block;
  Sources from;                     // the anchor's block
  std::vector<std::size_t> origin;  // [given and not dropped, then added] link of the block
};

// `shift`: [jobs] modulo the periods. Of the budget only the cancel flag counts.
Anchor make_anchor(std::vector<int64_t> period, std::vector<BlockLink> given, std::span<const int64_t> shift,
                   Budget& budget);

// `is_dropped`: [given] not 0 for those that are not there. Scores what is new: adds to *work.
Variation vary(const Anchor& anchor, std::span<const uint8_t> is_dropped, std::vector<BlockLink> added, int64_t* work);

// A power of two that brings the largest weight near 1, exactly, so that no sum overflows; 0 without links.
int weight_exponent(std::span<const BlockLink> links);

}  // namespace cassini
