#include "marginal.hpp"

#include <algorithm>
#include <numeric>

namespace cassini {
namespace {

double gain(const Demand& demand, std::size_t interval, double level, double capacity) {
  double sum = 0.0;
  for (std::size_t k = demand.offset[interval]; k < demand.offset[interval + 1]; ++k) {
    const double value = demand.atoms[k].value;
    const double with = value + level - capacity;
    if (with <= 0.0) continue;
    const double without = value - capacity;
    sum += demand.atoms[k].weight * (without > 0.0 ? level : with);
  }
  return sum;
}

}  // namespace

void Marginal::build(const Demand& demand, const Circle& job, double capacity, int64_t* work) {
  job_ = &job;
  turn_ = std::gcd(demand.turn, job.period);
  const std::size_t n_levels = job.levels.size();
  *work += static_cast<int64_t>(demand.atoms.size() * n_levels + demand.size());
  at_.clear();
  if (turn_ == demand.turn) {
    at_.assign(demand.begin.begin(), demand.begin.end());
    at_.push_back(turn_);
    rate_.resize(n_levels * demand.size());
    for (std::size_t l = 0; l < n_levels; ++l) {
      for (std::size_t i = 0; i < demand.size(); ++i) {
        rate_[l * demand.size() + i] = gain(demand, i, job.levels[l], capacity);
      }
    }
  } else {
    fold_events(demand, capacity);
  }
  const std::size_t n = at_.size() - 1;
  sum_.resize(n_levels * (n + 1));
  for (std::size_t l = 0; l < n_levels; ++l) {
    double* sum = &sum_[l * (n + 1)];
    const double* rate = &rate_[l * n];
    sum[0] = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + rate[i] * static_cast<double>(at_[i + 1] - at_[i]);
  }
  // Mean over the demand's turn and over the job's period of folded sums.
  scale_ = (static_cast<double>(turn_) / static_cast<double>(demand.turn)) /
           (static_cast<double>(job.period) * demand.weight);
}

// Cuts the demand's circle into turns of turn_ ticks and lays them on top of each other.
void Marginal::fold_events(const Demand& demand, double capacity) {
  const std::size_t n_levels = job_->levels.size();
  event_.clear();
  jump_.clear();
  std::vector<double> whole(n_levels, 0.0);
  std::vector<double> gains(n_levels);
  for (std::size_t i = 0; i < demand.size(); ++i) {
    bool any = false;
    for (std::size_t l = 0; l < n_levels; ++l) {
      gains[l] = gain(demand, i, job_->levels[l], capacity);
      any = any || gains[l] != 0.0;
    }
    if (!any) continue;
    const int64_t length = demand.end_of(i) - demand.begin[i];
    const double turns = static_cast<double>(length / turn_);
    if (turns > 0.0) {
      for (std::size_t l = 0; l < n_levels; ++l) whole[l] += turns * gains[l];
    }
    const int64_t rest = length % turn_;
    if (rest == 0) continue;
    const int64_t from = demand.begin[i] % turn_;
    const auto push = [&](int64_t at, double sign) {
      event_.emplace_back(at, static_cast<uint32_t>(event_.size()));
      for (std::size_t l = 0; l < n_levels; ++l) jump_.push_back(sign * gains[l]);
    };
    push(from, 1.0);
    if (from + rest < turn_) {
      push(from + rest, -1.0);
    } else if (from + rest > turn_) {
      push(0, 1.0);
      push(from + rest - turn_, -1.0);
    }
  }
  std::sort(event_.begin(), event_.end());
  at_.push_back(0);
  for (const auto& event : event_) {
    if (event.first != at_.back()) at_.push_back(event.first);
  }
  at_.push_back(turn_);
  const std::size_t n = at_.size() - 1;
  rate_.resize(n_levels * n);
  for (std::size_t l = 0; l < n_levels; ++l) {
    double rate = whole[l];
    std::size_t e = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (; e < event_.size() && event_[e].first == at_[i]; ++e) rate += jump_[event_[e].second * n_levels + l];
      // Cancelling events leave rounding noise at worst; a gain is never negative.
      rate_[l * n + i] = rate > 0.0 ? rate : 0.0;
    }
  }
}

double Marginal::integral_to(std::size_t level, int64_t x) const {
  const std::size_t n = at_.size() - 1;
  const double* sum = &sum_[level * (n + 1)];
  const int64_t turns = x / turn_;
  const int64_t rest = x - turns * turn_;
  const std::size_t i = static_cast<std::size_t>(std::upper_bound(at_.begin(), at_.end() - 1, rest) - at_.begin()) - 1;
  return static_cast<double>(turns) * sum[n] + sum[i] + rate_[level * n + i] * static_cast<double>(rest - at_[i]);
}

double Marginal::at(int64_t shift) const {
  const int64_t s = wrap(shift, turn_);
  double total = 0.0;
  for (const Segment& segment : job_->segments) {
    const auto level = static_cast<std::size_t>(segment.level);
    total += integral_to(level, segment.end + s) - integral_to(level, segment.begin + s);
  }
  return total * scale_;
}

void Marginal::kinks(std::vector<int64_t>& out) const {
  // Reading the marginal at every kink costs this much.
  const double steps = static_cast<double>(at_.size()) * static_cast<double>(job_->edges.size()) *
                       static_cast<double>(job_->segments.size());
  if (steps > static_cast<double>(Limits::max_steps)) throw LimitExceeded{};
  out.clear();
  out.push_back(0);
  for (std::size_t i = 0; i + 1 < at_.size(); ++i) {
    for (const Edge& edge : job_->edges) out.push_back(wrap(at_[i] - edge.at, turn_));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
}

}  // namespace cassini
