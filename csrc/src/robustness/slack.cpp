#include "robustness/slack.hpp"

#include <algorithm>

namespace cassini {

SlackTable::SlackTable(const Link& link, double tolerance, Budget& budget)
    : link_(link), tolerance_(tolerance), budget_(budget), few_(link.size() <= kFew), room_(link.size() - 2) {
  kept_half_.assign(link.size(), 0);
  suffix_.assign(link.size() + 1, ShiftedDemand{});
}

// Sums of the jobs from m on, as far down as someone before them needs them.
void SlackTable::sum_suffixes(std::span<const int64_t> shift, std::size_t moved) {
  const std::size_t n = link_.size();
  double left = 0.0;
  for (const JobPattern& job : link_.jobs) left += job.peak;
  const std::size_t lowest = few_ && moved == 0 ? 2 : 1;
  const int64_t before = budget_.work;
  std::size_t atoms = 0;  // all suffixes are kept
  for (std::size_t m = n; m-- > lowest;) {
    left -= link_.pattern(m).peak;
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
  if (few_ && moved < n && !update_reach(moved, kept(moved), shift[moved], true, floor, out)) return false;
  sum_suffixes(shift, moved);
  double left = link_.movable_peak();
  ShiftedDemand prefix = shifted_base(link_, shift[0]);
  bool is_first = true;
  for (std::size_t m = 0; m < n; ++m) {
    if (!budget_.in_time()) {
      out.least = 0;
      out.tightest = m;
      return floor < 0;
    }
    if (!few_ || m != moved) {
      Own& own = fresh(m);
      const ShiftedDemand others = together(prefix, suffix_[m + 1], link_.capacity - link_.pattern(m).peak,
                                            link_.limits, others_, &budget_.work);
      own.origin = others.shift;
      own.marginal.build(*others.demand, link_.pattern(m), link_.capacity, &budget_.work);
      const bool above = update_reach(m, own, shift[m], false, floor, out);
      if (is_first) out.excess = mean_excess(*others.demand, link_.capacity) + own.reach.value;
      is_first = false;
      if (!above) return false;
    }
    left -= link_.pattern(m).peak;
    const bool needed = m + 2 < n || (m + 2 == n && !(few_ && moved == n - 1));
    if (!needed) break;
    prefix = together(prefix, {&link_.folded[m], shift[m]}, link_.capacity - left, link_.limits, prefix_room_[m % 2],
                      &budget_.work);
  }
  return true;
}

// Within a plateau that is level to the last bit both ends stay where they are.
bool SlackTable::slide(Own& own, int64_t shift, int64_t modulus) const {
  int64_t by = shift - own.shift;
  if (by > own.reach.near.late) by -= modulus;
  if (by < -own.reach.near.early) by += modulus;
  if (own.reach.far.everywhere || by < -own.reach.near.early || by > own.reach.near.late) return false;
  if (own.marginal.at(shift - own.origin) != own.reach.value) return false;
  own.shift = shift;
  for (Reach* reach : {&own.reach.near, &own.reach.far}) {
    reach->early += by;
    reach->late -= by;
  }
  return true;
}

bool SlackTable::update_reach(std::size_t m, Own& own, int64_t shift, bool again, int64_t floor, Slacks& out) {
  if (!again || !slide(own, shift, link_.modulus[m])) {
    own.shift = shift;
    own.reach =
        reaches(own.marginal, shift - own.origin, link_.noise, link_.noise + tolerance_, kReadable, &budget_.work);
  }
  const Reaches& r = own.reach;
  const int64_t half = link_.pattern(m).period / 2;
  out.reach[m] = r;
  out.movable[m] = r.far.everywhere ? half : std::min({r.far.early, r.far.late, half});
  if (out.movable[m] < out.least) {
    out.least = out.movable[m];
    out.tightest = m;
  }
  return out.movable[m] > floor;
}

void SlackTable::keep(std::size_t moved) {
  for (std::size_t m = 0; m < kept_half_.size(); ++m) {
    if (m != moved) kept_half_[m] ^= 1;
  }
}

}  // namespace cassini
