// A joint problem at given shifts: each link's excess, and the objective as a function of any one job's shift. What a
// move does not touch is not computed again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "base/piecewise_linear.hpp"
#include "demand/marginal.hpp"
#include "joint/joint_problem.hpp"

namespace cassini {

// What is known of a joint problem at given shifts, for states of joint problems that have most of its links.
struct Snapshot {
  std::vector<int64_t> shift;  // [jobs] modulo the period
  std::vector<double>
      excess;  // [links] mean; not a number beyond the limits of folding, 0 where the link does not guide
  std::vector<std::size_t> first;  // [links] index of the link's first member in the two below
  std::vector<uint64_t> key;       // [members] where the others stand
  std::vector<PiecewiseLinear>
      profile;  // [members] excess by the member's shift; none of links of two, nor beyond the limits
};

// Mean excess of a link as a snapshot has it.
double snapshot_excess(const JointLink& at, std::span<const int64_t> shift, std::vector<int64_t>& movable,
                       int64_t* work);

inline constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

// Where the links of a joint problem come from that is much like another, whose snapshot is known.
struct Origins {
  std::vector<std::size_t> link;  // [links] which of the other's, or kNowhere
  std::vector<double> excess;     // [links] at the shifts of the snapshot, as it would say
};

class JointState {
 public:
  static constexpr int64_t kAbsent = -1;

  JointState(const JointProblem& problem, Budget& budget);

  // At the shifts of `snapshot`, which must outlive this. LimitExceeded where some excess is beyond the limits.
  JointState(const JointProblem& problem, Budget& budget, const Snapshot& snapshot, const Origins& from);

  const JointProblem& problem() const { return problem_; }
  const std::vector<int64_t>& shift() const { return shift_; }
  double excess(std::size_t link) const { return excess_[link]; }
  double price(std::size_t link) const { return price_[link]; }
  // What a link costs beyond what it must.
  double gap(std::size_t link) const { return price_[link] * (excess_[link] - lower_bound_[link]); }

  // All shifts at once; kAbsent takes a job away. Excess is known only once every job is there.
  void set(std::span<const int64_t> shift);

  // Weighted sum of the excess of links that guide.
  double objective() const;

  // What job j could still win if all its links came down to their bounds.
  double gain_bound(std::size_t j) const;

  // The objective's part on the links of job j as a function of its shift; jobs that are absent do not count.
  TermSum& terms(std::size_t j);
  Minimum best(std::size_t j, bool all = false);
  double part_of(std::size_t j) const;  // at the present shifts

  // Takes job j away, or puts it somewhere; excess of its links is not kept up.
  void place(std::size_t j, int64_t shift);

  // Moves a job to another shift and keeps the excess of its links up to date.
  void move(std::size_t j, int64_t shift);
  void move_all(std::span<const std::size_t> jobs, int64_t by);

  // Moves since mark() can be taken back.
  void mark();
  void undo();
  const std::vector<std::size_t>& moved() const { return moved_; }  // since mark(), possibly repeated

  // Excess of one link by the shift of one member.
  const PiecewiseLinear& profile(Place at, int64_t* lag);

  // Mean excess of a link computed afresh.
  double fresh_excess(std::size_t link);

 private:
  friend Snapshot take_snapshot(const JointProblem& problem, std::span<const int64_t> shift, Budget& budget);
  JointState(const JointProblem& problem, Budget& budget, std::vector<int64_t> shift);
  Snapshot snapshot(std::span<const int64_t> shift);
  void others(std::size_t link, std::size_t member);
  uint64_t key_of(Place p) const;
  const PiecewiseLinear* known_profile(Place p, uint64_t key) const;
  void keep(std::size_t link);

  const JointProblem& problem_;
  Budget& budget_;
  std::vector<int64_t> shift_;
  std::vector<double> excess_;
  std::vector<double> price_;             // [links] objective per unit of excess; 0 where the link does not guide
  std::vector<double> lower_bound_;       // [links] excess no shifts can avoid
  std::vector<std::size_t> first_;        // [links] index of the link's first member in the two below
  std::vector<PiecewiseLinear*> cached_;  // [members] null: none yet
  std::vector<uint64_t> key_;  // [members] sum of the marks of the others that the cached profile was made for
  std::deque<PiecewiseLinear> profiles_;  // few of all members are ever looked at
  std::vector<uint64_t> sum_of_marks_;    // [links] of where each member stands
  const Snapshot* snapshot_ = nullptr;
  std::span<const std::size_t> source_;  // [links] of the snapshot

  struct Moved {
    std::size_t job;
    int64_t shift;
  };
  struct Changed {
    std::size_t link;
    double excess;
  };
  std::vector<Moved> move_log_;
  std::vector<Changed> excess_log_;
  std::vector<std::size_t> moved_;

  TermSum sum_;
  std::vector<int64_t> scratch_shift_;
  Demand demand_;
  Demand scratch_demand_;
  Marginal marginal_;
  SweepScratch scratch_;
  const PiecewiseLinear flat_;  // of a pair of which one is absent
};

// All that can be known of a joint problem at given shifts [jobs], modulo the periods. Cost: every profile once.
Snapshot take_snapshot(const JointProblem& problem, std::span<const int64_t> shift, Budget& budget);

}  // namespace cassini
