#include "demand/marginal.hpp"

#include <algorithm>
#include <numeric>

#include "base/merge_runs.hpp"
#include "base/periods.hpp"

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

void Marginal::build(const Demand& demand, const JobPattern& job, double capacity, int64_t* work) {
  job_ = &job;
  modulus_ = demand.modulus == job.period ? job.period : std::gcd(demand.modulus, job.period);
  lay_arcs();
  const std::size_t n_levels = job.levels.size();
  *work += static_cast<int64_t>(demand.atoms.size() * n_levels + demand.size());
  // A table of every level at every interval: thousands of each would not fit into memory.
  if (n_levels * demand.size() > Limits::max_kinks) throw LimitExceeded{};
  if (n_levels * demand.atoms.size() > std::size_t{1} << 24) throw LimitExceeded{};
  at_.clear();
  if (modulus_ != demand.modulus) {
    fold_events(demand, capacity);
    join_equal_intervals();
  } else if (n_levels == 1) {
    read_one_level(demand, job.levels[0], capacity);
  } else {
    at_.append(demand.begin.begin(), demand.begin.end());
    at_.push_back(modulus_);
    double* rate = rate_.overwrite(n_levels * demand.size());
    for (std::size_t l = 0; l < n_levels; ++l) {
      for (std::size_t i = 0; i < demand.size(); ++i) *rate++ = gain(demand, i, job.levels[l], capacity);
    }
    join_equal_intervals();
  }
  const std::size_t n = at_.size() - 1;
  double* sum = sum_.overwrite(n_levels * (n + 1));
  for (std::size_t l = 0; l < n_levels; ++l, sum += n + 1) {
    const double* rate = &rate_[l * n];
    sum[0] = 0.0;
    for (std::size_t i = 0; i < n; ++i) sum[i + 1] = sum[i] + rate[i] * static_cast<double>(at_[i + 1] - at_[i]);
  }
  // Mean over the demand's circle and over the job's period of folded sums.
  scale_ = (static_cast<double>(modulus_) / static_cast<double>(demand.modulus)) /
           (static_cast<double>(job.period) * demand.weight);
}

void Marginal::lay_arcs() {
  const auto& segments = job_->segments;
  arc_.clear();
  std::size_t count = segments.size();
  // What goes on past the end of the iteration is one segment, not two.
  const bool wraps = count > 1 && segments[0].begin == 0 && segments[count - 1].end == job_->period &&
                     segments[0].level == segments[count - 1].level;
  if (wraps) --count;
  for (std::size_t i = wraps ? 1 : 0; i <= count; ++i) {
    if (i == count && !wraps) break;
    const Segment& s = segments[i];
    const int64_t length = s.end - s.begin + (i == count ? segments[0].end : 0);
    // On its own circle a segment needs no division.
    const bool whole = modulus_ == job_->period && length < modulus_;
    const int64_t turns = whole ? 0 : length / modulus_;
    arc_.push_back({whole ? s.begin : s.begin % modulus_, length - turns * modulus_, static_cast<double>(turns),
                    static_cast<std::size_t>(s.level)});
  }
}

// The demand's own intervals, for a job of one level; those that show the same gain are one.
void Marginal::read_one_level(const Demand& demand, double level, double capacity) {
  const std::size_t n = demand.size();
  int64_t* const at = at_.overwrite(n + 1);
  double* const rate = rate_.overwrite(n);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double here = gain(demand, i, level, capacity);
    if (kept > 0 && here == rate[kept - 1]) continue;
    at[kept] = demand.begin[i];
    rate[kept++] = here;
  }
  at[kept] = modulus_;
  at_.resize(kept + 1);
  rate_.resize(kept);
}

