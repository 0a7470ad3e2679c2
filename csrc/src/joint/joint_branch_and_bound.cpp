#include "joint/joint_branch_and_bound.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/periods.hpp"
#include "demand/marginal.hpp"
#include "link/branching.hpp"
#include "link/edge_meetings.hpp"

namespace cassini {
namespace {

constexpr double kMostMeetings = 16384.0;  // of one job, lifts included
constexpr std::size_t kNoNumber = std::numeric_limits<std::size_t>::max();

// A link of the part, with the part's own numbers for its jobs.
struct PartLink {
  const Link* link;
  std::vector<std::size_t> job;  // [movable]
  double weight;                 // objective per unit of mean excess
  double lower_bound;            // mean excess no shifts can avoid
};

// Shifts of one job worth branching on, ascending, and what each adds.
struct Candidates {
  std::vector<int64_t> shift;
  std::vector<uint8_t> live;  // 0: explored, or not to be branched on
  std::vector<double> row;    // [place of the job][candidate] weighted marginal on one link
  std::vector<double> total;  // [candidate] sum of rows
  std::vector<double> mixed;  // [candidate] sum of the rows of links that are not bounded by themselves
  double least = 0.0;
  double least_mixed = 0.0;
  std::size_t argleast = 0;
  std::size_t argmixed = 0;

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

// One partial placement; kept per depth so that memory is reused.
struct Node {
  std::vector<Demand> own;            // [links] where this node's job stands
  std::vector<const Demand*> demand;  // [links] here or further up
  std::vector<double> excess;         // [links]
  std::vector<Candidates> candidates;
  std::vector<uint8_t> bounded;  // [links] by itself, in the mixed bound
  std::vector<double> link_bound;
  double sum = 0.0;    // bound from all totals
  double mixed = 0.0;  // bound with some links by themselves
  double bound = 0.0;  // best of all bounds
  std::vector<Pick> picks;
};

class PartSearch {
 public:
  PartSearch(const JointProblem& problem, std::span<const std::size_t> jobs, double known, Budget& budget,
             std::span<const uint8_t> kept, std::span<const int64_t> at)
      : problem_(problem), jobs_(jobs.begin(), jobs.end()), budget_(budget), at_(at), n_given_(jobs.size()) {
    proof_.objective = known;
    add_links(kept);
  }

  Proof run() {
    proof_.lower = std::min(floor_, proof_.objective);
    open_ = std::numeric_limits<double>::infinity();
    if (n_ < 2 || links_.empty() || done() || !find_meetings()) return proof_;
    const double given = floor_;
    equal_ = EqualJobs(n_, [&](std::size_t i, std::size_t k) { return are_equal(i, k); });
    branch_from_root();
    const double lower = cut_ ? std::min(proof_.objective, std::max(floor_, open_)) : proof_.objective;
    proof_.lower = std::max(std::min(given, proof_.objective), lower - rounding_of_bound(noise_, weight_));
    if (proof_.improved) proof_.shift.resize(n_given_);
    return proof_;
  }

 private:
  bool done() const { return proof_.objective <= floor_ + noise_; }

  void add_links(std::span<const uint8_t> kept) {
    const std::vector<std::size_t> links = links_of(problem_, jobs_);
    std::vector<std::size_t> number(problem_.n_jobs(), kNoNumber);
    for (std::size_t k = 0; k < n_given_; ++k) number[jobs_[k]] = k;
    for (const std::size_t l : links) {
      for (const std::size_t j : problem_.links[l].job) {
        if (number[j] != kNoNumber || kept.empty() || !kept[j]) continue;
        number[j] = jobs_.size();
        jobs_.push_back(j);
      }
    }
    n_ = jobs_.size();
    places_.resize(n_);
    double rounding = 0.0;
    for (const std::size_t l : links) {
      const JointLink& at = problem_.links[l];
      PartLink part{&at.link(), {}, at.per_excess(), at.lower_bound};
      for (std::size_t m = 0; m < at.job.size(); ++m) {
        part.job.push_back(number[at.job[m]]);
        places_[part.job[m]].push_back({links_.size(), m});
      }
      floor_ += part.weight * part.lower_bound;
      weight_ += at.weight;
      rounding += at.per_excess() * at.noise;
      links_.push_back(std::move(part));
    }
    noise_ = noise_of(weight_, rounding);
  }

