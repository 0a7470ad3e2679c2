#include "search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "bounds.hpp"
#include "marginal.hpp"
#include "plateau.hpp"

namespace cassini {
namespace {

constexpr std::size_t kBranching = 48;         // more movable jobs get local search only
constexpr std::size_t kMaxMeetings = 1 << 16;  // of one pair of jobs, lifts included
constexpr std::size_t kMaxEdgePairs = 1 << 20;
constexpr int64_t kCoupling = 1000;        // nodes after which the coupling bound is asked
constexpr std::size_t kRoundsPerJob = 25;  // of improve()
constexpr int64_t kFirstAnswer = 256;      // nodes
constexpr double kPrune = 1e-11;           // of the capacity: a branch must promise more than this

// Meetings of opposite edges of job k with job i at shift 0: shifts of k modulo gcd(T_k, T_i), and all lifts of them.
struct Meetings {
  std::vector<int64_t> offset;  // ascending, distinct, in [0, step)
  int64_t step = 1;
  int64_t lifts = 1;
  bool usable = true;  // false: too many to enumerate
};

Meetings meetings(const Circle& k, const Circle& i, int64_t turn) {
  Meetings out;
  out.step = std::gcd(k.period, i.period);
  out.lifts = turn / out.step;
  if (k.edges.size() * i.edges.size() > kMaxEdgePairs) {
    out.usable = false;
    if (!out.usable) out.offset.clear();
    return out;
  }
  for (const Edge& a : k.edges) {
    for (const Edge& b : i.edges) {
      if (a.rising != b.rising) out.offset.push_back(wrap(b.at - a.at, out.step));
    }
  }
  std::sort(out.offset.begin(), out.offset.end());
  out.offset.erase(std::unique(out.offset.begin(), out.offset.end()), out.offset.end());
  out.usable =
      static_cast<double>(out.offset.size()) * static_cast<double>(out.lifts) <= static_cast<double>(kMaxMeetings);
  return out;
}

// Shifts of one job worth branching on, ascending.
struct Candidates {
  std::vector<int64_t> shift;
  std::vector<double> marginal;
  std::vector<uint8_t> live;  // 0: explored, or known to promise nothing

  std::size_t size() const { return shift.size(); }
  void clear() {
    shift.clear();
    live.clear();
  }
  void push_back(int64_t s, uint8_t is_live) {
    shift.push_back(s);
    live.push_back(is_live);
  }
};

struct Pick {
  double bound;
  std::size_t job;
  int64_t shift;
};

// One partial placement; kept per depth so that memory is reused.
struct Node {
  Demand demand;
  double excess = 0.0;
  std::vector<Candidates> candidates;  // [movable], ascending shifts; empty where placed
  std::vector<double> least;           // [movable] bound on the marginal
  std::vector<std::size_t> argleast;   // [movable]
  std::vector<Pick> picks;
};

class Search {
 public:
  Search(const Link& link, Budget& budget) : link_(link), budget_(budget), n_(link.size()) {}

  Found run() {
    noise_ = std::max(kPrune * link_.capacity, 10.0 * link_.noise);
    best_.shift.assign(n_, 0);
    try {
      if (n_ == 2) {
        solve_pair();
      } else {
        solve_many();
      }
    } catch (const LimitExceeded&) {
      best_.limited = true;
      if (!has_answer_) best_.excess = link_.excess(best_.shift, &budget_.work);
      best_.lower = std::min(best_.excess, std::max(floor_, link_.area_bound()));
    }
    return best_;
  }

 private:
  void solve_many() {
    floor_ = static_bound(link_, budget_);
    best_.excess = link_.excess(best_.shift, &budget_.work);
    has_answer_ = true;
    start();
    bool proven = done();
    if (!proven && n_ > kBranching) {
      couple();
      proven = done();
    }
    if (!proven && n_ <= kBranching) {
      prepare();
      if (!cut_) branch_from_root();
      proven = exhaustive_ && !cut_;
    }
    if (cut_ && !coupled_) couple();
    if (proven) {
      best_.lower = best_.excess;
    } else {
      // What was left unexplored promises no less than open_, if every meeting was among it.
      best_.lower = std::min(best_.excess, cut_ && exhaustive_ ? std::max(floor_, open_) : floor_);
    }
  }