// Cuts the demand's circle into turns of modulus_ ticks and lays them on top of each other.
void Marginal::fold_events(const Demand& demand, double capacity) {
  const std::size_t n_levels = job_->levels.size();
  event_.clear();
  jump_.clear();
  SmallVector<double, 8> whole;
  SmallVector<double, 8> gains;
  whole.assign(n_levels, 0.0);
  gains.resize(n_levels);
  for (std::size_t i = 0; i < demand.size(); ++i) {
    bool any = false;
    for (std::size_t l = 0; l < n_levels; ++l) {
      gains[l] = gain(demand, i, job_->levels[l], capacity);
      any = any || gains[l] != 0.0;
    }
    if (!any) continue;
    const int64_t length = demand.end_of(i) - demand.begin[i];
    const double turns = static_cast<double>(length / modulus_);
    if (turns > 0.0) {
      for (std::size_t l = 0; l < n_levels; ++l) whole[l] += turns * gains[l];
    }
    const int64_t rest = length % modulus_;
    if (rest == 0) continue;
    const int64_t from = demand.begin[i] % modulus_;
    const auto push = [&](int64_t at, double sign) {
      event_.push_back({at, static_cast<uint32_t>(event_.size())});
      for (std::size_t l = 0; l < n_levels; ++l) jump_.push_back(sign * gains[l]);
    };
    push(from, 1.0);
    if (from + rest < modulus_) {
      push(from + rest, -1.0);
    } else if (from + rest > modulus_) {
      push(0, 1.0);
      push(from + rest - modulus_, -1.0);
    }
  }
  // Intervals ascend: there is one run for each turn of the circle that they go through, and equal events stay in order.
  run_.assign(1, 0);
  for (std::size_t e = 1; e < event_.size(); ++e) {
    if (event_[e].at < event_[e - 1].at) run_.push_back(e);
  }
  merge_runs(event_.data(), event_.size(), run_, merged_, [](const Event& x, const Event& y) { return x.at < y.at; });
  at_.push_back(0);
  for (const Event& event : event_) {
    if (event.at != at_.back()) at_.push_back(event.at);
  }
  at_.push_back(modulus_);
  const std::size_t n = at_.size() - 1;
  rate_.resize(n_levels * n);
  for (std::size_t l = 0; l < n_levels; ++l) {
    double rate = whole[l];
    std::size_t e = 0;
    for (std::size_t i = 0; i < n; ++i) {
      for (; e < event_.size() && event_[e].at == at_[i]; ++e) rate += jump_[event_[e].index * n_levels + l];
      // Cancelling events leave rounding noise at worst; a gain is never negative.
      rate_[l * n + i] = rate > 0.0 ? rate : 0.0;
    }
  }
}

std::size_t Marginal::interval_of(int64_t x) const {
  return static_cast<std::size_t>(std::upper_bound(at_.begin(), at_.end() - 1, x) - at_.begin()) - 1;
}

// Of the arc's level, over the arc from x (in interval i) to y (in interval k).
double Marginal::integral(const Arc& arc, int64_t x, std::size_t i, int64_t y, std::size_t k) const {
  const std::size_t n = at_.size() - 1;
  const double* sum = sum_.data() + arc.level * (n + 1);
  const double* rate = rate_.data() + arc.level * n;
  const double value = arc.turns * sum[n] + (sum[k] + rate[k] * static_cast<double>(y - at_[k])) -
                       (sum[i] + rate[i] * static_cast<double>(x - at_[i]));
  return x + arc.rest >= modulus_ ? value + sum[n] : value;
}

double Marginal::unscaled(int64_t shift) const {
  const int64_t first = wrap(shift, modulus_);
  double out = 0.0;
  for (const Arc& arc : arc_) {
    const int64_t x = rotated(arc.start, first);
    const int64_t y = rotated(x, arc.rest);
    out += integral(arc, x, interval_of(x), y, interval_of(y));
  }
  return out;
}

// A prefix sum of n terms is off by n roundings of the whole at most; the rest is a few more.
double Marginal::rounding() const {
  constexpr double kRounding = 0x1p-53;
  const std::size_t n = at_.size() - 1;
  double largest = 0.0;
  for (const Arc& arc : arc_) largest += (arc.turns + 2.0) * sum_[arc.level * (n + 1) + n];
  return static_cast<double>(n + 8) * kRounding * largest * scale_;
}

void Marginal::at_all(std::span<const int64_t> shifts, double* out) const {
  const std::size_t n = at_.size() - 1;
  const int64_t* at = at_.data();
  std::fill(out, out + shifts.size(), 0.0);
  if (shifts.empty()) return;
  // One pass per segment: the integral of its level from where it begins to where it ends, both advancing together.
  const int64_t first = wrap(shifts[0], modulus_);
  for (const Arc& arc : arc_) {
    const double* sum = sum_.data() + arc.level * (n + 1);
    const double* rate = rate_.data() + arc.level * n;
    const int64_t rest = arc.rest;
    const double whole = arc.turns * sum[n];
    int64_t x = rotated(arc.start, first);
    int64_t y = rotated(x, rest);
    std::size_t i = interval_of(x);
    std::size_t k = interval_of(y);
    for (std::size_t c = 0;;) {
      double value = whole + (sum[k] + rate[k] * static_cast<double>(y - at[k])) -
                     (sum[i] + rate[i] * static_cast<double>(x - at[i]));
      if (x + rest >= modulus_) value += sum[n];
      out[c] += value;
      if (++c == shifts.size()) break;
      const int64_t step = shifts[c] - shifts[c - 1];
      x = step >= 0 && step <= modulus_ - x - 1 ? x + step : wrap(arc.start + shifts[c], modulus_);
      y = rotated(x, rest);
      if (x < at[i]) i = 0;
      while (x >= at[i + 1]) ++i;
      if (y < at[k]) k = 0;
      while (y >= at[k + 1]) ++k;
    }
  }
  for (std::size_t c = 0; c < shifts.size(); ++c) out[c] *= scale_;
}

