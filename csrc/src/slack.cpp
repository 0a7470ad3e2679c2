#include "slack.hpp"

#include <algorithm>

#include "envelope.hpp"

namespace cassini {
namespace {

// Slack of a pair: two jobs matter only through their difference, one reach serves both.
int64_t pair_slack(const Link& link, std::span<const int64_t> shift, double tolerance, Budget& budget) {
  Demand room;
  Marginal marginal;
  const Placed first{&link.folded[0], shift[0]};
  const Placed others = together(first, placed_base(link, shift[0]), link.capacity - link.circle(1).peak, link.limits,
                                 room, &budget.work);
  marginal.build(*others.demand, link.circle(1), link.capacity, &budget.work);
  const Reach r = reach(marginal, shift[1] - others.shift, link.noise + tolerance, Limits::max_kinks, &budget.work);
  return r.everywhere ? std::numeric_limits<int64_t>::max() : std::min(r.early, r.late);
}

}  // namespace

Placed placed_base(const Link& link, int64_t shift) {
  const Demand& base = link.base;
  const bool none = base.size() == 1 && base.atoms.size() == 1 && base.atoms[0].value == 0.0 && base.weight == 1.0 &&
                    base.atoms[0].weight == 1.0;
  return none ? Placed{} : Placed{&base, shift};
}

SlackTable::SlackTable(const Link& link, double tolerance, Budget& budget)
    : link_(link), tolerance_(tolerance), budget_(budget), few_(link.size() <= kFew), room_(link.size() - 2) {
  turn_.assign(link.size(), 0);
  suffix_.assign(link.size() + 1, Placed{});
}

// Sums of the jobs from m on, as far down as someone before them needs them.
void SlackTable::sum_suffixes(std::span<const int64_t> shift, std::size_t moved) {
  const std::size_t n = link_.size();
  double left = 0.0;
  for (const Circle& job : link_.jobs) left += job.peak;
  const std::size_t lowest = few_ && moved == 0 ? 2 : 1;
  const int64_t before = budget_.work;
  std::size_t atoms = 0;  // all suffixes are kept
  for (std::size_t m = n; m-- > lowest;) {
    left -= link_.circle(m).peak;
    suffix_[m] = together({&link_.folded[m], shift[m]}, suffix_[m + 1], link_.capacity - left, link_.limits,
                          room_[std::min(m, n - 2) - 1], &budget_.work);
    atoms += suffix_[m].demand->atoms.size();
    if (budget_.work - before > link_.limits.max_sum_work() || atoms > 2 * Limits::max_atoms) throw LimitExceeded{};
  }
}

// prefix and suffix sums keep this linear in the number of jobs.
bool SlackTable::measure(std::span<const int64_t> shift, std::size_t moved, int64_t floor, Slacks& out) {
  const std::size_t n = link_.size();
  out.movable.assign(n, 0);
  out.reach.assign(n, Reaches{});
  out.least = std::numeric_limits<int64_t>::max();
  if (few_ && moved < n && !settle(moved, kept(moved), shift[moved], true, floor, out)) return false;
  sum_suffixes(shift, moved);
  double left = link_.movable_peak();
  Placed prefix = placed_base(link_, shift[0]);
  bool is_first = true;
  for (std::size_t m = 0; m < n; ++m) {
    if (!budget_.in_time()) {
      out.least = 0;
      out.tightest = m;
      return floor < 0;
    }
    if (!few_ || m != moved) {
      Own& own = fresh(m);
      const Placed others =
          together(prefix, suffix_[m + 1], link_.capacity - link_.circle(m).peak, link_.limits, others_, &budget_.work);
      own.origin = others.shift;
      own.marginal.build(*others.demand, link_.circle(m), link_.capacity, &budget_.work);
      const bool above = settle(m, own, shift[m], false, floor, out);
      if (is_first) out.excess = mean_excess(*others.demand, link_.capacity) + own.reach.value;
      is_first = false;
      if (!above) return false;
    }
    left -= link_.circle(m).peak;
    const bool needed = m + 2 < n || (m + 2 == n && !(few_ && moved == n - 1));
    if (!needed) break;
    prefix = together(prefix, {&link_.folded[m], shift[m]}, link_.capacity - left, link_.limits, prefix_room_[m % 2],
                      &budget_.work);
  }
  return true;
}

// Within a plateau that is level to the last bit both ends stay where they are.
bool SlackTable::slide(Own& own, int64_t shift, int64_t turn) const {
  int64_t by = shift - own.shift;
  if (by > own.reach.near.late) by -= turn;
  if (by < -own.reach.near.early) by += turn;
  if (own.reach.far.everywhere || by < -own.reach.near.early || by > own.reach.near.late) return false;
  if (own.marginal.at(shift - own.origin) != own.reach.value) return false;
  own.shift = shift;
  for (Reach* reach : {&own.reach.near, &own.reach.far}) {
    reach->early += by;
    reach->late -= by;
  }
  return true;
}

bool SlackTable::settle(std::size_t m, Own& own, int64_t shift, bool again, int64_t floor, Slacks& out) {
  if (!again || !slide(own, shift, link_.turn[m])) {
    own.shift = shift;
    own.reach =
        reaches(own.marginal, shift - own.origin, link_.noise, link_.noise + tolerance_, kReadable, &budget_.work);
  }
  const Reaches& r = own.reach;
  const int64_t half = link_.circle(m).period / 2;
  out.reach[m] = r;
  out.movable[m] = r.far.everywhere ? half : std::min({r.far.early, r.far.late, half});
  if (out.movable[m] < out.least) {
    out.least = out.movable[m];
    out.tightest = m;
  }
  return out.movable[m] > floor;
}

void SlackTable::keep(std::size_t moved) {
  for (std::size_t m = 0; m < turn_.size(); ++m) {
    if (m != moved) turn_[m] ^= 1;
  }
}

Hold slack_and_hold(const Link& link, std::span<const int64_t> shift, double tolerance, Budget& budget) {
  const double excess = link.size() < 3 ? 0.0 : link.excess(shift, &budget.work);
  return slack_and_hold(link, shift, Known{excess, {}}, tolerance, budget);
}

Hold slack_and_hold(const Link& link, std::span<const int64_t> shift, const Known& known, double tolerance,
                    Budget& budget) {
  Hold out;
  out.slack.resize(link.jobs.size());
  // Jobs whose shift does not matter have all the slack there is and limit the hold of nobody else.
  int64_t least = std::numeric_limits<int64_t>::max();
  for (std::size_t j = 0; j < link.jobs.size(); ++j) {
    out.slack[j] = link.jobs[j].period / 2;
    least = std::min(least, out.slack[j]);
  }
  if (link.size() < 2) {
    out.hold = link.size() == 1 ? link.circle(0).period / 2 : least;
    return out;
  }
  if (link.size() == 2) {
    const int64_t reach = pair_slack(link, shift, tolerance, budget);
    for (std::size_t m = 0; m < 2; ++m) {
      int64_t& slack = out.slack[link.movable[m]];
      slack = std::min(slack, reach);
    }
    // Both moving take twice the hold.
    out.hold = std::min(out.slack[link.movable[0]], out.slack[link.movable[1]]) / 2;
    return out;
  }
  Slacks slacks;
  if (known.slack.empty()) {
    SlackTable(link, tolerance, budget).measure(shift, link.size(), SlackTable::kAny, slacks);
  } else {
    slacks.movable.append(known.slack.data(), known.slack.data() + known.slack.size());
    slacks.least = *std::min_element(slacks.movable.begin(), slacks.movable.end());
  }
  for (std::size_t m = 0; m < link.size(); ++m) out.slack[link.movable[m]] = slacks.movable[m];
  out.hold = certified_hold(link, shift, known.excess, tolerance, slacks.least, budget);
  return out;
}

}  // namespace cassini