  // Meetings of opposite edges, on any link, of job k with each job i at shift 0: modulo gcd(T_k, T_i).
  bool find_meetings() {
    offset_.assign(n_ * n_, {});
    for (const PartLink& at : links_) {
      for (std::size_t a = 0; a < at.job.size(); ++a) {
        for (std::size_t b = 0; b < at.job.size(); ++b) {
          if (a == b || at.job[a] >= n_given_) continue;  // where those that are kept meet is of no use
          const JobPattern& k = at.link->pattern(a);
          const JobPattern& i = at.link->pattern(b);
          if (!budget_.left()) return false;
          std::vector<int64_t>& out = offset_[at.job[a] * n_ + at.job[b]];
          if (!append_meetings(k, i, std::gcd(k.period, i.period), out)) return false;
          budget_.work += static_cast<int64_t>(k.edges.size() * i.edges.size());
        }
      }
    }
    for (std::size_t k = 0; k < n_; ++k) {
      double all = 0.0;
      for (std::size_t i = 0; i < n_; ++i) {
        std::vector<int64_t>& out = offset_[k * n_ + i];
        std::sort(out.begin(), out.end());
        out.erase(std::unique(out.begin(), out.end()), out.end());
        all += static_cast<double>(out.size()) * static_cast<double>(modulus(k) / step(k, i));
      }
      if (all > kMostMeetings) return false;
    }
    return true;
  }

  int64_t modulus(std::size_t k) const { return problem_.modulus[jobs_[k]]; }
  // Divides modulus(k) where the two meet at all.
  int64_t step(std::size_t k, std::size_t i) const {
    return std::gcd(std::gcd(problem_.period[jobs_[k]], problem_.period[jobs_[i]]), modulus(k));
  }

  // Jobs with equal demand on the same links can change places.
  bool are_equal(std::size_t i, std::size_t k) const {
    if (places_[i].size() != places_[k].size()) return false;
    for (std::size_t p = 0; p < places_[i].size(); ++p) {
      const Place& a = places_[i][p];
      const Place& b = places_[k][p];
      if (a.link != b.link) return false;
      if (!(links_[a.link].link->pattern(a.member) == links_[b.link].link->pattern(b.member))) return false;
    }
    return true;
  }

  void branch_from_root() {
    placed_.assign(n_, 0);
    shift_.assign(n_, 0);
    nodes_.resize(n_);
    for (Node& node : nodes_) {
      node.own.resize(links_.size());
      node.demand.resize(links_.size());
      node.excess.assign(links_.size(), 0.0);
      node.candidates.resize(n_);
      node.bounded.resize(links_.size());
      node.link_bound.resize(links_.size());
    }
    Node& root = nodes_[0];
    for (std::size_t l = 0; l < links_.size(); ++l) {
      root.demand[l] = &links_[l].link->base;
      root.excess[l] = mean_excess(links_[l].link->base, links_[l].link->capacity);
    }
    if (!budget_.spend()) {
      cut_ = true;
      return open_at(floor_);
    }
    if (n_given_ < n_) {
      for (std::size_t k = n_given_; k < n_; ++k) stand(root, root, k, wrap(at_[jobs_[k]], modulus(k)));
    } else {
      stand(root, root, 0, 0);  // rotating all jobs alike changes nothing
    }
    evaluate(root);
    floor_ = std::max(floor_, std::min(root.bound, proof_.objective));
    if (root.bound < proof_.objective - noise_) expand(0);
  }

  void open_at(double bound) { open_ = std::min(open_, bound); }

