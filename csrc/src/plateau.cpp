#include "plateau.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace cassini {
namespace {

constexpr std::size_t kReadable = std::size_t{1} << 15;  // kinks worth reading for one slack of many
constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

// Largest whole x in [0, span) with value(x) <= limit, where value is linear from `v0` (<= limit) to `v1` (> limit).
template <class Value>
int64_t crossing(double v0, double v1, int64_t span, double limit, const Value& value) {
  const double part = (limit - v0) / (v1 - v0);
  int64_t high = span;
  int64_t x = std::clamp<int64_t>(static_cast<int64_t>(std::floor(part * static_cast<double>(span))), 0, span - 1);
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

// One side of reach(): direction +1 is later, -1 earlier. Returns false if nothing all the way round is worse.
bool one_side(const Marginal& marginal, int64_t shift, double limit, int direction, std::size_t readable, int64_t* work,
              int64_t* distance) {
  constexpr int64_t kMostWork = int64_t{1} << 19;
  const int64_t steps = std::max<int64_t>(256, kMostWork / marginal.reading_cost());
  const int64_t turn = marginal.turn();
  const int64_t from = wrap(shift, turn);
  int64_t done = 0;
  double value = marginal.at(from);
  const auto ends_before = [&](int64_t gap, double next) {
    if (next <= limit) {
      done = gap;
      value = next;
      return false;
    }
    const auto at = [&](int64_t x) { return marginal.at(from + direction * (done + x)); };
    *distance = done + crossing(value, next, gap - done, limit, at);
    return true;
  };
  // Mostly the end is near: walk from kink to kink.
  for (int64_t step = 0; step < steps && done < turn; ++step) {
    *work += marginal.reading_cost();
    const int64_t gap = std::min(turn, done + marginal.next_kink(from + direction * done, direction));
    if (ends_before(gap, marginal.at(from + direction * gap))) return true;
  }
  // With hundreds of phases a plateau can hold too many kinks for that: read all at once, or let what was walked count.
  if (done < turn && marginal.kink_count() <= readable) {
    Kinks kinks;
    Values values;
    marginal.profile(kinks, values);
    *work += static_cast<int64_t>(4 * kinks.size());
    const std::size_t n = kinks.size();
    const auto after = static_cast<std::size_t>(std::upper_bound(kinks.begin(), kinks.end(), from) - kinks.begin());
    const auto before = static_cast<std::size_t>(std::lower_bound(kinks.begin(), kinks.end(), from) - kinks.begin());
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t k = direction > 0 ? (after + i) % n : (before + 2 * n - 1 - i) % n;
      int64_t gap = direction > 0 ? wrap(kinks[k] - from, turn) : wrap(from - kinks[k], turn);
      if (gap == 0) gap = turn;
      if (gap > done && ends_before(gap, values[k])) return true;
    }
    return false;
  }
  *distance = done;
  return done < turn;
}

struct Slacks {
  std::vector<int64_t> movable;  // [movable] min(early, late), at most period / 2
  std::vector<Reach> flat;       // [movable] without any loss of score
  int64_t least = kAll;
  std::size_t tightest = 0;  // who has the least
};

// Slack and flat reach of every movable job. prefix/suffix sums keep this linear in the number of jobs.
// Out of time, the jobs left have none.
void movable_slack(const Link& link, std::span<const int64_t> shift, double tolerance, Budget& budget, Slacks& out) {
  const std::size_t n = link.size();
  double left = 0.0;
  for (const Circle& job : link.jobs) left += job.peak;
  std::vector<Demand> suffix(n + 1);
  for (std::size_t m = n; m-- > 1;) {
    left -= link.circle(m).peak;
    add(suffix[m + 1], link.folded[m], shift[m], link.capacity - left, link.limits, suffix[m], &budget.work);
  }
  left = link.movable_peak();
  Demand prefix = link.base;
  Demand scratch;
  Demand others;
  Marginal marginal;
  out.movable.assign(n, 0);
  out.flat.assign(n, Reach{});
  out.least = kAll;
  for (std::size_t m = 0; m < n; ++m) {
    if (!budget.in_time()) {
      out.least = 0;
      out.tightest = m;
      return;
    }
    add(prefix, suffix[m + 1], 0, link.capacity - link.circle(m).peak, link.limits, others, &budget.work);
    marginal.build(others, link.circle(m), link.capacity, &budget.work);
    const double here = marginal.at(shift[m]) + link.noise;
    const Reach r = reach(marginal, shift[m], here + tolerance, kReadable, &budget.work);
    out.flat[m] = tolerance > 0.0 ? reach(marginal, shift[m], here, kReadable, &budget.work) : r;
    const int64_t half = link.circle(m).period / 2;
    out.movable[m] = r.everywhere ? half : std::min({r.early, r.late, half});
    if (out.movable[m] < out.least) {
      out.least = out.movable[m];
      out.tightest = m;
    }
    left -= link.circle(m).peak;
    if (m + 1 == n) break;
    add(prefix, link.folded[m], shift[m], link.capacity - left, link.limits, scratch, &budget.work);
    std::swap(prefix, scratch);
  }
}

// Slack of one movable job, at most `most`.
int64_t slack_of(const Link& link, std::span<const int64_t> shift, std::size_t m, double tolerance, Budget& budget,
                 int64_t most) {
  Demand others;
  Marginal marginal;
  link.total(shift, m, others, &budget.work);
  marginal.build(others, link.circle(m), link.capacity, &budget.work);
  const Reach r = reach(marginal, shift[m], marginal.at(shift[m]) + tolerance + link.noise,
                        link.size() == 2 ? Limits::max_kinks : kReadable, &budget.work);
  return r.everywhere ? most : std::min({r.early, r.late, most});
}

// Mean excess when every movable job may stand anywhere within +-radius at every instant: more than any move costs.
double envelope_excess(const Link& link, std::span<const int64_t> shift, int64_t radius, int64_t* work) {
  double left = link.movable_peak();
  Demand sum = link.base;
  Demand scratch;
  for (std::size_t m = 0; m < link.size(); ++m) {
    left -= link.circle(m).peak;
    const bool probability = link.folded[m].weight == 1.0 && link.turn[m] != link.circle(m).period;
    const Demand wide = fold(widen(link.circle(m), radius), link.turn[m], probability);
    add(sum, wide, shift[m], link.capacity - left, link.limits, scratch, work);
    std::swap(sum, scratch);
  }
  return mean_excess(sum, link.capacity);
}

int64_t certified_hold(const Link& link, std::span<const int64_t> shift, double tolerance, int64_t least_slack,
                       Budget& budget) {
  constexpr std::size_t kMaxLevels =
      1024;  // an envelope of more levels costs more than it is worth: no hold is promised
  for (std::size_t m = 0; m < link.size(); ++m) {
    if (link.circle(m).levels.size() > kMaxLevels) return 0;
  }
  // The envelope's excess grows with the radius, piecewise linearly: false position on the radius, halving the interval
  // every other step. A thousandth is precise enough for a bound that is certified at any radius found.
  const double start = link.excess(shift, &budget.work);
  const double limit = start + tolerance;
  int64_t low = 0;
  int64_t high = least_slack;
  double below = start - limit;
  double above = envelope_excess(link, shift, high, &budget.work) - limit;
  if (above <= 0.0) return high;
  for (int step = 0; high - low > std::max<int64_t>(1, high >> 10) && budget.in_time(); ++step) {
    const double part = step % 2 == 0 ? below / (below - above) : 0.5;
    const int64_t radius =
        std::clamp(low + static_cast<int64_t>(part * static_cast<double>(high - low)), low + 1, high - 1);
    const double value = envelope_excess(link, shift, radius, &budget.work) - limit;
    (value <= 0.0 ? low : high) = radius;
    (value <= 0.0 ? below : above) = value;
  }
  return low;
}

}  // namespace

