#include "block_state.hpp"

#include <algorithm>

namespace cassini {

namespace {

constexpr uint64_t kNothing = 0x5bd1e995a3c59ac3;  // a key that no state is expected to have

// A number that tells one member at one shift from any other, so that a sum of them tells states of a link apart.
uint64_t mark_of(std::size_t member, int64_t shift) {
  uint64_t x =
      static_cast<uint64_t>(shift) * 0x9e3779b97f4a7c15 + (static_cast<uint64_t>(member) + 1) * 0xd1b54a32d192ed03;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

const Profile BlockState::kFlat{};

BlockState::BlockState(const Block& block, Budget& budget)
    : block_(block), budget_(budget), shift_(block.n_jobs(), kAbsent), excess_(block.links.size(), 0.0) {
  std::size_t members = 0;
  for (const BlockLink& at : block.links) {
    first_.push_back(members);
    members += at.job.size();
    uint64_t sum = 0;
    for (std::size_t m = 0; m < at.job.size(); ++m) sum += mark_of(m, kAbsent);
    sum_of_marks_.push_back(sum);
    price_.push_back(at.prepared->guides ? at.per_excess() : 0.0);
    least_.push_back(at.least);
  }
  cached_.resize(members);
  key_.assign(members, kNothing);
}

void BlockState::set(std::span<const int64_t> shift) {
  move_log_.clear();
  excess_log_.clear();
  moved_.clear();
  bool complete = true;
  for (std::size_t j = 0; j < shift_.size(); ++j) {
    const int64_t to = shift[j] == kAbsent ? kAbsent : wrap(shift[j], block_.turn[j]);
    complete = complete && to != kAbsent;
    if (to != shift_[j]) place(j, to);
  }
  for (std::size_t l = 0; complete && l < excess_.size(); ++l) {
    if (block_.links[l].prepared->guides) excess_[l] = fresh_excess(l);
  }
}

double BlockState::fresh_excess(std::size_t link) {
  const BlockLink& at = block_.links[link];
  if (at.job.size() == 2) return at.prepared->pair[1].at(shift_[at.job[1]] - shift_[at.job[0]]);
  others(link, at.job.size());
  return mean_excess(demand_, at.link().capacity);
}

double BlockState::objective() const {
  double sum = 0.0;
  for (std::size_t l = 0; l < excess_.size(); ++l) sum += price_[l] * excess_[l];
  return sum;
}

double BlockState::hope(std::size_t j) const {
  double sum = 0.0;
  for (const Place& p : block_.places[j]) sum += price_[p.link] * std::max(0.0, excess_[p.link] - least_[p.link]);
  return sum;
}

double BlockState::part_of(std::size_t j) const {
  double sum = 0.0;
  for (const Place& p : block_.places[j]) sum += price_[p.link] * excess_[p.link];
  return sum;
}

// Demand of all that is on the link but one member; of all where there is no such member.
void BlockState::others(std::size_t link, std::size_t member) {
  const BlockLink& at = block_.links[link];
  const Link& l = at.link();
  double left = member < at.job.size() ? l.circle(member).peak : 0.0;
  for (std::size_t m = 0; m < at.job.size(); ++m) {
    if (m != member && shift_[at.job[m]] != kAbsent) left += l.circle(m).peak;
  }
  const Demand* sum = &l.base;
  for (std::size_t m = 0; m < at.job.size(); ++m) {
    if (m == member || shift_[at.job[m]] == kAbsent) continue;
    left -= l.circle(m).peak;
    Demand& next = sum == &demand_ ? scratch_demand_ : demand_;
    add(*sum, l.folded[m], wrap(shift_[at.job[m]], l.turn[m]), l.capacity - left, l.limits, next, &budget_.work);
    sum = &next;
  }
  if (sum == &scratch_demand_) std::swap(demand_, scratch_demand_);
  if (sum == &l.base) demand_ = l.base;
}

const Profile& BlockState::profile(Place p, int64_t* lag) {
  const BlockLink& at = block_.links[p.link];
  *lag = 0;
  if (at.job.size() == 2) {
    const int64_t other = shift_[at.job[1 - p.member]];
    if (other == kAbsent) return kFlat;  // alone, any shift is as good as another
    *lag = other;
    return at.prepared->pair[p.member];
  }
  const std::size_t index = first_[p.link] + p.member;
  Profile& out = cached_[index];
  const uint64_t key = sum_of_marks_[p.link] - mark_of(p.member, shift_[at.job[p.member]]);
  if (key_[index] == key) return out;
  key_[index] = kNothing;  // until it is there
  const Link& l = at.link();
  others(p.link, p.member);
  marginal_.build(demand_, l.circle(p.member), l.capacity, &budget_.work);
  marginal_.profile(mean_excess(demand_, l.capacity), out, scratch_);
  budget_.work += static_cast<int64_t>(1024 + 32 * out.knots.size());  // about a node each microsecond
  key_[index] = key;
  return out;
}

TermSum& BlockState::terms(std::size_t j) {
  sum_.terms.clear();
  for (const Place& p : block_.places[j]) {
    Term term{nullptr, 0, price_[p.link]};
    term.profile = &profile(p, &term.lag);
    sum_.terms.push_back(term);
  }
  return sum_;
}

Minimum BlockState::best(std::size_t j, bool all) { return terms(j).least(block_.turn[j], all, &budget_.work); }

void BlockState::place(std::size_t j, int64_t shift) {
  for (const Place& p : block_.places[j]) {
    sum_of_marks_[p.link] += mark_of(p.member, shift) - mark_of(p.member, shift_[j]);
  }
  shift_[j] = shift;
}

void BlockState::keep(std::size_t link) { excess_log_.push_back({link, excess_[link]}); }

void BlockState::move(std::size_t j, int64_t shift) {
  move_log_.push_back({j, shift_[j]});
  moved_.push_back(j);
  for (const Place& p : block_.places[j]) {
    keep(p.link);
    int64_t lag = 0;
    excess_[p.link] = profile(p, &lag).at(shift - lag);
  }
  place(j, shift);
}

void BlockState::move_all(std::span<const std::size_t> jobs, int64_t by) {
  for (const std::size_t j : jobs) {
    move_log_.push_back({j, shift_[j]});
    moved_.push_back(j);
    for (const Place& p : block_.places[j]) keep(p.link);
    place(j, wrap(shift_[j] + by, block_.turn[j]));
  }
  for (const std::size_t j : jobs) {
    for (const Place& p : block_.places[j]) excess_[p.link] = fresh_excess(p.link);
  }
}

void BlockState::mark() {
  move_log_.clear();
  excess_log_.clear();
  moved_.clear();
}

void BlockState::undo() {
  for (std::size_t i = move_log_.size(); i-- > 0;) place(move_log_[i].job, move_log_[i].shift);
  for (std::size_t i = excess_log_.size(); i-- > 0;) excess_[excess_log_[i].link] = excess_log_[i].excess;
  mark();
}

}  // namespace cassini
