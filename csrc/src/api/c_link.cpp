// The C functions of cassini.h on one link, and on many one after the other.
#include <algorithm>
#include <vector>

#include "api/c_joint_input.hpp"
#include "api/c_link_input.hpp"
#include "api/sized_struct.hpp"
#include "base/budget.hpp"
#include "cassini/cassini.h"
#include "demand/link_problem.hpp"
#include "link/score_interval.hpp"
#include "link/solve_link.hpp"
#include "robustness/hold.hpp"

namespace cassini {
namespace {

// What is reported is computed from the shifts as they are returned.
void report(const Link& link, const LinkAnswer& answer, double slack_tolerance, Budget& budget, const LinkOutput& to,
            cassini_link_result* result) {
  const std::vector<int64_t> out = all_shifts(link, answer.movable);
  const std::vector<int64_t> movable = movable_shifts(link, out);
  const Interval excess = excess_interval(link, movable, &budget.work);
  Hold hold;
  if (to.slack != nullptr) hold = hold_of(link, movable, excess, answer.slack, slack_tolerance, budget);

  cassini_link_result r{};
  r.score_lower = 1.0 - excess.upper / link.capacity;
  r.score_upper = 1.0 - excess.lower / link.capacity;
  const double lower = link.size() < 2 ? excess.lower : std::min(answer.lower, excess.upper);
  r.upper_bound = std::max(r.score_lower, 1.0 - lower / link.capacity);
  r.optimal = is_proven(r.score_lower, r.upper_bound) ? 1 : 0;
  if (r.optimal && excess.lower == excess.upper) r.upper_bound = r.score_lower;
  r.hold_ns = hold.hold;
  r.nodes = budget.nodes();
  r.stopped_by =
      stop_reason(budget, answer.beyond_limits || excess.lower != excess.upper, r.optimal != 0, !answer.has_claim);
  std::copy(out.begin(), out.end(), to.shift);
  if (to.slack != nullptr) std::copy(hold.slack.begin(), hold.slack.end(), to.slack);
  std::copy(link.is_free.begin(), link.is_free.end(), to.is_free);
  write_sized(result, result->size, r);
}

void solve(const Link& link, const cassini_options& options, Budget& budget, const LinkOutput& to,
           cassini_link_result* result) {
  const LinkAnswer answer = solve_exact(link, options.slack_tolerance, to.slack != nullptr, budget);
  report(link, answer, options.slack_tolerance, budget, to, result);
}

void check(const cassini_link_result* result) {
  require_given(result, "result");
  require_size<cassini_link_result>(result->size, "result");
}

// Where the answers of a call on many links go.
struct Batch {
  const cassini_link_output* output;
  cassini_link_result* result;
  int32_t* status;
  cassini_error* error;  // of the first link that is not solved

