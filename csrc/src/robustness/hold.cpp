#include "robustness/hold.hpp"

#include <algorithm>
#include <limits>

#include "robustness/slack.hpp"

namespace cassini {

WidenedDemand::WidenedDemand(const Link& link, std::span<const int64_t> shift) : link_(link), shift_(shift) {
  if (link.size() > few_.size()) many_.resize(link.size());
  steps_ = many_.empty() ? few_.data() : many_.data();
  for (std::size_t m = 0; m < link.size(); ++m) {
    if (link.modulus[m] == link.pattern(m).period) steps_of(link.folded[m], steps_[m]);
  }
}

void WidenedDemand::steps_of(const Demand& folded, Steps& out) {
  const std::size_t n = folded.size();
  if (n < 2 || folded.atoms.size() != n) return;
  const auto level = [&](std::size_t i) { return folded.atoms[i % n].value; };
  std::size_t first = 0;
  while (level(first) <= level(first + n - 1)) ++first;
  out.origin = folded.begin[first];
  for (std::size_t k = first; k < first + n; ++k) {
    // The origin of the circle is an edge only where the demand jumps there.
    if (level(k) == level(k + n - 1)) continue;
    const int64_t at = folded.begin[k % n] - out.origin + (k < n ? 0 : folded.modulus);
    out.step.push_back({at, static_cast<uint32_t>(k % n), level(k) < level(k + n - 1)});
  }
  out.least_dip = folded.modulus;
  for (std::size_t k = 0; k < out.step.size(); ++k) {
    const bool last = k + 1 == out.step.size();
    if (!out.step[k].falls || (!last && out.step[k + 1].falls)) continue;
    out.least_dip = std::min(out.least_dip, (last ? folded.modulus : out.step[k + 1].at) - out.step[k].at);
  }
}

ShiftedDemand WidenedDemand::widened(std::size_t m, int64_t radius) {
  Steps& steps = steps_[m];
  const Demand& folded = link_.folded[m];
  if (2 * radius < steps.least_dip) {
    // Seen from the first rising edge, rising edges stand still and falling ones move away by twice the radius.
    const std::size_t n = steps.step.size();
    int64_t* const begin = steps.wide.begin.overwrite(n);
    Atom* const atoms = steps.wide.atoms.overwrite(n);
    uint32_t* const offset = steps.wide.offset.overwrite(n + 1);
    for (std::size_t k = 0; k < n; ++k) {
      begin[k] = steps.step[k].at + (steps.step[k].falls ? 2 * radius : 0);
      atoms[k] = folded.atoms[steps.step[k].interval];
      offset[k] = static_cast<uint32_t>(k);
    }
    offset[n] = static_cast<uint32_t>(n);
    steps.wide.modulus = folded.modulus;
    steps.wide.weight = folded.weight;
    return {&steps.wide, shift_[m] + steps.origin - radius};
  }
  const bool probability = folded.weight == 1.0 && link_.modulus[m] != link_.pattern(m).period;
  steps.wide = fold(widen(link_.pattern(m), radius), link_.modulus[m], probability);
  return {&steps.wide, shift_[m]};
}

double WidenedDemand::excess(int64_t radius, int64_t* work) {
  part_.clear();
  const ShiftedDemand base = shifted_base(link_, shift_[0]);
  for (std::size_t m = 0; m < link_.size(); ++m) part_.push_back(widened(m, radius));
  if (base.demand != nullptr) part_.push_back(base);
  double few = 0.0;
  if (excess_of_few(part_, link_.capacity, &few, work)) return few;
  const int64_t before = *work;
  double left = link_.movable_peak();
  ShiftedDemand sum = base;
  for (std::size_t m = 0; m < link_.size(); ++m) {
    left -= link_.pattern(m).peak;
    sum = together(sum, part_[m], link_.capacity - left, link_.limits, room_[m % 2], work);
    if (*work - before > link_.limits.max_sum_work()) throw LimitExceeded{};
  }
  return mean_excess(*sum.demand, link_.capacity);
}

namespace {

// A radius with over(.) <= 0, as large as can be found, at most `most`. over() grows, from at_zero < 0 at 0. Where it
// is convex a chord ends inside, and the chord before, drawn on, ends outside or exactly there.
template <class Over>
int64_t last_within(int64_t most, double at_zero, const Over& over, int64_t work, Budget& budget) {
  int64_t low = 0;
  int64_t high = most;
  double below = at_zero;  // over(low) <= 0
  double above = over(most);
  if (above <= 0.0) return most;
  // Asks at so many ticks from the lower radius, moved between the two. True if that is not above 0.
  const auto narrow = [&](double ticks) {
    const int64_t at = std::clamp(low + static_cast<int64_t>(ticks), low + 1, high - 1);
    const double value = over(at);
    (value <= 0.0 ? low : high) = at;
    (value <= 0.0 ? below : above) = value;
    return value <= 0.0;
  };
  const int64_t most_work = budget.work + work;
  while (high - low > std::max<int64_t>(1, high >> 10) && budget.work < most_work && budget.in_time()) {
    const int64_t width = high - low;
    const int64_t from = low;
    const double value = below;
    if (narrow(static_cast<double>(width) * (value / (value - above)))) {
      const double slope = (below - value) / static_cast<double>(low - from);
      const double ahead = -below / slope;
      if (ahead < 1.0) return low;
      if (high - low > 1 && ahead < static_cast<double>(high - low)) {
        if (narrow(ahead) && below >= -2.0 * slope) return low;
      }
    }
    if (high - low > 1 && 2 * (high - low) > width) narrow(0.5 * static_cast<double>(high - low));
  }
  return low;
}

// A radius within which all movable jobs may move at once so that the mean excess stays within `tolerance` of `excess`,
// its value at the shifts. Certified, not always the largest. `least_slack` is the least slack of a movable job.
int64_t certified_hold(const Link& link, std::span<const int64_t> shift, double excess, double tolerance,
                       int64_t least_slack, Budget& budget) {
  // An envelope of more levels costs more than it is worth: no hold is promised.
  constexpr std::size_t kMaxLevels = 1024;
  bool capped = false;
  for (std::size_t m = 0; m < link.size(); ++m) {
    if (link.pattern(m).levels.size() > kMaxLevels) return 0;
    capped = capped || link.pattern(m).period / 2 == least_slack;
  }
  // One job a radius later and all others a radius earlier is one job twice the radius later.
  const int64_t most = capped ? least_slack : least_slack / 2;
  const double spare = tolerance + link.noise;
  WidenedDemand demand(link, shift);
  const auto over = [&](int64_t radius) { return demand.excess(radius, &budget.work) - excess - spare; };
  return most == 0 ? 0 : last_within(most, -spare, over, link.limits.max_sum_work(), budget);
}

// Slack of a pair: two jobs matter only through their difference, one reach serves both.
int64_t pair_slack(const Link& link, std::span<const int64_t> shift, double tolerance, Budget& budget) {
  Demand room;
  Marginal marginal;
  const ShiftedDemand first{&link.folded[0], shift[0]};
  const ShiftedDemand others = together(first, shifted_base(link, shift[0]), link.capacity - link.pattern(1).peak,
                                        link.limits, room, &budget.work);
  marginal.build(*others.demand, link.pattern(1), link.capacity, &budget.work);
  const double most = link.noise + tolerance;
  const Reach r = reaches(marginal, shift[1] - others.shift, most, most, Limits::max_kinks, &budget.work).far;
  return r.everywhere ? std::numeric_limits<int64_t>::max() : std::min(r.early, r.late);
}

}  // namespace

Hold slack_and_hold(const Link& link, std::span<const int64_t> shift, double excess, std::span<const int64_t> slack,
                    double tolerance, Budget& budget) {
  Hold out;
  out.slack.resize(link.jobs.size());
  // Jobs whose shift does not matter have all the slack there is and limit the hold of nobody else.
  int64_t least = std::numeric_limits<int64_t>::max();
  for (std::size_t j = 0; j < link.jobs.size(); ++j) {
    out.slack[j] = link.jobs[j].period / 2;
    least = std::min(least, out.slack[j]);
  }
  if (link.size() < 2) {
    out.hold = link.size() == 1 ? link.pattern(0).period / 2 : least;
    return out;
  }
  if (link.size() == 2) {
    const int64_t reach = pair_slack(link, shift, tolerance, budget);
    for (const std::size_t j : link.movable) out.slack[j] = std::min(out.slack[j], reach);
    // Both moving take twice the hold.
    out.hold = std::min(out.slack[link.movable[0]], out.slack[link.movable[1]]) / 2;
    return out;
  }
  Slacks slacks;
  if (slack.empty()) {
    SlackTable(link, tolerance, budget).measure(shift, link.size(), SlackTable::kAny, slacks);
  } else {
    slacks.movable.append(slack.data(), slack.data() + slack.size());
    slacks.least = *std::min_element(slacks.movable.begin(), slacks.movable.end());
  }
  for (std::size_t m = 0; m < link.size(); ++m) out.slack[link.movable[m]] = slacks.movable[m];
  out.hold = certified_hold(link, shift, excess, tolerance, slacks.least, budget);
  return out;
}

}  // namespace cassini
