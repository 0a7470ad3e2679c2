#include "bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "marginal.hpp"

namespace cassini {
namespace {

constexpr std::size_t kPairs = 64;
constexpr std::size_t kTries = 64;  // groups that a job is tried in
constexpr std::size_t kGroup = 16;  // jobs of one group at most: finding groups costs its square per job

// Value and probability of a demand at a uniformly random residue, ascending.
std::vector<Atom> distribution(const Demand& demand) {
  std::vector<Atom> atoms;
  const double whole = static_cast<double>(demand.turn) * demand.weight;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const double share = static_cast<double>(demand.end_of(i) - demand.begin[i]) / whole;
    for (std::size_t k = demand.offset[i]; k < demand.offset[i + 1]; ++k) {
      atoms.push_back({demand.atoms[k].value, demand.atoms[k].weight * share});
    }
  }
  std::sort(atoms.begin(), atoms.end(), [](const Atom& x, const Atom& y) { return x.value < y.value; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    if (kept > 0 && atoms[kept - 1].value == atoms[i].value) {
      atoms[kept - 1].weight += atoms[i].weight;
    } else {
      atoms[kept++] = atoms[i];
    }
  }
  atoms.resize(kept);
  return atoms;
}

// Sum of two random demands coupled largest with largest.
std::vector<Atom> comonotone(const std::vector<Atom>& a, const std::vector<Atom>& b) {
  std::vector<Atom> out;
  std::size_t i = 0;
  std::size_t k = 0;
  double left_a = a[0].weight;
  double left_b = b[0].weight;
  while (i < a.size() && k < b.size()) {
    const double share = std::min(left_a, left_b);
    if (share > 0.0) out.push_back({a[i].value + b[k].value, share});
    left_a -= share;
    left_b -= share;
    // Rounding can leave one side a last crumb; the largest values must not lose it, so the last atom takes all.
    if (left_a <= 0.0 && ++i < a.size()) left_a += a[i].weight;
    if (left_b <= 0.0 && ++k < b.size()) left_b += b[k].weight;
  }
  for (; i < a.size(); left_a = ++i < a.size() ? a[i].weight : 0.0)
    out.push_back({a[i].value + b.back().value, left_a});
  for (; k < b.size(); left_b = ++k < b.size() ? b[k].weight : 0.0)
    out.push_back({a.back().value + b[k].value, left_b});
  return out;
}

// Some movable jobs by themselves, with or without the jobs whose shift does not matter.
struct Group {
  std::vector<const Circle*> fixed;    // free and constant ones
  std::vector<const Circle*> movable;  // in canonical order
  std::vector<int64_t> turn;           // [movable]

  Group(const Link& link, std::span<const std::size_t> members, bool with_base) {
    for (std::size_t j = 0; with_base && j < link.jobs.size(); ++j) {
      if (!link.is_movable(j) && !link.jobs[j].silent()) fixed.push_back(&link.jobs[j]);
    }
    std::vector<int64_t> periods;
    for (const std::size_t m : members) {
      movable.push_back(&link.circle(m));
      periods.push_back(movable.back()->period);
    }
    turn = folded_turns(periods, std::vector<uint8_t>(periods.size(), 1));
  }

