#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "small_link.hpp"

namespace cassini::fuzz {
namespace {

// A joint problem of some of the links, with weights; brute force knows all about it.
struct SmallProblem {
  const SmallLinks& links;
  std::vector<int64_t> link;
  std::vector<double> weight;
  std::vector<double> upper_bound;  // true ones

  // `member` as the next function gives it.
  cassini_joint joint(const std::vector<int64_t>& member) const {
    return test::joint_of(links.period, link, member, weight.data(),
                          upper_bound.empty() ? nullptr : upper_bound.data());
  }
  std::vector<int64_t> members() const {
    std::vector<int64_t> out;
    for (const int64_t l : link) {
      const auto& on = links.on[static_cast<std::size_t>(l)];
      out.insert(out.end(), on.begin(), on.end());
    }
    return out;
  }
  double score_of(std::size_t i, const std::vector<int64_t>& shift) const {
    const auto l = static_cast<std::size_t>(link[i]);
    return score(links.tick[l], links.shifts_on(l, shift));
  }
  double mean(const std::vector<int64_t>& shift) const {
    double sum = 0.0, weights = 0.0;
    for (std::size_t i = 0; i < link.size(); ++i) {
      sum += weight[i] * score_of(i, shift);
      weights += weight[i];
    }
    return link.empty() ? 1.0 : sum / weights;
  }
  double best() const {
    double out = -std::numeric_limits<double>::infinity();
    for_all_shifts(links.period, [&](const std::vector<int64_t>& shift) { out = std::max(out, mean(shift)); });
    return out;
  }
};

bool close(double a, double b) { return std::fabs(a - b) <= slack_of_rounding(b); }

SmallProblem some_of(Bytes& in, const SmallLinks& links, int64_t at_most, bool bounds) {
  SmallProblem out{links, {}, {}, {}};
  for (int64_t i = in.in(0, at_most); i > 0; --i) {
    out.link.push_back(in.in(0, static_cast<int64_t>(links.on.size()) - 1));
    out.weight.push_back(static_cast<double>(in.in(1, 8)) / 2.0);
    if (!bounds) continue;
    const TickLink& tick = links.tick[static_cast<std::size_t>(out.link.back())];
    double best = -std::numeric_limits<double>::infinity();
    std::vector<int64_t> period;
    for (const TickJob& job : tick.jobs) period.push_back(job.period);
    for_all_shifts(period, [&](const std::vector<int64_t>& shift) { best = std::max(best, score(tick, shift)); });
    out.upper_bound.push_back(best + slack_of_rounding(best));
  }
  return out;
}

struct Found {
  explicit Found(const SmallProblem& problem)
      : shift(problem.links.period.size()), lower(problem.link.size()), upper(problem.link.size()) {
    result.size = sizeof result;
  }
  cassini_joint_output output() { return test::joint_output(shift.data(), lower.data(), upper.data()); }
  std::vector<int64_t> shift;
  std::vector<double> lower;
  std::vector<double> upper;
  cassini_joint_result result{};
};

// Scores are true, the bound is one, what is proven is best, and no start scored more.
void check_found(const SmallProblem& problem, const Found& found, const std::vector<int64_t>* start, bool proves) {
  const cassini_joint_result& r = found.result;
  for (std::size_t i = 0; i < problem.link.size(); ++i) {
    PROMISE(found.lower[i] == found.upper[i] && close(found.lower[i], problem.score_of(i, found.shift)));
  }
  PROMISE(close(r.score, problem.mean(found.shift)));
  const double best = problem.best();
  const double noise = 2 * slack_of_rounding(best);
  PROMISE(r.score <= best + noise && r.upper_bound >= best - noise);
  PROMISE(r.optimal == 0 || r.score >= best - noise);
  PROMISE(start == nullptr || r.score >= problem.mean(*start) - noise);
  PROMISE(!proves || r.optimal == 1);
}

void check_evaluation(Bytes& in, const SmallProblem& problem, const cassini_prepared_links* handle,
                      const std::vector<int64_t>& shift, const cassini_options& options) {
  const std::vector<int64_t> member = problem.members();
  const std::size_t n = problem.link.size();
  std::vector<double> lower(n), upper(n);
  std::vector<int64_t> slack(member.size()), hold(n);
  const cassini_joint joint = problem.joint(member);
  const cassini_evaluation to = test::evaluation(lower.data(), upper.data(), slack.data(), hold.data());
  PROMISE(cassini_evaluate_joint(handle, &joint, shift.data(), &options, nullptr, &to, nullptr) == CASSINI_OK);
  std::size_t first = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto l = static_cast<std::size_t>(problem.link[i]);
    const std::vector<int64_t> own = problem.links.shifts_on(l, shift);
    PROMISE(lower[i] == upper[i] && close(lower[i], problem.score_of(i, shift)));
    check_slack(problem.links.tick[l], own, slack.data() + first, options.slack_tolerance, true);
    check_hold(in, problem.links.tick[l], own, hold[i], options.slack_tolerance);
    first += own.size();
  }
}

// The baseline's problem without some links and with others.
void check_delta(Bytes& in, const SmallProblem& problem, const cassini_prepared_links* handle,
                 const cassini_options& options) {
  const SmallLinks& links = problem.links;
  const std::vector<int64_t> member = problem.members(), shift = small_shifts(in, links.period);
  const bool bounds = problem.link.empty() || !problem.upper_bound.empty();
  cassini_baseline* raw = nullptr;
  const cassini_joint joint = problem.joint(member);
  PROMISE(cassini_prepare_baseline(handle, &joint, shift.data(), &options, nullptr, &raw, nullptr) == CASSINI_OK);
  const std::unique_ptr<cassini_baseline, decltype(&cassini_free_baseline)> baseline(raw, &cassini_free_baseline);
  const SmallProblem added = some_of(in, links, 2, bounds);
  SmallProblem left{links, {}, {}, {}};
  std::vector<int64_t> dropped;
  for (std::size_t i = 0; i < problem.link.size(); ++i) {
    if (in.once_in(3)) {
      dropped.push_back(static_cast<int64_t>(i));
      continue;
    }
    left.link.push_back(problem.link[i]);
    left.weight.push_back(problem.weight[i]);
  }
  left.link.insert(left.link.end(), added.link.begin(), added.link.end());
  left.weight.insert(left.weight.end(), added.weight.begin(), added.weight.end());
  const std::vector<int64_t> others = added.members();
  Found found(left);
  const cassini_delta delta =
      test::delta_of(dropped, added.link, others, added.weight.data(), bounds ? added.upper_bound.data() : nullptr);
  const cassini_joint_output to = found.output();
  PROMISE(cassini_solve_delta(baseline.get(), &delta, &options, nullptr, &to, &found.result, nullptr) == CASSINI_OK);
  check_found(left, found, &shift, false);
}

// Some jobs stay where the start has them: the others find the best beside them, and bounds are about such shifts.
void check_kept(Bytes& in, const SmallProblem& problem, const cassini_prepared_links* handle,
                const cassini_options& options, bool proves) {
  const std::vector<int64_t> member = problem.members(), start = small_shifts(in, problem.links.period);
  std::vector<uint8_t> kept;
  for (std::size_t j = 0; j < start.size(); ++j) kept.push_back(in.once_in(2) ? 1 : 0);
  Found found(problem);
  const cassini_joint joint = problem.joint(member);
  const cassini_joint_search search = test::search_of(start.data(), nullptr, in.once_in(2), kept.data());
  const cassini_joint_output to = found.output();
  PROMISE(cassini_solve_joint(handle, &joint, &search, &options, nullptr, &to, &found.result, nullptr) == CASSINI_OK);
  double best = -std::numeric_limits<double>::infinity();
  for_all_shifts(problem.links.period, [&](std::vector<int64_t> shift) {
    for (std::size_t j = 0; j < shift.size(); ++j) {
      if (kept[j] != 0) shift[j] = start[j];
    }
    // Where some stay, the first is not at 0 for all.
    for (int64_t at = 0; at < (kept[0] != 0 ? 1 : problem.links.period[0]); ++at) {
      if (kept[0] == 0) shift[0] = at;
      best = std::max(best, problem.mean(shift));
    }
  });
  const double noise = 2 * slack_of_rounding(best);
  PROMISE(close(found.result.score, problem.mean(found.shift)));
  PROMISE(found.result.score <= best + noise && found.result.upper_bound >= best - noise);
  PROMISE(found.result.score >= problem.mean(start) - noise);
  PROMISE(!proves || (found.result.optimal == 1 && found.result.score >= best - noise));
}

}  // namespace

