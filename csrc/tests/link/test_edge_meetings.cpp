#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "base/periods.hpp"
#include "check.hpp"
#include "demand/folded_demand.hpp"
#include "demand/job_pattern.hpp"
#include "demand/link_problem.hpp"
#include "demand/marginal.hpp"
#include "link/edge_meetings.hpp"
#include "random_problem.hpp"

using namespace cassini;
using namespace cassini::test;

namespace {

constexpr std::array<int64_t, 5> kPeriods{4, 6, 8, 9, 12};

Link link_of(const Problem& p) {
  return make_link(p.patterns(), std::vector<uint8_t>(p.period.size(), 0), static_cast<double>(p.capacity), {});
}

}  // namespace

TEST(meetings_are_where_opposite_edges_meet) {
  std::mt19937 rng(51);
  for (int round = 0; round < 300; ++round) {
    const Link link = link_of(random_problem(rng, 3, kPeriods, 2));
    if (link.size() < 2) continue;
    const JobPattern& k = link.pattern(0);
    const JobPattern& i = link.pattern(1);
    const int64_t stands = static_cast<int64_t>(rng() % static_cast<uint32_t>(link.modulus[1]));
    Shifts found;
    meetings(k, i, link.modulus[0]).at(stands, found);
    CHECK(std::is_sorted(found.begin(), found.end()));
    std::set<int64_t> expected;
    const int64_t step = std::gcd(k.period, i.period);
    for (int64_t shift = 0; shift < link.modulus[0]; ++shift) {
      for (const Edge& a : k.edges) {
        for (const Edge& b : i.edges) {
          if (a.rising != b.rising && wrap(a.at + shift - b.at - stands, step) == 0) expected.insert(shift);
        }
      }
    }
    CHECK(std::set<int64_t>(found.begin(), found.end()) == expected);
    CHECK(found.size() == expected.size());
  }
}

TEST(a_marginal_is_least_in_a_valley) {
  std::mt19937 rng(52);
  int64_t work = 0;
  for (int round = 0; round < 500; ++round) {
    const Link link = link_of(random_problem(rng, 2 + rng() % 3, kPeriods, 3));
    if (link.size() < 2) continue;
    std::vector<int64_t> shift(link.size());
    for (std::size_t m = 0; m < link.size(); ++m) shift[m] = static_cast<int64_t>(rng() % 12U);
    Demand others;
    Marginal marginal;
    link.total(shift, 0, others, &work);
    marginal.build(others, link.pattern(0), link.capacity, &work);
    Kinks valleys;
    marginal.valleys(valleys);
    double least = std::numeric_limits<double>::infinity();
    for (const int64_t s : valleys) least = std::min(least, marginal.at(s));
    for (int64_t s = 0; s < link.modulus[0]; ++s) CHECK(marginal.at(s) >= least - 1e-12);
    CHECK(std::is_sorted(valleys.begin(), valleys.end()));
  }
}

// With hundreds of segments the marginal is swept, not read shift by shift; that must change neither the least nor
// leave the readings uncounted.
TEST(the_least_of_a_job_of_many_segments_is_that_of_all_shifts) {
  std::mt19937 rng(54);
  int told = 0;
  for (int round = 0; round < 40; ++round) {
    const int64_t period = 3000;
    const std::size_t counts[2] = {round % 2 == 0 ? 3U : 400U, 60U};
    Problem p;
    p.capacity = 60;
    for (const std::size_t count : counts) {
      p.period.push_back(period);
      p.phases.emplace_back();
      for (std::size_t i = 0; i < count; ++i) {
        const int64_t room = period / static_cast<int64_t>(count);
        const auto length = 1 + static_cast<int64_t>(rng() % static_cast<uint32_t>(room - 1));
        p.phases.back().push_back({static_cast<int64_t>(i) * room, length, 1 + static_cast<int64_t>(rng() % 50U)});
      }
    }
    const Link link = link_of(p);
    const std::size_t m = link.pattern(0).segments.size() == counts[0] ? 0 : 1;
    Demand other;
    Marginal marginal;
    int64_t work = 0;
    add(link.base, link.folded[1 - m], 0, link.capacity - link.pattern(m).peak, link.limits, other, &work);
    marginal.build(other, link.pattern(m), link.capacity, &work);
    Kinks valleys;
    Values values;
    work = 0;
    const Minimum found = marginal.minimum(valleys, values, &work);
    double least = std::numeric_limits<double>::infinity();
    for (int64_t s = 0; s < period; ++s) least = std::min(least, marginal.at(s));
    CHECK(std::abs(found.value - least) <= 1e-12 * (1.0 + least));
    CHECK(std::abs(marginal.at(found.shift) - found.value) <= 1e-12 * (1.0 + least));
    told += found.value > 0.0;
    CHECK(work >= static_cast<int64_t>(4 * valleys.size()));
    if (counts[0] > 100) CHECK(work >= static_cast<int64_t>(16 * valleys.size()));
  }
  CHECK(told > 30);  // where the least is 0 there is little to find
}

// What the search prunes with: candidates of a job that were read before another job was added bound its marginal at
// every shift after that, those in between by the chord.
TEST(chords_stay_below_the_marginal_when_jobs_are_added) {
  std::mt19937 rng(53);
  int64_t work = 0;
  int chords = 0;
  for (int round = 0; round < 2000; ++round) {
    const Link link = link_of(random_problem(rng, 4, kPeriods, 2));
    const std::size_t n = link.size();
    if (n < 3) continue;
    std::vector<int64_t> shift(n);
    for (std::size_t m = 0; m < n; ++m) {
      shift[m] = static_cast<int64_t>(rng() % static_cast<uint32_t>(link.modulus[m]));
    }
    const std::size_t k = n - 1;
    Marginal marginal;
    Demand placed = link.base;
    Candidates known{};
    Candidates next;
    Demand sum;
    Shifts fresh;
    const auto modulus = link.modulus[k];
    for (std::size_t i = 0; i + 1 < n; ++i) {
      double left = 0.0;
      for (std::size_t m = i + 1; m < n; ++m) left += link.pattern(m).peak;
      add(placed, link.folded[i], shift[i], link.capacity - left, link.limits, sum, &work);
      placed = sum;
      meetings(link.pattern(k), link.pattern(i), modulus).at(shift[i], fresh);
      merge(known, fresh, modulus, true, next);
      marginal.build(placed, link.pattern(k), link.capacity, &work);
      for (Candidate& one : next) {
        const double exact = marginal.at(one.shift);
        CHECK(one.marginal <= exact + 1e-12);
        chords += one.marginal > 0.0;
        // Bounds that are not tight must serve as well as exact values.
        if (rng() % 2 == 0) one.marginal = exact;
      }
      for (int64_t s = 0; s < modulus && !next.empty(); ++s) {
        const auto at = static_cast<std::size_t>(
            std::lower_bound(next.begin(), next.end(), s, [](const Candidate& c, int64_t x) { return c.shift < x; }) -
            next.begin());
        if (at < next.size() && next[at].shift == s) continue;
        CHECK(chord(next, at, s, modulus) <= marginal.at(s) + 1e-12);
      }
      std::swap(known, next);
    }
  }
  CHECK(chords > 1000);
}
