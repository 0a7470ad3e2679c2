#include "demand/folded_demand.hpp"

#include <algorithm>
#include <cmath>

#include "base/limits.hpp"
#include "base/merge_runs.hpp"
#include "base/periods.hpp"
#include "demand/interval_cursor.hpp"

namespace cassini {
namespace {

struct Event {
  int64_t at;
  int32_t level;
  int32_t change;
};

// Closes the interval that starts at `at` and holds the atoms from `first` on: merges it with the one before where both
// show the same distribution.
inline void close_interval(Demand& out, int64_t at, std::size_t first) {
  const std::size_t last = out.atoms.size();
  if (!out.begin.empty()) {
    const Atom* before = out.atoms.begin() + out.offset[out.begin.size() - 1];
    const Atom* now = out.atoms.begin() + first;
    const Atom* const end = out.atoms.begin() + last;
    bool same = now - before == end - now;
    for (; same && now != end; ++now, ++before) same = now->value == before->value && now->weight == before->weight;
    if (same) {
      out.atoms.erase_from(out.atoms.begin() + first);
      return;
    }
  }
  out.begin.push_back(at);
  out.offset.push_back(static_cast<uint32_t>(last));
}

void clear(Demand& out, int64_t modulus, double weight) {
  out.modulus = modulus;
  out.weight = weight;
  out.begin.clear();
  out.offset.assign(1, 0);
  out.atoms.clear();
}

constexpr auto atom_less = [](const Atom& x, const Atom& y) {
  return x.value < y.value || (x.value == y.value && x.weight < y.weight);
};

// Sorts the atoms from `first` on, which ascend in few pieces, and joins equal values.
void merge_equal(AtomList& atoms, std::size_t first) {
  constexpr std::size_t kFew = 256;  // sorted as they stand
  Atom* const all = atoms.begin() + first;
  const auto n = static_cast<std::size_t>(atoms.end() - all);
  if (n > kFew) {
    std::vector<std::size_t> begin{0};
    for (std::size_t i = 1; i < n; ++i) {
      if (atom_less(all[i], all[i - 1])) begin.push_back(i);
    }
    std::vector<Atom> scratch;
    merge_runs(all, n, begin, scratch, atom_less);
  } else if (!std::is_sorted(all, atoms.end(), atom_less)) {
    std::sort(all, atoms.end(), atom_less);
  }
  std::size_t kept = first;
  for (std::size_t i = first; i < atoms.size(); ++i) {
    if (kept > first && atoms[kept - 1].value == atoms[i].value) {
      atoms[kept - 1].weight += atoms[i].weight;
    } else {
      atoms[kept++] = atoms[i];
    }
  }
  atoms.resize(kept);
}

// Sums of levels in bins of a fixed width: no sorting, and no more atoms than bins however many sums there are.
class Bins {
 public:
  Bins(Levels levels, double width) : outer_(levels == Levels::outer), width_(width) {}

  void put(double value, double weight) {
    const double low = std::floor(value / width_);
    const auto index = static_cast<std::size_t>(low);
    if (index + 2 > weight_.size()) {
      weight_.resize(index + 2);
      sum_.resize(index + 2);
    }
    if (outer_) {  // to both ends of its bin, mean kept: a mean-preserving spread
      const double part = value / width_ - low;
      weight_[index] += weight * (1.0 - part);
      weight_[index + 1] += weight * part;
    } else {  // all of a bin becomes one atom at its mean: a mean-preserving contraction
      weight_[index] += weight;
      sum_[index] += weight * value;
    }
  }

  // Appends the atoms, ascending, and forgets them.
  void take(AtomList& atoms) {
    for (std::size_t i = 0; i < weight_.size(); ++i) {
      // A weight can underflow to zero; such an atom has no mean and counts for nothing.
      if (weight_[i] > 0.0)
        atoms.push_back({outer_ ? static_cast<double>(i) * width_ : sum_[i] / weight_[i], weight_[i]});
      weight_[i] = sum_[i] = 0.0;
    }
  }

