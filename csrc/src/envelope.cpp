#include "envelope.hpp"

#include <algorithm>
#include <limits>

#include "slack.hpp"

namespace cassini {

Envelope::Envelope(const Link& link, std::span<const int64_t> shift) : link_(link), shift_(shift) {
  if (link.size() > few_.size()) many_.resize(link.size());
  steps_ = many_.empty() ? few_.data() : many_.data();
  for (std::size_t m = 0; m < link.size(); ++m) {
    if (link.turn[m] == link.circle(m).period) steps_of(link.folded[m], steps_[m]);
  }
}

void Envelope::steps_of(const Demand& folded, Steps& out) {
  const std::size_t n = folded.size();
  if (n < 2 || folded.atoms.size() != n) return;
  const auto level = [&](std::size_t i) { return folded.atoms[i % n].value; };
  std::size_t first = 0;
  while (level(first) <= level(first + n - 1)) ++first;
  out.origin = folded.begin[first];
  for (std::size_t k = first; k < first + n; ++k) {
    // The origin of the circle is an edge only where the demand jumps there.
    if (level(k) == level(k + n - 1)) continue;
    const int64_t at = folded.begin[k % n] - out.origin + (k < n ? 0 : folded.turn);
    out.step.push_back({at, static_cast<uint32_t>(k % n), level(k) < level(k + n - 1)});
  }
  out.least_dip = folded.turn;
  for (std::size_t k = 0; k < out.step.size(); ++k) {
    const bool last = k + 1 == out.step.size();
    if (!out.step[k].falls || (!last && out.step[k + 1].falls)) continue;
    out.least_dip = std::min(out.least_dip, (last ? folded.turn : out.step[k + 1].at) - out.step[k].at);
  }
}

Placed Envelope::widened(std::size_t m, int64_t radius) {
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
    steps.wide.turn = folded.turn;
    steps.wide.weight = folded.weight;
    return {&steps.wide, shift_[m] + steps.origin - radius};
  }
  const bool probability = folded.weight == 1.0 && link_.turn[m] != link_.circle(m).period;
  steps.wide = fold(widen(link_.circle(m), radius), link_.turn[m], probability);
  return {&steps.wide, shift_[m]};
}

double Envelope::excess(int64_t radius, int64_t* work) {
  part_.clear();
  const Placed base = placed_base(link_, shift_[0]);
  for (std::size_t m = 0; m < link_.size(); ++m) part_.push_back(widened(m, radius));
  if (base.demand != nullptr) part_.push_back(base);
  double few = 0.0;
  if (excess_of_few(part_, link_.capacity, &few, work)) return few;
  double left = link_.movable_peak();
  Placed sum = base;
  for (std::size_t m = 0; m < link_.size(); ++m) {
    left -= link_.circle(m).peak;
    sum = together(sum, part_[m], link_.capacity - left, link_.limits, room_[m % 2], work);
  }
  return mean_excess(*sum.demand, link_.capacity);
}

namespace {

// The largest radius in [low, high) that is found with over(radius) <= 0. over() grows; it is -`spare` at 0.
template <class Over>
int64_t last_within(int64_t high, double spare, const Over& over, Budget& budget) {
  int64_t low = 0;
  double below = -spare;
  double above = over(high);
  if (above <= 0.0) return high;
  while (high - low > std::max<int64_t>(1, high >> 10) && budget.in_time()) {
    const int64_t width = high - low;
    const auto between = [&](double part) {
      return std::clamp(low + static_cast<int64_t>(part * static_cast<double>(width)), low + 1, high - 1);
    };
    // Where over() is convex its chord ends inside.
    const int64_t chord = between(below / (below - above));
    const double value = over(chord);
    if (value > 0.0) {
      high = chord;
      above = value;
    } else {
      const double slope = (value - below) / static_cast<double>(chord - low);
      low = chord;
      below = value;
      // ... and the chord before, drawn on, ends outside or where over() does.
      const double rest = static_cast<double>(high - low);
      const double ahead = -below / slope;
      if (ahead < 1.0) return low;
      if (ahead < rest && high - low > 1) {
        const int64_t outer = std::clamp(low + static_cast<int64_t>(ahead), low + 1, high - 1);
        const double there = over(outer);
        if (there <= 0.0) {
          low = outer;
          below = there;
          if (there >= -2.0 * slope) return low;
        } else {
          high = outer;
          above = there;
        }
      }
    }
    if (2 * (high - low) > width && high - low > 1) {
      const int64_t middle = low + (high - low) / 2;
      const double there = over(middle);
      (there <= 0.0 ? low : high) = middle;
      (there <= 0.0 ? below : above) = there;
    }
  }
  return low;
}

}  // namespace

int64_t certified_hold(const Link& link, std::span<const int64_t> shift, double excess, double tolerance,
                       int64_t least_slack, Budget& budget) {
  // An envelope of more levels costs more than it is worth: no hold is promised.
  constexpr std::size_t kMaxLevels = 1024;
  bool capped = false;
  for (std::size_t m = 0; m < link.size(); ++m) {
    if (link.circle(m).levels.size() > kMaxLevels) return 0;
    capped = capped || link.circle(m).period / 2 == least_slack;
  }
  // One job a radius later and all others a radius earlier is one job twice the radius later.
  const int64_t most = capped ? least_slack : least_slack / 2;
  const double spare = tolerance + link.noise;
  Envelope envelope(link, shift);
  const auto over = [&](int64_t radius) { return envelope.excess(radius, &budget.work) - excess - spare; };
  return most == 0 ? 0 : last_within(most, spare, over, budget);
}

}  // namespace cassini