  // Worth its price only where the tree turns out to be large.
  void couple() {
    coupled_ = true;
    if (n_ > 5) improve();  // with fewer the first answers are nearly always the best
    if (done()) return;
    floor_ = std::max(floor_, std::min(coupling_bound(link_, best_.excess, budget_), best_.excess));
  }

  bool done() const { return best_.excess <= floor_ + noise_; }

  void solve_pair() {
    add(link_.base, link_.folded[0], 0, link_.capacity - link_.circle(1).peak, link_.limits, scratch_, &budget_.work);
    marginal_.build(scratch_, link_.circle(1), link_.capacity, &budget_.work);
    const Optimum best = widest_minimum(marginal_, link_.noise);
    best_.shift[1] = best.shift;
    best_.excess = mean_excess(scratch_, link_.capacity) + best.excess;
    best_.lower = best_.excess;
  }

  // Greedy placements in several orders, each improved one job at a time until none can be.
  void start() {
    std::vector<std::size_t> order(n_);
    std::vector<int64_t> shift(n_);
    // The tree of up to four jobs is small: one good answer to prune with is enough.
    const std::size_t starts = n_ <= 4 ? 1 : std::min<std::size_t>(n_, 6);
    for (std::size_t first = 0; first < starts && !done() && (first == 0 || budget_.left()); ++first) {
      for (std::size_t m = 0; m < n_; ++m) order[m] = (first + m) % n_;
      greedy(order, shift);
      descend(shift);
      offer(shift, link_.excess(shift, &budget_.work));
    }
  }

  // Large trees are pruned by good answers: from the best one two jobs at a time go astray, and all find their best places
  // again. Reproducible: the random numbers are always the same.
  void improve() {
    std::mt19937_64 random(n_);
    const std::size_t rounds = kRoundsPerJob * n_;
    std::vector<int64_t> shift;
    for (std::size_t round = 0; round < rounds && !done() && budget_.left(); ++round) {
      shift = best_.shift;
      for (int astray = 0; astray < 2; ++astray) {
        const auto m = static_cast<std::size_t>(random() % n_);
        shift[m] = static_cast<int64_t>(random() % static_cast<uint64_t>(link_.turn[m]));
      }
      descend(shift);
      offer(shift, link_.excess(shift, &budget_.work));
    }
  }

  void greedy(const std::vector<std::size_t>& order, std::vector<int64_t>& shift) {
    double left = link_.movable_peak();
    Demand sum = link_.base;
    for (const std::size_t m : order) {
      left -= link_.circle(m).peak;
      shift[m] = 0;
      // The first answer is worth a few nodes more than there may be; after that what is left stands at 0.
      if (budget_.nodes() < kFirstAnswer ? budget_.in_time() : budget_.left()) {
        marginal_.build(sum, link_.circle(m), link_.capacity, &budget_.work);
        shift[m] = least_kink().shift;
      }
      add(sum, link_.folded[m], shift[m], link_.capacity - left, link_.limits, scratch_, &budget_.work);
      std::swap(sum, scratch_);
    }
  }

  // Moves one job at a time to its best place as long as that helps.
  void descend(std::vector<int64_t>& shift) {
    for (bool moved = true; moved && budget_.left();) {
      moved = false;
      for (std::size_t m = 0; m < n_ && budget_.left(); ++m) {
        link_.total(shift, m, scratch_, &budget_.work);
        marginal_.build(scratch_, link_.circle(m), link_.capacity, &budget_.work);
        const Optimum best = least_kink();
        if (best.excess < marginal_.at(shift[m]) - noise_) {
          shift[m] = best.shift;
          moved = true;
        }
      }
    }
  }

  Optimum least_kink() {
    marginal_.profile(kinks_, values_);
    budget_.work += static_cast<int64_t>(4 * kinks_.size());
    const auto least = static_cast<std::size_t>(std::min_element(values_.begin(), values_.end()) - values_.begin());
    return {kinks_[least], values_[least]};
  }

  void offer(const std::vector<int64_t>& shift, double excess) {
    if (excess >= best_.excess) return;
    best_.excess = excess;
    best_.shift = shift;
  }

