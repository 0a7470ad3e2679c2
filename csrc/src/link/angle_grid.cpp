#include "link/angle_grid.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/periods.hpp"

namespace cassini {
namespace {

__extension__ using Wide = unsigned __int128;

// The perimeter is prod_i factor[i] with factor[i] = T_i / gcd(T_i, lcm of the periods before): never formed.
std::vector<int64_t> perimeter_factors(const std::vector<JobPattern>& jobs) {
  std::vector<int64_t> factor(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    int64_t shared = 1;
    for (std::size_t k = 0; k < i; ++k) shared = lcm_capped(shared, std::gcd(jobs[k].period, jobs[i].period));
    factor[i] = jobs[i].period / shared;
  }
  return factor;
}

Wide perimeter_modulo(const std::vector<int64_t>& factor, Wide modulus) {
  Wide p = 1 % modulus;
  for (const int64_t f : factor) p = p * (static_cast<Wide>(f) % modulus) % modulus;
  return p;
}

// Iterations of a job in the unified circle, capped at `cap`.
int64_t iterations(const std::vector<int64_t>& factor, int64_t period, int64_t cap) {
  // p / T: divide T out of the factors one by one.
  int64_t rest = period;
  int64_t count = 1;
  for (int64_t f : factor) {
    const int64_t g = std::gcd(f, rest);
    rest /= g;
    f /= g;
    count = f > cap / count ? cap : std::min(cap, count * f);
  }
  return count;
}

double rate_at(const JobPattern& job, int64_t tick) {
  const auto after = std::upper_bound(job.segments.begin(), job.segments.end(), tick,
                                      [](int64_t t, const Segment& s) { return t < s.begin; });
  if (after == job.segments.begin()) return 0.0;
  const Segment& s = *(after - 1);
  return tick < s.end ? job.levels[static_cast<std::size_t>(s.level)] : 0.0;
}

struct SampledJob {
  int64_t rotations;           // allowed: 0 .. rotations - 1
  std::vector<double> sample;  // twice round, so that a rotation is an offset
};

class AngleSearch {
 public:
  AngleSearch(std::vector<SampledJob> jobs, double capacity, std::size_t angles, double floor, Budget& budget)
      : jobs_(std::move(jobs)),
        capacity_(capacity),
        angles_(angles),
        floor_(floor),
        budget_(budget),
        rotation_(jobs_.size(), 0),
        best_rotation_(jobs_.size(), 0),
        demand_(jobs_.size() + 1, std::vector<double>(angles, 0.0)) {}

  void run() { place(0, 0.0); }

  double best() const { return best_; }
  const std::vector<int64_t>& rotation() const { return best_rotation_; }

 private:
  // Depth first, rotations ascending; excess only grows with every job, which bounds.
  void place(std::size_t depth, double so_far) {
    if (depth == jobs_.size()) {
      if (so_far < best_) {
        best_ = so_far;
        best_rotation_ = rotation_;
      }
      return;
    }
    const SampledJob& job = jobs_[depth];
    for (int64_t d = 0; d < job.rotations; ++d) {
      if (best_ <= floor_) return;
      if (best_ < std::numeric_limits<double>::infinity() && !budget_.spend()) {
        complete_ = false;
        return;
      }
      rotation_[depth] = d;
      const double* sample = &job.sample[angles_ - static_cast<std::size_t>(d)];
      double excess = 0.0;
      for (std::size_t a = 0; a < angles_; ++a) {
        const double sum = demand_[depth][a] + sample[a];
        demand_[depth + 1][a] = sum;
        excess += sum > capacity_ ? sum - capacity_ : 0.0;
      }
      budget_.work += static_cast<int64_t>(angles_ / 16);
      if (excess >= best_) continue;
      place(depth + 1, excess);
      if (!complete_) return;
    }
  }

  std::vector<SampledJob> jobs_;
  double capacity_;
  std::size_t angles_;
  double floor_;  // no rotations have less excess
  Budget& budget_;
  double best_ = std::numeric_limits<double>::infinity();
  bool complete_ = true;
  std::vector<int64_t> rotation_;
  std::vector<int64_t> best_rotation_;
  std::vector<std::vector<double>> demand_;
};

}  // namespace

Angles solve_angles(const std::vector<JobPattern>& jobs, double capacity, int64_t angles, Budget& budget) {
  const std::vector<int64_t> factor = perimeter_factors(jobs);
  const auto n_angles = static_cast<std::size_t>(angles);
  std::vector<SampledJob> sampled;
  bool symmetric = true;  // a turn of all jobs by one angle stays within the allowed rotations
  double total = 0.0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    const int64_t r = iterations(factor, jobs[j].period, angles + 1);
    symmetric = symmetric && r <= angles && angles % r == 0;
    SampledJob one{(angles + r - 1) / r, std::vector<double>(2 * n_angles)};
    const Wide modulus = static_cast<Wide>(angles) * static_cast<Wide>(jobs[j].period);
    const Wide p = perimeter_modulo(factor, modulus);
    for (std::size_t a = 0; a < n_angles; ++a) {
      // Half-open phases with whole edges: the rate at time t is the rate at floor(t).
      const Wide position = p * static_cast<Wide>(a) % modulus / static_cast<Wide>(angles);
      one.sample[a] = one.sample[a + n_angles] = rate_at(jobs[j], static_cast<int64_t>(position));
      total += one.sample[a];
    }
    sampled.push_back(std::move(one));
  }
  if (symmetric && !sampled.empty()) sampled[0].rotations = 1;
  const double floor = std::max(0.0, total - capacity * static_cast<double>(angles));
  AngleSearch search(std::move(sampled), capacity, n_angles, floor, budget);
  search.run();

  Angles out;
  out.excess = search.best() / static_cast<double>(angles);
  out.shift.resize(jobs.size());
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    // rotation * p / |A| modulo T_j, to the nearest tick, half to even.
    const Wide modulus = static_cast<Wide>(angles) * static_cast<Wide>(jobs[j].period);
    const Wide exact = perimeter_modulo(factor, modulus) * static_cast<Wide>(search.rotation()[j]) % modulus;
    Wide tick = exact / static_cast<Wide>(angles);
    const Wide twice = exact % static_cast<Wide>(angles) * 2;
    if (twice > static_cast<Wide>(angles) || (twice == static_cast<Wide>(angles) && tick % 2 == 1)) ++tick;
    out.shift[j] = static_cast<int64_t>(tick % static_cast<Wide>(jobs[j].period));
  }
  return out;
}

}  // namespace cassini
