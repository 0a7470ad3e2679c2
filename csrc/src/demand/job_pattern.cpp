#include "demand/job_pattern.hpp"

#include <algorithm>
#include <limits>

#include "base/periods.hpp"

namespace cassini {
namespace {

// Closes a list of steps into segments, levels and edges.
struct Step {
  int64_t at;
  double rate;  // from here on
};
using Steps = SmallVector<Step, 16>;

JobPattern from_steps(int64_t period, const Steps& steps) {
  JobPattern pattern;
  pattern.period = period;
  auto& levels = pattern.levels;
  for (const Step& step : steps) {
    if (step.rate > 0.0) levels.push_back(step.rate);
  }
  std::sort(levels.begin(), levels.end());
  levels.erase_from(std::unique(levels.begin(), levels.end()));
  const std::size_t n = steps.size();
  for (std::size_t i = 0; i < n; ++i) {
    const int64_t begin = steps[i].at;
    const int64_t end = i + 1 < n ? steps[i + 1].at : period;
    const double rate = steps[i].rate;
    if (rate > 0.0) {
      const auto level = std::lower_bound(levels.begin(), levels.end(), rate) - levels.begin();
      pattern.segments.push_back({begin, end, static_cast<int32_t>(level)});
      pattern.area += rate * static_cast<double>(end - begin);
      pattern.peak = std::max(pattern.peak, rate);
    }
    const double before = steps[i == 0 ? n - 1 : i - 1].rate;
    if (rate != before) pattern.edges.push_back({begin, rate > before});
  }
  return pattern;
}

}  // namespace

double folded_events(std::span<const int64_t> moduli, std::span<const JobPattern* const> jobs) {
  int64_t perimeter = 1;
  for (const int64_t modulus : moduli) perimeter = lcm_capped(perimeter, modulus);
  if (perimeter >= kTooLarge) return std::numeric_limits<double>::infinity();
  double events = 0.0;
  for (std::size_t i = 0; i < moduli.size(); ++i) {
    events += static_cast<double>(jobs[i]->edges.size()) * static_cast<double>(perimeter / moduli[i]);
  }
  return events;
}

JobPattern make_pattern(int64_t period, std::span<const Phase> phases, int64_t unit) {
  struct Jump {
    int64_t at;
    int64_t change;  // of rate, in units
  };
  SmallVector<Jump, 24> jumps;
  for (const Phase& phase : phases) {
    if (phase.length == 0 || phase.rate == 0) continue;
    const int64_t rate = phase.rate / unit;
    const int64_t end = phase.start + phase.length;
    jumps.push_back({phase.start, rate});
    if (end <= period) {
      jumps.push_back({end, -rate});
    } else {
      jumps.push_back({period, -rate});
      jumps.push_back({0, rate});
      jumps.push_back({end - period, -rate});
    }
  }
  std::sort(jumps.begin(), jumps.end(),
            [](const Jump& x, const Jump& y) { return x.at != y.at ? x.at < y.at : x.change < y.change; });
  Steps steps{{0, 0.0}};
  int64_t rate = 0;
  for (std::size_t i = 0; i < jumps.size();) {
    const int64_t at = jumps[i].at;
    const int64_t before = rate;
    for (; i < jumps.size() && jumps[i].at == at; ++i) rate += jumps[i].change;
    if (at >= period || rate == before) continue;
    if (at == 0) {
      steps[0].rate = static_cast<double>(rate);
    } else {
      steps.push_back({at, static_cast<double>(rate)});
    }
  }
  return from_steps(period, steps);
}

JobPattern widen(const JobPattern& pattern, int64_t reach) {
  if (pattern.constant() || reach == 0) return pattern;
  // Upper envelope by levels, highest first: position -> rate, from intervals [begin - reach, end + reach).
  struct Mark {
    int64_t at;
    int32_t level;
  };
  SmallVector<Mark, 12> opens;
  SmallVector<Mark, 12> closes;
  const int64_t period = pattern.period;
  for (const Segment& s : pattern.segments) {
    if (s.end - s.begin + 2 * reach >= period) {
      opens.push_back({0, s.level});
      closes.push_back({period, s.level});
      continue;
    }
    const int64_t begin = wrap(s.begin - reach, period);
    const int64_t end = begin + (s.end - s.begin) + 2 * reach;
    opens.push_back({begin, s.level});
    if (end <= period) {
      closes.push_back({end, s.level});
    } else {
      closes.push_back({period, s.level});
      opens.push_back({0, s.level});
      closes.push_back({end - period, s.level});
    }
  }
  const auto by_place = [](const Mark& x, const Mark& y) { return x.at != y.at ? x.at < y.at : x.level < y.level; };
  std::sort(opens.begin(), opens.end(), by_place);
  std::sort(closes.begin(), closes.end(), by_place);
  SmallVector<int32_t, 4> active;
  active.assign(pattern.levels.size(), 0);
  Steps steps;
  std::size_t o = 0;
  std::size_t c = 0;
  int64_t at = 0;
  while (at < period) {
    while (o < opens.size() && opens[o].at == at) ++active[static_cast<std::size_t>(opens[o++].level)];
    while (c < closes.size() && closes[c].at == at) --active[static_cast<std::size_t>(closes[c++].level)];
    double rate = 0.0;
    for (std::size_t l = active.size(); l-- > 0;) {
      if (active[l] > 0) {
        rate = pattern.levels[l];
        break;
      }
    }
    if (steps.empty() || steps.back().rate != rate) steps.push_back({at, rate});
    int64_t next = period;
    if (o < opens.size()) next = std::min(next, opens[o].at);
    if (c < closes.size()) next = std::min(next, closes[c].at);
    at = next;
  }
  return from_steps(period, steps);
}

bool operator==(const JobPattern& a, const JobPattern& b) {
  const auto same = [](const Segment& x, const Segment& y) {
    return x.begin == y.begin && x.end == y.end && x.level == y.level;
  };
  return a.period == b.period && std::equal(a.levels.begin(), a.levels.end(), b.levels.begin(), b.levels.end()) &&
         a.segments.size() == b.segments.size() &&
         std::equal(a.segments.begin(), a.segments.end(), b.segments.begin(), same);
}

bool content_before(const JobPattern& a, const JobPattern& b) {
  if (a.mean() != b.mean()) return a.mean() > b.mean();
  if (a.period != b.period) return a.period < b.period;
  if (!std::equal(a.levels.begin(), a.levels.end(), b.levels.begin(), b.levels.end())) {
    return std::lexicographical_compare(a.levels.begin(), a.levels.end(), b.levels.begin(), b.levels.end());
  }
  const auto key_less = [](const Segment& x, const Segment& y) {
    if (x.begin != y.begin) return x.begin < y.begin;
    if (x.end != y.end) return x.end < y.end;
    return x.level < y.level;
  };
  return std::lexicographical_compare(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(),
                                      key_less);
}

}  // namespace cassini
