#include "link/lagrangian_bound.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace cassini {
namespace {

// A job in the Lagrangian bound: its levels above zero, the share of time at each, and the price of each.
struct Priced {
  std::vector<double> level;
  std::vector<double> share;
  std::vector<double> price;
};

std::vector<Priced> priced_jobs(const Link& link) {
  std::vector<Priced> out;
  for (const JobPattern& job : link.jobs) {
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

double lagrangian_bound(const Link& link, double known, Budget& budget) {
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

}  // namespace cassini