Reach reach(const Marginal& marginal, int64_t shift, double limit, std::size_t readable, int64_t* work) {
  Reach out;
  if (!one_side(marginal, shift, limit, 1, readable, work, &out.late)) {
    out.everywhere = true;
    return out;
  }
  one_side(marginal, shift, limit, -1, readable, work, &out.early);
  return out;
}

Optimum widest_minimum(const Marginal& marginal, double noise) {
  Kinks kinks;
  Values value;
  marginal.profile(kinks, value);
  const std::size_t n = kinks.size();
  const int64_t turn = marginal.turn();
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
    const int64_t width = wrap(kinks[last % n] - begin, turn);
    const int64_t middle = wrap(begin + width / 2, turn);
    if (width > widest || (width == widest && middle < best.shift)) {
      widest = width;
      best.shift = middle;
    }
    i = last;
  }
  return best;
}

Hold slack_and_hold(const Link& link, std::span<const int64_t> shift, double tolerance, Budget& budget) {
  Hold out;
  out.slack.resize(link.jobs.size());
  // Jobs whose shift does not matter have all the slack there is and limit the hold of nobody else.
  int64_t least = kAll;
  for (std::size_t j = 0; j < link.jobs.size(); ++j) {
    out.slack[j] = link.jobs[j].period / 2;
    least = std::min(least, out.slack[j]);
  }
  if (link.size() < 2) {
    out.hold = link.size() == 1 ? link.circle(0).period / 2 : least;
    return out;
  }
  if (link.size() == 2) {
    // Two jobs matter only through their difference: one reach serves both, and both moving takes twice the hold.
    const int64_t reach = slack_of(link, shift, 1, tolerance, budget, kAll);
    for (std::size_t m = 0; m < 2; ++m) {
      int64_t& slack = out.slack[link.movable[m]];
      slack = std::min(slack, reach);
    }
    out.hold = std::min(out.slack[link.movable[0]], out.slack[link.movable[1]]) / 2;
    return out;
  }
  Slacks slacks;
  movable_slack(link, shift, tolerance, budget, slacks);
  for (std::size_t m = 0; m < link.size(); ++m) out.slack[link.movable[m]] = slacks.movable[m];
  out.hold = certified_hold(link, shift, tolerance, slacks.least, budget);
  return out;
}

