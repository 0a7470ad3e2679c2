#include "link/branch_and_bound.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "demand/marginal.hpp"
#include "link/branching.hpp"
#include "link/edge_meetings.hpp"
#include "link/lagrangian_bound.hpp"
#include "link/local_search.hpp"
#include "link/pair_bounds.hpp"
#include "robustness/flat_range.hpp"

namespace cassini {
namespace {

constexpr std::size_t kBranching = 48;  // more movable jobs get local search only
constexpr int64_t kLagrangianAfter =
    1000;  // nodes after which the Lagrangian bound is asked; it seldom cuts small trees
constexpr int64_t kLagrangianAfterFew = 20000;  // with up to five jobs
constexpr double kPrune = 1e-11;                // of the capacity: a branch must promise more than this

// One partial placement; kept per depth so that memory is reused.
struct Node {
  Demand demand;
  double excess = 0.0;
  std::vector<Candidates> candidates;  // [movable]; empty where placed
  std::vector<double> least;           // [movable] bound on the marginal
  std::vector<Pick> picks;
};

class Search {
 public:
  Search(const Link& link, Budget& budget)
      : link_(link), budget_(budget), n_(link.size()), noise_(std::max(kPrune * link.capacity, 10.0 * link.noise)) {}

  Found run() {
    best_.shift.assign(n_, 0);
    best_.excess = std::numeric_limits<double>::infinity();
    Found found;
    try {
      found.lower = n_ == 2 ? solve_pair() : solve_many();
    } catch (const LimitExceeded&) {
      found.limited = true;
      if (!std::isfinite(best_.excess)) best_.excess = link_.excess(best_.shift, &budget_.work);
      found.lower = floor_;
    }
    found.lower = std::min(found.lower, best_.excess);
    found.noise = noise_;
    found.shift = best_.shift;
    found.excess = best_.excess;
    return found;
  }

 private:
  // Returns a lower bound; so does solve_pair.
  double solve_many() {
    gains_ = pair_gains(link_, budget_);
    floor_ = static_bound(link_, gains_);
    LocalSearch(link_, noise_, budget_).start(floor_ + noise_, best_);
    bool proven = done();
    if (!proven && n_ > kBranching) {
      add_lagrangian_bound();
      proven = done();
    }
    if (!proven && n_ <= kBranching) {
      prepare();
      if (!cut_) branch_from_root();
      proven = exhaustive_ && !cut_;
    }
    if (proven) return best_.excess;
    // What was left unexplored promises no less than open_, if every meeting was among it.
    return cut_ && exhaustive_ ? std::max(floor_, open_) : floor_;
  }

  // Worth its price only where the tree turns out to be large.
  void add_lagrangian_bound() {
    has_lagrangian_ = true;
    // With fewer jobs the first answers are nearly always the best.
    if (n_ > 5) LocalSearch(link_, noise_, budget_).perturb(floor_ + noise_, best_);
    if (done()) return;
    floor_ = std::max(floor_, std::min(lagrangian_bound(link_, best_.excess, budget_), best_.excess));
  }

  bool done() const { return best_.excess <= floor_ + noise_; }

  double solve_pair() {
    add(link_.base, link_.folded[0], 0, link_.capacity - link_.pattern(1).peak, link_.limits, demand_, &budget_.work);
    marginal_.build(demand_, link_.pattern(1), link_.capacity, &budget_.work);
    const Optimum best = widest_minimum(marginal_, link_.noise);
    best_.shift[1] = best.shift;
    best_.excess = mean_excess(demand_, link_.capacity) + best.excess;
    return best_.excess;
  }

  void prepare() {
    open_ = std::numeric_limits<double>::infinity();
    meet_.resize(n_ * n_);
    for (std::size_t k = 1; k < n_; ++k) {  // job 0 is never moved
      for (std::size_t i = 0; i < n_; ++i) {
        if (i == k) continue;
        if (!budget_.left()) {
          cut_ = true;
          open_ = floor_;
          return;
        }
        meet_[k * n_ + i] = meetings(link_.pattern(k), link_.pattern(i), link_.modulus[k]);
        exhaustive_ = exhaustive_ && meet_[k * n_ + i].usable;
        budget_.work += static_cast<int64_t>(link_.pattern(k).edges.size() * link_.pattern(i).edges.size());
      }
    }
    equal_ = EqualJobs(n_, [&](std::size_t i, std::size_t k) { return link_.pattern(i) == link_.pattern(k); });
    nodes_.resize(n_);
    placed_.assign(n_, 0);
    shift_.assign(n_, 0);
  }

  void branch_from_root() {
    // The first job in canonical order, the largest, stands at 0: rotating all jobs alike changes nothing.
    Node& root = nodes_[0];
    placed_[0] = 1;
    add(link_.base, link_.folded[0], 0, link_.capacity - link_.peak_left(placed_), link_.limits, root.demand,
        &budget_.work);
    root.excess = mean_excess(root.demand, link_.capacity);
    root.candidates.assign(n_, {});
    if (!budget_.spend()) {
      cut_ = true;
      open_ = floor_;
      return;
    }
    const Candidates none{};
    for (std::size_t k = 1; k < n_; ++k) join(none, k, 0, root.candidates[k]);
    const double bound = evaluate(root);
    floor_ = std::max(floor_, std::min(bound, best_.excess));
    if (bound < best_.excess - noise_) expand(0);
  }

