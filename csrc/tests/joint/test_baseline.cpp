// Joint problems beside an baseline, by the C functions: what they say is what a fresh joint problem says.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "api/c_joint_input.hpp"
#include "base/limits.hpp"
#include "c_structs.hpp"
#include "cassini/cassini.h"
#include "check.hpp"
#include "demand/link_problem.hpp"
#include "joint/joint_case.hpp"
#include "joint/joint_problem.hpp"
#include "random_problem.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr int64_t kEnough = 20000;  // nodes, for most of the small joint problems here
constexpr std::array<int64_t, 4> kPeriods{4, 6, 8, 12};

// Links of a case in some order, each perhaps several times.
struct Some {
  std::vector<int64_t> link;
  std::vector<std::vector<std::size_t>> on;
  std::vector<double> weight;
  std::vector<double> upper_bound;

  int64_t size() const { return static_cast<int64_t>(link.size()); }

  std::vector<int64_t> member() const {
    std::vector<int64_t> out;
    for (const auto& jobs : on) out.insert(out.end(), jobs.begin(), jobs.end());
    return out;
  }

  void add(const Some& from, std::size_t i) {
    link.push_back(from.link[i]);
    on.push_back(from.on[i]);
    weight.push_back(from.weight[i]);
    upper_bound.push_back(from.upper_bound[i]);
  }

  Some picked(std::span<const std::size_t> order) const {
    Some out;
    for (const std::size_t i : order) out.add(*this, i);
    return out;
  }
};

struct Answer {
  int32_t status = -1;
  std::vector<int64_t> shift;
  std::vector<double> lower;
  std::vector<double> upper;
  cassini_joint_result result{};

  Answer(std::size_t n_jobs, std::size_t n_links) : shift(n_jobs, -7), lower(n_links, -7.0), upper(n_links, -7.0) {
    result.size = sizeof result;
  }
  cassini_joint_output output() { return test::joint_output(shift.data(), lower.data(), upper.data()); }
  // Whatever it took.
  bool says_the_same(const Answer& o) const {
    return status == o.status && shift == o.shift && lower == o.lower && upper == o.upper &&
           result.score == o.result.score && result.upper_bound == o.result.upper_bound &&
           result.optimal == o.result.optimal && result.stopped_by == o.result.stopped_by;
  }
};

// Links, what the baseline has of them, and what differs.
struct Beside {
  std::vector<int64_t> period;  // [jobs]
  cassini_prepared_links links;
  Some anchored;
  Some added;
  std::vector<int64_t> dropped;
  std::vector<int64_t> start;

  std::size_t n_jobs() const { return period.size(); }
  bool is_dropped(int64_t i) const { return std::find(dropped.begin(), dropped.end(), i) != dropped.end(); }

  // The varied joint problem as one list, in the order of the answer.
  Some varied() const {
    Some out;
    for (std::size_t i = 0; i < anchored.link.size(); ++i) {
      if (!is_dropped(static_cast<int64_t>(i))) out.add(anchored, i);
    }
    for (std::size_t i = 0; i < added.link.size(); ++i) out.add(added, i);
    return out;
  }

  std::vector<uint8_t> dirty() const {
    std::vector<uint8_t> out(n_jobs(), 0);
    const auto mark = [&](const std::vector<std::size_t>& jobs) {
      for (const std::size_t j : jobs) out[j] = 1;
    };
    for (const int64_t i : dropped) mark(anchored.on[static_cast<std::size_t>(i)]);
    for (const auto& jobs : added.on) mark(jobs);
    return out;
  }

  Answer fresh(const cassini_options& options) const {
    const Some all = varied();
    const std::vector<uint8_t> flags = dirty();
    Answer out(n_jobs(), all.link.size());
    const std::vector<int64_t> member = all.member();
    const cassini_joint joint = test::joint_of(period, all.link, member, all.weight.data(), all.upper_bound.data());
    const cassini_joint_search from = test::search_of(start.data(), flags.data(), false);
    const cassini_joint_output to = out.output();
    out.status = cassini_solve_joint(&links, &joint, &from, &options, nullptr, &to, &out.result, nullptr);
    return out;
  }

