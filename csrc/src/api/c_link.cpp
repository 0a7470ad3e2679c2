// The C functions of cassini.h on one link, and on many one after the other.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "api/c_joint_input.hpp"
#include "api/c_link_input.hpp"
#include "api/sized_struct.hpp"
#include "base/budget.hpp"
#include "cassini/cassini.h"
#include "demand/link_problem.hpp"
#include "demand/marginal.hpp"
#include "link/score_interval.hpp"
#include "link/solve_link.hpp"
#include "robustness/hold.hpp"

namespace cassini {
namespace {

struct LinkOutput {
  int64_t* shift;
  int64_t* slack;
  uint8_t* is_free;
  cassini_result* result;
};

void solve(const Link& link, const cassini_options& options, Budget& budget, const LinkOutput& to) {
  auto [shift, slack, is_free, result] = to;
  const bool exact = options.method == CASSINI_METHOD_EXACT;
  require(exact || options.angles <= CASSINI_MAX_SAMPLES / static_cast<int64_t>(link.jobs.size()));
  const LinkAnswer answer = exact ? solve_exact(link, options.slack_tolerance, slack != nullptr, budget)
                                  : solve_by_angles(link, options.angles, budget);

  // What is reported is computed from the shifts as they are returned.
  const std::vector<int64_t> out = all_shifts(link, answer.movable);
  const std::vector<int64_t> movable = movable_shifts(link, out);
  const Interval excess = excess_interval(link, movable, &budget.work);
  Hold hold;
  if (slack != nullptr) hold = hold_of(link, movable, excess, answer.slack, options.slack_tolerance, budget);

  cassini_result r{};
  r.score_lower = 1.0 - excess.upper / link.capacity;
  r.score_upper = 1.0 - excess.lower / link.capacity;
  const double lower = link.size() < 2 ? excess.lower : std::min(answer.lower, excess.upper);
  r.upper_bound = std::max(r.score_lower, 1.0 - lower / link.capacity);
  r.optimal = is_proven(r.score_lower, r.upper_bound) ? 1 : 0;
  if (r.optimal && excess.lower == excess.upper) r.upper_bound = r.score_lower;
  r.claimed_score = answer.has_claim ? 1.0 - answer.claimed / link.capacity : r.score_lower;
  r.hold = hold.hold;
  r.nodes = budget.nodes();
  r.stopped_by = stop_reason(budget, answer.beyond_limits || excess.lower != excess.upper, r.optimal != 0);
  std::copy(out.begin(), out.end(), shift);
  if (slack != nullptr) std::copy(hold.slack.begin(), hold.slack.end(), slack);
  std::copy(link.is_free.begin(), link.is_free.end(), is_free);
  write_sized(result, result->size, r);
}

Budget budget_of(const cassini_options& options) { return {options.node_limit, options.deadline_ns, options.cancel}; }

void check(const LinkOutput& to) {
  require(to.shift != nullptr && to.is_free != nullptr && to.result != nullptr);
  require_size<cassini_result>(to.result->size);
}

// Solves links one after the other: solve_one(i, options, output). ECANCELED where the flag was seen, all from there on
// having that status.
template <class SolveOne>
int32_t solve_each(const int64_t* job_offset, int64_t n_links, const cassini_options& given, const LinkOutput& all,
                   int32_t* status, SolveOne&& solve_one) {
  check(all);
  require(status != nullptr);
  const int64_t stride = all.result->size;
  const auto entry = Budget::Clock::now();
  for (int64_t i = 0; i < n_links; ++i) {
    cassini_options o = given;
    if (o.deadline_ns != std::numeric_limits<int64_t>::max()) {
      const auto used = std::chrono::duration_cast<std::chrono::nanoseconds>(Budget::Clock::now() - entry).count();
      o.deadline_ns = std::max<int64_t>(0, given.deadline_ns - used);
    }
    const int64_t j = job_offset[i] - job_offset[0];
    auto* result = reinterpret_cast<cassini_result*>(reinterpret_cast<unsigned char*>(all.result) + i * stride);
    const LinkOutput own{all.shift + j, all.slack != nullptr ? all.slack + j : nullptr, all.is_free + j, result};
    status[i] = status_of([&] {
      require(result->size == stride);
      Budget(1, std::numeric_limits<int64_t>::max(), o.cancel).in_time();  // easy links never look at the flag
      solve_one(i, o, own);
    });
    if (status[i] == CASSINI_ECANCELED) {
      std::fill(status + i, status + n_links, CASSINI_ECANCELED);
      return CASSINI_ECANCELED;
    }
  }
  return CASSINI_OK;
}

}  // namespace
}  // namespace cassini

using namespace cassini;

int32_t cassini_abi_version(void) { return CASSINI_ABI_VERSION; }

const char* cassini_version(void) { return CASSINI_VERSION; }

const char* cassini_strerror(int32_t status) {
  switch (status) {
    case CASSINI_OK:
      return "ok";
    case CASSINI_EINVAL:
      return "an argument is out of its range";
    case CASSINI_ENOMEM:
      return "out of memory";
    case CASSINI_EINTERNAL:
      return "internal error";
    case CASSINI_ECANCELED:
      return "canceled";
    default:
      return "unknown status";
  }
}

int32_t cassini_init_options(cassini_options* options, int64_t size) {
  return guarded([&] {
    require(options != nullptr);
    require_size<cassini_options>(size);
    write_sized(options, size, defaults());
  });
}

