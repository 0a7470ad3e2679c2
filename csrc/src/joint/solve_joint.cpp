#include "joint/solve_joint.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <optional>

#include "base/periods.hpp"
#include "joint/joint_branch_and_bound.hpp"
#include "joint/joint_centering.hpp"
#include "joint/joint_local_search.hpp"
#include "joint/joint_state.hpp"

namespace cassini {
namespace {

constexpr int64_t kRoundsPerJob = 40;      // of escaping in vain
constexpr int64_t kRoundsBeforeProof = 4;  // per job, where exhaustive search follows

class JointSolver {
 public:
  JointSolver(const JointProblem& problem, const JointStart& start, Budget& budget)
      : problem_(problem),
        budget_(budget),
        floor_(problem.floor()),
        state_(start.snapshot == nullptr ? JointState(problem, budget)
                                         : JointState(problem, budget, *start.snapshot, *start.from)),
        descent_(state_, start.kept, budget),
        kept_(start.kept) {}

  JointAnswer run(const JointStart& start) {
    best_.shift.assign(problem_.n_jobs(), 0);
    best_.lower = floor_;
    try {
      if (start.shift.empty()) {
        begin_anew();
      } else {
        begin_from(start);
      }
      if (!done()) escape(start);
      if (!done()) prove();
      if (start.slack_tolerance >= 0.0) centre(start.slack_tolerance);
    } catch (const LimitExceeded&) {
      best_.limited = true;
    }
    return best_;
  }

 private:
  bool done() const { return best_objective_ <= floor_ + problem_.noise; }

  void offer() {
    const double now = state_.objective();
    if (now >= best_objective_) return;
    best_objective_ = now;
    best_.shift = state_.shift();
  }

  void begin_from(const JointStart& start) {
    best_.shift.assign(start.shift.begin(), start.shift.end());
    if (start.snapshot == nullptr) state_.set(start.shift);
    if (!kept_.empty()) best_.lower = floor_ += settled();
    offer();
    for (std::size_t j = 0; j < problem_.n_jobs(); ++j) {
      if (start.dirty.empty() || start.dirty[j]) descent_.enqueue(j);
    }
    descent_.run();
    offer();
  }

  bool stays(std::size_t j) const { return !kept_.empty() && kept_[j] != 0; }

  // What links cost beyond their bounds all of whose jobs are kept: no shifts change that.
  double settled() const {
    double sum = 0.0;
    for (std::size_t l = 0; l < problem_.links.size(); ++l) {
      const auto& jobs = problem_.links[l].job;
      if (std::all_of(jobs.begin(), jobs.end(), [&](std::size_t j) { return stays(j); })) {
        sum += std::max(0.0, state_.gap(l));
      }
    }
    return sum;
  }

  void begin_anew() {
    for (int way = 0; way < 3 && !done() && (way == 0 || budget_.left()); ++way) {
      if (way == 2) {
        if (!compose()) break;
      } else {
        place_greedily(state_, way == 0 ? by_demand() : along_links(), budget_);
      }
      if (way == 0) offer();  // an answer, should descent meet a limit
      for (std::size_t j = 0; j < problem_.n_jobs(); ++j) descent_.enqueue(j);
      descent_.run();
      offer();
    }
  }

  std::vector<double> demand() const {
    std::vector<double> out(problem_.n_jobs(), 0.0);
    for (std::size_t j = 0; j < out.size(); ++j) {
      for (const Place& p : problem_.places[j]) {
        const JointLink& at = problem_.links[p.link];
        out[j] += at.per_excess() * at.link().pattern(p.member).mean();
      }
    }
    return out;
  }

  std::vector<std::size_t> by_demand() const {
    const std::vector<double> of = demand();
    std::vector<std::size_t> order(problem_.n_jobs());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return of[x] > of[y]; });
    return order;
  }

  // Breadth first from the job of the largest demand, so that each is placed beside jobs that stand already.
  std::vector<std::size_t> along_links() const {
    std::vector<std::size_t> order;
    std::vector<uint8_t> seen(problem_.n_jobs(), 0);
    std::size_t next = 0;
    for (const std::size_t root : by_demand()) {
      if (seen[root]) continue;
      seen[root] = 1;
      order.push_back(root);
      for (; next < order.size(); ++next) {
        for (const Place& p : problem_.places[order[next]]) {
          for (const std::size_t k : problem_.links[p.link].job) {
            if (seen[k]) continue;
            seen[k] = 1;
            order.push_back(k);
          }
        }
      }
    }
    return order;
  }