void centre(const Link& link, std::vector<int64_t>& shift, double tolerance, Budget& budget) {
  const std::size_t n = link.size();
  if (n < 3) return;  // a pair stands in the middle already
  Slacks now;
  Slacks tried;
  movable_slack(link, shift, tolerance, budget, now);
  // Moves are tried at most this often: enough for convergence with a few jobs, bounded with many.
  int64_t tries = std::max<int64_t>(12, 600 / static_cast<int64_t>(n));
  constexpr int64_t kMostWork = int64_t{1} << 24;
  const int64_t most_work = budget.work + kMostWork;
  // Measured from the first answer, so that noise cannot add up over many moves.
  const double limit = link.excess(shift, &budget.work) + link.noise;
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t m = 0; m < n; ++m) {
      const Reach flat = now.flat[m];
      const int64_t width = flat.early + flat.late;
      if (flat.everywhere || width < 2) continue;
      const int64_t kept = shift[m];
      // The middle is best for the job itself; the other points let it make room for a neighbour.
      for (const int64_t eighths : std::array<int64_t, 5>{4, 2, 6, 1, 7}) {
        const int64_t to = wrap(kept - flat.early + width / 8 * eighths + width % 8 * eighths / 8, link.turn[m]);
        if (to == kept) continue;
        if (tries-- <= 0 || budget.work > most_work || !budget.in_time()) return;
        shift[m] = to;
        // Most moves leave the tightest job as tight as it was: ask it first.
        bool better = slack_of(link, shift, now.tightest, tolerance, budget, kAll) > now.least;
        if (better) {
          movable_slack(link, shift, tolerance, budget, tried);
          better = tried.least > now.least && link.excess(shift, &budget.work) <= limit;
        }
        if (better) {
          std::swap(now, tried);
          moved = true;
          break;
        }
        shift[m] = kept;
      }
    }
  }
}

}  // namespace cassini
