// The C functions of cassini.h on blocks beside an anchor.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "block_anchor.hpp"
#include "block_solve.hpp"
#include "c_block_input.hpp"
#include "c_input.hpp"
#include "cassini/cassini.h"

struct cassini_anchor {
  const cassini_links* links;
  cassini::Anchor kernel;
  std::vector<cassini::Interval> excess;  // [links of the block] as reported
  std::vector<std::size_t> first;         // [given + 1] into job
  std::vector<std::size_t> job;           // all jobs of each link
};

namespace cassini {
namespace {

std::unique_ptr<cassini_anchor> prepare(const LinksInput& in, const Wishes& wishes, const int64_t* shift,
                                        const cassini_options& options) {
  require(shift != nullptr);
  std::vector<BlockLink> links = block_links(in, wishes);
  std::vector<int64_t> wrapped(in.period.size());
  for (std::size_t j = 0; j < wrapped.size(); ++j) wrapped[j] = wrap(shift[j], in.period[j]);
  Budget budget(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max(), options.cancel);
  auto out = std::make_unique<cassini_anchor>();
  out->links = in.links;
  out->kernel = make_anchor({in.period.begin(), in.period.end()}, std::move(links), wrapped, budget);
  for (const BlockLink& at : out->kernel.block.links) {
    budget.in_time();  // sees the cancel flag
    out->excess.push_back(stance_excess(at, wrapped, &budget.work));
  }
  const int64_t* member = in.member;
  out->first.push_back(0);
  for (int64_t i = 0; i < in.n_links; ++i) {
    for (std::size_t m = 0; m < in.at(i).link.jobs.size(); ++m) out->job.push_back(static_cast<std::size_t>(*member++));
    out->first.push_back(out->job.size());
  }
  return out;
}

std::vector<uint8_t> marked(std::size_t n, int64_t n_marked, const int64_t* index) {
  require(n_marked >= 0 && static_cast<uint64_t>(n_marked) <= n && (n_marked == 0 || index != nullptr));
  std::vector<uint8_t> out(n, 0);
  for (int64_t i = 0; i < n_marked; ++i) {
    require(index[i] >= 0 && static_cast<uint64_t>(index[i]) < n);
    uint8_t& mark = out[static_cast<std::size_t>(index[i])];
    require(mark == 0);
    mark = 1;
  }
  return out;
}

// What is reported of each link. Where its jobs stand as in the anchor that is known, mostly.
class ExcessBeside {
 public:
  ExcessBeside(const cassini_anchor& anchor, const Variation& varied, const std::vector<int64_t>& found)
      : anchor_(anchor), varied_(varied), moved_(found.size()) {
    const std::vector<int64_t>& begin = anchor.kernel.standing.shift;
    for (std::size_t j = 0; j < found.size(); ++j) {
      moved_[j] = wrap(found[j] - begin[j], varied.block.turn[j]) != 0;
    }
  }

  // At canonical shifts of what was found.
  std::vector<Interval> at(std::span<const int64_t> shift, int64_t* work) {
    std::vector<Interval> out;
    out.reserve(varied_.block.links.size());
    for (std::size_t l = 0; l < varied_.block.links.size(); ++l) {
      const Interval* known = stands(l, shift) ? known_of(l) : nullptr;
      out.push_back(known != nullptr ? *known : stance_excess(varied_.block.links[l], shift, work));
    }
    return out;
  }

 private:
  const Interval* known_of(std::size_t l) {
    const std::size_t source = varied_.from.link[l];
    if (source != kNowhere) return &anchor_.excess[source];
    // Of a pair the search has only what its table says, to within rounding.
    const double excess = varied_.from.excess[l];
    if (!varied_.block.links[l].guides || varied_.block.links[l].job.size() == 2 || std::isnan(excess)) return nullptr;
    scored_ = {excess, excess};
    return &scored_;
  }

