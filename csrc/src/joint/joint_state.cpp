#include "joint/joint_state.hpp"

#include <algorithm>
#include <cmath>

#include "base/periods.hpp"

namespace cassini {

namespace {

constexpr uint64_t kNothing = 0x5bd1e995a3c59ac3;         // a key that no state is expected to have
constexpr std::size_t kMostKnots = std::size_t{1} << 22;  // of the profiles of a snapshot; 96 MiB

// A number that tells one member at one shift from any other, so that a sum of them tells states of a link apart.
uint64_t mark_of(std::size_t member, int64_t shift) {
  uint64_t x =
      static_cast<uint64_t>(shift) * 0x9e3779b97f4a7c15 + (static_cast<uint64_t>(member) + 1) * 0xd1b54a32d192ed03;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

std::vector<int64_t> rotated(const JointProblem& problem, std::span<const int64_t> shift) {
  std::vector<int64_t> out(shift.size());
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = wrap(shift[j], problem.modulus[j]);
  return out;
}

}  // namespace

JointState::JointState(const JointProblem& problem, Budget& budget)
    : JointState(problem, budget, std::vector<int64_t>(problem.n_jobs(), kAbsent)) {}

JointState::JointState(const JointProblem& problem, Budget& budget, std::vector<int64_t> shift)
    : problem_(problem), budget_(budget), shift_(std::move(shift)), excess_(problem.links.size(), 0.0) {
  first_.reserve(problem.links.size());
  sum_of_marks_.reserve(problem.links.size());
  price_.reserve(problem.links.size());
  lower_bound_.reserve(problem.links.size());
  std::size_t members = 0;
  for (const JointLink& at : problem.links) {
    first_.push_back(members);
    members += at.job.size();
    uint64_t sum = 0;
    for (std::size_t m = 0; m < at.job.size(); ++m) sum += mark_of(m, shift_[at.job[m]]);
    sum_of_marks_.push_back(sum);
    price_.push_back(at.guides ? at.per_excess() : 0.0);
    lower_bound_.push_back(at.lower_bound);
  }
  cached_.assign(members, nullptr);
  key_.assign(members, kNothing);
}

JointState::JointState(const JointProblem& problem, Budget& budget, const Snapshot& snapshot, const Origins& from)
    : JointState(problem, budget, rotated(problem, snapshot.shift)) {
  snapshot_ = &snapshot;
  source_ = from.link;
  excess_ = from.excess;
  for (const double excess : excess_) {
    if (std::isnan(excess)) throw LimitExceeded{};
  }
}

double snapshot_excess(const JointLink& at, std::span<const int64_t> shift, std::vector<int64_t>& movable,
                       int64_t* work) {
  if (!at.guides) return 0.0;
  try {
    return excess_at(at, shift, movable, work);
  } catch (const LimitExceeded&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

Snapshot take_snapshot(const JointProblem& problem, std::span<const int64_t> shift, Budget& budget) {
  JointState state(problem, budget, rotated(problem, shift));
  return state.snapshot(shift);
}

Snapshot JointState::snapshot(std::span<const int64_t> shift) {
  Snapshot out;
  out.shift.assign(shift.begin(), shift.end());
  out.first = first_;
  out.key.assign(key_.size(), kNothing);
  out.profile.resize(key_.size());
  std::size_t knots = 0;
  for (std::size_t l = 0; l < problem_.links.size(); ++l) {
    const JointLink& at = problem_.links[l];
    budget_.throw_if_canceled();
    out.excess.push_back(snapshot_excess(at, shift, scratch_shift_, &budget_.work));
    if (!at.guides) continue;
    try {
      for (std::size_t m = 0; at.job.size() > 2 && m < at.job.size() && knots < kMostKnots; ++m) {
        int64_t lag = 0;
        out.profile[first_[l] + m] = profile({l, m}, &lag);
        out.key[first_[l] + m] = key_of({l, m});
        knots += out.profile[first_[l] + m].knots.size();
      }
    } catch (const LimitExceeded&) {
      // what is not there is computed where it is asked for
    }
  }
  return out;
}

void JointState::set(std::span<const int64_t> shift) {
  move_log_.clear();
  excess_log_.clear();
  moved_.clear();
  bool complete = true;
  for (std::size_t j = 0; j < shift_.size(); ++j) {
    const int64_t to = shift[j] == kAbsent ? kAbsent : wrap(shift[j], problem_.modulus[j]);
    complete = complete && to != kAbsent;
    if (to != shift_[j]) place(j, to);
  }
  for (std::size_t l = 0; complete && l < excess_.size(); ++l) {
    if (problem_.links[l].guides) excess_[l] = fresh_excess(l);
  }
}

double JointState::fresh_excess(std::size_t link) {
  return excess_at(problem_.links[link], shift_, scratch_shift_, &budget_.work);
}

double JointState::objective() const {
  double sum = 0.0;
  for (std::size_t l = 0; l < excess_.size(); ++l) sum += price_[l] * excess_[l];
  return sum;
}

double JointState::gain_bound(std::size_t j) const {
  double sum = 0.0;
  for (const Place& p : problem_.places[j])
    sum += price_[p.link] * std::max(0.0, excess_[p.link] - lower_bound_[p.link]);
  return sum;
}

double JointState::part_of(std::size_t j) const {
  double sum = 0.0;
  for (const Place& p : problem_.places[j]) sum += price_[p.link] * excess_[p.link];
  return sum;
}

// Demand of all that is on the link but one member.
void JointState::others(std::size_t link, std::size_t member) {
  const JointLink& at = problem_.links[link];
  const Link& l = at.link();
  double left = l.pattern(member).peak;
  for (std::size_t m = 0; m < at.job.size(); ++m) {
    if (m != member && shift_[at.job[m]] != kAbsent) left += l.pattern(m).peak;
  }
  const Demand* sum = &l.base;
  for (std::size_t m = 0; m < at.job.size(); ++m) {
    if (m == member || shift_[at.job[m]] == kAbsent) continue;
    left -= l.pattern(m).peak;
    Demand& next = sum == &demand_ ? scratch_demand_ : demand_;
    add(*sum, l.folded[m], wrap(shift_[at.job[m]], l.modulus[m]), l.capacity - left, l.limits, next, &budget_.work);
    sum = &next;
  }
  if (sum == &scratch_demand_) std::swap(demand_, scratch_demand_);
  if (sum == &l.base) demand_ = l.base;
}

uint64_t JointState::key_of(Place p) const {
  return sum_of_marks_[p.link] - mark_of(p.member, shift_[problem_.links[p.link].job[p.member]]);
}

const PiecewiseLinear* JointState::known_profile(Place p, uint64_t key) const {
  if (snapshot_ == nullptr || source_[p.link] == kNowhere) return nullptr;
  const std::size_t index = snapshot_->first[source_[p.link]] + p.member;
  return snapshot_->key[index] == key ? &snapshot_->profile[index] : nullptr;
}

const PiecewiseLinear& JointState::profile(Place p, int64_t* lag) {
  const JointLink& at = problem_.links[p.link];
  *lag = 0;
  if (at.job.size() == 2) {
    const int64_t other = shift_[at.job[1 - p.member]];
    if (other == kAbsent) return flat_;  // alone, any shift is as good as another
    *lag = other;
    return at.prepared->pair[p.member];
  }
  const std::size_t index = first_[p.link] + p.member;
  const uint64_t key = key_of(p);
  if (key_[index] == key) return *cached_[index];
  if (const PiecewiseLinear* known = known_profile(p, key)) return *known;
  key_[index] = kNothing;  // until it is there
  if (cached_[index] == nullptr) cached_[index] = &profiles_.emplace_back();
  PiecewiseLinear& out = *cached_[index];
  const Link& l = at.link();
  others(p.link, p.member);
  marginal_.build(demand_, l.pattern(p.member), l.capacity, &budget_.work);
  marginal_.profile(mean_excess(demand_, l.capacity), out, scratch_);
  budget_.work += static_cast<int64_t>(1024 + 32 * out.knots.size());  // about a node each microsecond
  key_[index] = key;
  return out;
}

TermSum& JointState::terms(std::size_t j) {
  sum_.terms.clear();
  for (const Place& p : problem_.places[j]) {
    Term term{nullptr, 0, price_[p.link]};
    term.profile = &profile(p, &term.lag);
    sum_.terms.push_back(term);
  }
  return sum_;
}

Minimum JointState::best(std::size_t j, bool all) { return terms(j).minimum(problem_.modulus[j], all, &budget_.work); }

void JointState::place(std::size_t j, int64_t shift) {
  for (const Place& p : problem_.places[j]) {
    sum_of_marks_[p.link] += mark_of(p.member, shift) - mark_of(p.member, shift_[j]);
  }
  shift_[j] = shift;
}

void JointState::keep(std::size_t link) { excess_log_.push_back({link, excess_[link]}); }

void JointState::move(std::size_t j, int64_t shift) {
  move_log_.push_back({j, shift_[j]});
  moved_.push_back(j);
  for (const Place& p : problem_.places[j]) {
    keep(p.link);
    int64_t lag = 0;
    excess_[p.link] = profile(p, &lag).at(shift - lag);
  }
  place(j, shift);
}

void JointState::move_all(std::span<const std::size_t> jobs, int64_t by) {
  for (const std::size_t j : jobs) {
    move_log_.push_back({j, shift_[j]});
    moved_.push_back(j);
    for (const Place& p : problem_.places[j]) keep(p.link);
    place(j, wrap(shift_[j] + by, problem_.modulus[j]));
  }
  for (const std::size_t j : jobs) {
    for (const Place& p : problem_.places[j]) excess_[p.link] = fresh_excess(p.link);
  }
}

void JointState::mark() {
  move_log_.clear();
  excess_log_.clear();
  moved_.clear();
}

void JointState::undo() {
  for (std::size_t i = move_log_.size(); i-- > 0;) place(move_log_[i].job, move_log_[i].shift);
  for (std::size_t i = excess_log_.size(); i-- > 0;) excess_[excess_log_[i].link] = excess_log_[i].excess;
  mark();
}

}  // namespace cassini
