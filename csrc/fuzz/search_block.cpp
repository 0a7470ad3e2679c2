#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "small_link.hpp"

namespace cassini::fuzz {
namespace {

// A block of some of the links, with weights; brute force knows all about it.
struct SmallBlock {
  const SmallLinks& links;
  std::vector<int64_t> link;
  std::vector<double> weight;
  std::vector<double> upper_bound;  // true ones

  std::vector<int64_t> members() const {
    std::vector<int64_t> out;
    for (const int64_t l : link) {
      const auto& on = links.on[static_cast<std::size_t>(l)];
      out.insert(out.end(), on.begin(), on.end());
    }
    return out;
  }
  double score_of(std::size_t i, const std::vector<int64_t>& shift) const {
    const auto l = static_cast<std::size_t>(link[i]);
    return score(links.tick[l], links.shifts_on(l, shift));
  }
  double mean(const std::vector<int64_t>& shift) const {
    double sum = 0.0, weights = 0.0;
    for (std::size_t i = 0; i < link.size(); ++i) {
      sum += weight[i] * score_of(i, shift);
      weights += weight[i];
    }
    return link.empty() ? 1.0 : sum / weights;
  }
  double best() const {
    double out = -std::numeric_limits<double>::infinity();
    for_all_shifts(links.period, [&](const std::vector<int64_t>& shift) { out = std::max(out, mean(shift)); });
    return out;
  }
};

bool close(double a, double b) { return std::fabs(a - b) <= slack_of_rounding(b); }

SmallBlock some_of(Bytes& in, const SmallLinks& links, int64_t at_most, bool bounds) {
  SmallBlock out{links, {}, {}, {}};
  for (int64_t i = in.in(0, at_most); i > 0; --i) {
    out.link.push_back(in.in(0, static_cast<int64_t>(links.on.size()) - 1));
    out.weight.push_back(static_cast<double>(in.in(1, 8)) / 2.0);
    if (!bounds) continue;
    const TickLink& tick = links.tick[static_cast<std::size_t>(out.link.back())];
    double best = -std::numeric_limits<double>::infinity();
    std::vector<int64_t> period;
    for (const TickJob& job : tick.jobs) period.push_back(job.period);
    for_all_shifts(period, [&](const std::vector<int64_t>& shift) { best = std::max(best, score(tick, shift)); });
    out.upper_bound.push_back(best + slack_of_rounding(best));
  }
  return out;
}

struct Found {
  explicit Found(const SmallBlock& block)
      : shift(block.links.period.size()), lower(block.link.size()), upper(block.link.size()) {
    result.size = sizeof result;
  }
  std::vector<int64_t> shift;
  std::vector<double> lower;
  std::vector<double> upper;
  cassini_block_result result{};
};

// Scores are true, the bound is one, what is proven is best, and no start scored more.
void check_found(const SmallBlock& block, const Found& found, const std::vector<int64_t>* start, bool proves) {
  const cassini_block_result& r = found.result;
  for (std::size_t i = 0; i < block.link.size(); ++i) {
    PROMISE(found.lower[i] == found.upper[i] && close(found.lower[i], block.score_of(i, found.shift)));
  }
  PROMISE(close(r.score, block.mean(found.shift)));
  const double best = block.best();
  const double noise = 2 * slack_of_rounding(best);
  PROMISE(r.score <= best + noise && r.upper_bound >= best - noise);
  PROMISE(r.optimal == 0 || r.score >= best - noise);
  PROMISE(start == nullptr || r.score >= block.mean(*start) - noise);
  PROMISE(!proves || r.optimal == 1);
}

void check_evaluation(Bytes& in, const SmallBlock& block, const cassini_links* handle,
                      const std::vector<int64_t>& shift, const cassini_options& options) {
  const std::vector<int64_t> member = block.members();
  const std::size_t n = block.link.size();
  std::vector<double> lower(n), upper(n);
  std::vector<int64_t> slack(member.size()), hold(n);
  PROMISE(cassini_evaluate_block(handle, static_cast<int64_t>(block.links.period.size()), block.links.period.data(),
                                 static_cast<int64_t>(n), block.link.data(), member.data(), shift.data(), &options,
                                 lower.data(), upper.data(), slack.data(), hold.data()) == CASSINI_OK);
  std::size_t first = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto l = static_cast<std::size_t>(block.link[i]);
    const std::vector<int64_t> own = block.links.shifts_on(l, shift);
    PROMISE(lower[i] == upper[i] && close(lower[i], block.score_of(i, shift)));
    check_slack(block.links.tick[l], own, slack.data() + first, options.slack_tolerance, true);
    check_hold(in, block.links.tick[l], own, hold[i], options.slack_tolerance);
    first += own.size();
  }
}

// The anchor's block without some links and with others.
void check_beside(Bytes& in, const SmallBlock& block, const cassini_links* handle, const cassini_options& options) {
  const SmallLinks& links = block.links;
  const auto n_jobs = static_cast<int64_t>(links.period.size());
  const std::vector<int64_t> member = block.members(), shift = small_shifts(in, links.period);
  const bool bounds = block.link.empty() || !block.upper_bound.empty();
  cassini_anchor* raw = nullptr;
  PROMISE(cassini_prepare_anchor(handle, n_jobs, links.period.data(), static_cast<int64_t>(block.link.size()),
                                 block.link.data(), member.data(), block.weight.data(),
                                 bounds ? block.upper_bound.data() : nullptr, shift.data(), &options,
                                 &raw) == CASSINI_OK);
  const std::unique_ptr<cassini_anchor, decltype(&cassini_free_anchor)> anchor(raw, &cassini_free_anchor);
  const SmallBlock added = some_of(in, links, 2, bounds);
  SmallBlock left{links, {}, {}, {}};
  std::vector<int64_t> dropped;
  for (std::size_t i = 0; i < block.link.size(); ++i) {
    if (in.once_in(3)) {
      dropped.push_back(static_cast<int64_t>(i));
      continue;
    }
    left.link.push_back(block.link[i]);
    left.weight.push_back(block.weight[i]);
  }
  left.link.insert(left.link.end(), added.link.begin(), added.link.end());
  left.weight.insert(left.weight.end(), added.weight.begin(), added.weight.end());
  const std::vector<int64_t> others = added.members();
  Found found(left);
  PROMISE(cassini_solve_beside(anchor.get(), static_cast<int64_t>(dropped.size()), dropped.data(),
                               static_cast<int64_t>(added.link.size()), added.link.data(), others.data(),
                               added.weight.data(), bounds ? added.upper_bound.data() : nullptr, &options,
                               found.shift.data(), found.lower.data(), found.upper.data(),
                               &found.result) == CASSINI_OK);
  check_found(left, found, &shift, false);
}

}  // namespace

