// The C functions of cassini.h on blocks beside an anchor.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "api/c_joint_input.hpp"
#include "api/c_link_input.hpp"
#include "base/periods.hpp"
#include "cassini/cassini.h"
#include "joint/baseline.hpp"
#include "joint/solve_joint.hpp"

struct cassini_anchor {
  const cassini_links* links;
  cassini::Baseline kernel;
  std::vector<cassini::Interval> excess;  // [links of the block] as reported
  std::vector<std::size_t> first;         // [given + 1] into job
  std::vector<std::size_t> job;           // all jobs of each link
};

namespace cassini {
namespace {

std::unique_ptr<cassini_anchor> prepare(const LinksInput& in, const LinkParameters& parameters, const int64_t* shift,
                                        const cassini_options& options) {
  require(shift != nullptr);
  std::vector<JointLink> links = joint_links(in, parameters);
  std::vector<int64_t> wrapped(in.period.size());
  for (std::size_t j = 0; j < wrapped.size(); ++j) wrapped[j] = wrap(shift[j], in.period[j]);
  Budget budget(std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max(), options.cancel);
  auto out = std::make_unique<cassini_anchor>();
  out->links = in.links;
  out->kernel = make_baseline({in.period.begin(), in.period.end()}, std::move(links), wrapped, budget);
  for (const JointLink& at : out->kernel.problem.links) {
    budget.in_time();  // sees the cancel flag
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

std::vector<uint8_t> marked(std::size_t n, int64_t n_marked, const int64_t* index) {
  require(n_marked >= 0 && static_cast<uint64_t>(n_marked) <= n && (n_marked == 0 || index != nullptr));
  std::vector<uint8_t> out(n, 0);
  for (int64_t i = 0; i < n_marked; ++i) {
    require(index[i] >= 0 && static_cast<uint64_t>(index[i]) < n);
    uint8_t& mark = out[static_cast<std::size_t>(index[i])];
    require(mark == 0);
    mark = 1;
  }
  return out;
}

void solve_beside(const cassini_anchor& anchor, int64_t n_dropped, const int64_t* dropped, const LinksInput& added,
                  const LinkParameters& parameters, const cassini_options& options, const JointOutput& out) {
  Budget budget(options.node_limit, options.deadline_ns, options.cancel);
  const Baseline& kernel = anchor.kernel;
  const std::vector<uint8_t> is_dropped = marked(kernel.given.size(), n_dropped, dropped);
  std::vector<JointLink> links = joint_links(added, parameters);
  const int64_t n_links = static_cast<int64_t>(kernel.given.size()) - n_dropped + added.n_links;
  require(n_links <= CASSINI_MAX_BLOCK_LINKS);
  check(out, n_links);

  std::vector<uint8_t> dirty(kernel.problem.n_jobs(), 0);
  for (std::size_t i = 0; i < is_dropped.size(); ++i) {
    for (std::size_t k = anchor.first[i]; is_dropped[i] && k < anchor.first[i + 1]; ++k) dirty[anchor.job[k]] = 1;
  }
  const int64_t* member = added.member;
  for (int64_t i = 0; i < added.n_links; ++i) {
    for (std::size_t m = 0; m < added.at(i).link.jobs.size(); ++m) dirty[static_cast<std::size_t>(*member++)] = 1;
  }

  const DeltaProblem varied = apply_delta(kernel, is_dropped, std::move(links), &budget.work);
  JointStart start;
  start.shift = kernel.snapshot.shift;
  start.dirty = dirty;
  start.snapshot = &kernel.snapshot;
  start.from = &varied.from;
  JointAnswer found = solve_joint(varied.problem, start, budget);
  DeltaScores beside(kernel, anchor.excess, varied, found.shift);
  rotate_to_zero(varied.problem, found.shift);
  report(varied.problem, found, beside.at(found.shift, &budget.work), varied.origin, budget, out);
}

}  // namespace
}  // namespace cassini

using namespace cassini;

int32_t cassini_prepare_anchor(const cassini_links* links, int64_t n_jobs, const int64_t* period, int64_t n_links,
                               const int64_t* link, const int64_t* member, const double* weight,
                               const double* upper_bound, const int64_t* shift, const cassini_options* options,
                               cassini_anchor** anchor) {
  return guarded([&] {
    require(anchor != nullptr);
    *anchor = prepare({links, checked_periods(n_jobs, period), n_links, link, member}, {weight, upper_bound, nullptr},
                      shift, checked(options))
                  .release();
  });
}

void cassini_free_anchor(cassini_anchor* anchor) { delete anchor; }

int32_t cassini_solve_beside(const cassini_anchor* anchor, int64_t n_dropped, const int64_t* dropped, int64_t n_added,
                             const int64_t* link, const int64_t* member, const double* weight,
                             const double* upper_bound, const cassini_options* options, int64_t* shift,
                             double* score_lower, double* score_upper, cassini_block_result* result) {
  return guarded([&] {
    require(anchor != nullptr);
    solve_beside(*anchor, n_dropped, dropped, {anchor->links, anchor->kernel.problem.period, n_added, link, member},
                 {weight, upper_bound, nullptr}, checked(options), {shift, score_lower, score_upper, result});
  });
}
