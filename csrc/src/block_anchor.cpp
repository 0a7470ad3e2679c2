#include "block_anchor.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace cassini {
namespace {

int exponent_of(double most) { return most > 0.0 ? std::ilogb(most) : 0; }

// Builds the varied block in one pass over the anchor's links, which are sorted, and those that came, sorted too.
class Vary {
 public:
  Vary(const Anchor& anchor, std::span<const uint8_t> is_dropped, std::vector<BlockLink> added, int64_t* work)
      : anchor_(anchor), is_dropped_(is_dropped), added_(std::move(added)), work_(work) {}

  Variation run() {
    scale();
    const std::vector<BlockLink>& old = anchor_.block.links;
    std::vector<std::size_t> order(added_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return before(added_[x], added_[y]); });
    out_.block.period = anchor_.block.period;
    out_.block.links.reserve(old.size() + added_.size());
    out_.from.link.reserve(old.size() + added_.size());
    out_.from.excess.reserve(old.size() + added_.size());
    went_.assign(old.size(), kNowhere);
    came_.resize(added_.size());
    find_touched();
    std::size_t l = 0;
    for (std::size_t i = 0; i < order.size();) {
      const BlockLink& next = added_[order[i]];
      const auto equal = std::lower_bound(old.begin() + static_cast<std::ptrdiff_t>(l), old.end(), next,
                                          [](const BlockLink& x, const BlockLink& y) { return compare(x, y) < 0; });
      const auto to = static_cast<std::size_t>(equal - old.begin());
      for (; l < to; ++l) keep(l);
      parts_.clear();
      const bool joins = l < old.size() && compare(old[l], next) == 0;
      if (joins) gather(l);
      for (; i < order.size() && compare(added_[order[i]], next) == 0; ++i) {
        came_[order[i]] = out_.block.links.size();
        parts_.push_back(added_[order[i]]);
      }
      if (joins) went_[l] = out_.block.links.size();
      push(joins ? l++ : kNowhere);
    }
    for (; l < old.size(); ++l) keep(l);
    for (std::size_t i = 0; i < anchor_.given.size(); ++i) {
      if (!is_dropped_[i]) out_.origin.push_back(went_[anchor_.origin[i]]);
    }
    out_.origin.insert(out_.origin.end(), came_.begin(), came_.end());
    fill(out_.block, turns());
    return std::move(out_);
  }

 private:
  void scale() {
    double most = 0.0;
    for (std::size_t i = 0; i < anchor_.given.size(); ++i) {
      if (!is_dropped_[i]) most = std::max(most, anchor_.given[i].weight);
    }
    for (const BlockLink& at : added_) most = std::max(most, at.weight);
    exponent_ = exponent_of(most);
    for (BlockLink& at : added_) at.weight = std::ldexp(at.weight, -exponent_);
  }

  void find_touched() {
    touched_.assign(anchor_.block.links.size(), 0);
    for (std::size_t i = 0; i < anchor_.given.size(); ++i) {
      if (is_dropped_[i]) touched_[anchor_.origin[i]] = 1;
    }
  }

  // Those of which the anchor's link l was joined and that are left.
  void gather(std::size_t l) {
    for (std::size_t k = anchor_.first_given[l]; k < anchor_.first_given[l + 1]; ++k) {
      const std::size_t i = anchor_.joined[k];
      if (is_dropped_[i]) continue;
      parts_.push_back(anchor_.given[i]);
      parts_.back().weight = std::ldexp(parts_.back().weight, -exponent_);
    }
  }

  void keep(std::size_t l) {
    // On another scale, too, weights come from those given: what was scaled may have been rounded to nothing.
    if (touched_[l] || exponent_ != anchor_.exponent) {
      parts_.clear();
      gather(l);
      if (parts_.empty()) return;
      went_[l] = out_.block.links.size();
      return push(l);
    }
    went_[l] = out_.block.links.size();
    out_.from.link.push_back(l);
    out_.from.excess.push_back(anchor_.standing.excess[l]);
    out_.block.links.push_back(anchor_.block.links[l]);
  }

  // Joins the parts, in the order in which make_block would.
  void push(std::size_t source) {
    std::sort(parts_.begin(), parts_.end(), before);
    BlockLink at = parts_[0];
    for (std::size_t k = 1; k < parts_.size(); ++k) {
      at.weight += parts_[k].weight;
      at.least = std::max(at.least, parts_[k].least);
    }
    settle(at);
    const Standing& standing = anchor_.standing;
    out_.from.link.push_back(source);
    out_.from.excess.push_back(source == kNowhere ? standing_excess(at, standing.shift, movable_, work_)
                                                  : standing.excess[source]);
    out_.block.links.push_back(std::move(at));
  }

  // Of jobs on whose links nothing changed.
  std::vector<int64_t> turns() const {
    std::vector<int64_t> turn = anchor_.block.turn;
    const auto forget = [&](const BlockLink& at) {
      for (const std::size_t j : at.job) turn[j] = 0;
    };
    for (const BlockLink& at : added_) forget(at);
    for (std::size_t l = 0; l < touched_.size(); ++l) {
      if (touched_[l]) forget(anchor_.block.links[l]);
    }
    return turn;
  }

  const Anchor& anchor_;
  std::span<const uint8_t> is_dropped_;
  std::vector<BlockLink> added_;
  int64_t* work_;
  int exponent_ = 0;
  std::vector<uint8_t> touched_;   // [links of the anchor]
  std::vector<std::size_t> went_;  // [links of the anchor] to which link of the varied block
  std::vector<std::size_t> came_;  // [added] as which link of the varied block
  std::vector<BlockLink> parts_;   // of one link
  std::vector<int64_t> movable_;
  Variation out_;
};

}  // namespace

int weight_exponent(std::span<const BlockLink> links) {
  double most = 0.0;
  for (const BlockLink& at : links) most = std::max(most, at.weight);
  return exponent_of(most);
}

Anchor make_anchor(std::vector<int64_t> period, std::vector<BlockLink> given, std::span<const int64_t> shift,
                   Budget& budget) {
  Anchor out;
  out.exponent = weight_exponent(given);
  std::vector<BlockLink> links = given;
  for (BlockLink& at : links) at.weight = std::ldexp(at.weight, -out.exponent);
  out.block = make_block(std::move(period), std::move(links), out.origin);
  out.given = std::move(given);
  out.joined.resize(out.given.size());
  std::iota(out.joined.begin(), out.joined.end(), std::size_t{0});
  std::stable_sort(out.joined.begin(), out.joined.end(),
                   [&](std::size_t x, std::size_t y) { return out.origin[x] < out.origin[y]; });
  out.first_given.assign(out.block.links.size() + 1, 0);
  for (const std::size_t l : out.origin) ++out.first_given[l + 1];
  std::partial_sum(out.first_given.begin(), out.first_given.end(), out.first_given.begin());
  out.standing = stand(out.block, shift, budget);
  return out;
}

Variation vary(const Anchor& anchor, std::span<const uint8_t> is_dropped, std::vector<BlockLink> added, int64_t* work) {
  return Vary(anchor, is_dropped, std::move(added), work).run();
}

}  // namespace cassini
