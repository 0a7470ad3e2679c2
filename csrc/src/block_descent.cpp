#include "block_descent.hpp"

#include <algorithm>

namespace cassini {
namespace {

constexpr int64_t kFirstAnswer = 4096;      // nodes
constexpr int64_t kPromise = 48;            // jobs asked after a kick before it must have paid
constexpr double kMostGroupKinks = 4096.0;  // more cost more than a group's turn wins

}  // namespace

Descent::Descent(BlockState& state, Budget& budget)
    : state_(state), budget_(budget), waits_(state.block().n_jobs(), 0) {}

void Descent::ask(std::size_t j) {
  if (waits_[j] || state_.block().places[j].empty()) return;
  waits_[j] = 1;
  queue_.push_back(j);
}

void Descent::ask_neighbours(std::size_t j) {
  for (const Place& p : state_.block().places[j]) {
    for (const std::size_t k : state_.block().links[p.link].job) {
      if (k != j) ask(k);
    }
  }
}

bool Descent::run(int64_t most) {
  const double noise = state_.block().noise;
  for (; next_ < queue_.size() && most > 0; ++next_) {
    const std::size_t j = queue_[next_];
    if (!budget_.left()) {
      forget();
      return false;
    }
    waits_[j] = 0;
    if (state_.hope(j) <= noise) continue;
    --most;
    budget_.spend();
    const Minimum best = state_.best(j);
    if (best.value >= state_.part_of(j) - noise) continue;
    state_.move(j, best.shift);
    ask_neighbours(j);
  }
  if (next_ == queue_.size()) forget();
  return true;
}

void Descent::forget() {
  for (; next_ < queue_.size(); ++next_) waits_[queue_[next_]] = 0;
  queue_.clear();
  next_ = 0;
}

void place_greedily(BlockState& state, std::span<const std::size_t> order, Budget& budget) {
  std::vector<int64_t> shift(state.block().n_jobs(), BlockState::kAbsent);
  state.set(shift);
  for (const std::size_t j : order) {
    // The first answer is worth a few nodes more than there may be; after that what is left stands at 0.
    const bool affordable = budget.nodes() < kFirstAnswer ? budget.in_time() : budget.left();
    const int64_t to = affordable && !state.block().places[j].empty() ? state.best(j).shift : 0;
    state.place(j, to);
  }
  shift = state.shift();
  state.set(shift);
}

Escape::Escape(BlockState& state, Descent& descent, std::vector<std::size_t> focus, Budget& budget)
    : state_(state),
      descent_(descent),
      budget_(budget),
      focus_(std::move(focus)),
      random_(20240611),
      inside_(state.block().n_jobs(), 0),
      count_(state.block().links.size(), 0) {}

void Escape::run(double floor, int64_t patience) {
  const double noise = state_.block().noise;
  if (focus_.empty()) return;
  double best = state_.objective();
  for (int64_t waited = 0; waited < patience && best > floor + noise && budget_.left(); ++waited) {
    state_.mark();
    one_round();
    if (state_.moved().empty()) continue;
    // A kick that pays shows soon; only then it may send moves through the whole block.
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
  const auto& jobs = state_.block().links[pick_link()].job;
  const std::size_t a = jobs[below(jobs.size())];
  switch (below(4)) {
    case 0:
    case 1: {
      const std::size_t b = jobs[below(jobs.size())];
      if (a != b) kick_pair(a, b);
      break;
    }
    case 2:
      grow(a, 1);
      turn_group(group_);
      break;
    default:
      grow(a, 2 + below(4));
      turn_group(group_);
  }
}

// The job and others around it, link by link.
void Escape::grow(std::size_t seed, std::size_t size) {
  group_.assign(1, seed);
  inside_[seed] = 1;
  for (std::size_t tries = 0; group_.size() < size && tries < 4 * size; ++tries) {
    const std::size_t j = group_[below(group_.size())];
    const std::span<const Place> places = state_.block().places[j];
    const auto& jobs = state_.block().links[places[below(places.size())].link].job;
    const std::size_t k = jobs[below(jobs.size())];
    if (inside_[k]) continue;
    inside_[k] = 1;
    group_.push_back(k);
  }
  for (const std::size_t j : group_) inside_[j] = 0;
}

// Turns the group as a whole to one of the best places that are not the present one.
void Escape::turn_group(std::span<const std::size_t> group) {
  const Block& block = state_.block();
  sum_.terms.clear();
  int64_t turn = 1;
  for (const std::size_t j : group) {
    turn = lcm_capped(turn, block.turn[j]);
    for (const Place& p : block.places[j]) ++count_[p.link];
  }
  for (const std::size_t j : group) {
    for (const Place& p : block.places[j]) {
      if (count_[p.link] == 1) {
        Term term{nullptr, 0, state_.price(p.link)};
        term.profile = &state_.profile(p, &term.lag);
        term.lag -= state_.shift()[j];
        sum_.terms.push_back(term);
      }
    }
  }
  for (const std::size_t j : group) {
    for (const Place& p : block.places[j]) count_[p.link] = 0;
  }
  if (turn >= kTooLarge || sum_.terms.empty() || sum_.kinks_on(turn) > kMostGroupKinks) return;
  budget_.spend();
  sum_.least(turn, true, &budget_.work);
  auto& minima = sum_.minima;
  std::erase_if(minima, [](const Minimum& m) { return m.shift == 0; });
  if (minima.empty()) return;
  const std::size_t few = std::min<std::size_t>(minima.size(), 4);
  std::partial_sort(
      minima.begin(), minima.begin() + static_cast<std::ptrdiff_t>(few), minima.end(),
      [](const Minimum& x, const Minimum& y) { return x.value != y.value ? x.value < y.value : x.shift < y.shift; });
  const int64_t by = minima[below(few)].shift;
  if (group.size() == 1) {
    state_.move(group[0], wrap(state_.shift()[group[0]] + by, block.turn[group[0]]));
  } else {
    state_.move_all(group, by);
  }
  for (const std::size_t j : group) descent_.ask_neighbours(j);
}

// Job a to one of its best places as if b were not there, then b to its best.
void Escape::kick_pair(std::size_t a, std::size_t b) {
  const Block& block = state_.block();
  const int64_t b_at = state_.shift()[b];
  const int64_t a_at = state_.shift()[a];
  budget_.spend();
  state_.place(b, BlockState::kAbsent);
  TermSum& sum = state_.terms(a);
  sum.least(block.turn[a], true, &budget_.work);
  auto minima = sum.minima;
  state_.place(b, b_at);
  std::erase_if(minima, [&](const Minimum& m) { return m.shift == a_at; });
  if (minima.empty()) return;
  const std::size_t few = std::min<std::size_t>(minima.size(), 4);
  std::partial_sort(
      minima.begin(), minima.begin() + static_cast<std::ptrdiff_t>(few), minima.end(),
      [](const Minimum& x, const Minimum& y) { return x.value != y.value ? x.value < y.value : x.shift < y.shift; });
  state_.move(a, minima[below(few)].shift);
  budget_.spend();
  state_.move(b, state_.best(b).shift);
  descent_.ask_neighbours(a);
  descent_.ask_neighbours(b);
}

}  // namespace cassini
