#include "profile.hpp"

#include <algorithm>

#include "circle.hpp"
#include "marginal.hpp"
#include "sorted_runs.hpp"

namespace cassini {

std::size_t Profile::piece_of(int64_t shift) const {
  const auto after =
      std::upper_bound(knots.begin(), knots.end(), shift, [](int64_t s, const Knot& knot) { return s < knot.at; });
  return static_cast<std::size_t>(after - knots.begin()) - 1;
}

double Profile::at(int64_t shift) const {
  const int64_t s = wrap(shift, turn);
  const Knot& knot = knots[piece_of(s)];
  return knot.value + knot.slope * static_cast<double>(s - knot.at);
}

double Profile::least() const {
  const auto by_value = [](const Knot& x, const Knot& y) { return x.value < y.value; };
  return std::min_element(knots.begin(), knots.end(), by_value)->value;
}

double Profile::most() const {
  const auto by_value = [](const Knot& x, const Knot& y) { return x.value < y.value; };
  return std::max_element(knots.begin(), knots.end(), by_value)->value;
}

void Profile::clear() {
  turn = 1;
  knots.assign(1, Knot{0, 0.0, 0.0});
}

// An arc of the job adds the integral of its level's rate from where it begins to where it ends: as the job moves, the
// slope is the rate at the end minus the rate at the beginning, and changes where one of the two meets a breakpoint.
void Marginal::profile(double offset, Profile& out, ProfileScratch& scratch) const {
  constexpr std::size_t kAnchor = 1024;  // knots between exact readings, so that rounding cannot add up
  const std::size_t n = at_.size() - 1;
  scratch.bends.clear();
  scratch.runs.clear();
  double slope = 0.0;  // right of shift 0, unscaled
  // One run per end of an arc: the breakpoints in the order in which it meets them.
  const auto meet = [&](int64_t place, const double* rate, double sign) {
    scratch.runs.push_back(scratch.bends.size());
    const std::size_t here = interval_of(place);
    slope += sign * rate[here];
    for (std::size_t step = 1; step <= n; ++step) {
      const std::size_t i = here + step < n ? here + step : here + step - n;
      const double change = rate[i] - rate[i == 0 ? n - 1 : i - 1];
      if (change == 0.0) continue;
      const int64_t gap = at_[i] - place;
      const int64_t to = gap < 0 ? gap + turn_ : gap;
      if (to > 0) scratch.bends.push_back({to, sign * change});  // at 0 it is in the slope already
    }
  };
  for (const Arc& arc : arc_) {
    if (arc.rest == 0) continue;  // whole turns: the same at every shift
    const double* rate = rate_.data() + arc.level * n;
    meet(arc.start + arc.rest < turn_ ? arc.start + arc.rest : arc.start + arc.rest - turn_, rate, 1.0);
    meet(arc.start, rate, -1.0);
  }
  if (scratch.runs.empty()) scratch.runs.push_back(0);
  merge_runs(scratch.bends, scratch.runs, scratch.merged);

  out.turn = turn_;
  out.knots.clear();
  out.knots.reserve(scratch.bends.size() + 1);
  double value = at(0) / scale_;
  int64_t here = 0;
  out.knots.push_back({0, offset + value * scale_, slope * scale_});
  for (std::size_t b = 0; b < scratch.bends.size();) {
    const int64_t next = scratch.bends[b].at;
    double change = 0.0;
    for (; b < scratch.bends.size() && scratch.bends[b].at == next; ++b) change += scratch.bends[b].change;
    if (change == 0.0) continue;
    value += slope * static_cast<double>(next - here);
    here = next;
    slope += change;
    if (out.knots.size() % kAnchor == 0) value = at(here) / scale_;
    out.knots.push_back({here, offset + value * scale_, slope * scale_});
  }
}

}  // namespace cassini
