#include "joint/baseline.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/periods.hpp"

namespace cassini {
namespace {

int exponent_of(double most) { return most > 0.0 ? std::ilogb(most) : 0; }

// Builds the varied joint problem in one pass over the baseline's links, which are sorted, and those that came, sorted
// too.
class DeltaBuilder {
 public:
  DeltaBuilder(const Baseline& baseline, std::span<const uint8_t> is_dropped, std::vector<JointLink> added,
               int64_t* work)
      : baseline_(baseline), is_dropped_(is_dropped), added_(std::move(added)), work_(work) {}

  DeltaProblem run() {
    scale();
    const std::vector<JointLink>& old = baseline_.problem.links;
    std::vector<std::size_t> order(added_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t x, std::size_t y) { return before(added_[x], added_[y]); });
    out_.problem.period = baseline_.problem.period;
    out_.problem.links.reserve(old.size() + added_.size());
    out_.from.link.reserve(old.size() + added_.size());
    out_.from.excess.reserve(old.size() + added_.size());
    went_.assign(old.size(), kNowhere);
    came_.resize(added_.size());
    find_touched();
    std::size_t l = 0;
    for (std::size_t i = 0; i < order.size();) {
      const JointLink& next = added_[order[i]];
      const auto equal = std::lower_bound(old.begin() + static_cast<std::ptrdiff_t>(l), old.end(), next,
                                          [](const JointLink& x, const JointLink& y) { return compare(x, y) < 0; });
      const auto to = static_cast<std::size_t>(equal - old.begin());
      for (; l < to; ++l) keep(l);
      parts_.clear();
      const bool joins = l < old.size() && compare(old[l], next) == 0;
      if (joins) gather(l);
      for (; i < order.size() && compare(added_[order[i]], next) == 0; ++i) {
        came_[order[i]] = out_.problem.links.size();
        parts_.push_back(added_[order[i]]);
      }
      if (joins) went_[l] = out_.problem.links.size();
      push(joins ? l++ : kNowhere);
    }
    for (; l < old.size(); ++l) keep(l);
    for (std::size_t i = 0; i < baseline_.given.size(); ++i) {
      if (!is_dropped_[i]) out_.origin.push_back(went_[baseline_.origin[i]]);
    }
    out_.origin.insert(out_.origin.end(), came_.begin(), came_.end());
    fill(out_.problem, moduli());
    return std::move(out_);
  }

 private:
  void scale() {
    double most = 0.0;
    for (std::size_t i = 0; i < baseline_.given.size(); ++i) {
      if (!is_dropped_[i]) most = std::max(most, baseline_.given[i].weight);
    }
    for (const JointLink& at : added_) most = std::max(most, at.weight);
    exponent_ = exponent_of(most);
    for (JointLink& at : added_) at.weight = std::ldexp(at.weight, -exponent_);
  }

  void find_touched() {
    touched_.assign(baseline_.problem.links.size(), 0);
    for (std::size_t i = 0; i < baseline_.given.size(); ++i) {
      if (is_dropped_[i]) touched_[baseline_.origin[i]] = 1;
    }
  }

  // Those of which the baseline's link l was joined and that are left.
  void gather(std::size_t l) {
    for (std::size_t k = baseline_.first_given[l]; k < baseline_.first_given[l + 1]; ++k) {
      const std::size_t i = baseline_.joined[k];
      if (is_dropped_[i]) continue;
      parts_.push_back(baseline_.given[i]);
      parts_.back().weight = std::ldexp(parts_.back().weight, -exponent_);
    }
  }

  void keep(std::size_t l) {
    // On another scale, too, weights come from those given: what was scaled may have been rounded to nothing.
    if (touched_[l] || exponent_ != baseline_.exponent) {
      parts_.clear();
      gather(l);
      if (parts_.empty()) return;
      went_[l] = out_.problem.links.size();
      return push(l);
    }
    went_[l] = out_.problem.links.size();
    out_.from.link.push_back(l);
    out_.from.excess.push_back(baseline_.snapshot.excess[l]);
    out_.problem.links.push_back(baseline_.problem.links[l]);
  }

  // Joins the parts, in the order in which make_joint_problem would.
  void push(std::size_t source) {
    std::sort(parts_.begin(), parts_.end(), before);
    JointLink at = parts_[0];
    for (std::size_t k = 1; k < parts_.size(); ++k) join(at, parts_[k]);
    set_constant_excess(at);
    const Snapshot& snapshot = baseline_.snapshot;
    out_.from.link.push_back(source);
    out_.from.excess.push_back(source == kNowhere ? snapshot_excess(at, snapshot.shift, movable_, work_)
                                                  : snapshot.excess[source]);
    out_.problem.links.push_back(std::move(at));
  }