 private:
  bool outer_;
  double width_;
  std::vector<double> weight_;
  std::vector<double> sum_;
};

// The levels of one interval.
struct Range {
  const Atom* first;
  const Atom* last;

  explicit Range(const IntervalCursor& cursor) : first(cursor.first()), last(cursor.last()) {}
  std::size_t size() const { return static_cast<std::size_t>(last - first); }
};

// All sums of a level of one and a level of the other, from out.atoms[first] on.
void sum_levels(const Range& one, const Range& two, double drop, const Limits& limits, Demand& out, std::size_t first) {
  // Few long ascending pieces are quicker to sort than many short ones.
  const Range& a = one.size() <= two.size() ? one : two;
  const Range& b = one.size() <= two.size() ? two : one;
  for (const Atom* x = a.first; x != a.last; ++x) {
    const Atom from = *x;
    Atom* to = out.atoms.extend(b.size());
    for (const Atom* y = b.first; y != b.last; ++y) {
      const double value = from.value + y->value;
      if (value > drop) *to++ = {value, from.weight * y->weight};
    }
    out.atoms.erase_from(to);
    if (out.atoms.size() > Limits::max_atoms) throw LimitExceeded{};
  }
  if (a.size() > 1 && b.size() > 1) merge_equal(out.atoms, first);
  if (out.atoms.size() - first > static_cast<std::size_t>(limits.max_levels)) throw LimitExceeded{};
}

// How often a demand changes on a circle that its own divides.
double changes(const Demand& demand, int64_t modulus) {
  const auto size = static_cast<double>(demand.size());
  if (demand.size() == 1) return 0.0;
  return modulus == demand.modulus ? size : static_cast<double>(modulus / demand.modulus) * size;
}

// One atom per interval: where the jobs stand is certain, or of several levels only one can still matter.
bool certain(const Demand& demand) {
  if (demand.atoms.size() != demand.size()) return false;
  // As many atoms as intervals can also be two here and none there.
  for (std::size_t i = 0; i < demand.size(); ++i) {
    if (demand.offset[i] != i) return false;
  }
  return true;
}

// What a demand that can never reach the capacity counts as: whatever is added, it stays below.
constexpr double kNever = -1e300;

// add() for certain demands with few intervals: one merge of two sorted lists into memory that is there already.
void add_certain(const Demand& a, const Demand& b, int64_t shift, double drop, std::size_t most, Demand& out) {
  int64_t* const begin = out.begin.overwrite(most);
  Atom* const atoms = out.atoms.overwrite(most);
  const int64_t modulus = out.modulus;
  IntervalCursor of_a(a, 0, modulus);
  IntervalCursor of_b(b, shift, modulus);
  Atom x = *of_a.first();
  Atom y = *of_b.first();
  std::size_t n = 0;
  Atom last{0.0, -1.0};  // like none
  for (int64_t at = 0;;) {
    const double value = x.value + y.value;
    const Atom atom = value <= drop ? Atom{kNever, 0.0} : Atom{value, x.weight * y.weight};
    if (atom.value != last.value || atom.weight != last.weight) {
      begin[n] = at;
      atoms[n++] = last = atom;
    }
    at = std::min(of_a.next(), of_b.next());
    if (at >= modulus) break;
    if (of_a.next() == at) {
      of_a.advance();
      x = *of_a.first();
    }
    if (of_b.next() == at) {
      of_b.advance();
      y = *of_b.first();
    }
  }
  out.begin.erase_from(begin + n);
  out.atoms.erase_from(atoms + n);
  uint32_t* const offset = out.offset.overwrite(n + 1);
  for (std::size_t i = 0; i <= n; ++i) offset[i] = static_cast<uint32_t>(i);
}

// add() for all demands; the modulus and the weight of the sum are there already.
void add_any(const Demand& a, const Demand& b, int64_t shift, double drop, const Limits& limits, Demand& out,
             int64_t* work, Levels levels, double bin) {
  const int64_t modulus = out.modulus;
  clear(out, modulus, out.weight);
  const int64_t before = *work;
  Bins bins(levels, bin);
  IntervalCursor of_a(a, 0, modulus);
  IntervalCursor of_b(b, shift, modulus);
  for (int64_t at = 0;;) {
    const std::size_t first = out.atoms.size();
    const Range x(of_a);
    const Range y(of_b);
    const std::size_t pairs = x.size() * y.size();
    if (pairs == 1) {
      const double value = x.first->value + y.first->value;
      if (value > drop) out.atoms.push_back({value, x.first->weight * y.first->weight});
    } else if (levels == Levels::exact) {
      sum_levels(x, y, drop, limits, out, first);
    } else {
      for (const Atom* one = x.first; one != x.last; ++one) {
        for (const Atom* two = y.first; two != y.last; ++two) {
          bins.put(one->value + two->value, one->weight * two->weight);
        }
      }
      bins.take(out.atoms);
      if (out.atoms.size() > Limits::max_atoms) throw LimitExceeded{};
    }
    if (pairs > 1) *work += static_cast<int64_t>(pairs);
    if (*work - before > limits.max_sum_work()) throw LimitExceeded{};
    close_interval(out, at, first);
    if (out.begin.size() > 2 * static_cast<std::size_t>(limits.max_events) + 2) throw LimitExceeded{};
    at = std::min(of_a.next(), of_b.next());
    if (at >= modulus) break;
    if (of_a.next() == at) of_a.advance();
    if (of_b.next() == at) of_b.advance();
  }
  *work += static_cast<int64_t>(out.begin.size());
}

}  // namespace

Demand fold(const JobPattern& pattern, int64_t modulus, bool probability) {
  const int64_t samples = pattern.period / modulus;
  SmallVector<int64_t, 4> count;
  count.assign(pattern.levels.size(), 0);
  SmallVector<Event, 16> events;
  for (const Segment& s : pattern.segments) {
    const int64_t length = s.end - s.begin;
    count[static_cast<std::size_t>(s.level)] += length / modulus;
    const int64_t rest = length % modulus;
    if (rest == 0) continue;
    const int64_t from = s.begin % modulus;
    const int64_t to = from + rest;
    events.push_back({from, s.level, 1});
    if (to < modulus) {
      events.push_back({to, s.level, -1});
    } else if (to > modulus) {
      events.push_back({0, s.level, 1});
      events.push_back({to - modulus, s.level, -1});
    }
  }
  std::sort(events.begin(), events.end(), [](const Event& x, const Event& y) {
    return x.at != y.at ? x.at < y.at : x.change > y.change;  // a level that closes and opens at once never counts 0
  });

  const double unit = probability ? 1.0 / static_cast<double>(samples) : 1.0;
  Demand out;
  clear(out, modulus, probability ? 1.0 : static_cast<double>(samples));
  SmallVector<int32_t, 8> active;  // levels with a count, ascending: few, however many levels the job has
  int64_t silent = samples;
  for (std::size_t l = 0; l < count.size(); ++l) {
    if (count[l] > 0) active.push_back(static_cast<int32_t>(l));
    silent -= count[l];
  }
  std::size_t e = 0;
  for (int64_t at = 0; at < modulus;) {
    for (; e < events.size() && events[e].at == at; ++e) {
      int64_t& now = count[static_cast<std::size_t>(events[e].level)];
      const auto place = std::lower_bound(active.begin(), active.end(), events[e].level);
      if (now == 0) active.insert(place, events[e].level);
      now += events[e].change;
      silent -= events[e].change;
      if (now == 0) active.remove(place);
    }
    const std::size_t first = out.atoms.size();
    if (silent > 0) out.atoms.push_back({0.0, static_cast<double>(silent) * unit});
    for (const int32_t l : active) {
      const auto level = static_cast<std::size_t>(l);
      out.atoms.push_back({pattern.levels[level], static_cast<double>(count[level]) * unit});
    }
    if (out.atoms.size() > Limits::max_atoms) throw LimitExceeded{};
    close_interval(out, at, first);
    at = e < events.size() ? events[e].at : modulus;
  }
  return out;
}

Demand spread(const JobPattern& pattern, bool probability) {
  SmallVector<int64_t, 4> ticks;
  ticks.assign(pattern.levels.size(), 0);
  int64_t silent = pattern.period;
  for (const Segment& s : pattern.segments) {
    ticks[static_cast<std::size_t>(s.level)] += s.end - s.begin;
    silent -= s.end - s.begin;
  }
  const double unit = probability ? 1.0 / static_cast<double>(pattern.period) : 1.0;
  Demand out;
  clear(out, 1, probability ? 1.0 : static_cast<double>(pattern.period));
  if (silent > 0) out.atoms.push_back({0.0, static_cast<double>(silent) * unit});
  for (std::size_t l = 0; l < ticks.size(); ++l)
    out.atoms.push_back({pattern.levels[l], static_cast<double>(ticks[l]) * unit});
  close_interval(out, 0, 0);
  return out;
}

Demand always(double level) {
  Demand out;
  out.atoms[0].value = level;
  return out;
}

void add(const Demand& a, const Demand& b, int64_t shift, double drop, const Limits& limits, Demand& out, int64_t* work,
         Levels levels, double bin) {
  const int64_t modulus = a.modulus == b.modulus ? a.modulus : lcm_capped(a.modulus, b.modulus);
  if (modulus >= kTooLarge) throw LimitExceeded{};
  out.modulus = modulus;
  out.weight = a.weight * b.weight;
  if (levels == Levels::exact && certain(a) && certain(b)) {
    constexpr double kFew = 4096.0;
    const double steps = changes(a, modulus) + changes(b, modulus);
    if (steps <= kFew) {
      add_certain(a, b, shift, drop, static_cast<std::size_t>(steps) + 2, out);
      *work += static_cast<int64_t>(out.begin.size());
      return;
    }
  }
  add_any(a, b, shift, drop, limits, out, work, levels, bin);
}

void coarsen(Demand& demand, Levels levels, double bin) {
  if (levels == Levels::exact) return;
  Demand out;
  clear(out, demand.modulus, demand.weight);
  Bins bins(levels, bin);
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const std::size_t first = out.atoms.size();
    for (std::size_t k = demand.offset[i]; k < demand.offset[i + 1]; ++k) {
      bins.put(demand.atoms[k].value, demand.atoms[k].weight);
    }
    bins.take(out.atoms);
    close_interval(out, demand.begin[i], first);
  }
  demand = std::move(out);
}

double mean_excess(const Demand& demand, double capacity) {
  double sum = 0.0;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    double excess = 0.0;
    for (std::size_t k = demand.offset[i]; k < demand.offset[i + 1]; ++k) {
      const double over = demand.atoms[k].value - capacity;
      if (over > 0.0) excess += demand.atoms[k].weight * over;
    }
    if (excess > 0.0) sum += excess * static_cast<double>(demand.end_of(i) - demand.begin[i]);
  }
  return sum / (static_cast<double>(demand.modulus) * demand.weight);
}

double mean_room(const Demand& demand, double capacity, double most) {
  double lacking = 0.0;  // of `most`, where demand leaves less
  for (std::size_t i = 0; i < demand.size(); ++i) {
    double lack = 0.0;
    for (std::size_t k = demand.offset[i]; k < demand.offset[i + 1]; ++k) {
      const double room = std::max(0.0, capacity - demand.atoms[k].value);
      if (room < most) lack += demand.atoms[k].weight * (most - room);
    }
    if (lack > 0.0) lacking += lack * static_cast<double>(demand.end_of(i) - demand.begin[i]);
  }
  return most - lacking / (static_cast<double>(demand.modulus) * demand.weight);
}

}  // namespace cassini