void Marginal::kinks(Kinks& out) const {
  if (at_.size() * (job_->edges.size() + 1) > Limits::max_kinks) throw LimitExceeded{};
  const std::size_t n = at_.size() - 1;
  int64_t* kink = out.overwrite(n * job_->edges.size() + 1);
  *kink++ = 0;
  for (const Edge& edge : job_->edges) {
    const int64_t from = edge.at < modulus_ ? edge.at : edge.at % modulus_;
    for (std::size_t i = 0; i < n; ++i) *kink++ = rotated_back(at_[i], from);
  }
  std::sort(out.begin(), out.end());
  out.erase_from(std::unique(out.begin(), out.end()));
}

void Marginal::valleys(Kinks& out) const {
  const std::size_t n = at_.size() - 1;
  if (n * (arc_.size() + 1) > Limits::max_kinks) throw LimitExceeded{};
  out.clear();
  // The slope is the rate where each segment ends less the rate where it begins.
  for (const Arc& arc : arc_) {
    const double* rate = rate_.data() + arc.level * n;
    const int64_t end = rotated(arc.start, arc.rest);
    double before = rate[n - 1];
    for (std::size_t i = 0; i < n; ++i) {
      if (rate[i] != before) {
        out.push_back(rotated_back(at_[i], rate[i] > before ? end : arc.start));
      }
      before = rate[i];
    }
  }
  if (out.empty()) out.push_back(0);
  std::sort(out.begin(), out.end());
  out.erase_from(std::unique(out.begin(), out.end()));
}

Minimum Marginal::minimum(Kinks& valleys, Values& values, int64_t* work) const {
  constexpr std::size_t kMany = 64;     // shifts for each interval: reading each is the square of the job's segments
  constexpr std::size_t kSorting = 16;  // levels touched for a change of slope that is sorted
  this->valleys(valleys);
  values.resize(valleys.size());
  const std::size_t n = at_.size() - 1;
  const bool swept = valleys.size() > kMany * n;
  if (swept) {
    sweep(valleys, values);
  } else {
    at_all({valleys.data(), valleys.size()}, values.data());
  }
  const std::size_t reading = std::max<std::size_t>(4, (1 + arc_.size()) / 2);
  *work += static_cast<int64_t>(swept ? 2 * kSorting * n * arc_.size() : reading * valleys.size());
  const auto first = static_cast<std::size_t>(std::min_element(values.begin(), values.end()) - values.begin());
  return {valleys[first], swept ? at(valleys[first]) : values[first]};
}

void Marginal::profile(Kinks& shifts, Values& values) const {
  constexpr std::size_t kFew = 8192;
  kinks(shifts);
  values.resize(shifts.size());
  if (shifts.size() * arc_.size() <= kFew) {
    at_all(shifts, values.data());
  } else {
    sweep(shifts, values);
  }
}

// Read off the piecewise linear form: with many kinks that is built faster than they are read.
void Marginal::sweep(const Kinks& shifts, Values& values) const {
  PiecewiseLinear function;
  SweepScratch scratch;
  profile(0.0, function, scratch);
  std::size_t k = 0;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    while (k + 1 < function.knots.size() && function.knots[k + 1].at <= shifts[i]) ++k;
    const Knot& knot = function.knots[k];
    values[i] = knot.value + knot.slope * static_cast<double>(shifts[i] - knot.at);
  }
}

Marginal::Walk::Walk(const Marginal& marginal, int64_t shift)
    : marginal_(marginal), shift_(wrap(shift, marginal.modulus_)) {
  for (const Arc& arc : marginal.arc_) {
    const int64_t x = marginal.rotated(arc.start, shift_);
    const int64_t y = marginal.rotated(x, arc.rest);
    const std::size_t i = marginal.interval_of(x);
    const std::size_t k = marginal.interval_of(y);
    value_ += marginal.integral(arc, x, i, y, k);
    end_.push_back({marginal.at_[i + 1] - x, i});
    end_.push_back({marginal.at_[k + 1] - y, k});
  }
}

// On a breakpoint an end belongs to the interval that it is about to enter.
Marginal::Walk Marginal::Walk::reversed() const {
  Walk out = *this;
  out.direction_ = -direction_;
  for (End& end : out.end_) {
    end.room = marginal_.at_[end.interval + 1] - marginal_.at_[end.interval] - end.room;
    if (end.room == 0) out.enter_next(end);
  }
  return out;
}

