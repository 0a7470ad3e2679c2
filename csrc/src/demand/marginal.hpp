// Excess as a function of one job's shift, the others held (F4).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/piecewise_linear.hpp"
#include "demand/folded_demand.hpp"
#include "demand/job_pattern.hpp"

namespace cassini {

using Kinks = SmallVector<int64_t, 48>;
using Values = SmallVector<double, 48>;

// Mean excess that a job adds to a demand, for every shift. With h a level of the job and f(x) = (x - C)+, put g_h(c) =
// E[f(D(c) + h) - f(D(c))]. Given the residue c, the job's demand is independent of D beyond c modulo modulus() =
// gcd(modulus of D, T_j): folding g_h to that circle and taking prefix sums makes each segment of the job, at each
// shift, one subtraction.
class Marginal {
 public:
  // Rebuilds for this demand and job; keeps memory. Adds to *work.
  void build(const Demand& demand, const JobPattern& job, double capacity, int64_t* work);

  // Mean excess added when the job is delayed by `shift` (any integer).
  double at(int64_t shift) const { return scale_ * unscaled(shift); }

  // The same for many shifts at once; fastest if they ascend within [0, modulus): then no position is searched twice.
  void at_all(std::span<const int64_t> shifts, double* out) const;

  // at() depends on the shift modulo this.
  int64_t modulus() const { return modulus_; }

  // Shifts in [0, modulus) at which the slope may change, ascending, distinct; always holds 0.
  // LimitExceeded where there are more than max_kinks.
  void kinks(Kinks& out) const;

  // All kinks and the marginal at each. With many kinks by one sweep over the changes of slope, O(n log n).
  void profile(Kinks& shifts, Values& values) const;

  // Shifts among which the marginal is least, ascending: all kinks at which it is convex, or 0 where there are none.
  // Fewer than half of all kinks. LimitExceeded as above.
  void valleys(Kinks& out) const;

  // Where in [0, modulus) the marginal is least, the earliest such shift, and what it is there. LimitExceeded as above.
  // Adds to *work.
  Minimum minimum(Kinks& valleys, Values& values, int64_t* work) const;

  // offset + the marginal, with its kinks and slopes. O(n) but for merging sorted lists.
  void profile(double offset, PiecewiseLinear& out, SweepScratch& scratch) const;

  // At most so many kinks; and demand levels touched to read the marginal at one of them.
  std::size_t kink_count() const { return at_.size() * job_->edges.size(); }
  int64_t reading_cost() const { return static_cast<int64_t>(job_->edges.size() + arc_.size()); }

  // Rounding of at() stays below this.
  double rounding() const;

  // Goes from kink to kink, later or earlier: on the way nothing is searched for and nothing divided.
  class Walk {
   public:
    // Later.
    Walk(const Marginal& marginal, int64_t shift);

    // The other way, from where this one is; for a walk that has not begun.
    Walk reversed() const;

    // Goes on to the next kink; the ticks that took, at most modulus().
    int64_t step();

    // The marginal where the walk has got to.
    double value() const { return value_ * marginal_.scale_; }

   private:
    struct End {
      int64_t room;  // ticks left within its interval
      std::size_t interval;
    };
    void enter_next(End& end) const;

    const Marginal& marginal_;
    int direction_ = 1;  // of shift_
    int64_t shift_;
    double value_ = 0.0;
    int64_t steps_ = 0;
    SmallVector<End, 16> end_;  // [2 * arc] where the arc begins, [2 * arc + 1] where it ends
  };

 private:
  struct Arc;
  double unscaled(int64_t shift) const;
  double integral(const Arc& arc, int64_t x, std::size_t i, int64_t y, std::size_t k) const;
  int64_t rotated(int64_t x, int64_t by) const { return x + by < modulus_ ? x + by : x + by - modulus_; }
  int64_t rotated_back(int64_t x, int64_t by) const { return x >= by ? x - by : x - by + modulus_; }
  std::size_t interval_of(int64_t x) const;  // x in [0, modulus)
  void lay_arcs();
  void read_one_level(const Demand& demand, double level, double capacity);
  void fold_events(const Demand& demand, double capacity);
  void join_equal_intervals();
  void sweep(const Kinks& shifts, Values& values) const;

  const JobPattern* job_ = nullptr;
  int64_t modulus_ = 1;
  double scale_ = 0.0;
  struct Event {
    int64_t at;
    uint32_t index;
  };
  // A segment of the job on the folded circle: whole turns, and an arc of `rest` ticks from `start`.
  struct Arc {
    int64_t start;
    int64_t rest;
    double turns;
    std::size_t level;
  };
  SmallVector<Arc, 8> arc_;
  SmallVector<int64_t, 32> at_;   // breakpoints on [0, modulus], first 0, last modulus
  SmallVector<double, 48> rate_;  // [level][interval] folded g_h
  SmallVector<double, 48> sum_;   // [level][breakpoint] integral of rate from 0
  SmallVector<double, 32> jump_;  // scratch of fold_events
  SmallVector<Event, 32> event_;
  std::vector<std::size_t> run_;  // scratch of fold_events
  std::vector<Event> merged_;
};

}  // namespace cassini
