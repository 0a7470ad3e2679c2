#include <algorithm>
#include <array>

#include "small_link.hpp"

namespace cassini::fuzz {
namespace {

constexpr int64_t kSlots = 16;
constexpr int64_t kSlot = int64_t{1} << 36;  // ns; the slots fill the longest iteration time there is
constexpr std::size_t kJobs = 3;

// Jobs with one rate a slot, each with one tick at a rate far above the capacity.
struct SpikedLink {
  std::array<std::array<int64_t, kSlots>, kJobs> rate{};
  std::array<int64_t, kJobs> spike_slot{};
  int64_t spike_rate = 0;
  int64_t capacity = 0;

  // Excess in kbit/s times ticks over one iteration, with jobs 1 and 2 later by so many slots.
  int64_t excess(int64_t later_1, int64_t later_2) const {
    const std::array<int64_t, kJobs> later{0, later_1, later_2};
    int64_t sum = 0;
    for (int64_t slot = 0; slot < kSlots; ++slot) {
      int64_t demand = 0, spikes = 0;
      for (std::size_t j = 0; j < kJobs; ++j) {
        const int64_t own = (slot + kSlots - later[j]) % kSlots;
        demand += rate[j][static_cast<std::size_t>(own)];
        if (own == spike_slot[j]) spikes += spike_rate;
      }
      sum += std::max<int64_t>(0, demand - capacity) * (kSlot - 1) + std::max<int64_t>(0, demand + spikes - capacity);
    }
    return sum;
  }

  // The best score of shifts by whole slots: no bound on any shifts may be less.
  double score_by_slots() const {
    int64_t least = excess(0, 0);
    for (int64_t a = 0; a < kSlots; ++a) {
      for (int64_t b = 0; b < kSlots; ++b) least = std::min(least, excess(a, b));
    }
    return 1.0 - static_cast<double>(least) / static_cast<double>(kSlots * kSlot) / static_cast<double>(capacity);
  }
};

SpikedLink spiked_link(Bytes& in) {
  SpikedLink out;
  out.capacity = in.in(1, 24);
  out.spike_rate = int64_t{1} << in.in(4, 40);
  const int64_t most = in.in(1, 24);
  for (std::size_t j = 0; j < kJobs; ++j) {
    for (int64_t& rate : out.rate[j]) rate = in.in(0, most);
    out.spike_slot[j] = in.in(0, kSlots - 1);
  }
  return out;
}

}  // namespace

void fuzz_spiked_link(Bytes& in) {
  const SpikedLink spiked = spiked_link(in);
  std::vector<int64_t> period, phase_offset{0}, start, length, rate;
  for (std::size_t j = 0; j < kJobs; ++j) {
    period.push_back(kSlots * kSlot);
    start.push_back(spiked.spike_slot[j] * kSlot);
    length.push_back(1);
    rate.push_back(spiked.spike_rate);
    for (int64_t slot = 0; slot < kSlots; ++slot) {
      start.push_back(slot * kSlot);
      length.push_back(kSlot);
      rate.push_back(spiked.rate[j][static_cast<std::size_t>(slot)]);
    }
    phase_offset.push_back(static_cast<int64_t>(start.size()));
  }
  cassini_options options;
  PROMISE(cassini_init_options(&options, sizeof options) == CASSINI_OK);
  options.resolution_ns = 0;
  options.node_limit = 20000;
  std::array<int64_t, kJobs> shift{};
  std::array<uint8_t, kJobs> is_free{};
  auto r = test::sized<cassini_link_result>();
  const cassini_link link = test::link_of(spiked.capacity, 0, kJobs, period, phase_offset, start, length, rate);
  const cassini_link_output to = test::link_output(shift.data(), nullptr, is_free.data());
  PROMISE(cassini_solve_link(&link, &options, nullptr, &to, &r, nullptr) == CASSINI_OK);
  const double reached = spiked.score_by_slots();
  PROMISE(r.score_lower <= r.score_upper && r.score_lower <= r.upper_bound + slack_of_rounding(r.upper_bound));
  PROMISE(r.upper_bound >= reached - slack_of_rounding(reached));
  PROMISE(r.optimal == 0 || r.score_lower >= reached - 2 * slack_of_rounding(reached));
}

}  // namespace cassini::fuzz