  double events() const {
    std::vector<std::size_t> edges;
    for (const Circle* job : movable) edges.push_back(job->edges.size());
    return folded_events(turn, edges);
  }
};

// Bins of demand levels such that all sums of an interval computation together stay affordable: each touches, at every
// interval, all bins with all levels of one job.
double affordable_bins(const Link& link, std::size_t most_levels, double intervals) {
  const double share = link.limits.max_interval_work() / static_cast<double>(link.jobs.size()) / intervals;
  const double bins = std::max(share / static_cast<double>(most_levels), std::min(std::sqrt(share), share));
  const double atoms = static_cast<double>(Limits::max_atoms) / 8.0 / intervals;
  return std::clamp(std::min(bins, atoms), 8.0, link.limits.max_bins());
}

// All jobs of a group at their shifts; levels kept in bounds the given way.
Demand group_demand(const Link& link, const Group& group, std::span<const int64_t> shift, Levels levels,
                    int64_t* work) {
  // A group of jobs with few residues may keep many levels; one with many residues must keep few.
  std::size_t most_levels = 1;
  double peak = 0.0;
  for (const auto* jobs : {&group.fixed, &group.movable}) {
    for (const Circle* job : *jobs) {
      most_levels = std::max(most_levels, job->levels.size() + 1);
      peak += job->peak;
    }
  }
  const double bin = std::max(peak, 1.0) / affordable_bins(link, most_levels, 1.0 + group.events());
  Limits limits;  // groups were chosen within max_events, and bins keep the levels few
  limits.max_events = std::numeric_limits<int32_t>::max();
  limits.max_levels = std::numeric_limits<int32_t>::max();

  Demand sum;
  Demand scratch;
  const double keep_all = -1.0;  // a comonotone sum needs every level
  for (const Circle* job : group.fixed) {
    Demand one = job->constant() ? always(job->peak) : spread(*job, true);
    coarsen(one, levels, bin);
    add(sum, one, 0, keep_all, limits, scratch, work, levels, bin);
    std::swap(sum, scratch);
  }
  for (std::size_t m = 0; m < group.movable.size(); ++m) {
    Demand one = fold(*group.movable[m], group.turn[m], true);
    coarsen(one, levels, bin);
    add(sum, one, shift[m], keep_all, limits, scratch, work, levels, bin);
    std::swap(sum, scratch);
  }
  return sum;
}

}  // namespace

PairGains pair_gains(const Link& link, Budget& budget) {
  const std::size_t n = link.size();
  PairGains out;
  out.single.assign(n, 0.0);
  out.gain.assign(n * n, 0.0);
  // With three jobs the marginals beside the first say all but one pair.
  if (n < 4 || n > kPairs) return out;
  Marginal marginal;
  Demand placed;
  Kinks kinks;
  Values values;
  for (std::size_t m = 0; m < n; ++m) {
    marginal.build(link.base, link.circle(m), link.capacity, &budget.work);
    out.single[m] = marginal.at(0);
  }
  const double peaks = link.movable_peak();
  for (std::size_t i = 0; i < n; ++i) {
    if (!budget.left()) break;
    add(link.base, link.folded[i], 0, link.capacity - (peaks - link.circle(i).peak), link.limits, placed, &budget.work);
    for (std::size_t k = i + 1; k < n && budget.left(); ++k) {
      marginal.build(placed, link.circle(k), link.capacity, &budget.work);
      const double least = marginal.least(kinks, values, &budget.work).value;
      const double gain = std::max(0.0, least - out.single[k]);
      out.gain[i * n + k] = out.gain[k * n + i] = gain;
      out.any = out.any || gain > link.noise;
    }
  }
  return out;
}

double heaviest_tree(std::span<const std::size_t> jobs, std::span<const double> root, std::span<const double> gain) {
  const std::size_t n = root.size();
  SmallVector<std::size_t, 16> left;
  SmallVector<double, 16> best;  // of each left, the heaviest edge to the tree so far
  left.append(jobs.data(), jobs.data() + jobs.size());
  for (const std::size_t k : jobs) best.push_back(root[k]);
  double sum = 0.0;
  while (!left.empty()) {
    const auto next = static_cast<std::size_t>(std::max_element(best.begin(), best.end()) - best.begin());
    const std::size_t joined = left[next];
    sum += best[next];
    left[next] = left.back();
    best[next] = best.back();
    left.erase_from(left.end() - 1);
    best.erase_from(best.end() - 1);
    for (std::size_t i = 0; i < left.size(); ++i) best[i] = std::max(best[i], gain[joined * n + left[i]]);
  }
  return sum;
}

double static_bound(const Link& link, const PairGains& gains) {
  double sum = mean_excess(link.base, link.capacity);
  std::vector<std::size_t> jobs;
  for (std::size_t m = 0; m < link.size(); ++m) {
    jobs.push_back(m);
    sum += gains.single[m];
  }
  const std::vector<double> root(link.size(), 0.0);
  return std::max(link.area_bound(), sum + heaviest_tree(jobs, root, gains.gain));
}

namespace {

// A job in the coupling bound: its levels above zero, the share of time at each, and the price of each.
struct Priced {
  std::vector<double> level;
  std::vector<double> share;
  std::vector<double> price;
};

std::vector<Priced> priced_jobs(const Link& link) {
  std::vector<Priced> out;
  for (const Circle& job : link.jobs) {
    if (job.silent()) continue;
    Priced one;
    one.level.assign(job.levels.begin(), job.levels.end());
    one.share.assign(one.level.size(), 0.0);
    for (const Segment& s : job.segments) {
      one.share[static_cast<std::size_t>(s.level)] +=
          static_cast<double>(s.end - s.begin) / static_cast<double>(job.period);
    }
    one.price = one.level;  // pricing every level at itself gives the area
    out.push_back(std::move(one));
  }
  return out;
}

// Least (sum - C)+ minus prices over all combinations of levels.
class Cheapest {
 public:
  Cheapest(double capacity, std::size_t n_jobs)
      : cells_(static_cast<std::size_t>(std::min(capacity, kCells))),
        width_(capacity / static_cast<double>(cells_)),
        capacity_(capacity),
        choice_(n_jobs * (cells_ + 1)),
        from_(n_jobs * (cells_ + 1)) {}

