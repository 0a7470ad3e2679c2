#include "c_block_input.hpp"

#include <algorithm>
#include <cmath>

#include "c_sized.hpp"

namespace cassini {
namespace {

int32_t why_stopped(const Budget& budget, bool beyond_limits, bool optimal) {
  if (beyond_limits) return CASSINI_STOP_LIMITS;
  if (optimal) return CASSINI_STOP_COMPLETE;
  if (budget.out_of_time()) return CASSINI_STOP_DEADLINE;
  return budget.out_of_nodes() ? CASSINI_STOP_NODES : CASSINI_STOP_COMPLETE;
}

}  // namespace

std::span<const int64_t> checked_periods(int64_t n_jobs, const int64_t* period) {
  require(period != nullptr && n_jobs >= 1 && n_jobs <= CASSINI_MAX_BLOCK_JOBS);
  for (int64_t j = 0; j < n_jobs; ++j) require(period[j] >= 1 && period[j] <= CASSINI_MAX_TICKS);
  return {period, static_cast<std::size_t>(n_jobs)};
}

void check(const LinksInput& in) {
  require(in.links != nullptr);
  require(in.n_links >= 0 && in.n_links <= CASSINI_MAX_BLOCK_LINKS);
  require(in.n_links == 0 || (in.link != nullptr && in.member != nullptr));
  const auto n_jobs = static_cast<int64_t>(in.period.size());
  std::vector<int64_t> last_on(in.period.size(), -1);  // no job twice on a link
  const int64_t* member = in.member;
  for (int64_t i = 0; i < in.n_links; ++i) {
    require(in.link[i] >= 0 && in.link[i] < static_cast<int64_t>(in.links->link.size()));
    require(in.links->link[static_cast<std::size_t>(in.link[i])].has_value());
    for (const Circle& job : in.at(i).link.jobs) {
      const int64_t j = *member++;
      require(j >= 0 && j < n_jobs && in.period[static_cast<std::size_t>(j)] == job.period);
      require(last_on[static_cast<std::size_t>(j)] != i);
      last_on[static_cast<std::size_t>(j)] = i;
    }
  }
}

std::vector<BlockLink> block_links(const LinksInput& in, const Wishes& wishes) {
  check(in);
  std::vector<BlockLink> out;
  out.reserve(static_cast<std::size_t>(in.n_links));
  std::size_t first = 0;
  for (int64_t i = 0; i < in.n_links; ++i) {
    const PreparedLink& prepared = in.at(i);
    const Link& link = prepared.link;
    BlockLink& at = out.emplace_back(prepared);
    for (const std::size_t place : link.movable) {
      at.job.push_back(static_cast<std::size_t>(in.member[first + place]));
      if (wishes.own_shift != nullptr) {
        at.own_shift.push_back(wrap(wishes.own_shift[first + place], link.jobs[place].period));
      }
    }
    at.weight = wishes.weight == nullptr ? 1.0 : wishes.weight[i];
    require(std::isfinite(at.weight) && at.weight > 0.0);
    at.least = link.area_bound();
    if (wishes.upper_bound != nullptr) {
      require(std::isfinite(wishes.upper_bound[i]));
      at.least = std::max(at.least, (1.0 - wishes.upper_bound[i]) * link.capacity);
    }
    first += link.jobs.size();
  }
  return out;
}

Interval stance_excess(const BlockLink& at, std::span<const int64_t> shift, int64_t* work) {
  std::vector<int64_t> movable;
  shifts_on(at, shift, movable);
  at.prepared->stance.take(movable);
  return excess_interval(at.link(), movable, work);
}

void check(const BlockOutput& out, int64_t n_links) {
  require(out.shift != nullptr && out.result != nullptr);
  require(n_links == 0 || (out.score_lower != nullptr && out.score_upper != nullptr));
  require_size<cassini_block_result>(out.result->size);
}

void report(const Block& block, const FoundBlock& found, std::span<const Interval> excess,
            std::span<const std::size_t> origin, const Budget& budget, const BlockOutput& out) {
  double achieved = 0.0;
  double lower = found.lower;
  bool beyond_limits = found.limited;
  for (std::size_t l = 0; l < block.links.size(); ++l) {
    const BlockLink& at = block.links[l];
    achieved += at.per_excess() * excess[l].upper;
    beyond_limits = beyond_limits || excess[l].lower != excess[l].upper;
    if (!at.guides) lower += at.per_excess() * std::min(at.least, excess[l].upper);
  }
  const double weight = block.links.empty() ? 1.0 : block.weight;
  cassini_block_result r{};
  r.score = 1.0 - achieved / weight;
  r.upper_bound = std::max(r.score, 1.0 - lower / weight);
  r.optimal = r.score >= r.upper_bound - kProofTolerance * std::max(1.0, std::abs(r.score)) ? 1 : 0;
  r.nodes = budget.nodes();
  r.stopped_by = why_stopped(budget, beyond_limits, r.optimal != 0);
  std::copy(found.shift.begin(), found.shift.end(), out.shift);
  for (std::size_t i = 0; i < origin.size(); ++i) {
    const double capacity = block.links[origin[i]].capacity;
    out.score_lower[i] = 1.0 - excess[origin[i]].upper / capacity;
    out.score_upper[i] = 1.0 - excess[origin[i]].lower / capacity;
  }
  write_sized(out.result, out.result->size, r);
}

}  // namespace cassini
