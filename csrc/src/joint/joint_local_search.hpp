// Local search in a joint problem: one job at a time to its best place, and ways out of where that ends.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "base/budget.hpp"
#include "base/piecewise_linear.hpp"
#include "joint/joint_state.hpp"

namespace cassini {

// Jobs that may have a better place wait in a queue; a job that moves puts all jobs it shares links with there.
class Descent {
 public:
  // `kept`: [jobs] not 0 for those that are never moved; empty: none.
  Descent(JointState& state, std::span<const uint8_t> kept, Budget& budget);

  void enqueue(std::size_t j);
  void enqueue_neighbours(std::size_t j);

  // Moves jobs until none can win by itself, or `most` were asked: then the others still wait. False: out of budget,
  // and none waits.
  bool run(int64_t most = std::numeric_limits<int64_t>::max());
  void forget();

 private:
  JointState& state_;
  std::span<const uint8_t> kept_;
  Budget& budget_;
  std::vector<std::size_t> queue_;
  std::size_t next_ = 0;
  std::vector<uint8_t> waits_;
};

// Shifts for all jobs, each in turn where it costs least among those already placed.
void place_greedily(JointState& state, std::span<const std::size_t> order, Budget& budget);

// From where descent ends: moves that alone do not help, followed by descent, kept where the whole got better.
// Reproducible: the random numbers are always the same.
class Escape {
 public:
  // `focus`: links where it is worth trying. `kept`: as for the descent.
  Escape(JointState& state, Descent& descent, std::vector<std::size_t> focus, std::span<const uint8_t> kept,
         Budget& budget);

  // Until the objective reaches `floor`, `patience` rounds in a row have not helped, or the budget ends.
  void run(double floor, int64_t patience);

 private:
  void one_round();
  bool stays(std::size_t j) const { return !kept_.empty() && kept_[j] != 0; }
  std::size_t pick_link();
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::optional<int64_t> draw(std::vector<Minimum>& minima, int64_t present);
  void perturb_pair(std::size_t a, std::size_t b);
  void rotate_group(std::span<const std::size_t> group);
  void grow(std::size_t seed, std::size_t size);

  JointState& state_;
  Descent& descent_;
  Budget& budget_;
  std::vector<std::size_t> focus_;
  std::span<const uint8_t> kept_;
  std::mt19937_64 random_;
  std::vector<std::size_t> group_;
  std::vector<uint8_t> inside_;
  std::vector<std::size_t> count_;
  TermSum sum_;
};

}  // namespace cassini
