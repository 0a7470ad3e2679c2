#include "joint/joint_centering.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/periods.hpp"

namespace cassini {
namespace {

constexpr int kDirections[2] = {1, -1};

// Where a term stands that is turned to `shift`: its piece, and how far the next knot is that way.
struct Step {
  double value;
  double slope;  // per tick in the direction of the walk
  int64_t gap;
};

Step step_from(const PiecewiseLinear& f, int64_t at, int direction) {
  const int64_t s = wrap(at, f.modulus);
  std::size_t i = f.piece_of(s);
  const double value = f.knots[i].value + f.knots[i].slope * static_cast<double>(s - f.knots[i].at);
  if (direction > 0) {
    const int64_t next = i + 1 < f.knots.size() ? f.knots[i + 1].at : f.modulus;
    return {value, f.knots[i].slope, next - s};
  }
  if (s > f.knots[i].at) return {value, -f.knots[i].slope, s - f.knots[i].at};
  const int64_t wall = s;
  i = i == 0 ? f.knots.size() - 1 : i - 1;
  const int64_t begin = f.knots[i].at < wall ? f.knots[i].at : f.knots[i].at - f.modulus;
  return {value, -f.knots[i].slope, wall - begin};
}

// How far all terms together may turn that way, at most `most`, until their sum exceeds `limit`.
int64_t walk(const std::vector<Term>& terms, int64_t from, double limit, int direction, int64_t most, int64_t* work) {
  constexpr int kMostSteps = 256;  // what was walked until then counts
  int64_t done = 0;
  for (int step = 0; step < kMostSteps && done < most; ++step) {
    double value = 0.0;
    double slope = 0.0;
    int64_t gap = most - done;
    for (const Term& term : terms) {
      const Step one = step_from(*term.profile, from + direction * done - term.lag, direction);
      value += term.weight * one.value;
      slope += term.weight * one.slope;
      gap = std::min(gap, one.gap);
    }
    *work += static_cast<int64_t>(32 * terms.size());
    if (value > limit) return std::max<int64_t>(0, done - 1);  // rounding, at the very end of the piece before
    if (value + slope * static_cast<double>(gap) > limit) {
      return done + static_cast<int64_t>(std::floor((limit - value) / slope));
    }
    done += gap;
  }
  return std::min(done, most);
}

class Centring {
 public:
  Centring(JointState& state, double tolerance, std::span<const uint8_t> kept, Budget& budget)
      : state_(state), tolerance_(tolerance), kept_(kept), budget_(budget) {}

  void run() {
    const std::size_t n = state_.problem().n_jobs();
    const int64_t most_work = budget_.work + budget_.work_beside(kMostWork);
    const double limit = state_.objective() + state_.problem().noise;
    std::vector<std::size_t> order(n);
    std::vector<int64_t> slack(n);
    for (std::size_t round = 0; round < kRounds; ++round) {
      for (std::size_t j = 0; j < n; ++j) {
        slack[j] = joint_slack(state_, j, tolerance_, &budget_.work);
        if (budget_.work > most_work || !budget_.in_time()) return;
      }
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return slack[x] < slack[y]; });
      bool moved = false;
      for (const std::size_t j : order) {
        if (budget_.work > most_work || !budget_.in_time()) return;
        if (!kept_.empty() && kept_[j]) continue;
        if (!state_.problem().places[j].empty()) moved = try_places(j, limit) || moved;
      }
      if (!moved) return;
    }
  }

 private:
  static constexpr std::size_t kRounds = 8;
  static constexpr int64_t kMostWork = int64_t{1} << 23;

  // The least slack of a job and those that share a link with it, and how often it is found among them.
  struct Tightest {
    int64_t slack;
    int64_t count;
    bool better_than(const Tightest& other) const {
      return slack > other.slack || (slack == other.slack && count < other.count);
    }
  };

  Tightest tightest_around(std::size_t j) {
    Tightest out{joint_slack(state_, j, tolerance_, &budget_.work), 1};
    for (const Place& p : state_.problem().places[j]) {
      for (const std::size_t k : state_.problem().links[p.link].job) {
        if (k == j) continue;
        const int64_t slack = joint_slack(state_, k, tolerance_, &budget_.work);
        out = {std::min(out.slack, slack), slack < out.slack ? 1 : out.count + (slack == out.slack)};
      }
    }
    return out;
  }

  bool try_places(std::size_t j, double limit) {
    const double noise = state_.problem().noise;
    const int64_t modulus = state_.problem().modulus[j];
    const int64_t kept = state_.shift()[j];
    const std::vector<Term> terms = state_.terms(j).terms;
    const double here = state_.part_of(j) + noise;
    const int64_t late = walk(terms, kept, here, 1, modulus, &budget_.work);
    if (late >= modulus) return false;  // no shift is worse
    const int64_t early = walk(terms, kept, here, -1, modulus - late, &budget_.work);
    if (early + late < 2) return false;
    const Tightest before = tightest_around(j);
    for (const int64_t eighths : std::array<int64_t, 3>{4, 2, 6}) {
      const int64_t to = wrap(kept - early + (early + late) / 8 * eighths + (early + late) % 8 * eighths / 8, modulus);
      if (to == kept) continue;
      state_.mark();
      state_.move(j, to);
      if (state_.objective() <= limit && tightest_around(j).better_than(before)) {
        state_.mark();
        return true;
      }
      state_.undo();
    }
    return false;
  }

  JointState& state_;
  double tolerance_;
  std::span<const uint8_t> kept_;
  Budget& budget_;
};

}  // namespace

int64_t joint_slack(JointState& state, std::size_t j, double tolerance, int64_t* work) {
  const JointProblem& problem = state.problem();
  int64_t slack = problem.period[j] / 2;
  std::vector<Term> one(1);
  for (const Place& p : problem.places[j]) {
    const Link& link = problem.links[p.link].link();
    one[0] = {nullptr, 0, 1.0};
    one[0].profile = &state.profile(p, &one[0].lag);
    const int64_t at = state.shift()[j];
    const double limit = one[0].profile->at(at - one[0].lag) + tolerance * link.capacity + link.noise;
    for (const int direction : kDirections) {
      const int64_t reach = walk(one, at, limit, direction, std::min(slack, link.modulus[p.member]), work);
      // All the way round nothing is worse: this link sets no bound.
      if (reach < link.modulus[p.member]) slack = std::min(slack, reach);
    }
  }
  return slack;
}

void centre_joint(JointState& state, double tolerance, std::span<const uint8_t> kept, Budget& budget) {
  Centring(state, tolerance, kept, budget).run();
}

}  // namespace cassini
