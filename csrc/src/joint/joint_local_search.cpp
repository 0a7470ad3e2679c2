#include "joint/joint_local_search.hpp"

#include <algorithm>

#include "base/periods.hpp"

namespace cassini {
namespace {

constexpr int64_t kFirstAnswer = 4096;      // nodes
constexpr int64_t kPromise = 48;            // jobs asked after a random move before it must have paid
constexpr double kMostGroupKinks = 4096.0;  // more cost more than a group's turn wins

}  // namespace

Descent::Descent(JointState& state, std::span<const uint8_t> kept, Budget& budget)
    : state_(state), kept_(kept), budget_(budget), waits_(state.problem().n_jobs(), 0) {}

void Descent::enqueue(std::size_t j) {
  if (waits_[j] || state_.problem().places[j].empty()) return;
  if (!kept_.empty() && kept_[j]) return;
  waits_[j] = 1;
  queue_.push_back(j);
}

void Descent::enqueue_neighbours(std::size_t j) {
  for (const Place& p : state_.problem().places[j]) {
    for (const std::size_t k : state_.problem().links[p.link].job) {
      if (k != j) enqueue(k);
    }
  }
}

bool Descent::run(int64_t most) {
  const double noise = state_.problem().noise;
  for (; next_ < queue_.size() && most > 0; ++next_) {
    const std::size_t j = queue_[next_];
    if (!budget_.left()) {
      forget();
      return false;
    }
    waits_[j] = 0;
    if (state_.gain_bound(j) <= noise) continue;
    --most;
    budget_.spend();
    const Minimum best = state_.best(j);
    if (best.value >= state_.part_of(j) - noise) continue;
    state_.move(j, best.shift);
    enqueue_neighbours(j);
  }
  if (next_ == queue_.size()) forget();
  return true;
}

void Descent::forget() {
  for (; next_ < queue_.size(); ++next_) waits_[queue_[next_]] = 0;
  queue_.clear();
  next_ = 0;
}

void place_greedily(JointState& state, std::span<const std::size_t> order, Budget& budget) {
  std::vector<int64_t> shift(state.problem().n_jobs(), JointState::kAbsent);
  state.set(shift);
  for (const std::size_t j : order) {
    // The first answer is worth a few nodes more than there may be; after that what is left stands at 0.
    const bool affordable = budget.nodes() < kFirstAnswer ? budget.in_time() : budget.left();
    const int64_t to = affordable && !state.problem().places[j].empty() ? state.best(j).shift : 0;
    state.place(j, to);
  }
  shift = state.shift();
  state.set(shift);
}

Escape::Escape(JointState& state, Descent& descent, std::vector<std::size_t> focus, std::span<const uint8_t> kept,
               Budget& budget)
    : state_(state),
      descent_(descent),
      budget_(budget),
      focus_(std::move(focus)),
      kept_(kept),
      random_(20240611),
      inside_(state.problem().n_jobs(), 0),
      count_(state.problem().links.size(), 0) {}

void Escape::run(double floor, int64_t patience) {
  const double noise = state_.problem().noise;
  if (focus_.empty()) return;
  double best = state_.objective();
  for (int64_t waited = 0; waited < patience && best > floor + noise && budget_.left(); ++waited) {
    state_.mark();
    one_round();
    if (state_.moved().empty()) continue;
    // A random move that pays shows soon; only then it may send moves through the whole joint problem.
    bool complete = descent_.run(kPromise);
    if (complete && state_.objective() < best - noise) complete = descent_.run();
    descent_.forget();
    const double now = state_.objective();
    if (now > best) {
      state_.undo();
    } else {
      if (now < best - noise) waited = -1;
      best = now;
    }
    if (!complete) break;
  }
  state_.mark();
}

// Of a few links the one with the most to win.
std::size_t Escape::pick_link() {
  std::size_t best = focus_[below(focus_.size())];
  double most = -1.0;
  for (int draw = 0; draw < 3; ++draw) {
    const std::size_t l = focus_[below(focus_.size())];
    if (state_.gap(l) > most) {
      most = state_.gap(l);
      best = l;
    }
  }
  return best;
}

void Escape::one_round() {
  const auto& jobs = state_.problem().links[pick_link()].job;
  const std::size_t a = jobs[below(jobs.size())];
  switch (below(4)) {
    case 0:
    case 1: {
      const std::size_t b = jobs[below(jobs.size())];
      if (a == b) break;
      if (!stays(a) && !stays(b)) {
        perturb_pair(a, b);
      } else if (!stays(a) || !stays(b)) {
        group_.assign(1, stays(a) ? b : a);
        rotate_group(group_);
      }
      break;
    }
    case 2:
      grow(a, 1);
      rotate_group(group_);
      break;
    default:
      grow(a, 2 + below(4));
      rotate_group(group_);
  }
}

// The job and others around it, link by link.
void Escape::grow(std::size_t seed, std::size_t size) {
  group_.assign(1, seed);
  inside_[seed] = 1;
  for (std::size_t tries = 0; group_.size() < size && tries < 4 * size; ++tries) {
    const std::size_t j = group_[below(group_.size())];
    const std::span<const Place> places = state_.problem().places[j];
    const auto& jobs = state_.problem().links[places[below(places.size())].link].job;
    const std::size_t k = jobs[below(jobs.size())];
    if (inside_[k]) continue;
    inside_[k] = 1;
    group_.push_back(k);
  }
  for (const std::size_t j : group_) inside_[j] = 0;
  std::erase_if(group_, [&](std::size_t j) { return stays(j); });
}

// One of the best shifts that is not the present one.
std::optional<int64_t> Escape::draw(std::vector<Minimum>& minima, int64_t present) {
  std::erase_if(minima, [&](const Minimum& m) { return m.shift == present; });
  if (minima.empty()) return std::nullopt;
  const std::size_t few = std::min<std::size_t>(minima.size(), 4);
  std::partial_sort(minima.begin(), minima.begin() + static_cast<std::ptrdiff_t>(few), minima.end(), lower_first);
  return minima[below(few)].shift;
}

// Rotates the group as a whole to one of its best places.
void Escape::rotate_group(std::span<const std::size_t> group) {
  const JointProblem& problem = state_.problem();
  sum_.terms.clear();
  int64_t modulus = 1;
  for (const std::size_t j : group) {
    modulus = lcm_capped(modulus, problem.modulus[j]);
    for (const Place& p : problem.places[j]) ++count_[p.link];
  }
  for (const std::size_t j : group) {
    for (const Place& p : problem.places[j]) {
      if (count_[p.link] == 1) {
        Term term{nullptr, 0, state_.price(p.link)};
        term.profile = &state_.profile(p, &term.lag);
        term.lag -= state_.shift()[j];
        sum_.terms.push_back(term);
      }
    }
  }
  for (const std::size_t j : group) {
    for (const Place& p : problem.places[j]) count_[p.link] = 0;
  }
  if (modulus >= kTooLarge || sum_.terms.empty() || sum_.kinks_on(modulus) > kMostGroupKinks) return;
  budget_.spend();
  sum_.minimum(modulus, true, &budget_.work);
  const std::optional<int64_t> by = draw(sum_.minima, 0);
  if (!by) return;
  if (group.size() == 1) {
    state_.move(group[0], wrap(state_.shift()[group[0]] + *by, problem.modulus[group[0]]));
  } else {
    state_.move_all(group, *by);
  }
  for (const std::size_t j : group) descent_.enqueue_neighbours(j);
}

// Job a to one of its best places as if b were not there, then b to its best.
void Escape::perturb_pair(std::size_t a, std::size_t b) {
  const JointProblem& problem = state_.problem();
  const int64_t b_at = state_.shift()[b];
  budget_.spend();
  state_.place(b, JointState::kAbsent);
  TermSum& sum = state_.terms(a);
  sum.minimum(problem.modulus[a], true, &budget_.work);
  state_.place(b, b_at);
  const std::optional<int64_t> to = draw(sum.minima, state_.shift()[a]);
  if (!to) return;
  state_.move(a, *to);
  budget_.spend();
  state_.move(b, state_.best(b).shift);
  descent_.enqueue_neighbours(a);
  descent_.enqueue_neighbours(b);
}

}  // namespace cassini