  // Algorithm 1 on a spanning tree: links that matter most first, each gives the jobs it meets first its own shifts.
  bool compose() {
    std::vector<std::size_t> order;
    for (std::size_t l = 0; l < problem_.links.size(); ++l) {
      if (problem_.links[l].guides && !problem_.links[l].own_shift.empty()) order.push_back(l);
    }
    if (order.empty()) return false;
    const auto importance = [&](std::size_t l) {
      const JointLink& at = problem_.links[l];
      double mean = 0.0;
      for (const JobPattern& job : at.link().jobs) mean += job.mean();
      return at.per_excess() * (mean - at.lower_bound);
    };
    std::vector<double> key(problem_.links.size(), 0.0);
    for (const std::size_t l : order) key[l] = importance(l);
    std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) { return key[x] > key[y]; });
    // Jobs whose relative shifts are settled form clusters; a link joins those that it touches.
    std::vector<int64_t> shift(problem_.n_jobs(), 0);
    std::vector<std::vector<std::size_t>> cluster(problem_.n_jobs());
    std::vector<std::size_t> home(problem_.n_jobs());
    for (std::size_t j = 0; j < home.size(); ++j) {
      cluster[j].assign(1, j);
      home[j] = j;
    }
    for (const std::size_t l : order) {
      const JointLink& at = problem_.links[l];
      for (std::size_t m = 1; m < at.job.size(); ++m) {
        const std::size_t a = at.job[0];
        const std::size_t b = at.job[m];
        if (home[a] == home[b]) continue;
        const int64_t by = (shift[a] + at.own_shift[m] - at.own_shift[0]) - shift[b];
        const std::size_t from = home[b];
        for (const std::size_t k : cluster[from]) {
          shift[k] = wrap(shift[k] + by, problem_.period[k]);
          home[k] = home[a];
          cluster[home[a]].push_back(k);
        }
        cluster[from].clear();
      }
    }
    state_.set(shift);
    offer();
    return true;
  }

  // Near what changed, if something did; else everywhere.
  std::vector<std::size_t> focus(const JointStart& start) const {
    std::vector<std::size_t> out;
    for (std::size_t l = 0; l < problem_.links.size(); ++l) {
      const JointLink& at = problem_.links[l];
      if (!at.guides || at.job.size() < 2) continue;
      const bool near = start.dirty.empty() ||
                        std::any_of(at.job.begin(), at.job.end(), [&](std::size_t j) { return start.dirty[j] != 0; });
      const bool moves = std::any_of(at.job.begin(), at.job.end(), [&](std::size_t j) { return !stays(j); });
      if (near && moves) out.push_back(l);
    }
    return out;
  }

  void escape(const JointStart& start) {
    if (state_.shift() != best_.shift) state_.set(best_.shift);
    Escape out(state_, descent_, focus(start), kept_, budget_);
    auto n = static_cast<int64_t>(problem_.n_jobs());
    for (std::size_t j = 0; j < problem_.n_jobs(); ++j) n -= stays(j);
    out.run(floor_, n * (n <= int64_t{kMostProofJobs} ? kRoundsBeforeProof : kRoundsPerJob));
    offer();
  }

  // What has to be searched together: components, and of these what hangs together without the jobs that are kept.
  std::vector<std::size_t> parts() const {
    if (kept_.empty()) return problem_.component;
    std::vector<std::size_t> part(problem_.n_jobs());
    std::iota(part.begin(), part.end(), std::size_t{0});
    const auto root = [&](std::size_t j) {
      while (part[j] != j) j = part[j] = part[part[j]];
      return j;
    };
    for (const JointLink& at : problem_.links) {
      if (!at.guides) continue;
      std::optional<std::size_t> first;
      for (const std::size_t j : at.job) {
        if (stays(j)) continue;
        if (first) part[root(j)] = root(*first);
        first = j;
      }
    }
    for (std::size_t j = 0; j < part.size(); ++j) part[j] = root(j);
    return part;
  }

  // Small components one by one: the least of each is exhausted, or its bound at least raised.
  void prove() {
    const std::vector<std::size_t> part_of = parts();
    std::vector<std::size_t> size(problem_.n_jobs(), 0);
    for (std::size_t j = 0; j < problem_.n_jobs(); ++j) size[part_of[j]] += !stays(j);
    const std::size_t least = kept_.empty() ? 2 : 1;  // beside jobs that are kept one alone has a best place
    const auto small = [&](std::size_t c) { return size[c] >= least && size[c] <= kMostProofJobs; };
    if (std::none_of(part_of.begin(), part_of.end(), small) || !budget_.left()) return;
    std::map<std::size_t, std::vector<std::size_t>> jobs;  // by part
    for (const std::size_t j : by_demand()) {
      if (!stays(j) && small(part_of[j])) jobs[part_of[j]].push_back(j);
    }
    if (state_.shift() != best_.shift) state_.set(best_.shift);
    double lower = floor_;
    bool improved = false;
    for (const auto& [component, part] : jobs) {
      if (!budget_.left()) break;
      double known = 0.0;
      double floor = 0.0;
      for (const std::size_t l : links_of(problem_, part)) {
        known += problem_.links[l].per_excess() * state_.excess(l);
        floor += problem_.links[l].per_excess() * problem_.links[l].lower_bound;
      }
      const Proof proof = prove_joint(problem_, part, known, budget_, kept_, best_.shift);
      lower += std::max(0.0, proof.lower - floor);
      for (std::size_t k = 0; proof.improved && k < part.size(); ++k) {
        best_.shift[part[k]] = proof.shift[k];
        improved = true;
      }
    }
    best_.lower = lower;
    if (!improved) return;
    state_.set(best_.shift);
    best_objective_ = std::min(best_objective_, state_.objective());
  }

  void centre(double tolerance) {
    if (state_.shift() != best_.shift) state_.set(best_.shift);
    centre_joint(state_, tolerance, kept_, budget_);
    best_.shift = state_.shift();
  }

  const JointProblem& problem_;
  Budget& budget_;
  double floor_;
  double best_objective_ = std::numeric_limits<double>::infinity();
  JointState state_;
  Descent descent_;
  std::span<const uint8_t> kept_;
  JointAnswer best_;
};

}  // namespace

JointAnswer solve_joint(const JointProblem& problem, const JointStart& start, Budget& budget) {
  try {
    return JointSolver(problem, start, budget).run(start);
  } catch (const LimitExceeded&) {  // already where it stands
    return {{start.shift.begin(), start.shift.end()}, problem.floor(), true};
  }
}

}  // namespace cassini