  bool stands(std::size_t l, std::span<const int64_t> shift) {
    const BlockLink& at = varied_.block.links[l];
    // Turns of the block's jobs say nothing of links that do not guide.
    const auto has_moved = [&](std::size_t j) { return moved_[j] != 0; };
    if (at.guides && std::none_of(at.job.begin(), at.job.end(), has_moved)) return true;
    shifts_on(at, shift, here_);
    shifts_on(at, anchor_.kernel.standing.shift, there_);
    at.prepared->stance.take(here_);
    at.prepared->stance.take(there_);
    return here_ == there_;
  }

  const cassini_anchor& anchor_;
  const Variation& varied_;
  std::vector<uint8_t> moved_;  // [jobs]
  std::vector<int64_t> here_;
  std::vector<int64_t> there_;
  Interval scored_;
};

void solve_beside(const cassini_anchor& anchor, int64_t n_dropped, const int64_t* dropped, const LinksInput& added,
                  const Wishes& wishes, const cassini_options& options, const BlockOutput& out) {
  Budget budget(options.node_limit, options.deadline_ns, options.cancel);
  const Anchor& kernel = anchor.kernel;
  const std::vector<uint8_t> is_dropped = marked(kernel.given.size(), n_dropped, dropped);
  std::vector<BlockLink> links = block_links(added, wishes);
  const int64_t n_links = static_cast<int64_t>(kernel.given.size()) - n_dropped + added.n_links;
  require(n_links <= CASSINI_MAX_BLOCK_LINKS);
  check(out, n_links);

  std::vector<uint8_t> dirty(kernel.block.n_jobs(), 0);
  for (std::size_t i = 0; i < is_dropped.size(); ++i) {
    for (std::size_t k = anchor.first[i]; is_dropped[i] && k < anchor.first[i + 1]; ++k) dirty[anchor.job[k]] = 1;
  }
  const int64_t* member = added.member;
  for (int64_t i = 0; i < added.n_links; ++i) {
    for (std::size_t m = 0; m < added.at(i).link.jobs.size(); ++m) dirty[static_cast<std::size_t>(*member++)] = 1;
  }

  const Variation varied = vary(kernel, is_dropped, std::move(links), &budget.work);
  BlockStart start;
  start.shift = kernel.standing.shift;
  start.dirty = dirty;
  start.standing = &kernel.standing;
  start.from = &varied.from;
  FoundBlock found = solve_block(varied.block, start, budget);
  ExcessBeside beside(anchor, varied, found.shift);
  canonical_shifts(varied.block, found.shift);
  report(varied.block, found, beside.at(found.shift, &budget.work), varied.origin, budget, out);
}

}  // namespace
}  // namespace cassini

using namespace cassini;

int32_t cassini_prepare_anchor(const cassini_links* links, int64_t n_jobs, const int64_t* period, int64_t n_links,
                               const int64_t* link, const int64_t* member, const double* weight,
                               const double* upper_bound, const int64_t* shift, const cassini_options* options,
                               cassini_anchor** anchor) {
  return guarded([&] {
    require(anchor != nullptr);
    *anchor = prepare({links, checked_periods(n_jobs, period), n_links, link, member}, {weight, upper_bound, nullptr},
                      shift, checked(options))
                  .release();
  });
}

void cassini_free_anchor(cassini_anchor* anchor) { delete anchor; }

int32_t cassini_solve_beside(const cassini_anchor* anchor, int64_t n_dropped, const int64_t* dropped, int64_t n_added,
                             const int64_t* link, const int64_t* member, const double* weight,
                             const double* upper_bound, const cassini_options* options, int64_t* shift,
                             double* score_lower, double* score_upper, cassini_block_result* result) {
  return guarded([&] {
    require(anchor != nullptr);
    solve_beside(*anchor, n_dropped, dropped, {anchor->links, anchor->kernel.block.period, n_added, link, member},
                 {weight, upper_bound, nullptr}, checked(options), {shift, score_lower, score_upper, result});
  });
}
