#include "link/score_interval.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "base/periods.hpp"

namespace cassini {
namespace {

constexpr std::size_t kTries = 64;  // groups that a job is tried in
constexpr std::size_t kGroup = 16;  // jobs of one group at most: finding groups costs its square per job

// Value and probability of a demand at a uniformly random residue, ascending.
std::vector<Atom> distribution(const Demand& demand) {
  std::vector<Atom> atoms;
  const double whole = static_cast<double>(demand.modulus) * demand.weight;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    const double share = static_cast<double>(demand.end_of(i) - demand.begin[i]) / whole;
    for (std::size_t k = demand.offset[i]; k < demand.offset[i + 1]; ++k) {
      atoms.push_back({demand.atoms[k].value, demand.atoms[k].weight * share});
    }
  }
  std::sort(atoms.begin(), atoms.end(),
            [](const Atom& x, const Atom& y) { return x.value != y.value ? x.value < y.value : x.weight < y.weight; });
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
  std::vector<const JobPattern*> fixed;    // free and constant ones
  std::vector<const JobPattern*> movable;  // in canonical order
  std::vector<int64_t> modulus;            // [movable]

  Group(const Link& link, std::span<const std::size_t> members, bool with_base) {
    for (std::size_t j = 0; with_base && j < link.jobs.size(); ++j) {
      if (!link.is_movable(j) && !link.jobs[j].silent()) fixed.push_back(&link.jobs[j]);
    }
    std::vector<int64_t> periods;
    for (const std::size_t m : members) {
      movable.push_back(&link.pattern(m));
      periods.push_back(movable.back()->period);
    }
    modulus = folded_moduli(periods);
  }

  double events() const { return folded_events(modulus, movable); }
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
    for (const JobPattern* job : *jobs) {
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
  for (const JobPattern* job : group.fixed) {
    Demand one = job->constant() ? always(job->peak) : spread(*job, true);
    coarsen(one, levels, bin);
    add(sum, one, 0, keep_all, limits, scratch, work, levels, bin);
    std::swap(sum, scratch);
  }
  for (std::size_t m = 0; m < group.movable.size(); ++m) {
    Demand one = fold(*group.movable[m], group.modulus[m], true);
    coarsen(one, levels, bin);
    add(sum, one, shift[m], keep_all, limits, scratch, work, levels, bin);
    std::swap(sum, scratch);
  }
  return sum;
}

}  // namespace

std::vector<std::vector<std::size_t>> foldable_groups(const Link& link) {
  std::vector<std::vector<std::size_t>> groups;
  // The more groups, the less each may cost.
  const double most = static_cast<double>(link.limits.max_events) * static_cast<double>(kGroup) /
                      static_cast<double>(std::max(kGroup, link.size()));
  for (std::size_t m = 0; m < link.size(); ++m) {
    bool placed = false;
    std::size_t tried = 0;
    for (std::size_t g = 0; g < groups.size() && !placed && tried < kTries; ++g) {
      if (groups[g].size() >= kGroup) continue;
      ++tried;
      groups[g].push_back(m);
      placed = Group(link, groups[g], false).events() <= most;
      if (!placed) groups[g].pop_back();
    }
    if (!placed) groups.push_back({m});
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
        for (const JobPattern* job : *jobs) outer = comonotone(outer, distribution(spread(*job, true)));
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

Interval excess_interval(const Link& link, std::span<const int64_t> movable, int64_t* work) {
  if (link.within_limits) {
    try {
      const double excess = link.excess(movable, work);
      return {excess, excess};
    } catch (const LimitExceeded&) {
    }
  }
  return certified_excess(link, movable, work);
}

}  // namespace cassini