  void prepare() {
    open_ = std::numeric_limits<double>::infinity();
    meet_.resize(n_ * n_);
    twin_.assign(n_, n_);
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t i = 0; i < n_; ++i) {
        if (i == k) continue;
        if (!budget_.left()) {
          cut_ = true;
          open_ = floor_;
          return;
        }
        meet_[k * n_ + i] = meetings(link_.circle(k), link_.circle(i), link_.turn[k]);
        exhaustive_ = exhaustive_ && meet_[k * n_ + i].usable;
        budget_.work += static_cast<int64_t>(link_.circle(k).edges.size() * link_.circle(i).edges.size());
      }
      // Jobs are in content order, so equal ones are neighbours.
      if (k > 0 && link_.circle(k) == link_.circle(k - 1)) twin_[k] = k - 1;
    }
    nodes_.resize(n_);
    placed_.assign(n_, 0);
    shift_.assign(n_, 0);
  }

  void branch_from_root() {
    // The first job in canonical order, the largest, stands at 0: a turn of all jobs changes nothing.
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
    const Candidates none;
    for (std::size_t k = 1; k < n_; ++k) {
      gather(k, 0);
      merge(none, root.candidates[k]);
    }
    const double bound = evaluate(root);
    floor_ = std::max(floor_, std::min(bound, best_.excess));
    if (bound < best_.excess - noise_) expand(0);
  }

  // All meetings of job k with the placed job i, into fresh_, ascending.
  void gather(std::size_t k, std::size_t i) {
    const Meetings& m = meet_[k * n_ + i];
    fresh_.clear();
    if (!m.usable) return;
    for (int64_t lift = 0; lift < m.lifts; ++lift) {
      for (const int64_t offset : m.offset) fresh_.push_back(wrap(shift_[i] + offset + lift * m.step, link_.turn[k]));
    }
    // Ascending but for one turn: rotate instead of sorting.
    std::rotate(fresh_.begin(), std::is_sorted_until(fresh_.begin(), fresh_.end()), fresh_.end());
  }

  // out = known and fresh_ together; what is new is live.
  void merge(const Candidates& known, Candidates& out) {
    out.clear();
    std::size_t a = 0;
    std::size_t b = 0;
    while (a < known.size() || b < fresh_.size()) {
      if (b == fresh_.size() || (a < known.size() && known.shift[a] <= fresh_[b])) {
        if (b < fresh_.size() && known.shift[a] == fresh_[b]) ++b;
        out.push_back(known.shift[a], known.live[a]);
        ++a;
      } else {
        out.push_back(fresh_[b++], 1);
      }
    }
    budget_.work += static_cast<int64_t>(out.size());
  }