  int32_t prepare(cassini_baseline** baseline, const int32_t* cancel = nullptr) const {
    const std::vector<int64_t> member = anchored.member();
    const cassini_joint joint =
        test::joint_of(period, anchored.link, member, anchored.weight.data(), anchored.upper_bound.data());
    return cassini_prepare_baseline(&links, &joint, start.data(), nullptr, cancel, baseline, nullptr);
  }

  Answer solve(const cassini_options& options, const int32_t* cancel = nullptr) const {
    cassini_baseline* baseline = nullptr;
    Answer out(n_jobs(), varied().link.size());
    CHECK(prepare(&baseline) == CASSINI_OK);
    const std::vector<int64_t> member = added.member();
    const cassini_delta delta =
        test::delta_of(dropped, added.link, member, added.weight.data(), added.upper_bound.data());
    const cassini_joint_output to = out.output();
    out.status = cassini_solve_delta(baseline, &delta, &options, cancel, &to, &out.result, nullptr);
    cassini_free_baseline(baseline);
    return out;
  }

  // Certified lower scores of the varied joint problem's links.
  std::vector<double> evaluated(std::span<const int64_t> shift) const {
    const Some all = varied();
    std::vector<double> lower(all.link.size());
    std::vector<double> upper(all.link.size());
    const std::vector<int64_t> member = all.member();
    const cassini_joint joint = test::joint_of(period, all.link, member);
    const cassini_evaluation to = test::evaluation(lower.data(), upper.data(), nullptr, nullptr);
    CHECK(cassini_evaluate_joint(&links, &joint, shift.data(), nullptr, nullptr, &to, nullptr) == CASSINI_OK);
    return lower;
  }

  double mean(std::span<const double> score) const {
    const Some all = varied();
    double sum = 0.0;
    for (std::size_t i = 0; i < score.size(); ++i) sum += all.weight[i] * score[i];
    return score.empty() ? 1.0 : sum / std::accumulate(all.weight.begin(), all.weight.end(), 0.0);
  }
};

Beside beside(std::mt19937& rng, const JointCase& c) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(rng() % n); };
  Beside out;
  out.period = c.jobs.period;
  for (const auto& one : c.prepared) out.links.link.emplace_back(*one);
  const auto add = [&](Some& to, std::size_t l) {
    // No link alone scores more than its area allows; saying less than that is true as well.
    to.link.push_back(static_cast<int64_t>(l));
    to.on.push_back(c.on[l]);
    to.weight.push_back(std::array{0.1, 0.2, 1.0, 3.0}[below(4)]);
    to.upper_bound.push_back(below(2) == 0 ? 1.0 : 1.5);
  };
  for (std::size_t l = 0; l < c.on.size(); ++l) {
    for (std::size_t copies = std::array{0, 1, 1, 1, 2}[below(5)]; copies > 0; --copies) add(out.anchored, l);
    if (below(3) == 0) add(out.added, l);
  }
  for (int64_t i = 0; i < out.anchored.size(); ++i) {
    if (below(3) == 0) out.dropped.push_back(i);
  }
  for (std::size_t j = 0; j < out.n_jobs(); ++j) out.start.push_back(static_cast<int64_t>(below(1000)) - 500);
  return out;
}

Beside random_beside(std::mt19937& rng, std::size_t n_jobs, std::size_t n_links) {
  return beside(rng, random_case(rng, n_jobs, n_links, kPeriods, 2));
}

cassini_options limited(int64_t nodes) {
  cassini_options out = defaults();
  out.node_limit = nodes;
  return out;
}

}  // namespace

TEST(a_delta_is_solved_as_a_fresh_joint_problem_to_the_last_bit) {
  std::mt19937 rng(81);
  int compared = 0;
  int compared_many = 0;
  for (int round = 0; round < 400; ++round) {
    const bool many = round % 10 == 9;  // more than are searched exhaustively
    const Beside b = random_beside(rng, many ? 14 : 2 + rng() % 4, many ? 12 : 1 + rng() % 8);
    const Answer found = b.solve(limited(kEnough));
    const Answer fresh = b.fresh(limited(kEnough));
    // Where the nodes end the search it went farther beside the baseline.
    if (fresh.result.stopped_by != CASSINI_STOP_NODES) {
      CHECK(found.says_the_same(fresh));
      ++(many ? compared_many : compared);
    }
  }
  CHECK(compared > 250);
  CHECK(compared_many > 20);
}

