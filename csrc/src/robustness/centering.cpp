#include "robustness/centering.hpp"

#include <algorithm>
#include <array>

#include "base/periods.hpp"
#include "demand/marginal.hpp"
#include "demand/shifted_demand.hpp"
#include "robustness/slack.hpp"

namespace cassini {
namespace {

// The middle is best for the job itself; the other points let it make room for a neighbour.
constexpr std::array<int64_t, 5> kEighths{1, 2, 4, 6, 7};
constexpr std::array<std::size_t, 5> kOrder{2, 1, 3, 0, 4};
using Moves = std::array<int64_t, kEighths.size()>;
using Marks = std::array<bool, kEighths.size()>;

class Centring {
 public:
  Centring(const Link& link, std::vector<int64_t>& shift, double tolerance, Budget& budget)
      : link_(link), shift_(shift), tolerance_(tolerance), budget_(budget), table_(link, tolerance, budget) {}

  std::vector<int64_t> run() {
    const std::size_t n = link_.size();
    table_.measure(shift_, n, SlackTable::kAny, *now_);
    table_.keep(n);
    // Measured from the first answer, so that noise cannot add up over many moves.
    limit_ = now_->excess + link_.noise;
    // Tried at most this often: enough for convergence with a few jobs, bounded with many.
    tries_ = std::max<int64_t>(12, 6000 / static_cast<int64_t>(n));
    most_work_ = budget_.work + link_.limits.max_sum_work();
    // Until every job has been asked in vain since the last move.
    for (std::size_t m = 0, vain = 0; vain < n && tries_ > 0; m = m + 1 < n ? m + 1 : 0) {
      vain = improve(m) ? 0 : vain + 1;
    }
    return {now_->movable.begin(), now_->movable.end()};
  }

 private:
  // Tries to move one job so that the least slack of all grows, or else that fewer jobs have it.
  bool improve(std::size_t m) {
    const Reach flat = now_->reach[m].near;
    const int64_t width = flat.early + flat.late;
    if (flat.everywhere || width < 2) return false;
    // Nobody can have more slack than half its iteration.
    const std::size_t t = now_->tightest;
    if (now_->least >= link_.pattern(t).period / 2) return stop();
    if (tries_-- <= 0 || budget_.work > most_work_ || !budget_.in_time()) return stop();
    Moves move;
    for (std::size_t i = 0; i < move.size(); ++i) {
      move[i] = width / 8 * kEighths[i] + width % 8 * kEighths[i] / 8 - flat.early;
    }
    Marks marks = m == t ? eased_by_itself(m, move) : eased_by(m, move);
    Marks aside{};
    if (now_->movable[m] == now_->least) {
      const std::size_t middle = kOrder[0];
      aside[middle] = m == t ? marks[middle] : !marks[middle] && eased_by_itself(m, move)[middle];
      marks[middle] = marks[middle] || aside[middle];
    }
    const int64_t kept = shift_[m];
    for (const std::size_t i : kOrder) {
      if (!marks[i] || move[i] == 0) continue;
      if (tries_-- <= 0 || budget_.work > most_work_ || !budget_.in_time()) return stop();
      shift_[m] = wrap(kept + move[i], link_.modulus[m]);
      if (table_.measure(shift_, m, now_->least - (aside[i] ? 1 : 0), *tried_) && is_better() &&
          tried_->excess <= limit_) {
        table_.keep(m);
        std::swap(now_, tried_);
        return true;
      }
      shift_[m] = kept;
    }
    return false;
  }

  bool is_better() const {
    return tried_->least > now_->least || (tried_->least == now_->least && at_least(*tried_) < at_least(*now_));
  }

  static std::ptrdiff_t at_least(const Slacks& slacks) {
    return std::count(slacks.movable.begin(), slacks.movable.end(), slacks.least);
  }

  bool stop() {
    tries_ = 0;
    return false;
  }

  // Which moves of a job leave it more slack than the least. On a plateau both its ends stay where they are.
  Marks eased_by_itself(std::size_t m, const Moves& move) const {
    const Reach far = now_->reach[m].far;
    Marks out;
    for (std::size_t i = 0; i < move.size(); ++i) {
      out[i] = std::min(far.early + move[i], far.late - move[i]) > now_->least;
    }
    return out;
  }

  // Which moves of job m may leave the tightest job more slack: it must then be able to go one tick beyond its slack,
  // either way. Every move is asked at once by the marginal of m with the tightest job moved there.
  Marks eased_by(std::size_t m, const Moves& move) {
    const Reach far = now_->reach[now_->tightest].far;
    Marks out;
    out.fill(true);
    const int first = far.late <= far.early ? 1 : -1;  // the side that limits it
    for (const int side : {first, -first}) {
      if (std::none_of(out.begin(), out.end(), [](bool mark) { return mark; })) break;
      const ShiftedDemand others = without(m, now_->tightest, side * (now_->least + 1));
      // Three times the noise: of the plateau, of the limit, and of this sum.
      const double limit = now_->excess + tolerance_ + 3.0 * link_.noise - mean_excess(*others.demand, link_.capacity);
      if (limit < 0.0) return {};
      marginal_.build(*others.demand, link_.pattern(m), link_.capacity, &budget_.work);
      Moves to = move;
      for (int64_t& shift : to) shift += shift_[m] - others.shift;
      std::array<double, kEighths.size()> added;
      marginal_.at_all(to, added.data());
      for (std::size_t i = 0; i < move.size(); ++i) out[i] = out[i] && added[i] <= limit;
    }
    return out;
  }

  // All jobs but m, job t delayed by `delay`.
  ShiftedDemand without(std::size_t m, std::size_t t, int64_t delay) {
    double left = link_.movable_peak();
    ShiftedDemand sum = shifted_base(link_, 0);
    std::size_t sums = 0;
    for (std::size_t j = 0; j < link_.size(); ++j) {
      if (j == m) continue;
      left -= link_.pattern(j).peak;
      const ShiftedDemand one{&link_.folded[j], shift_[j] + (j == t ? delay : 0)};
      sum = together(sum, one, link_.capacity - left, link_.limits, room_[sums++ % 2], &budget_.work);
    }
    return sum;
  }

  const Link& link_;
  std::vector<int64_t>& shift_;
  double tolerance_;
  Budget& budget_;
  SlackTable table_;
  Slacks slacks_[2];
  Slacks* now_ = &slacks_[0];
  Slacks* tried_ = &slacks_[1];
  double limit_ = 0.0;
  int64_t tries_ = 0;
  int64_t most_work_ = 0;
  Demand room_[2];
  Marginal marginal_;
};

}  // namespace

std::vector<int64_t> centre(const Link& link, std::vector<int64_t>& shift, double tolerance, Budget& budget) {
  if (link.size() < 3) return {};
  return Centring(link, shift, tolerance, budget).run();
}

}  // namespace cassini