  // Puts job k on all its links; the other links stay as `above` has them.
  void stand(const Node& above, Node& node, std::size_t k, int64_t shift) {
    placed_[k] = 1;
    shift_[k] = shift;
    if (&above != &node) {
      node.demand = above.demand;
      node.excess = above.excess;
    }
    for (const Place& p : places_[k]) {
      const PartLink& at = links_[p.link];
      double left = 0.0;
      for (std::size_t m = 0; m < at.job.size(); ++m) {
        if (!placed_[at.job[m]]) left += at.link->pattern(m).peak;
      }
      const Demand* before = above.demand[p.link];
      if (before == &node.own[p.link]) {
        std::swap(node.own[p.link], before_);
        before = &before_;
      }
      add(*before, at.link->folded[p.member], wrap(shift, at.link->modulus[p.member]), at.link->capacity - left,
          at.link->limits, node.own[p.link], &budget_.work);
      node.demand[p.link] = &node.own[p.link];
      node.excess[p.link] = mean_excess(node.own[p.link], at.link->capacity);
    }
    for (std::size_t u = 0; u < n_; ++u) {
      if (placed_[u]) continue;
      if (&above == &node) known_ = node.candidates[u];
      gather(&above == &node ? known_ : above.candidates[u], node.candidates[u], u, k);
    }
  }

  // Candidates of u once k stands: those known, and u's meetings with k.
  void gather(const Candidates& known, Candidates& out, std::size_t u, std::size_t k) {
    fresh_.clear();
    const int64_t lift = step(u, k);
    for (int64_t base = 0; base < modulus(u); base += lift) {
      for (const int64_t offset : offset_[u * n_ + k]) fresh_.push_back(wrap(shift_[k] + offset + base, modulus(u)));
      if (offset_[u * n_ + k].empty()) break;
    }
    std::sort(fresh_.begin(), fresh_.end());
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
    budget_.work += static_cast<int64_t>(8 * fresh_.size() + 2 * out.size());
  }

  // All marginals at all candidates, then the bounds.
  void evaluate(Node& node) {
    double room = 0.0;
    for (std::size_t l = 0; l < links_.size(); ++l) room += room_bound(node, l);
    node.bound = room;
    if (room >= proof_.objective - noise_) return;
    for (std::size_t k = 0; k < n_; ++k) {
      if (!placed_[k]) read_marginals(node, k);
    }
    bound_links(node);
    bound_mixed(node);
  }

  // What the jobs left demand beyond the room that is left is excess wherever they stand.
  double room_bound(Node& node, std::size_t l) {
    const PartLink& at = links_[l];
    double mean = 0.0;
    double peak = 0.0;
    for (std::size_t m = 0; m < at.job.size(); ++m) {
      if (placed_[at.job[m]]) continue;
      mean += at.link->pattern(m).mean();
      peak += at.link->pattern(m).peak;
    }
    double bound = node.excess[l];
    if (peak > 0.0) bound += mean - mean_room(*node.demand[l], at.link->capacity, peak);
    node.link_bound[l] = std::max(bound, at.lower_bound);
    return at.weight * node.link_bound[l];
  }

  void read_marginals(Node& node, std::size_t k) {
    Candidates& all = node.candidates[k];
    // Where nobody k shares a link with stands yet, all shifts add the same.
    if (all.size() == 0) all.push_back(0, 0);
    const std::size_t n = all.size();
    all.row.resize(places_[k].size() * n);
    all.total.assign(n, 0.0);
    for (std::size_t p = 0; p < places_[k].size(); ++p) {
      const PartLink& at = links_[places_[k][p].link];
      const JobPattern& job = at.link->pattern(places_[k][p].member);
      double* row = all.row.data() + p * n;
      marginal_.build(*node.demand[places_[k][p].link], job, at.link->capacity, &budget_.work);
      marginal_.at_all(all.shift, row);
      for (std::size_t c = 0; c < n; ++c) all.total[c] += row[c] *= at.weight;
      budget_.work += static_cast<int64_t>(900 + 10 * n * (1 + job.segments.size()));  // about a node each microsecond
    }
    all.argleast = static_cast<std::size_t>(std::min_element(all.total.begin(), all.total.end()) - all.total.begin());
    all.least = all.total[all.argleast];
    all.argmixed = all.argleast;
  }

