// The C functions of cassini.h on prepared links and joint problems.
#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "api/c_joint_input.hpp"
#include "api/c_link_input.hpp"
#include "api/sized_struct.hpp"
#include "base/periods.hpp"
#include "cassini/cassini.h"
#include "demand/link_problem.hpp"
#include "joint/baseline.hpp"
#include "joint/joint_problem.hpp"
#include "joint/solve_joint.hpp"
#include "link/score_interval.hpp"
#include "link/solve_link.hpp"
#include "robustness/hold.hpp"

namespace cassini {
namespace {

cassini_joint_search checked(const cassini_joint_search* given) {
  if (given == nullptr) return {};
  const cassini_joint_search out = read_sized(given, "search");
  require_in(out.reserved, 0, 0, "reserved");
  return out;
}

void solve(const JointInput& in, const cassini_joint_search& search, double slack_tolerance, Budget& budget,
           const JointOutput& to) {
  std::vector<JointLink> links = joint_links(in);
  const int exponent = weight_exponent(links);
  for (JointLink& at : links) at.weight = std::ldexp(at.weight, -exponent);
  std::vector<std::size_t> origin;
  const JointProblem problem = make_joint_problem({in.period.begin(), in.period.end()}, std::move(links), origin);
  JointStart begin;
  std::vector<int64_t> start;
  if (search.start_ns != nullptr) {
    start = in.wrapped(search.start_ns);
    begin.shift = start;
    if (search.is_dirty != nullptr) begin.dirty = {search.is_dirty, start.size()};
  }
  if (search.is_kept != nullptr) {
    require(search.start_ns != nullptr, "is_kept", "shifts to keep in start_ns");
    begin.kept = {search.is_kept, start.size()};
  }
  if (search.centred != 0) begin.slack_tolerance = slack_tolerance;
  JointAnswer found = solve_joint(problem, begin, budget);
  rotate_to_zero(problem, found.shift);
  // What is reported is computed from the shifts as they are returned.
  std::vector<Interval> excess;
  for (const JointLink& at : problem.links) excess.push_back(canonical_excess(at, found.shift, &budget.work));
  report(problem, found, excess, origin, budget, to);
}

void evaluate(const JointInput& in, const int64_t* shift, double slack_tolerance, Budget& budget,
              cassini_evaluation to) {
  // Complete before the first output is written.
  std::vector<Interval> excess;
  std::vector<Hold> holds;
  std::vector<int64_t> own;
  const int64_t* member = in.member;
  for (int64_t i = 0; i < in.n_links; ++i) {
    const Link& link = in.at(i).link;
    own.clear();
    for (std::size_t j = 0; j < link.jobs.size(); ++j) own.push_back(shift[*member++]);
    std::vector<int64_t> movable = movable_shifts(link, own);
    in.at(i).canonical.apply(movable);  // jobs that stand alike score alike, to the last bit
    budget.throw_if_canceled();
    excess.push_back(excess_interval(link, movable, &budget.work));
    holds.emplace_back();
    if (to.slack_ns != nullptr) holds.back() = hold_of(link, movable, excess.back(), {}, slack_tolerance, budget);
  }
  for (std::size_t i = 0; i < excess.size(); ++i) {
    report(in.at(static_cast<int64_t>(i)).link, excess[i], holds[i], to);
  }
}

}  // namespace
}  // namespace cassini

using namespace cassini;

int32_t cassini_prepare_links(const cassini_links* links, const cassini_options* options, const int32_t* cancel,
                              cassini_prepared_links** prepared, int32_t* status, cassini_error* error) {
  return guarded(error, [&] {
    require_given(prepared, "prepared");
    const cassini_links in = checked(links);
    if (in.n_links > 0) require_given(status, "status");
    const cassini_options o = checked(options);
    Budget budget = budget_to_prepare(cancel);
    auto out = std::make_unique<cassini_prepared_links>();
    out->job_offset.push_back(0);
    std::vector<int32_t> outcome;
    cassini_error first{};  // written when nothing can go wrong any more
    first.size = sizeof first;
    for (int64_t i = 0; i < in.n_links; ++i) {
      budget.throw_if_canceled();
      out->link.emplace_back();
      out->job_offset.push_back(in.job_offset[i + 1] - in.job_offset[0]);
      cassini_error* to = first.status == CASSINI_OK ? &first : nullptr;
      outcome.push_back(
          status_of(to, i, [&] { out->link.back() = prepare_link(prepare(link_input(in, i), o, budget)); }));
      if (outcome.back() == CASSINI_ECANCELED) throw Canceled{};
    }
    std::copy(outcome.begin(), outcome.end(), status);
    if (error != nullptr && first.status != CASSINI_OK) write_sized(error, error->size, first);
    *prepared = out.release();
  });
}

void cassini_free_prepared_links(cassini_prepared_links* prepared) { delete prepared; }

int32_t cassini_solve_joint(const cassini_prepared_links* prepared, const cassini_joint* joint,
                            const cassini_joint_search* search, const cassini_options* options, const int32_t* cancel,
                            const cassini_joint_output* output, cassini_joint_result* result, cassini_error* error) {
  return guarded(error, [&] {
    const cassini_options o = checked(options);
    Budget budget = budget_of(o, cancel);
    const JointInput in = joint_input(prepared, joint);
    solve(in, checked(search), o.slack_tolerance, budget, checked(output, result, in.n_links));
  });
}

int32_t cassini_evaluate_joint(const cassini_prepared_links* prepared, const cassini_joint* joint,
                               const int64_t* shift_ns, const cassini_options* options, const int32_t* cancel,
                               const cassini_evaluation* evaluation, cassini_error* error) {
  return guarded(error, [&] {
    const cassini_options o = checked(options);
    Budget budget = budget_without_nodes(o, cancel);
    require_given(shift_ns, "shift_ns");
    const JointInput in = joint_input(prepared, joint);
    evaluate(in, shift_ns, o.slack_tolerance, budget, checked(evaluation, in.n_links));
  });
}