  // Of jobs on whose links nothing changed.
  std::vector<int64_t> moduli() const {
    std::vector<int64_t> modulus = baseline_.problem.modulus;
    const auto forget = [&](const JointLink& at) {
      for (const std::size_t j : at.job) modulus[j] = 0;
    };
    for (const JointLink& at : added_) forget(at);
    for (std::size_t l = 0; l < touched_.size(); ++l) {
      if (touched_[l]) forget(baseline_.problem.links[l]);
    }
    return modulus;
  }

  const Baseline& baseline_;
  std::span<const uint8_t> is_dropped_;
  std::vector<JointLink> added_;
  int64_t* work_;
  int exponent_ = 0;
  std::vector<uint8_t> touched_;   // [links of the baseline]
  std::vector<std::size_t> went_;  // [links of the baseline] to which link of the varied joint problem
  std::vector<std::size_t> came_;  // [added] as which link of the varied joint problem
  std::vector<JointLink> parts_;   // of one link
  std::vector<int64_t> movable_;
  DeltaProblem out_;
};

}  // namespace

int weight_exponent(std::span<const JointLink> links) {
  double most = 0.0;
  for (const JointLink& at : links) most = std::max(most, at.weight);
  return exponent_of(most);
}

Baseline make_baseline(std::vector<int64_t> period, std::vector<JointLink> given, std::span<const int64_t> shift,
                       Budget& budget) {
  Baseline out;
  out.exponent = weight_exponent(given);
  std::vector<JointLink> links = given;
  for (JointLink& at : links) at.weight = std::ldexp(at.weight, -out.exponent);
  out.problem = make_joint_problem(std::move(period), std::move(links), out.origin);
  out.given = std::move(given);
  out.joined.resize(out.given.size());
  std::iota(out.joined.begin(), out.joined.end(), std::size_t{0});
  std::stable_sort(out.joined.begin(), out.joined.end(),
                   [&](std::size_t x, std::size_t y) { return out.origin[x] < out.origin[y]; });
  out.first_given.assign(out.problem.links.size() + 1, 0);
  for (const std::size_t l : out.origin) ++out.first_given[l + 1];
  std::partial_sum(out.first_given.begin(), out.first_given.end(), out.first_given.begin());
  out.snapshot = take_snapshot(out.problem, shift, budget);
  return out;
}

DeltaProblem apply_delta(const Baseline& baseline, std::span<const uint8_t> is_dropped, std::vector<JointLink> added,
                         int64_t* work) {
  return DeltaBuilder(baseline, is_dropped, std::move(added), work).run();
}

DeltaScores::DeltaScores(const Baseline& baseline, std::span<const Interval> excess, const DeltaProblem& varied,
                         const std::vector<int64_t>& found)
    : baseline_(baseline), excess_(excess), varied_(varied), moved_(found.size()) {
  const std::vector<int64_t>& begin = baseline.snapshot.shift;
  for (std::size_t j = 0; j < found.size(); ++j) {
    moved_[j] = wrap(found[j] - begin[j], varied.problem.modulus[j]) != 0;
  }
}

std::vector<Interval> DeltaScores::at(std::span<const int64_t> shift, int64_t* work) {
  std::vector<Interval> out;
  out.reserve(varied_.problem.links.size());
  for (std::size_t l = 0; l < varied_.problem.links.size(); ++l) {
    const Interval* known = stands(l, shift) ? known_of(l) : nullptr;
    out.push_back(known != nullptr ? *known : canonical_excess(varied_.problem.links[l], shift, work));
  }
  return out;
}

const Interval* DeltaScores::known_of(std::size_t l) {
  const std::size_t source = varied_.from.link[l];
  if (source != kNowhere) return &excess_[source];
  // Of a pair the search has only what its table says, to within rounding.
  const double excess = varied_.from.excess[l];
  if (!varied_.problem.links[l].guides || varied_.problem.links[l].job.size() == 2 || std::isnan(excess))
    return nullptr;
  scored_ = {excess, excess};
  return &scored_;
}

bool DeltaScores::stands(std::size_t l, std::span<const int64_t> shift) {
  const JointLink& at = varied_.problem.links[l];
  // Turns of the joint problem's jobs say nothing of links that do not guide.
  const auto has_moved = [&](std::size_t j) { return moved_[j] != 0; };
  if (at.guides && std::none_of(at.job.begin(), at.job.end(), has_moved)) return true;
  shifts_on(at, shift, here_);
  shifts_on(at, baseline_.snapshot.shift, there_);
  at.prepared->canonical.apply(here_);
  at.prepared->canonical.apply(there_);
  return here_ == there_;
}

}  // namespace cassini