void fuzz_small_joint(Bytes& in) {
  const SmallLinks links = small_links(in, true);
  cassini_options options;
  PROMISE(cassini_init_options(&options, sizeof options) == CASSINI_OK);
  options.resolution_ns = links.resolution;
  const bool limited = in.once_in(3);
  options.node_limit = limited ? in.in(1, 40) : std::numeric_limits<int64_t>::max();
  options.slack_tolerance = static_cast<double>(in.pick({0, 10, 50, 300})) / 1000.0;
  cassini_prepared_links* raw = nullptr;
  std::vector<int32_t> status(links.on.size());
  const cassini_links all = test::links_of(links.capacity, links.job_offset, links.job_period, links.phase_offset,
                                           links.start, links.length, links.rate);
  PROMISE(cassini_prepare_links(&all, &options, nullptr, &raw, status.data(), nullptr) == CASSINI_OK);
  const std::unique_ptr<cassini_prepared_links, decltype(&cassini_free_prepared_links)> handle(
      raw, &cassini_free_prepared_links);
  PROMISE(std::all_of(status.begin(), status.end(), [](int32_t s) { return s == CASSINI_OK; }));

  const bool bounds = in.once_in(2);
  const SmallProblem problem = some_of(in, links, 4, bounds);
  const std::vector<int64_t> member = problem.members(), start = small_shifts(in, links.period);
  std::vector<uint8_t> dirty;
  for (std::size_t j = 0; j < links.period.size(); ++j) dirty.push_back(in.once_in(2) ? 1 : 0);
  const bool has_start = in.once_in(2), has_dirty = in.once_in(3);
  Found found(problem);
  const cassini_joint joint = problem.joint(member);
  const cassini_joint_search search =
      test::search_of(has_start ? start.data() : nullptr, has_dirty ? dirty.data() : nullptr, in.once_in(2));
  const cassini_joint_output to = found.output();
  PROMISE(cassini_solve_joint(raw, &joint, &search, &options, nullptr, &to, &found.result, nullptr) == CASSINI_OK);
  check_found(problem, found, has_start ? &start : nullptr, !limited && !(has_start && has_dirty));
  check_evaluation(in, problem, raw, small_shifts(in, links.period), options);
  check_delta(in, problem, raw, options);
  check_kept(in, problem, raw, options, !limited);
}

}  // namespace cassini::fuzz