  std::size_t cells() const { return cells_; }

  // picked[j]: index of the level plus one, 0 for silence.
  double solve(const std::vector<Priced>& jobs, std::vector<std::size_t>& picked) {
    constexpr double kNone = std::numeric_limits<double>::infinity();
    now_.assign(cells_ + 1, kNone);
    now_[0] = 0.0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      uint16_t* choice = &choice_[j * (cells_ + 1)];
      uint16_t* from = &from_[j * (cells_ + 1)];
      next_ = now_;  // silence
      for (std::size_t s = 0; s <= cells_; ++s) {
        choice[s] = 0;
        from[s] = static_cast<uint16_t>(s);
      }
      for (std::size_t l = 0; l < jobs[j].level.size(); ++l) {
        const double level = jobs[j].level[l];
        const double price = jobs[j].price[l];
        const auto step = static_cast<std::size_t>(std::min(std::floor(level / width_), static_cast<double>(cells_)));
        for (std::size_t s = 0; s <= cells_; ++s) {
          if (now_[s] == kNone) continue;
          // Above the capacity all that is added is excess: one cell holds all such sums.
          const double sum = s == cells_ ? capacity_ : width_ * static_cast<double>(s);
          const bool over = s + step >= cells_;
          const std::size_t to = over ? cells_ : s + step;
          const double value = now_[s] - price + (over ? std::max(0.0, sum + level - capacity_) : 0.0);
          if (value < next_[to]) {
            next_[to] = value;
            choice[to] = static_cast<uint16_t>(l + 1);
            from[to] = static_cast<uint16_t>(s);
          }
        }
      }
      now_.swap(next_);
    }
    std::size_t s = static_cast<std::size_t>(std::min_element(now_.begin(), now_.end()) - now_.begin());
    const double least = now_[s];
    picked.assign(jobs.size(), 0);
    for (std::size_t j = jobs.size(); j-- > 0;) {
      picked[j] = choice_[j * (cells_ + 1) + s];
      s = from_[j * (cells_ + 1) + s];
    }
    return least;
  }

 private:
  static constexpr double kCells = 2048.0;  // with less capacity, in whole units, the table is exact

  std::size_t cells_;
  double width_;
  double capacity_;
  std::vector<uint16_t> choice_;
  std::vector<uint16_t> from_;
  std::vector<double> now_;
  std::vector<double> next_;
};

}  // namespace