void Marginal::Walk::enter_next(End& end) const {
  const std::size_t last = marginal_.at_.size() - 2;
  if (direction_ > 0) {
    end.interval = end.interval < last ? end.interval + 1 : 0;
  } else {
    end.interval = end.interval > 0 ? end.interval - 1 : last;
  }
  end.room = marginal_.at_[end.interval + 1] - marginal_.at_[end.interval];
}

int64_t Marginal::Walk::step() {
  constexpr int64_t kAnchor = 1024;  // steps between exact readings, so that rounding cannot add up
  const std::size_t n = marginal_.at_.size() - 1;
  int64_t ticks = marginal_.modulus_;
  double slope = 0.0;
  for (std::size_t e = 0; e < end_.size(); e += 2) {
    const double* rate = marginal_.rate_.data() + marginal_.arc_[e / 2].level * n;
    slope += rate[end_[e + 1].interval] - rate[end_[e].interval];
    ticks = std::min({ticks, end_[e].room, end_[e + 1].room});
  }
  for (End& end : end_) {
    end.room -= ticks;
    if (end.room == 0) enter_next(end);
  }
  shift_ += direction_ * ticks;
  value_ += slope * static_cast<double>(direction_ * ticks);
  if (++steps_ % kAnchor == 0) value_ = marginal_.unscaled(shift_);
  return ticks;
}

// Breakpoints at which no level's rate changes are no kinks.
void Marginal::join_equal_intervals() {
  const std::size_t n = at_.size() - 1;
  const std::size_t n_levels = job_->levels.size();
  SmallVector<uint32_t, 32> kept;
  for (std::size_t i = 0; i < n; ++i) {
    bool changes = i == 0;
    for (std::size_t l = 0; l < n_levels && !changes; ++l) changes = rate_[l * n + i] != rate_[l * n + i - 1];
    if (changes) kept.push_back(static_cast<uint32_t>(i));
  }
  if (kept.size() == n) return;
  for (std::size_t l = 0; l < n_levels; ++l) {
    for (std::size_t i = 0; i < kept.size(); ++i) rate_[l * kept.size() + i] = rate_[l * n + kept[i]];
  }
  for (std::size_t i = 0; i < kept.size(); ++i) at_[i] = at_[kept[i]];
  at_[kept.size()] = modulus_;
  at_.resize(kept.size() + 1);
  rate_.resize(n_levels * kept.size());
}

// An arc of the job adds the integral of its level's rate from where it begins to where it ends: as the job moves, the
// slope is the rate at the end minus the rate at the beginning, and changes where one of the two meets a breakpoint.
void Marginal::profile(double offset, PiecewiseLinear& out, SweepScratch& scratch) const {
  constexpr std::size_t kAnchor = 1024;  // knots between exact readings, so that rounding cannot add up
  const std::size_t n = at_.size() - 1;
  scratch.bends.clear();
  scratch.runs.clear();
  double slope = 0.0;  // right of shift 0, unscaled
  // One run per end of an arc: the breakpoints in the order in which it meets them.
  const auto meet = [&](int64_t place, const double* rate, double sign) {
    scratch.runs.push_back(scratch.bends.size());
    const std::size_t here = interval_of(place);
    slope += sign * rate[here];
    for (std::size_t step = 1; step <= n; ++step) {
      const std::size_t i = here + step < n ? here + step : here + step - n;
      const double change = rate[i] - rate[i == 0 ? n - 1 : i - 1];
      if (change == 0.0) continue;
      const int64_t to = rotated_back(at_[i], place);
      if (to > 0) scratch.bends.push_back({to, sign * change});  // at 0 it is in the slope already
    }
  };
  for (const Arc& arc : arc_) {
    if (arc.rest == 0) continue;  // whole turns: the same at every shift
    const double* rate = rate_.data() + arc.level * n;
    meet(rotated(arc.start, arc.rest), rate, 1.0);
    meet(arc.start, rate, -1.0);
  }
  if (scratch.runs.empty()) scratch.runs.push_back(0);
  merge_runs(scratch.bends.data(), scratch.bends.size(), scratch.runs, scratch.merged, is_earlier);

  out.modulus = modulus_;
  out.knots.clear();
  out.knots.reserve(scratch.bends.size() + 1);
  double value = at(0) / scale_;
  int64_t here = 0;
  out.knots.push_back({0, offset + value * scale_, slope * scale_});
  for (std::size_t b = 0; b < scratch.bends.size();) {
    const int64_t next = scratch.bends[b].at;
    double change = 0.0;
    for (; b < scratch.bends.size() && scratch.bends[b].at == next; ++b) change += scratch.bends[b].change;
    if (change == 0.0) continue;
    value += slope * static_cast<double>(next - here);
    here = next;
    slope += change;
    if (out.knots.size() % kAnchor == 0) value = at(here) / scale_;
    out.knots.push_back({here, offset + value * scale_, slope * scale_});
  }
}

}  // namespace cassini
