#include "small_link.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <numeric>

namespace cassini::fuzz {
namespace {

constexpr int64_t kMostTicks = 50000;  // that one exhaustive look may take

struct Demands {
  std::vector<int64_t> start, length, rate;
};

int64_t next_period(Bytes& in, int64_t family) {
  switch (family) {
    case 0:
      return in.pick({12, 6, 4, 3, 2, 1});
    case 1:
      return in.pick({10, 5, 15, 6});
    case 2:
      return in.pick({8, 12, 16, 9});
    case 3:
      return in.pick({7, 14, 21});
    default:
      return in.in(1, 24);
  }
}

Demands some_phases(Bytes& in, int64_t period) {
  Demands out;
  for (int64_t p = in.once_in(12) ? in.in(0, 6) : in.in(0, 3); p > 0; --p) {
    out.start.push_back(in.in(0, period - 1));
    out.length.push_back(in.in(0, period));
    out.rate.push_back(in.in(0, 9));
  }
  return out;
}

void add_link(Bytes& in, const std::vector<Demands>& demands, const std::vector<int64_t>& who, int64_t unit,
              SmallLinks& out) {
  TickLink tick;
  const int64_t factor = in.once_in(5) ? 2 : 1;
  for (const int64_t j : who) {
    const auto at = static_cast<std::size_t>(j);
    std::vector<int64_t> rate = demands[at].rate;
    for (int64_t& r : rate) r *= unit * factor;
    tick.jobs.push_back({out.period[at], lay_out(out.period[at], demands[at].start, demands[at].length, rate)});
    out.job_period.push_back(out.period[at]);
    out.start.insert(out.start.end(), demands[at].start.begin(), demands[at].start.end());
    out.length.insert(out.length.end(), demands[at].length.begin(), demands[at].length.end());
    out.rate.insert(out.rate.end(), rate.begin(), rate.end());
    out.phase_offset.push_back(static_cast<int64_t>(out.start.size()));
  }
  tick.capacity = in.in(1, 24) * unit;
  tick.is_free = free_jobs(tick.jobs, out.resolution);
  out.capacity.push_back(tick.capacity);
  out.on.push_back(who);
  out.tick.push_back(tick);
  out.job_offset.push_back(static_cast<int64_t>(out.job_period.size()));
}

}  // namespace

SmallLinks small_links(Bytes& in, bool joint) {
  SmallLinks out;
  out.resolution = in.pick({0, 0, 0, 1, 2});
  const int64_t unit = in.pick({1, 1000000, 12347});
  const int64_t family = in.in(0, 4);
  std::vector<Demands> demands;
  int64_t choices = 1, circle = 1;
  const int64_t n_jobs = in.in(2, 5), n_links = joint ? in.in(1, 4) : 1;
  for (int64_t j = 0; j < n_jobs; ++j) {
    const int64_t period = next_period(in, family);
    circle = std::lcm(circle, period);
    if (j > 0) choices *= period;
    if (j > 1 && choices * circle * (j + 1) * n_links > kMostTicks) break;
    out.period.push_back(period);
    const bool again = j > 0 && out.period[static_cast<std::size_t>(j) - 1] == period && in.once_in(4);
    demands.push_back(again ? demands.back() : some_phases(in, period));
  }
  std::vector<int64_t> who(out.period.size());
  std::iota(who.begin(), who.end(), int64_t{0});
  for (int64_t l = 0; l < n_links; ++l) {
    std::vector<int64_t> some = who;
    if (joint) {
      for (std::size_t j = some.size(); j > 1; --j) std::swap(some[j - 1], some[in.index(j)]);
      some.resize(in.index(some.size()) + 1);
    }
    add_link(in, demands, some, unit, out);
  }
  return out;
}

std::vector<int64_t> SmallLinks::shifts_on(std::size_t link, const std::vector<int64_t>& shift) const {
  std::vector<int64_t> out;
  for (const int64_t j : on[link]) out.push_back(shift[static_cast<std::size_t>(j)]);
  return out;
}

std::vector<int64_t> small_shifts(Bytes& in, const std::vector<int64_t>& period) {
  std::vector<int64_t> out;
  for (const int64_t p : period) out.push_back(in.in(0, p - 1) + (in.once_in(8) ? p * in.in(-3, 3) : 0));
  return out;
}

double slack_of_rounding(double score) { return 1e-9 * std::fmax(1.0, std::fabs(score)); }

void check_slack(const TickLink& link, const std::vector<int64_t>& shift, const int64_t* slack, double tolerance,
                 bool exact) {
  const double here = score(link, shift);
  const double noise = slack_of_rounding(here);
  std::vector<int64_t> moved = shift;
  const auto drop = [&](std::size_t j, int64_t by) {
    moved[j] = shift[j] + by;
    const double out = here - score(link, moved);
    moved[j] = shift[j];
    return out;
  };
  for (std::size_t j = 0; j < shift.size(); ++j) {
    PROMISE(slack[j] >= 0 && slack[j] <= link.jobs[j].period / 2);
    for (int64_t x = 1; x <= slack[j]; ++x) {
      PROMISE(drop(j, x) <= tolerance + noise && drop(j, -x) <= tolerance + noise);
    }
    if (!exact || slack[j] == link.jobs[j].period / 2) continue;
    PROMISE(std::fmax(drop(j, slack[j] + 1), drop(j, -slack[j] - 1)) > tolerance - noise);
  }
}

void check_hold(Bytes& in, const TickLink& link, const std::vector<int64_t>& shift, int64_t hold, double tolerance) {
  const double here = score(link, shift);
  const double noise = slack_of_rounding(here);
  PROMISE(hold >= 0);
  const std::size_t n = shift.size();
  std::vector<int64_t> moved(n);
  // All corners, and some moves within.
  for (std::size_t corner = 0; corner < (std::size_t{1} << n); ++corner) {
    for (std::size_t j = 0; j < n; ++j) moved[j] = shift[j] + ((corner >> j & 1) != 0 ? hold : -hold);
    PROMISE(here - score(link, moved) <= tolerance + noise);
  }
  for (int tries = 0; tries < 8 && hold > 1; ++tries) {
    for (std::size_t j = 0; j < n; ++j) moved[j] = shift[j] + in.in(-hold, hold);
    PROMISE(here - score(link, moved) <= tolerance + noise);
  }
}

}  // namespace cassini::fuzz
