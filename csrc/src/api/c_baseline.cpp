// The C functions of cassini.h on joint problems beside a baseline.
#include <memory>
#include <vector>

#include "api/c_joint_input.hpp"
#include "api/c_link_input.hpp"
#include "api/sized_struct.hpp"
#include "base/periods.hpp"
#include "cassini/cassini.h"
#include "joint/baseline.hpp"
#include "joint/solve_joint.hpp"

struct cassini_baseline {
  const cassini_prepared_links* prepared;
  cassini::Baseline kernel;
  std::vector<cassini::Interval> excess;  // [links of the joint problem] as reported
  std::vector<std::size_t> first;         // [given + 1] into job
  std::vector<std::size_t> job;           // all jobs of each link
};

namespace cassini {
namespace {

std::unique_ptr<cassini_baseline> prepare(const JointInput& in, const int64_t* shift, Budget& budget) {
  require_given(shift, "shift_ns");
  std::vector<JointLink> links = joint_links(in);
  for (JointLink& at : links) at.own_shift.clear();
  const std::vector<int64_t> wrapped = in.wrapped(shift);
  auto out = std::make_unique<cassini_baseline>();
  out->prepared = in.prepared;
  out->kernel = make_baseline({in.period.begin(), in.period.end()}, std::move(links), wrapped, budget);
  for (const JointLink& at : out->kernel.problem.links) {
    budget.throw_if_canceled();
    out->excess.push_back(canonical_excess(at, wrapped, &budget.work));
  }
  const int64_t* member = in.member;
  out->first.push_back(0);
  for (int64_t i = 0; i < in.n_links; ++i) {
    for (std::size_t m = 0; m < in.at(i).link.jobs.size(); ++m) out->job.push_back(static_cast<std::size_t>(*member++));
    out->first.push_back(out->job.size());
  }
  return out;
}

// [n] not 0 for the links dropped.
std::vector<uint8_t> is_dropped(std::size_t n, const cassini_delta& delta) {
  const auto n_links = static_cast<int64_t>(n);
  require_in(delta.n_dropped, 0, n_links, "n_dropped");
  if (delta.n_dropped > 0) require_given(delta.dropped, "dropped");
  std::vector<uint8_t> out(n, 0);
  for (int64_t i = 0; i < delta.n_dropped; ++i) {
    require_in(delta.dropped[i], 0, n_links - 1, "dropped", i);
    uint8_t& mark = out[static_cast<std::size_t>(delta.dropped[i])];
    require(mark == 0, "dropped", "each index once", i);
    mark = 1;
  }
  return out;
}

void solve(const cassini_baseline& baseline, const cassini_delta& delta, Budget& budget,
           const cassini_joint_output* output, cassini_joint_result* result) {
  const Baseline& kernel = baseline.kernel;
  const std::vector<uint8_t> gone = is_dropped(kernel.given.size(), delta);
  const JointInput added = joint_input(baseline.prepared, kernel.problem.period, delta);
  std::vector<JointLink> links = joint_links(added);
  const int64_t n_links = static_cast<int64_t>(kernel.given.size()) - delta.n_dropped + added.n_links;
  require(n_links <= CASSINI_MAX_JOINT_LINKS, "n_added", "at most 1048576 links with those left");
  const JointOutput to = checked(output, result, n_links);

  std::vector<uint8_t> dirty(kernel.problem.n_jobs(), 0);
  for (std::size_t i = 0; i < gone.size(); ++i) {
    for (std::size_t k = baseline.first[i]; gone[i] && k < baseline.first[i + 1]; ++k) dirty[baseline.job[k]] = 1;
  }
  for (int64_t k = 0; k < added.n_members; ++k) dirty[static_cast<std::size_t>(added.member[k])] = 1;

  const DeltaProblem varied = apply_delta(kernel, gone, std::move(links), &budget.work);
  JointStart start;
  start.shift = kernel.snapshot.shift;
  start.dirty = dirty;
  start.snapshot = &kernel.snapshot;
  start.from = &varied.from;
  JointAnswer found = solve_joint(varied.problem, start, budget);
  DeltaScores scores(kernel, baseline.excess, varied, found.shift);
  rotate_to_zero(varied.problem, found.shift);
  report(varied.problem, found, scores.at(found.shift, &budget.work), varied.origin, budget, to);
}

}  // namespace
}  // namespace cassini

using namespace cassini;

int32_t cassini_prepare_baseline(const cassini_prepared_links* prepared, const cassini_joint* joint,
                                 const int64_t* shift_ns, const cassini_options* options, const int32_t* cancel,
                                 cassini_baseline** baseline, cassini_error* error) {
  return guarded(error, [&] {
    require_given(baseline, "baseline");
    checked(options);
    Budget budget = budget_to_prepare(cancel);
    *baseline = prepare(joint_input(prepared, joint), shift_ns, budget).release();
  });
}

void cassini_free_baseline(cassini_baseline* baseline) { delete baseline; }

int32_t cassini_solve_delta(const cassini_baseline* baseline, const cassini_delta* delta,
                            const cassini_options* options, const int32_t* cancel, const cassini_joint_output* output,
                            cassini_joint_result* result, cassini_error* error) {
  return guarded(error, [&] {
    require_given(baseline, "baseline");
    const cassini_options o = checked(options);
    Budget budget = budget_of(o, cancel);
    solve(*baseline, read_sized(delta, "delta"), budget, output, result);
  });
}
