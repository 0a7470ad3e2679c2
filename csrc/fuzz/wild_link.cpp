#include "wild_link.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "boundary.hpp"

namespace cassini::fuzz {
namespace {

constexpr int64_t kLongest = int64_t{1} << 18;  // phases that are worth having
constexpr int64_t kMaxRateSum = int64_t{1} << 53;

int64_t any_period(Bytes& in, int64_t style) {
  switch (style) {
    case 0:
      return in.pick({100, 150, 200, 255, 300, 400}) * 1000000;
    case 1:
      return in.in(1, 24);
    case 2:
      return in.in(1, 4000) * 100000;
    default:
      return in.in(1, CASSINI_MAX_PERIOD_NS);
  }
}

void add_phase(Bytes& in, WildLink& link, int64_t period) {
  link.start.push_back(in.in(0, 15) * (period / 16));
  link.length.push_back(in.once_in(4) ? in.in(0, period) : in.in(0, 8) * (period / 16));
  link.rate.push_back(in.once_in(8) ? in.in(0, CASSINI_MAX_RATE_KBPS) : in.in(0, 20) * 2500000);
  spoil(in, link.start.back());
  spoil(in, link.length.back());
  spoil(in, link.rate.back());
}

void choose_options(Bytes& in, cassini_options& o, int64_t& angles) {
  const bool exact = in.in(0, 1) == 0;
  angles = in.in(1, 400);
  if (exact) angles = 0;
  o.resolution_ns = in.pick({500000, 0, 1, 3, 1000000, CASSINI_MAX_PERIOD_NS});
  o.slack_tolerance = static_cast<double>(in.in(0, 100)) / 500.0;
  o.node_limit = in.in(1, 300);
  o.max_events = in.once_in(4) ? in.in(1, 64) : 2048;
  o.max_levels = in.once_in(4) ? in.in(1, 16) : 128;
  if (in.once_in(8)) o.deadline_ns = in.pick({0, 1, 100000, std::numeric_limits<int64_t>::max() - 1});
}

// One field out of its range.
void spoil_options(Bytes& in, cassini_options& o) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kTooMany = (int64_t{1} << 22) + 1;
  switch (in.in(0, 7)) {
    case 0:
      o.resolution_ns = in.once_in(2) ? -2 - in.byte() : -1 - in.byte();
      break;
    case 1:
      o.max_levels = -1 - in.byte();
      break;
    case 2:
      o.node_limit = in.pick({0, -1, kMin, -CASSINI_MAX_ANGLES});
      break;
    case 3:
      o.resolution_ns = in.pick({-1, kMin, CASSINI_MAX_PERIOD_NS + 1});
      break;
    case 4:
      o.slack_tolerance = std::array{std::nan(""), -1e-9, -HUGE_VAL, HUGE_VAL}[in.index(4)];
      break;
    case 5:
      o.node_limit = in.pick({0, -1, kMin});
      break;
    case 6:
      o.deadline_ns = in.pick({-1, kMin});
      break;
    default:
      (in.once_in(2) ? o.max_events : o.max_levels) = in.pick({0, -1, kMin, kTooMany});
  }
}

}  // namespace

void spoil(Bytes& in, int64_t& number, int64_t often) {
  if (in.once_in(often)) number = in.wild();
}

bool sound_link(const WildLink& all, int64_t first, int64_t n_jobs, int64_t capacity) {
  if (n_jobs < 1 || n_jobs > CASSINI_MAX_JOBS || capacity < 1 || capacity > CASSINI_MAX_RATE_KBPS) return false;
  if (all.no_period || all.no_offset) return false;
  const int64_t* offset = all.offset.data() + first;
  if (offset[0] < 0 || !std::is_sorted(offset, offset + n_jobs + 1)) return false;
  const int64_t n_phases = offset[n_jobs] - offset[0];
  if (n_phases > CASSINI_MAX_PHASES || (all.no_phases && n_phases > 0)) return false;
  int64_t sum = 0;
  for (int64_t j = 0; j < n_jobs; ++j) {
    const int64_t period = all.period[static_cast<std::size_t>(first + j)];
    if (period < 1 || period > CASSINI_MAX_PERIOD_NS) return false;
    for (int64_t p = offset[j]; p < offset[j + 1]; ++p) {
      const auto i = static_cast<std::size_t>(p);
      if (all.start[i] < 0 || all.start[i] >= period || all.length[i] < 0 || all.length[i] > period) return false;
      if (all.rate[i] < 0 || all.rate[i] > CASSINI_MAX_RATE_KBPS) return false;
      sum += all.rate[i];
    }
  }
  return sum <= kMaxRateSum;
}