  void bound_links(Node& node) {
    node.sum = 0.0;
    double by_link = 0.0;
    sum_of_least_.assign(links_.size(), 0.0);
    for (std::size_t l = 0; l < links_.size(); ++l) node.sum += links_[l].weight * node.excess[l];
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) continue;
      const Candidates& all = node.candidates[k];
      node.sum += all.least;
      for (std::size_t p = 0; p < places_[k].size(); ++p) {
        const double* row = all.row.data() + p * all.size();
        sum_of_least_[places_[k][p].link] += *std::min_element(row, row + all.size());
      }
    }
    for (std::size_t l = 0; l < links_.size(); ++l) {
      const double weight = links_[l].weight;
      // A weight that vanished beside the others says nothing of its link.
      if (weight > 0.0) node.link_bound[l] = std::max(node.link_bound[l], node.excess[l] + sum_of_least_[l] / weight);
      by_link += weight * node.link_bound[l];
    }
    node.bound = std::max({node.bound, node.sum, by_link});
  }

  // Links whose own bound is more than what the jobs' best shifts for all links add there are better left to
  // themselves.
  void bound_mixed(Node& node) {
    std::fill(node.bounded.begin(), node.bounded.end(), uint8_t{0});
    node.mixed = -std::numeric_limits<double>::infinity();
    for (int round = 0; round < 3; ++round) {
      if (!leave_links(node)) break;
      double bound = 0.0;
      for (std::size_t l = 0; l < links_.size(); ++l) {
        bound += links_[l].weight * (node.bounded[l] ? node.link_bound[l] : node.excess[l]);
      }
      for (std::size_t k = 0; k < n_; ++k) {
        if (placed_[k]) continue;
        mix(node, k);
        bound += node.candidates[k].least_mixed;
      }
      node.mixed = bound;  // of the totals as they are now
      if (bound > node.bound) node.bound = bound;
    }
  }