  // Lower bound of the node. Below the best excess known, the marginals of all candidates have been computed.
  double evaluate(Node& node) {
    node.least.assign(n_, 0.0);
    node.argleast.assign(n_, 0);
    double bound = node.excess;
    double mean = 0.0;  // of the jobs left
    double peak = 0.0;
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) continue;
      mean += link_.circle(k).mean();
      peak += link_.circle(k).peak;
    }
    // What the jobs left demand beyond the room there is for them is excess wherever they stand. This costs least to
    // ask, and most nodes of an overloaded link end here.
    const double crowded = node.excess + mean - mean_room(node.demand, link_.capacity, peak);
    if (crowded >= best_.excess - noise_) return crowded;
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) continue;
      Candidates& candidates = node.candidates[k];
      // Without enumerable meetings any shift may serve; it stays a candidate so that the search goes on.
      if (candidates.size() == 0) candidates.push_back(0, 1);
      marginal_.build(node.demand, link_.circle(k), link_.capacity, &budget_.work);
      candidates.marginal.resize(candidates.size());
      marginal_.at_all(candidates.shift, candidates.marginal.data());
      const auto first = candidates.marginal.begin();
      node.argleast[k] = static_cast<std::size_t>(std::min_element(first, candidates.marginal.end()) - first);
      const double least = candidates.marginal[node.argleast[k]];
      budget_.work += static_cast<int64_t>(candidates.size() * (1 + link_.circle(k).segments.size()) / 2);
      node.least[k] = all_meetings_known(k) ? least : 0.0;
      bound += node.least[k];
    }
    return std::max(bound, crowded);
  }

  bool all_meetings_known(std::size_t k) const {
    if (exhaustive_) return true;
    for (std::size_t i = 0; i < n_; ++i) {
      if (placed_[i] && !meet_[k * n_ + i].usable) return false;
    }
    return true;
  }

  // Of jobs that are equal and not placed only the first is branched on.
  bool has_unplaced_twin(std::size_t k) const { return twin_[k] < n_ && !placed_[twin_[k]]; }

  void kill(Node& node, std::size_t job, int64_t shift) {
    for (std::size_t k = job; k < n_ && (k == job || twin_[k] == k - 1); ++k) {
      if (placed_[k]) continue;
      Candidates& all = node.candidates[k];
      const auto at =
          static_cast<std::size_t>(std::lower_bound(all.shift.begin(), all.shift.end(), shift) - all.shift.begin());
      if (at < all.size() && all.shift[at] == shift) all.live[at] = 0;
    }
  }

  void collect(Node& node, double sum_least) {
    node.picks.clear();
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k] || has_unplaced_twin(k)) continue;
      const Candidates& all = node.candidates[k];
      for (std::size_t c = 0; c < all.size(); ++c) {
        const double bound = sum_least + (all.marginal[c] - node.least[k]);
        if (all.live[c] && bound < best_.excess - noise_) node.picks.push_back({bound, k, all.shift[c]});
      }
    }
    std::sort(node.picks.begin(), node.picks.end(), [](const Pick& x, const Pick& y) {
      if (x.bound != y.bound) return x.bound < y.bound;
      return x.job != y.job ? x.job < y.job : x.shift < y.shift;
    });
  }

  void expand(std::size_t depth) {
    Node& node = nodes_[depth];
    double sum_least = node.excess;
    std::size_t left = 0;
    std::size_t last = 0;
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) continue;
      sum_least += node.least[k];
      last = k;
      ++left;
    }
    if (left == 1) {  // the last job needs no branching
      const Candidates& all = node.candidates[last];
      const double excess = node.excess + all.marginal[node.argleast[last]];
      if (excess < best_.excess - noise_) {
        best_.shift = shift_;
        best_.shift[last] = all.shift[node.argleast[last]];
        best_.excess = excess;
      }
      return;
    }
    collect(node, sum_least);
    for (std::size_t p = 0; p < node.picks.size(); ++p) {
      const Pick pick = node.picks[p];
      if (!coupled_ && budget_.nodes() > kCoupling) couple();
      if (done() || pick.bound >= best_.excess - noise_) return;  // the rest promises no more
      if (cut_ || !budget_.spend()) {
        cut_ = true;
        open_ = std::min(open_, pick.bound);  // the smallest of those left
        return;
      }
      descend_into(depth, pick);
      kill(node, pick.job, pick.shift);  // only now: below, an equal job may still stand at the same shift
    }
  }

  void descend_into(std::size_t depth, const Pick& pick) {
    const Node& node = nodes_[depth];
    Node& child = nodes_[depth + 1];
    placed_[pick.job] = 1;
    shift_[pick.job] = pick.shift;
    add(node.demand, link_.folded[pick.job], pick.shift, link_.capacity - link_.peak_left(placed_), link_.limits,
        child.demand, &budget_.work);
    child.excess = mean_excess(child.demand, link_.capacity);
    child.candidates.resize(n_);
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) {
        child.candidates[k].clear();
        continue;
      }
      gather(k, pick.job);
      merge(node.candidates[k], child.candidates[k]);
    }
    if (evaluate(child) < best_.excess - noise_) expand(depth + 1);
    placed_[pick.job] = 0;
  }

  const Link& link_;
  Budget& budget_;
  const std::size_t n_;
  Found best_;
  double floor_ = 0.0;  // no shifts have less excess
  double noise_ = 0.0;
  double open_ = 0.0;              // least bound among what was not explored
  bool has_answer_ = false;        // best_.excess is that of best_.shift
  bool exhaustive_ = true;         // every meeting can be enumerated
  bool coupled_ = false;           // the coupling bound is part of floor_
  bool cut_ = false;               // the budget ended the search
  std::vector<Meetings> meet_;     // [k * n + i]
  std::vector<std::size_t> twin_;  // the equal job just before, or n
  std::vector<Node> nodes_;        // by depth
  std::vector<uint8_t> placed_;
  std::vector<int64_t> shift_;
  Demand scratch_;
  Marginal marginal_;
  Kinks kinks_;
  std::vector<int64_t> fresh_;
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
