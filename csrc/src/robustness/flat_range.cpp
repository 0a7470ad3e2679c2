#include "robustness/flat_range.hpp"

#include <algorithm>

#include "base/periods.hpp"

namespace cassini {
namespace {

// Largest whole x in [0, span) with value(x) <= limit, where value is linear from `v0` (<= limit) to `v1` (> limit).
// Where a tick changes the value by much more than `rounding` there is no need to ask.
template <class Value>
int64_t crossing(double v0, double v1, int64_t span, double limit, double rounding, const Value& value) {
  constexpr double kMuchMore = 1024.0;
  const double part = (limit - v0) / (v1 - v0);
  int64_t high = span;
  int64_t x = std::clamp<int64_t>(static_cast<int64_t>(part * static_cast<double>(span)), 0, span - 1);
  if (v1 - v0 > kMuchMore * rounding * static_cast<double>(span)) return x;
  // The guess is right but for rounding: halve the way back where it is not.
  while (x > 0 && value(x) > limit) {
    high = x;
    x /= 2;
  }
  while (x + 1 < high && high < span) {
    const int64_t middle = x + (high - x) / 2;
    (value(middle) <= limit ? x : high) = middle;
  }
  return x;
}

// One side of reaches(), walked once for limits that do not fall: direction +1 is later, -1 earlier.
class Side {
 public:
  Side(const Marginal& marginal, Marginal::Walk& walk, int64_t shift, int direction, double rounding,
       std::size_t readable, int64_t* work)
      : marginal_(marginal),
        from_(wrap(shift, marginal.modulus())),
        direction_(direction),
        readable_(readable),
        work_(work),
        walk_(walk),
        rounding_(rounding),
        value_(walk_.value()) {}

  // Sets how far nothing is worse than the limit. False if that is all the way round.
  bool ends(double limit, int64_t* distance) {
    const int64_t modulus = marginal_.modulus();
    // Mostly the end is near: walk from kink to kink.
    for (; done_ < modulus && (ahead_ || steps_ < kFewSteps || spent_ < kMostWork); ahead_ = false) {
      if (!ahead_) {
        *work_ += marginal_.reading_cost();
        spent_ += marginal_.reading_cost();
        ++steps_;
        gap_ = std::min(modulus, done_ + walk_.step());
        next_ = walk_.value();
        ahead_ = true;
      }
      if (ends_before(gap_, next_, limit, distance)) return true;
    }
    if (done_ < modulus && marginal_.kink_count() <= readable_) return ends_among_all(limit, distance);
    *distance = done_;
    return done_ < modulus;
  }

 private:
  static constexpr int64_t kFewSteps = 256;
  static constexpr int64_t kMostWork = int64_t{1} << 19;

  bool ends_before(int64_t gap, double next, double limit, int64_t* distance) {
    if (next <= limit) {
      done_ = gap;
      value_ = next;
      return false;
    }
    const auto at = [&](int64_t x) { return marginal_.at(from_ + direction_ * (done_ + x)); };
    *distance = done_ + crossing(value_, next, gap - done_, limit, rounding_, at);
    return true;
  }

  // With hundreds of phases a plateau can hold too many kinks for walking: all are read at once.
  bool ends_among_all(double limit, int64_t* distance) {
    Kinks kinks;
    Values values;
    marginal_.profile(kinks, values);
    *work_ += static_cast<int64_t>(4 * kinks.size());
    const std::size_t n = kinks.size();
    const int64_t modulus = marginal_.modulus();
    const auto after = static_cast<std::size_t>(std::upper_bound(kinks.begin(), kinks.end(), from_) - kinks.begin());
    const auto before = static_cast<std::size_t>(std::lower_bound(kinks.begin(), kinks.end(), from_) - kinks.begin());
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = direction_ > 0 ? (after + i) % n : (before + 2 * n - 1 - i) % n;
      int64_t gap = direction_ > 0 ? wrap(kinks[k] - from_, modulus) : wrap(from_ - kinks[k], modulus);
      if (gap == 0) gap = modulus;
      if (gap > done_ && ends_before(gap, values[k], limit, distance)) return true;
    }
    return false;
  }

  const Marginal& marginal_;
  int64_t from_;
  int direction_;
  std::size_t readable_;
  int64_t* work_;
  Marginal::Walk& walk_;
  double rounding_;
  int64_t steps_ = 0;
  int64_t spent_ = 0;  // work
  int64_t done_ = 0;   // so far nothing is worse than the last limit; the marginal is linear from here to gap_
  double value_;
  bool ahead_ = false;  // the next kink has been read: gap_ ticks away, worth next_
  int64_t gap_ = 0;
  double next_ = 0.0;
};

}  // namespace

Reaches reaches(const Marginal& marginal, int64_t shift, double near, double far, std::size_t readable, int64_t* work) {
  Reaches out;
  Marginal::Walk later(marginal, shift);
  Marginal::Walk earlier = later.reversed();
  out.value = later.value();
  const double near_limit = out.value + near;
  const double far_limit = out.value + far;
  const double rounding = marginal.rounding();
  Side late(marginal, later, shift, 1, rounding, readable, work);
  out.near.everywhere = !late.ends(near_limit, &out.near.late);
  out.far.everywhere = near < far ? !late.ends(far_limit, &out.far.late) : out.near.everywhere;
  out.far.late = near < far ? out.far.late : out.near.late;
  if (out.near.everywhere) return out;
  Side early(marginal, earlier, shift, -1, rounding, readable, work);
  early.ends(near_limit, &out.near.early);
  out.far.early = out.near.early;
  if (near < far && !out.far.everywhere) early.ends(far_limit, &out.far.early);
  return out;
}

Optimum widest_minimum(const Marginal& marginal, double noise) {
  Kinks kinks;
  Values value;
  marginal.profile(kinks, value);
  const std::size_t n = kinks.size();
  const int64_t modulus = marginal.modulus();
  const double least = *std::min_element(value.begin(), value.end());
  const auto flat = [&](std::size_t i) { return value[i % n] <= least + noise; };
  std::size_t wall = 0;
  while (wall < n && flat(wall)) ++wall;
  if (wall == n) return {0, least};  // constant: the shift does not matter
  // Walk once round from a kink that is not least, so that no plateau is cut.
  Optimum best{0, least};
  int64_t widest = -1;
  for (std::size_t i = wall + 1; i < wall + n; ++i) {
    if (!flat(i)) continue;
    std::size_t last = i;
    while (flat(last + 1)) ++last;  // ends at the wall at the latest
    const int64_t begin = kinks[i % n];
    const int64_t width = wrap(kinks[last % n] - begin, modulus);
    const int64_t middle = wrap(begin + width / 2, modulus);
    if (width > widest || (width == widest && middle < best.shift)) {
      widest = width;
      best.shift = middle;
    }
    i = last;
  }
  return best;
}

}  // namespace cassini