  // out = the candidates of job k known, and its meetings with job i, placed last.
  void join(const Candidates& known, std::size_t k, std::size_t i, Candidates& out) {
    meet_[k * n_ + i].at(shift_[i], fresh_);
    merge(known, fresh_, link_.modulus[k], exhaustive_, out);
    budget_.work += static_cast<int64_t>(out.size());
  }

  // What the jobs left demand beyond the room there is for them is excess wherever they stand. This costs least to ask,
  // and most nodes of an overloaded link end here.
  double room_bound(const Node& node) const {
    double mean = 0.0;  // of the jobs left
    double peak = 0.0;
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) continue;
      mean += link_.pattern(k).mean();
      peak += link_.pattern(k).peak;
    }
    return node.excess + mean - mean_room(node.demand, link_.capacity, peak);
  }

  // Lower bound of the node. Below the best excess known, `least` holds the least marginal of every job left, and the
  // marginals of all candidates that can still be of use are exact.
  double evaluate(Node& node) {
    const double useless = best_.excess - noise_;
    const double room = room_bound(node);
    if (room >= useless) return room;
    node.least.assign(n_, 0.0);
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) continue;
      Candidates& candidates = node.candidates[k];
      // Without enumerable meetings any shift may serve; it stays a candidate so that the search goes on.
      if (candidates.empty()) candidates.push_back({0, 0.0, true});
      if (all_meetings_known(k)) node.least[k] = least_marginal(candidates);
    }
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) continue;
      const double others = node.excess + rest(node, k);
      marginal_.build(node.demand, link_.pattern(k), link_.capacity, &budget_.work);
      const double least = refine(node.candidates[k], useless - others, k);
      if (!all_meetings_known(k)) continue;
      node.least[k] = least;
      if (others + least >= useless) return others + least;
    }
    return std::max(node.excess + rest(node, n_), room);
  }

  // What the jobs left, but job k (n_: all), add at least to those placed and job k.
  double rest(const Node& node, std::size_t k) {
    double sum = 0.0;
    left_.clear();
    for (std::size_t l = 0; l < n_; ++l) {
      if (placed_[l] || l == k) continue;
      left_.push_back(l);
      sum += gains_.any ? gains_.single[l] : node.least[l];
    }
    if (!gains_.any) return sum;
    root_.resize(n_);
    for (const std::size_t l : left_) {
      root_[l] = node.least[l] - gains_.single[l];
      if (k < n_) root_[l] = std::max(root_[l], gains_.gain[k * n_ + l]);
    }
    return sum + heaviest_tree(left_, root_, gains_.gain);
  }

  static double least_marginal(const Candidates& candidates) {
    double least = candidates[0].marginal;
    for (const Candidate& one : candidates) least = std::min(least, one.marginal);
    return least;
  }

  // Reads the marginals of the candidates whose bounds are below `useless` from marginal_, which is that of job k.
  // Returns the least of all.
  double refine(Candidates& candidates, double useless, std::size_t k) {
    query_.clear();
    for (const Candidate& one : candidates) {
      if (one.marginal < useless) query_.push_back(one.shift);
    }
    if (!query_.empty()) {
      read_marginals(k);
      const double* value = values_.data();
      for (Candidate& one : candidates) {
        if (one.marginal < useless) one.marginal = *value++;
      }
    }
    return least_marginal(candidates);
  }

  // values_ = marginal_, which is that of job k, at the shifts query_.
  void read_marginals(std::size_t k) {
    values_.resize(query_.size());
    marginal_.at_all({query_.data(), query_.size()}, values_.data());
    budget_.work += static_cast<int64_t>(query_.size() * (1 + link_.pattern(k).segments.size()) / 2);
  }

  bool all_meetings_known(std::size_t k) const {
    if (exhaustive_) return true;
    for (std::size_t i = 0; i < n_; ++i) {
      if (placed_[i] && !meet_[k * n_ + i].usable) return false;
    }
    return true;
  }

  void mark_explored(Node& node, std::size_t job, int64_t shift) {
    for (std::size_t k = job; k < n_; ++k) {
      if (placed_[k] || !equal_.alike(job, k)) continue;
      Candidates& all = node.candidates[k];
      Candidate* const at = std::lower_bound(all.begin(), all.end(), shift,
                                             [](const Candidate& one, int64_t than) { return one.shift < than; });
      if (at != all.end() && at->shift == shift) at->live = false;
    }
  }

  void collect(Node& node) {
    node.picks.clear();
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k] || equal_.waits_for_another(k, placed_)) continue;
      const double others = node.excess + rest(node, k);
      for (const Candidate& one : node.candidates[k]) {
        const double bound = others + one.marginal;
        if (one.live && bound < best_.excess - noise_) {
          node.picks.push_back({bound, node.excess + one.marginal, k, one.shift});
        }
      }
    }
    sort_by_bound(node.picks);
  }

  void expand(std::size_t depth) {
    Node& node = nodes_[depth];
    std::size_t left = 0;
    for (const uint8_t placed : placed_) left += placed == 0;
    collect(node);
    for (std::size_t p = 0; p < node.picks.size(); ++p) {
      const Pick pick = node.picks[p];
      if (!has_lagrangian_ && budget_.nodes() > (n_ > 5 ? kLagrangianAfter : kLagrangianAfterFew))
        add_lagrangian_bound();
      if (done() || pick.bound >= best_.excess - noise_) return;  // the rest promises no more
      if (cut_ || !budget_.spend()) {
        cut_ = true;
        open_ = std::min(open_, pick.bound);  // the smallest of those left
        return;
      }
      placed_[pick.job] = 1;
      shift_[pick.job] = pick.shift;
      if (left == 2) {
        finish(depth, p);
      } else {
        descend_into(depth, pick);
      }
      placed_[pick.job] = 0;
      mark_explored(node, pick.job, pick.shift);  // only now: below, an equal job may still stand at the same shift
    }
  }

  // Pick p is placed, one job is left: its best shift is a candidate that was not explored.
  void finish(std::size_t depth, std::size_t p) {
    const Node& node = nodes_[depth];
    const Pick& pick = node.picks[p];
    std::size_t last = 0;
    while (placed_[last]) ++last;
    const double useless = best_.excess - noise_ - pick.excess;
    query_.clear();
    // Of those known before, the picks that follow; an equal job has the same, this one included.
    const std::size_t alike = equal_.alike(pick.job, last) ? pick.job : last;
    for (std::size_t q = alike == last ? p + 1 : p; q < node.picks.size(); ++q) {
      const Pick& known = node.picks[q];
      if (known.job == alike && known.excess - node.excess < useless) query_.push_back(known.shift);
    }
    add_fresh(node.candidates[last], last, pick.job, useless);
    if (query_.empty()) return;
    std::sort(query_.begin(), query_.end());
    Demand& demand = nodes_[depth + 1].demand;
    place(node, pick, demand);
    marginal_.build(demand, link_.pattern(last), link_.capacity, &budget_.work);
    read_marginals(last);
    const auto least = static_cast<std::size_t>(std::min_element(values_.begin(), values_.end()) - values_.begin());
    if (values_[least] >= useless) return;
    best_.shift = shift_;
    best_.shift[last] = query_[least];
    best_.excess = pick.excess + values_[least];
  }

  // Puts the new meetings of job k with job i into query_, unless the chord says that they are useless.
  void add_fresh(const Candidates& known, std::size_t k, std::size_t i, double useless) {
    meet_[k * n_ + i].at(shift_[i], fresh_);
    budget_.work += static_cast<int64_t>(fresh_.size());
    std::size_t a = 0;
    for (const int64_t shift : fresh_) {
      while (a < known.size() && known[a].shift < shift) ++a;
      if (a < known.size() && known[a].shift == shift) continue;
      if (!exhaustive_ || chord(known, a, shift, link_.modulus[k]) < useless) query_.push_back(shift);
    }
  }

  void place(const Node& node, const Pick& pick, Demand& out) {
    add(node.demand, link_.folded[pick.job], pick.shift, link_.capacity - link_.peak_left(placed_), link_.limits, out,
        &budget_.work);
  }

  void descend_into(std::size_t depth, const Pick& pick) {
    const Node& node = nodes_[depth];
    Node& child = nodes_[depth + 1];
    place(node, pick, child.demand);
    child.excess = pick.excess;
    child.candidates.resize(n_);
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) {
        child.candidates[k].clear();
        continue;
      }
      join(node.candidates[k], k, pick.job, child.candidates[k]);
    }
    if (evaluate(child) < best_.excess - noise_) expand(depth + 1);
  }

  const Link& link_;
  Budget& budget_;
  const std::size_t n_;
  const double noise_;
  Placement best_;
  double floor_ = 0.0;           // no shifts have less excess
  double open_ = 0.0;            // least bound among what was not explored
  bool exhaustive_ = true;       // every meeting can be enumerated
  bool has_lagrangian_ = false;  // the Lagrangian bound is part of floor_
  bool cut_ = false;             // the budget ended the search
  PairGains gains_;
  std::vector<Meetings> meet_;  // [k * n + i]
  EqualJobs equal_;
  std::vector<Node> nodes_;  // by depth
  std::vector<uint8_t> placed_;
  std::vector<int64_t> shift_;
  Demand demand_;
  Marginal marginal_;
  Shifts fresh_;
  Shifts query_;
  std::vector<std::size_t> left_;
  std::vector<double> root_;
  Values values_;
};

}  // namespace

Found search(const Link& link, Budget& budget) {
  if (link.size() < 2) {
    Found found;
    found.shift.assign(link.size(), 0);
    found.excess = link.excess(found.shift, &budget.work);
    found.lower = found.excess;
    return found;
  }
  return Search(link, budget).run();
}

}  // namespace cassini