TEST(scores_of_a_delta_are_those_of_its_shifts_and_no_less_than_at_the_baseline_s) {
  std::mt19937 rng(82);
  for (int round = 0; round < 150; ++round) {
    const JointCase c = random_case(rng, 3 + rng() % 3, 2 + rng() % 6, kPeriods, 2);
    const Beside b = beside(rng, c);
    const double at_start = b.mean(b.evaluated(b.start));
    const Answer whole = b.solve(limited(kEnough));
    for (const int64_t limit : {int64_t{1}, int64_t{5}, int64_t{40}, kEnough}) {
      const Answer found = b.solve(limited(limit));
      CHECK(found.status == CASSINI_OK);
      CHECK(found.lower == b.evaluated(found.shift));
      CHECK(found.lower == found.upper);
      const Some all = b.varied();
      for (std::size_t i = 0; i < all.link.size(); ++i) {
        const auto l = static_cast<std::size_t>(all.link[i]);
        const double by_ticks = 1.0 - c.excess(l, found.shift) / static_cast<double>(c.capacity[l]);
        CHECK(std::abs(found.lower[i] - by_ticks) < 1e-9);
      }
      CHECK(std::abs(found.result.score - b.mean(found.lower)) < 1e-9);
      CHECK(found.result.score >= at_start - 1e-9);
      CHECK(found.result.upper_bound >= whole.result.score - 1e-9);
    }
  }
}

TEST(the_order_of_what_is_given_dropped_and_added_does_not_matter) {
  std::mt19937 rng(83);
  for (int round = 0; round < 150; ++round) {
    const Beside b = random_beside(rng, 5, 2 + rng() % 8);
    for (const int64_t limit : {int64_t{1}, int64_t{30}, int64_t{3000}}) {
      const Answer one = b.solve(limited(limit));
      std::vector<std::size_t> given(b.anchored.link.size());
      std::vector<std::size_t> came(b.added.link.size());
      std::iota(given.begin(), given.end(), std::size_t{0});
      std::iota(came.begin(), came.end(), std::size_t{0});
      std::shuffle(given.begin(), given.end(), rng);
      std::shuffle(came.begin(), came.end(), rng);
      Beside other = b;
      other.dropped.clear();
      other.anchored = b.anchored.picked(given);
      other.added = b.added.picked(came);
      std::vector<double> lower;
      for (std::size_t i = 0, left = 0; i < b.anchored.link.size(); ++i) {
        const auto k = static_cast<std::size_t>(std::find(given.begin(), given.end(), i) - given.begin());
        if (b.is_dropped(static_cast<int64_t>(i))) {
          other.dropped.push_back(static_cast<int64_t>(k));
        } else {
          lower.push_back(one.lower[left++]);
        }
      }
      std::shuffle(other.dropped.begin(), other.dropped.end(), rng);
      const Answer two = other.solve(limited(limit));
      CHECK(one.shift == two.shift);
      CHECK(std::memcmp(&one.result, &two.result, sizeof one.result) == 0);
      const std::size_t left = lower.size();
      for (std::size_t i = 0, at = 0; i < given.size(); ++i) {
        if (other.is_dropped(static_cast<int64_t>(i))) continue;
        std::size_t rank = 0;  // of the same link among those left in the first
        for (std::size_t k = 0; k < given[i]; ++k) rank += !b.is_dropped(static_cast<int64_t>(k));
        CHECK(two.lower[at++] == one.lower[rank]);
      }
      for (std::size_t i = 0; i < came.size(); ++i) CHECK(two.lower[left + i] == one.lower[left + came[i]]);
    }
  }
}