  bool leave_links(Node& node) {
    at_argmin_.assign(links_.size(), 0.0);
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k]) continue;
      const Candidates& all = node.candidates[k];
      for (std::size_t p = 0; p < places_[k].size(); ++p) {
        at_argmin_[places_[k][p].link] += all.row[p * all.size() + all.argmixed];
      }
    }
    bool more = false;
    for (std::size_t l = 0; l < links_.size(); ++l) {
      const double joint = links_[l].weight * node.excess[l] + at_argmin_[l];
      if (node.bounded[l] || links_[l].weight * node.link_bound[l] <= joint + noise_) continue;
      node.bounded[l] = 1;
      more = true;
    }
    return more;
  }

  void mix(Node& node, std::size_t k) {
    Candidates& all = node.candidates[k];
    const std::size_t n = all.size();
    all.mixed.assign(n, 0.0);
    for (std::size_t p = 0; p < places_[k].size(); ++p) {
      if (node.bounded[places_[k][p].link]) continue;
      const double* row = all.row.data() + p * n;
      for (std::size_t c = 0; c < n; ++c) all.mixed[c] += row[c];
    }
    all.argmixed = static_cast<std::size_t>(std::min_element(all.mixed.begin(), all.mixed.end()) - all.mixed.begin());
    all.least_mixed = all.mixed[all.argmixed];
    budget_.work += static_cast<int64_t>(n);
  }

  void collect(Node& node) {
    node.picks.clear();
    const bool mixed = node.mixed > -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k] || equal_.waits_for_another(k, placed_)) continue;
      const Candidates& all = node.candidates[k];
      for (std::size_t c = 0; c < all.size(); ++c) {
        if (!all.live[c]) continue;
        double bound = std::max(node.bound, node.sum - all.least + all.total[c]);
        if (mixed) bound = std::max(bound, node.mixed - all.least_mixed + all.mixed[c]);
        if (bound < proof_.objective - noise_) node.picks.push_back({bound, 0.0, k, all.shift[c]});
      }
    }
    sort_by_bound(node.picks);
  }

  void expand(std::size_t depth) {
    Node& node = nodes_[depth];
    if (depth + std::max<std::size_t>(1, n_ - n_given_) + 1 == n_) return finish(node);
    collect(node);
    for (std::size_t p = 0; p < node.picks.size(); ++p) {
      const Pick pick = node.picks[p];
      if (done() || pick.bound >= proof_.objective - noise_) return;  // the rest promises no more
      if (cut_ || !budget_.spend()) {
        cut_ = true;
        return open_at(pick.bound);  // the smallest of those left
      }
      Node& child = nodes_[depth + 1];
      stand(node, child, pick.job, pick.shift);
      evaluate(child);
      if (child.bound < proof_.objective - noise_) expand(depth + 1);
      placed_[pick.job] = 0;
      mark_explored(node, pick.job, pick.shift);  // only now: below, an equal job may still stand at the same shift
    }
  }

  // The last job needs no branching.
  void finish(const Node& node) {
    const auto last = static_cast<std::size_t>(std::find(placed_.begin(), placed_.end(), 0) - placed_.begin());
    const Candidates& all = node.candidates[last];
    if (node.sum >= proof_.objective - noise_) return;
    proof_.objective = node.sum;
    proof_.improved = true;
    proof_.shift = shift_;
    proof_.shift[last] = all.shift[all.argleast];
  }

  void mark_explored(Node& node, std::size_t job, int64_t shift) {
    for (std::size_t k = 0; k < n_; ++k) {
      if (placed_[k] || !equal_.alike(job, k)) continue;
      Candidates& all = node.candidates[k];
      const auto at = std::lower_bound(all.shift.begin(), all.shift.end(), shift);
      if (at != all.shift.end() && *at == shift) all.live[static_cast<std::size_t>(at - all.shift.begin())] = 0;
    }
  }

  const JointProblem& problem_;
  std::vector<std::size_t> jobs_;
  Budget& budget_;
  std::span<const int64_t> at_;  // where those stand that are kept
  std::size_t n_given_;          // jobs to be placed; the others are kept
  std::size_t n_ = 0;
  // Of the part alone: what is taken for nothing in each of many parts must be nothing in their sum, too.
  double noise_ = 0.0;
  double weight_ = 0.0;
  double floor_ = 0.0;
  double open_ = 0.0;
  bool cut_ = false;
  Proof proof_;
  std::vector<PartLink> links_;
  std::vector<std::vector<Place>> places_;    // [jobs]
  std::vector<std::vector<int64_t>> offset_;  // [k * n + i]
  EqualJobs equal_;
  std::vector<Node> nodes_;  // by depth
  std::vector<uint8_t> placed_;
  std::vector<int64_t> shift_;
  std::vector<int64_t> fresh_;
  Candidates known_;
  Demand before_;
  std::vector<double> sum_of_least_;
  std::vector<double> at_argmin_;
  Marginal marginal_;
};

}  // namespace

std::vector<std::size_t> links_of(const JointProblem& problem, std::span<const std::size_t> jobs) {
  std::vector<std::size_t> out;
  for (const std::size_t j : jobs) {
    for (const Place& p : problem.places[j]) {
      if (problem.links[p.link].job.size() > 1) out.push_back(p.link);
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Proof prove_joint(const JointProblem& problem, std::span<const std::size_t> jobs, double known, Budget& budget,
                  std::span<const uint8_t> kept, std::span<const int64_t> at) {
  return PartSearch(problem, jobs, known, budget, kept, at).run();
}

}  // namespace cassini