int32_t cassini_solve_link(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                           const int64_t* phase_start, const int64_t* phase_length, const int64_t* phase_rate,
                           int64_t capacity, const cassini_options* options, int64_t* shift, int64_t* slack,
                           uint8_t* is_free, cassini_result* result) {
  return guarded([&] {
    const LinkOutput out{shift, slack, is_free, result};
    check(out);
    const cassini_options o = checked(options);
    Budget budget = budget_of(o);
    solve(prepare({n_jobs, period, phase_offset, phase_start, phase_length, phase_rate, capacity}, o).link, o, budget,
          out);
  });
}

int32_t cassini_evaluate_link(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                              const int64_t* phase_start, const int64_t* phase_length, const int64_t* phase_rate,
                              int64_t capacity, const int64_t* shift, const cassini_options* options,
                              double* score_lower, double* score_upper, int64_t* slack, int64_t* hold,
                              uint8_t* is_free) {
  return guarded([&] {
    require(shift != nullptr && score_lower != nullptr && score_upper != nullptr);
    require((slack == nullptr) == (hold == nullptr));
    const cassini_options o = checked(options);
    const Input in{n_jobs, period, phase_offset, phase_start, phase_length, phase_rate, capacity};
    const Link link = prepare(in, o).link;
    const std::vector<int64_t> movable = movable_shifts(link, {shift, static_cast<std::size_t>(n_jobs)});
    Budget budget(std::numeric_limits<int64_t>::max(), o.deadline_ns, o.cancel);
    const Interval excess = excess_interval(link, movable, &budget.work);
    Hold h;
    if (slack != nullptr) h = hold_of(link, movable, excess, {}, o.slack_tolerance, budget);
    *score_lower = 1.0 - excess.upper / link.capacity;
    *score_upper = 1.0 - excess.lower / link.capacity;
    if (slack != nullptr) {
      std::copy(h.slack.begin(), h.slack.end(), slack);
      *hold = h.hold;
    }
    if (is_free != nullptr) std::copy(link.is_free.begin(), link.is_free.end(), is_free);
  });
}

int32_t cassini_marginals(int64_t n_jobs, const int64_t* period, const int64_t* phase_offset,
                          const int64_t* phase_start, const int64_t* phase_length, const int64_t* phase_rate,
                          int64_t capacity, const int64_t* shift, int64_t job, int64_t n_queries, const int64_t* query,
                          const cassini_options* options, double* excess) {
  return guarded([&] {
    require(shift != nullptr && n_queries >= 0 && job >= 0 && job < n_jobs);
    require(n_queries == 0 || (query != nullptr && excess != nullptr));
    const cassini_options o = checked(options);
    const Input in{n_jobs, period, phase_offset, phase_start, phase_length, phase_rate, capacity};
    const auto [link, unit] = prepare(in, o);
    require(link.within_limits);
    const auto at =
        static_cast<std::size_t>(std::find(link.movable.begin(), link.movable.end(), job) - link.movable.begin());
    const std::vector<int64_t> movable = movable_shifts(link, {shift, static_cast<std::size_t>(n_jobs)});
    int64_t work = 0;
    try {
      Demand others;
      link.total(movable, at, others, &work);
      const double without = mean_excess(others, link.capacity);
      Marginal marginal;
      if (at < link.size()) marginal.build(others, link.pattern(at), link.capacity, &work);
      for (int64_t q = 0; q < n_queries; ++q) {
        excess[q] = unit * (without + (at < link.size() ? marginal.at(query[q]) : 0.0));
      }
    } catch (const LimitExceeded&) {
      require(false);
    }
  });
}

int32_t cassini_solve_links(int64_t n_links, const int64_t* job_offset, const int64_t* period,
                            const int64_t* phase_offset, const int64_t* phase_start, const int64_t* phase_length,
                            const int64_t* phase_rate, const int64_t* capacity, const cassini_options* options,
                            int64_t* shift, int64_t* slack, uint8_t* is_free, cassini_result* result, int32_t* status) {
  int32_t stopped = CASSINI_OK;
  const int32_t rc = guarded([&] {
    require(n_links >= 0);
    if (n_links == 0) return;
    require(job_offset != nullptr && capacity != nullptr && period != nullptr);
    require(phase_offset != nullptr && job_offset[0] >= 0);
    for (int64_t i = 0; i < n_links; ++i) require(job_offset[i + 1] >= job_offset[i]);
    stopped = solve_each(job_offset, n_links, checked(options), {shift, slack, is_free, result}, status,
                         [&](int64_t i, const cassini_options& o, const LinkOutput& out) {
                           Budget budget = budget_of(o);
                           const int64_t j = job_offset[i];
                           const Input in{job_offset[i + 1] - j, period + j, phase_offset + j, phase_start,
                                          phase_length,          phase_rate, capacity[i]};
                           solve(prepare(in, o).link, o, budget, out);
                         });
  });
  return rc != CASSINI_OK ? rc : stopped;
}

int32_t cassini_solve_prepared_links(const cassini_links* links, int64_t first, int64_t last,
                                     const cassini_options* options, int64_t* shift, int64_t* slack, uint8_t* is_free,
                                     cassini_result* result, int32_t* status) {
  int32_t stopped = CASSINI_OK;
  const int32_t rc = guarded([&] {
    require(links != nullptr && first >= 0 && first <= last && last <= static_cast<int64_t>(links->link.size()));
    if (first == last) return;
    stopped =
        solve_each(links->job_offset.data() + first, last - first, checked(options), {shift, slack, is_free, result},
                   status, [&](int64_t i, const cassini_options& o, const LinkOutput& out) {
                     const auto& prepared = links->link[static_cast<std::size_t>(first + i)];
                     require(prepared.has_value());
                     Budget budget = budget_of(o);
                     solve(prepared->link, o, budget, out);
                   });
  });
  return rc != CASSINI_OK ? rc : stopped;
}
