#include "link/pair_bounds.hpp"

#include <algorithm>

#include "demand/marginal.hpp"

namespace cassini {
namespace {

constexpr std::size_t kPairs = 64;

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
    marginal.build(link.base, link.pattern(m), link.capacity, &budget.work);
    out.single[m] = marginal.at(0);
  }
  const double peaks = link.movable_peak();
  for (std::size_t i = 0; i < n; ++i) {
    if (!budget.left()) break;
    add(link.base, link.folded[i], 0, link.capacity - (peaks - link.pattern(i).peak), link.limits, placed,
        &budget.work);
    for (std::size_t k = i + 1; k < n && budget.left(); ++k) {
      marginal.build(placed, link.pattern(k), link.capacity, &budget.work);
      const double least = marginal.minimum(kinks, values, &budget.work).value;
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

}  // namespace cassini