double coupling_bound(const Link& link, double known, Budget& budget) {
  constexpr int kSteps = 200;
  constexpr int kPatience = 8;  // steps without progress before they are shortened
  constexpr std::size_t kLevels = 512;
  std::vector<Priced> jobs = priced_jobs(link);
  std::size_t levels = 0;
  for (const Priced& job : jobs) levels += job.level.size();
  if (levels > kLevels) return link.area_bound();
  Cheapest cheapest(link.capacity, jobs.size());
  std::vector<std::size_t> picked;
  double best = link.area_bound();
  double stride = 1.0;
  int waited = 0;
  for (int step = 0; step < kSteps && budget.left(); ++step) {
    budget.work += static_cast<int64_t>(levels * cheapest.cells() / 8);
    double value = cheapest.solve(jobs, picked);
    for (const Priced& job : jobs) {
      for (std::size_t l = 0; l < job.level.size(); ++l) value += job.share[l] * job.price[l];
    }
    if (value > best + link.noise) {
      best = value;
      waited = 0;
    } else if (++waited > kPatience) {
      stride *= 0.6;
      waited = 0;
    }
    if (best >= known || stride < 1e-3) break;
    double norm = 0.0;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      for (std::size_t l = 0; l < jobs[j].level.size(); ++l) {
        const double slope = jobs[j].share[l] - (picked[j] == l + 1 ? 1.0 : 0.0);
        norm += slope * slope;
      }
    }
    if (norm == 0.0) break;
    const double length = stride * (known - value) / norm;
    for (std::size_t j = 0; j < jobs.size(); ++j) {
      for (std::size_t l = 0; l < jobs[j].level.size(); ++l) {
        jobs[j].price[l] += length * (jobs[j].share[l] - (picked[j] == l + 1 ? 1.0 : 0.0));
      }
    }
  }
  return std::max(0.0, best - 10.0 * link.noise);
}

std::vector<std::vector<std::size_t>> foldable_groups(const Link& link) {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::vector<int64_t>> periods;
  // The more groups, the less each may cost.
  const double most = static_cast<double>(link.limits.max_events) * static_cast<double>(kGroup) /
                      static_cast<double>(std::max(kGroup, link.size()));
  const auto fits = [&](const std::vector<std::size_t>& group, const std::vector<int64_t>& period) {
    const std::vector<int64_t> turns = folded_turns(period, std::vector<uint8_t>(period.size(), 1));
    std::vector<std::size_t> edges;
    for (const std::size_t m : group) edges.push_back(link.circle(m).edges.size());
    return folded_events(turns, edges) <= most;
  };
  for (std::size_t m = 0; m < link.size(); ++m) {
    bool placed = false;
    std::size_t tried = 0;
    for (std::size_t g = 0; g < groups.size() && !placed && tried < kTries; ++g) {
      if (groups[g].size() >= kGroup) continue;
      ++tried;
      groups[g].push_back(m);
      periods[g].push_back(link.circle(m).period);
      placed = fits(groups[g], periods[g]);
      if (!placed) {
        groups[g].pop_back();
        periods[g].pop_back();
      }
    }
    if (!placed) {
      groups.push_back({m});
      periods.push_back({link.circle(m).period});
    }
  }
  return groups;
}

Interval certified_excess(const Link& link, std::span<const int64_t> shift, int64_t* work) {
  const std::vector<std::vector<std::size_t>> groups = foldable_groups(link);
  Interval out;
  double lower = 0.0;
  std::optional<std::vector<Atom>> joint;
  const auto take = [&](std::span<const std::size_t> members, bool with_base) {
    const Group group(link, members, with_base);
    std::vector<int64_t> own;
    for (const std::size_t m : members) own.push_back(shift[m]);
    std::vector<Atom> outer;
    try {
      const double inner = mean_excess(group_demand(link, group, own, Levels::inner, work), link.capacity);
      outer = distribution(group_demand(link, group, own, Levels::outer, work));
      lower += inner;
    } catch (const LimitExceeded&) {
      // Too many atoms even in bins: nothing from below, and from above each job as if it moved with all others.
      outer.assign(1, Atom{0.0, 1.0});
      for (const auto* jobs : {&group.fixed, &group.movable}) {
        for (const Circle* job : *jobs) outer = comonotone(outer, distribution(spread(*job, true)));
      }
    }
    joint = joint ? comonotone(*joint, outer) : outer;
  };
  if (groups.empty()) take({}, true);
  for (std::size_t g = 0; g < groups.size(); ++g) take(groups[g], g == 0);
  for (const Atom& atom : *joint) {
    if (atom.value > link.capacity) out.upper += atom.weight * (atom.value - link.capacity);
  }
  // Rounding of the sums above stays far below this.
  const double margin = 10.0 * link.noise;
  out.lower = std::max({0.0, link.area_bound(), lower - margin});
  out.upper = std::max(out.upper + margin, out.lower);
  return out;
}

}  // namespace cassini
