#include "link/local_search.hpp"

#include <algorithm>
#include <random>

namespace cassini {
namespace {

constexpr std::size_t kStarts = 6;
constexpr std::size_t kPerturbationsPerJob = 25;
constexpr int64_t kFirstAnswer = 256;  // nodes

}  // namespace

LocalSearch::LocalSearch(const Link& link, double noise, Budget& budget)
    : link_(link), noise_(noise), budget_(budget) {}

void LocalSearch::start(double enough, Placement& best) {
  const std::size_t n = link_.size();
  std::vector<std::size_t> order(n);
  std::vector<int64_t> shift(n);
  // The tree of up to four jobs is small: one good answer to prune with is enough.
  const std::size_t starts = n <= 4 ? 1 : std::min(n, kStarts);
  for (std::size_t first = 0; first < starts && best.excess > enough && (first == 0 || budget_.left()); ++first) {
    for (std::size_t m = 0; m < n; ++m) order[m] = (first + m) % n;
    greedy(order, shift);
    if (n > 4) descend(shift);
    offer(shift, best);
  }
}

void LocalSearch::perturb(double enough, Placement& best) {
  const std::size_t n = link_.size();
  std::mt19937_64 random(n);
  const std::size_t rounds = kPerturbationsPerJob * n;
  std::vector<int64_t> shift;
  for (std::size_t k = 0; k < rounds && best.excess > enough && budget_.left(); ++k) {
    shift = best.shift;
    for (int moved = 0; moved < 2; ++moved) {
      const auto m = static_cast<std::size_t>(random() % n);
      shift[m] = static_cast<int64_t>(random() % static_cast<uint64_t>(link_.modulus[m]));
    }
    descend(shift);
    offer(shift, best);
  }
}

void LocalSearch::greedy(std::span<const std::size_t> order, std::vector<int64_t>& shift) {
  double left = link_.movable_peak();
  Demand sum = link_.base;
  int64_t sum_work = 0;
  for (const std::size_t m : order) {
    left -= link_.pattern(m).peak;
    shift[m] = 0;
    // The first answer is worth a few nodes more than there may be; after that what is left stands at 0.
    if (budget_.nodes() < kFirstAnswer ? budget_.in_time() : budget_.left()) {
      marginal_.build(sum, link_.pattern(m), link_.capacity, &budget_.work);
      shift[m] = marginal_.minimum(valleys_, values_, &budget_.work).shift;
    }
    int64_t work = 0;
    add(sum, link_.folded[m], shift[m], link_.capacity - left, link_.limits, demand_, &work);
    budget_.work += work;
    sum_work += work;
    if (sum_work > link_.limits.max_sum_work()) throw LimitExceeded{};
    std::swap(sum, demand_);
  }
}

// Moves one job at a time to its best place as long as that helps.
void LocalSearch::descend(std::vector<int64_t>& shift) {
  for (bool moved = true; moved && budget_.left();) {
    moved = false;
    for (std::size_t m = 0; m < link_.size() && budget_.left(); ++m) {
      link_.total(shift, m, demand_, &budget_.work);
      marginal_.build(demand_, link_.pattern(m), link_.capacity, &budget_.work);
      const Minimum least = marginal_.minimum(valleys_, values_, &budget_.work);
      if (least.value < marginal_.at(shift[m]) - noise_) {
        shift[m] = least.shift;
        moved = true;
      }
    }
  }
}

void LocalSearch::offer(const std::vector<int64_t>& shift, Placement& best) {
  const double excess = link_.excess(shift, &budget_.work);
  if (excess >= best.excess) return;
  best.excess = excess;
  best.shift = shift;
}

}  // namespace cassini