TEST(nothing_left_nothing_there_and_nothing_changed) {
  std::mt19937 rng(84);
  for (int round = 0; round < 30; ++round) {
    Beside b = random_beside(rng, 4, 5);
    b.dropped.resize(b.anchored.link.size());
    std::iota(b.dropped.begin(), b.dropped.end(), int64_t{0});
    CHECK(b.solve(limited(kEnough)).says_the_same(b.fresh(limited(kEnough))));
    const Some came = std::exchange(b.added, {});
    const Answer empty = b.solve(limited(kEnough));
    CHECK(empty.status == CASSINI_OK && empty.result.score == 1.0 && empty.result.optimal == 1);
    CHECK(empty.shift == std::vector<int64_t>(4, 0));
    b.dropped.clear();
    CHECK(b.solve(limited(kEnough)).says_the_same(b.fresh(limited(kEnough))));
    b.anchored = {};
    b.added = came;
    CHECK(b.solve(limited(kEnough)).says_the_same(b.fresh(limited(kEnough))));
    b.added = {};
    CHECK(b.solve(limited(1)).result.score == 1.0);
  }
}

TEST(a_link_dropped_and_added_again_is_the_same_link) {
  std::mt19937 rng(85);
  for (int round = 0; round < 60; ++round) {
    Beside b = random_beside(rng, 5, 6);
    b.dropped.clear();
    b.added = {};
    for (std::size_t i = 0; i < b.anchored.link.size(); ++i) {
      if (rng() % 2 == 0) continue;
      b.dropped.push_back(static_cast<int64_t>(i));
      b.added.add(b.anchored, i);
    }
    CHECK(b.solve(limited(kEnough)).says_the_same(b.fresh(limited(kEnough))));
  }
}

TEST(weights_count_by_their_ratios_however_large_or_small) {
  std::mt19937 rng(86);
  for (int round = 0; round < 40; ++round) {
    const Beside b = random_beside(rng, 4, 5);
    const Answer one = b.solve(limited(kEnough));
    for (const int by : {1000, -1000}) {
      Beside scaled = b;
      for (double& w : scaled.anchored.weight) w = std::ldexp(w, by);
      for (double& w : scaled.added.weight) w = std::ldexp(w, by);
      CHECK(one.says_the_same(scaled.solve(limited(kEnough))));
      // Those dropped count for nothing, were they ever so heavy.
      for (const int64_t i : b.dropped) scaled.anchored.weight[static_cast<std::size_t>(i)] = 1e308;
      CHECK(one.says_the_same(scaled.solve(limited(kEnough))));
    }
  }
}

TEST(links_beyond_the_limits_are_in_a_delta_as_in_a_fresh_joint_problem) {
  std::mt19937 rng(87);
  int beyond = 0;
  for (int round = 0; round < 200; ++round) {
    Beside b = random_beside(rng, 5, 6);
    const Limits small{std::array{20, 40}[rng() % 2], std::array{2, 3}[rng() % 2]};
    const bool known_before = rng() % 2 == 0;  // else seen on the way
    for (auto& one : b.links.link) {
      if (known_before)
        one.emplace(prepare_link(make_link(one->link.jobs, one->link.is_free, one->link.capacity, small)));
      one->link.limits = small;
    }
    const Answer found = b.solve(limited(kEnough));
    CHECK(found.says_the_same(b.fresh(limited(kEnough))));
    CHECK(found.lower == b.evaluated(found.shift));
    beyond += found.result.stopped_by == CASSINI_STOP_LIMITS;
  }
  CHECK(beyond > 20 && beyond < 180);
}

TEST(a_delta_heeds_a_deadline_and_a_cancel_flag) {
  std::mt19937 rng(88);
  int late_ones = 0;
  for (int round = 0; round < 20; ++round) {
    const Beside b = random_beside(rng, 6, 10);
    cassini_options late = limited(kEnough);
    late.deadline_ns = 0;
    const Answer found = b.solve(late);
    CHECK(found.status == CASSINI_OK);
    CHECK(found.lower == b.evaluated(b.start));
    late_ones += found.result.stopped_by == CASSINI_STOP_DEADLINE;
    const int32_t cancel = 1;
    const Answer none = b.solve(limited(kEnough), &cancel);
    CHECK(none.status == CASSINI_ECANCELED && none.shift[0] == -7 && none.result.nodes == 0);
    cassini_baseline* baseline = nullptr;
    CHECK(b.prepare(&baseline, &cancel) == CASSINI_ECANCELED);
    CHECK(baseline == nullptr);
  }
  CHECK(late_ones > 5);
}