void fuzz_small_block(Bytes& in) {
  const SmallLinks links = small_links(in, true);
  cassini_options options;
  PROMISE(cassini_init_options(&options, sizeof options) == CASSINI_OK);
  options.resolution = links.resolution;
  const bool limited = in.once_in(3);
  options.node_limit = limited ? in.in(1, 40) : std::numeric_limits<int64_t>::max();
  options.slack_tolerance = static_cast<double>(in.pick({0, 10, 50, 300})) / 1000.0;
  cassini_links* raw = nullptr;
  std::vector<int32_t> status(links.on.size());
  PROMISE(cassini_prepare_links(static_cast<int64_t>(links.on.size()), links.job_offset.data(), links.job_period.data(),
                                links.phase_offset.data(), links.start.data(), links.length.data(), links.rate.data(),
                                links.capacity.data(), &options, &raw, status.data()) == CASSINI_OK);
  const std::unique_ptr<cassini_links, decltype(&cassini_free_links)> handle(raw, &cassini_free_links);
  PROMISE(std::all_of(status.begin(), status.end(), [](int32_t s) { return s == CASSINI_OK; }));

  const bool bounds = in.once_in(2);
  const SmallBlock block = some_of(in, links, 4, bounds);
  const std::vector<int64_t> member = block.members(), start = small_shifts(in, links.period);
  std::vector<uint8_t> dirty;
  for (std::size_t j = 0; j < links.period.size(); ++j) dirty.push_back(in.once_in(2) ? 1 : 0);
  const bool has_start = in.once_in(2), has_dirty = in.once_in(3);
  Found found(block);
  PROMISE(cassini_solve_block(raw, static_cast<int64_t>(links.period.size()), links.period.data(),
                              static_cast<int64_t>(block.link.size()), block.link.data(), member.data(),
                              block.weight.data(), bounds ? block.upper_bound.data() : nullptr, nullptr,
                              has_start ? start.data() : nullptr, has_dirty ? dirty.data() : nullptr,
                              in.once_in(2) ? 1 : 0, &options, found.shift.data(), found.lower.data(),
                              found.upper.data(), &found.result) == CASSINI_OK);
  check_found(block, found, has_start ? &start : nullptr, !limited && !(has_start && has_dirty));
  check_evaluation(in, block, raw, small_shifts(in, links.period), options);
  check_beside(in, block, raw, options);
}

}  // namespace cassini::fuzz