cassini_link WildLink::c() const {
  auto out = test::sized<cassini_link>();
  out.capacity_kbps = capacity;
  out.n_jobs = n_jobs;
  out.period_ns = periods();
  out.phase_offset = offsets();
  out.n_phases = n_phases;
  out.phase_start_ns = starts();
  out.phase_length_ns = length.data();
  out.phase_rate_kbps = rate.data();
  return out;
}

bool WildLink::sound() const { return sound_link(*this, 0, n_jobs, capacity); }

void keep_promised_lengths(WildLink& link, int64_t n_total_jobs) {
  const auto n = static_cast<std::size_t>(n_total_jobs);
  int64_t end = 0;
  for (std::size_t j = 0; j <= n; ++j) end = std::max(end, link.offset[j]);
  link.n_phases = std::max(end, static_cast<int64_t>(link.start.size()));
  if (end > kLongest) {
    link.no_phases = true;
    return;
  }
  for (Array* array : {&link.start, &link.length, &link.rate}) {
    array->resize(std::max(array->size(), static_cast<std::size_t>(end)), 1);
    array->shrink_to_fit();
  }
}

WildLink wild_link(Bytes& in) {
  WildLink out;
  out.n_jobs = in.once_in(16) ? in.in(1, 40) : in.in(1, 5);
  const int64_t style = in.in(0, 3);
  out.offset.push_back(in.once_in(16) ? in.in(0, 3) : 0);
  for (int64_t i = 0; i < out.offset[0]; ++i) add_phase(in, out, 16);
  for (int64_t j = 0; j < out.n_jobs; ++j) {
    const int64_t period = j > 0 && in.once_in(2) ? out.period.back() : any_period(in, style);
    out.period.push_back(period);
    for (int64_t p = in.once_in(32) ? in.in(0, 200) : in.in(0, 3); p > 0; --p) add_phase(in, out, period);
    spoil(in, out.period.back());
    out.offset.push_back(static_cast<int64_t>(out.start.size()));
  }
  out.capacity = in.once_in(8) ? in.in(1, CASSINI_MAX_RATE_KBPS) : in.in(1, 20) * 5000000;
  spoil(in, out.capacity);
  if (in.once_in(30)) out.offset[in.index(out.offset.size())] = in.once_in(2) ? in.wild() : in.in(0, 300);
  keep_promised_lengths(out, out.n_jobs);
  if (in.once_in(60)) out.n_jobs = in.pick({0, -1, CASSINI_MAX_JOBS + 1, std::numeric_limits<int64_t>::max()});
  out.no_period = in.once_in(100);
  out.no_offset = in.once_in(100);
  out.no_phases = out.no_phases || in.once_in(100);
  for (Array* array : {&out.period, &out.offset}) array->shrink_to_fit();
  return out;
}

std::unique_ptr<WildOptions> wild_options(Bytes& in, bool small) {
  auto out = std::make_unique<WildOptions>();
  if (small && in.once_in(4)) {
    out->none = true;
    return out;
  }
  cassini_options o;
  PROMISE(cassini_init_options(&o, sizeof o) == CASSINI_OK);
  choose_options(in, o, out->angles);
  out->has_flag = in.once_in(8);
  out->flag = in.once_in(16) ? 1 : 0;
  if (in.once_in(6)) {
    spoil_options(in, o);
    out->sound = false;
  }
  std::size_t more = in.once_in(8) ? in.index(5) * 8 : 0;  // of a later header
  const bool odd = in.once_in(40);
  if (odd) o.size = wrong_size(in);
  if (!odd) o.size += static_cast<int64_t>(more);
  out->given.resize(sizeof o + more, 0);
  out->given.shrink_to_fit();
  std::memcpy(out->given.data(), &o, sizeof o);
  const bool unknown = more > 0 && in.once_in(4);  // a field that the library does not have is not zero
  if (unknown) out->given.back() = 1;
  out->sound = out->sound && !odd && !unknown;
  out->in_haste = o.deadline_ns != std::numeric_limits<int64_t>::max() || out->canceled();
  return out;
}

}  // namespace cassini::fuzz