  // solve_one(i, budget, output, result) for each link, one after the other, each with all nodes of `whole` and what is
  // left of its time. job_offset: [n_links + 1]; first_job: whose answer stands at output[0]. ECANCELED where the flag
  // was seen: then all links from there on have that status.
  template <class SolveOne>
  int32_t solve_each(int64_t n_links, const int64_t* job_offset, int64_t first_job, const Budget& whole,
                     SolveOne&& solve_one) {
    if (n_links == 0) {
      whole.throw_if_canceled();
      return CASSINI_OK;
    }
    const LinkOutput to = checked(output);
    check(result);
    require_given(status, "status");
    const int64_t stride = result->size;
    for (int64_t i = 0; i < n_links; ++i) {
      const int64_t j = job_offset[i] - first_job;
      auto* own = reinterpret_cast<cassini_link_result*>(reinterpret_cast<unsigned char*>(result) + i * stride);
      status[i] = status_of(error, i, [&] {
        whole.throw_if_canceled();  // easy links never look at the flag
        require_in(own->size, stride, stride, "result", i);
        Budget budget = whole;
        solve_one(i, budget, {to.shift + j, to.slack != nullptr ? to.slack + j : nullptr, to.is_free + j}, own);
      });
      if (status[i] != CASSINI_OK) error = nullptr;
      if (status[i] != CASSINI_ECANCELED) continue;
      std::fill(status + i, status + n_links, CASSINI_ECANCELED);
      return CASSINI_ECANCELED;
    }
    return CASSINI_OK;
  }
};

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

const char* cassini_stop_string(int32_t stopped_by) {
  switch (stopped_by) {
    case CASSINI_STOP_COMPLETE:
      return "complete";
    case CASSINI_STOP_NODES:
      return "nodes";
    case CASSINI_STOP_DEADLINE:
      return "deadline";
    case CASSINI_STOP_LIMITS:
      return "limits";
    case CASSINI_STOP_UNPROVEN:
      return "unproven";
    default:
      return "unknown";
  }
}

int32_t cassini_init_options(cassini_options* options, int64_t size) {
  return guarded(nullptr, [&] {
    require_given(options, "options");
    require_size<cassini_options>(size, "size");
    write_sized(options, size, defaults());
  });
}

int32_t cassini_solve_link(const cassini_link* link, const cassini_options* options, const int32_t* cancel,
                           const cassini_link_output* output, cassini_link_result* result, cassini_error* error) {
  return guarded(error, [&] {
    const LinkOutput to = checked(output);
    check(result);
    const cassini_options o = checked(options);
    Budget budget = budget_of(o, cancel);
    solve(prepare(link_input(link), o, budget), o, budget, to, result);
  });
}

int32_t cassini_solve_link_angles(const cassini_link* link, int64_t angles, const cassini_options* options,
                                  const int32_t* cancel, const cassini_link_output* output, cassini_link_result* result,
                                  double* claimed_score, cassini_error* error) {
  return guarded(error, [&] {
    const LinkOutput to = checked(output);
    check(result);
    require_given(claimed_score, "claimed_score");
    const cassini_options o = checked(options);
    Budget budget = budget_of(o, cancel);
    const Link prepared = prepare(link_input(link), o, budget);
    const auto n_jobs = static_cast<int64_t>(prepared.jobs.size());
    require_in(angles, 1, std::min<int64_t>(CASSINI_MAX_ANGLES, CASSINI_MAX_SAMPLES / n_jobs), "angles");
    const LinkAnswer answer = solve_by_angles(prepared, angles, budget);
    report(prepared, answer, o.slack_tolerance, budget, to, result);
    *claimed_score = 1.0 - answer.claimed / prepared.capacity;
  });
}

int32_t cassini_evaluate_link(const cassini_link* link, const int64_t* shift_ns, const cassini_options* options,
                              const int32_t* cancel, const cassini_evaluation* evaluation, cassini_error* error) {
  return guarded(error, [&] {
    require_given(shift_ns, "shift_ns");
    cassini_evaluation to = checked(evaluation, 1);
    const cassini_options o = checked(options);
    Budget budget = budget_without_nodes(o, cancel);
    const Link prepared = prepare(link_input(link), o, budget);
    const std::vector<int64_t> movable = movable_shifts(prepared, {shift_ns, prepared.jobs.size()});
    const Interval excess = excess_interval(prepared, movable, &budget.work);
    Hold hold;
    if (to.slack_ns != nullptr) hold = hold_of(prepared, movable, excess, {}, o.slack_tolerance, budget);
    report(prepared, excess, hold, to);
  });
}

int32_t cassini_solve_links(const cassini_links* links, const cassini_options* options, const int32_t* cancel,
                            const cassini_link_output* output, cassini_link_result* result, int32_t* status,
                            cassini_error* error) {
  return guarded(error, [&] {
    const cassini_links in = checked(links);
    const cassini_options o = checked(options);
    const Budget whole(o.node_limit, o.deadline_ns, cancel);
    return Batch{output, result, status, error}.solve_each(
        in.n_links, in.job_offset, 0, whole,
        [&](int64_t i, Budget& budget, const LinkOutput& to, cassini_link_result* own) {
          solve(prepare(link_input(in, i), o, budget), o, budget, to, own);
        });
  });
}

int32_t cassini_solve_prepared_links(const cassini_prepared_links* prepared, int64_t first, int64_t last,
                                     const cassini_options* options, const int32_t* cancel,
                                     const cassini_link_output* output, cassini_link_result* result, int32_t* status,
                                     cassini_error* error) {
  return guarded(error, [&] {
    require_given(prepared, "prepared");
    require_in(last, 0, static_cast<int64_t>(prepared->link.size()), "last");
    require_in(first, 0, last, "first");
    const cassini_options o = checked(options);
    const Budget whole(o.node_limit, o.deadline_ns, cancel);
    const int64_t* job_offset = prepared->job_offset.data() + first;
    return Batch{output, result, status, error}.solve_each(
        last - first, job_offset, *job_offset, whole,
        [&](int64_t i, Budget& budget, const LinkOutput& to, cassini_link_result* own) {
          const auto& link = prepared->link[static_cast<std::size_t>(first + i)];
          require(link.has_value(), "prepared", "a link that was not refused", first + i);
          solve(link->link, o, budget, to, own);
        });
  });
}
