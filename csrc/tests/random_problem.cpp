#include "random_problem.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "demand/job_pattern.hpp"

namespace cassini::test {

std::vector<JobPattern> Problem::patterns() const {
  std::vector<JobPattern> out;
  for (std::size_t j = 0; j < period.size(); ++j) out.push_back(make_pattern(period[j], phases[j], 1));
  return out;
}

Problem random_problem(std::mt19937& rng, std::size_t n_jobs, std::span<const int64_t> periods, int max_phases) {
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  Problem out;
  out.capacity = pick(3, 8);
  for (std::size_t j = 0; j < n_jobs; ++j) {
    const int64_t period = periods[static_cast<std::size_t>(pick(0, static_cast<int64_t>(periods.size()) - 1))];
    std::vector<Phase> phases;
    const int64_t kind = pick(0, 9);
    if (kind == 0) {
      phases.push_back({pick(0, period - 1), period, pick(1, 4)});  // always on
    } else if (kind > 1) {                                          // kind 1 is silent
      const int64_t n = pick(1, max_phases);
      for (int64_t i = 0; i < n; ++i) phases.push_back({pick(0, period - 1), pick(0, period), pick(0, 9)});
    }
    out.period.push_back(period);
    out.phases.push_back(phases);
  }
  return out;
}

double excess_by_ticks(const Problem& problem, std::span<const int64_t> shift) {
  int64_t perimeter = 1;
  for (const int64_t t : problem.period) perimeter = std::lcm(perimeter, t);
  std::vector<std::vector<int64_t>> demand;
  for (std::size_t j = 0; j < problem.period.size(); ++j) {
    std::vector<int64_t> one(static_cast<std::size_t>(problem.period[j]), 0);
    for (const Phase& p : problem.phases[j]) {
      for (int64_t x = 0; x < p.length; ++x) one[static_cast<std::size_t>((p.start + x) % problem.period[j])] += p.rate;
    }
    demand.push_back(one);
  }
  int64_t sum = 0;
  for (int64_t t = 0; t < perimeter; ++t) {
    int64_t total = 0;
    for (std::size_t j = 0; j < demand.size(); ++j) {
      const int64_t at = (((t - shift[j]) % problem.period[j]) + problem.period[j]) % problem.period[j];
      total += demand[j][static_cast<std::size_t>(at)];
    }
    sum += std::max<int64_t>(0, total - problem.capacity);
  }
  return static_cast<double>(sum) / static_cast<double>(perimeter);
}

double best_by_ticks(const Problem& problem) {
  std::vector<int64_t> shift(problem.period.size(), 0);
  double best = std::numeric_limits<double>::infinity();
  for (;;) {
    best = std::min(best, excess_by_ticks(problem, shift));
    std::size_t j = 1;
    for (; j < shift.size(); ++j) {
      if (++shift[j] < problem.period[j]) break;
      shift[j] = 0;
    }
    if (j >= shift.size()) return best;
  }
}

SpikedSlots::SpikedSlots(std::mt19937& rng) {
  constexpr std::array<int64_t, 6> kRates{0, 0, 11, 11, 5, 3};
  for (std::size_t j = 0; j < 3; ++j) {
    for (int64_t& rate : rate_[j]) rate = kRates[rng() % kRates.size()];
    spike_slot_[j] = rng() % kSlots;
  }
}

std::vector<JobPattern> SpikedSlots::patterns() const {
  std::vector<JobPattern> out;
  for (std::size_t j = 0; j < 3; ++j) {
    std::vector<Phase> phases{{static_cast<int64_t>(spike_slot_[j]) * slot, spike_ticks, spike}};
    for (std::size_t s = 0; s < kSlots; ++s) phases.push_back({static_cast<int64_t>(s) * slot, slot, rate_[j][s]});
    out.push_back(make_pattern(static_cast<int64_t>(kSlots) * slot, phases, 1));
  }
  return out;
}

double SpikedSlots::best() const {
  constexpr std::size_t kParts = 4;  // of a slot: enough for three jobs to stand in any order within it
  constexpr std::size_t kPlaces = kParts * kSlots;
  const int64_t part = slot / static_cast<int64_t>(kParts);
  int64_t best = std::numeric_limits<int64_t>::max();  // excess times ticks
  for (std::size_t code = 0; code < kPlaces * kPlaces; ++code) {
    const std::array<std::size_t, 3> shift{0, code % kPlaces, code / kPlaces};
    int64_t sum = 0;
    for (std::size_t at = 0; at < kPlaces; ++at) {
      int64_t demand = 0;
      int64_t spikes = 0;
      for (std::size_t j = 0; j < 3; ++j) {
        const std::size_t own = (at + kPlaces - shift[j]) % kPlaces;
        demand += rate_[j][own / kParts];
        spikes += own == kParts * spike_slot_[j] ? spike : 0;
      }
      sum += std::max<int64_t>(0, demand - capacity) * (part - spike_ticks) +
             std::max<int64_t>(0, demand + spikes - capacity) * spike_ticks;
    }
    best = std::min(best, sum);
  }
  return static_cast<double>(best) / static_cast<double>(static_cast<int64_t>(kSlots) * slot);
}

}  // namespace cassini::test
