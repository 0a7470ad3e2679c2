#include <algorithm>
#include <cmath>
#include <limits>

#include "small_link.hpp"

namespace cassini::fuzz {
namespace {

bool close(double a, double b) { return std::fabs(a - b) <= slack_of_rounding(b); }

double best_score(const TickLink& link) {
  std::vector<int64_t> period;
  for (std::size_t j = 0; j < link.jobs.size(); ++j) period.push_back(link.is_free[j] ? 1 : link.jobs[j].period);
  double best = -std::numeric_limits<double>::infinity();
  for_all_shifts(period, [&](const std::vector<int64_t>& shift) { best = std::max(best, score(link, shift)); });
  return best;
}

cassini_link whole_link(const SmallLinks& links) {
  return test::link_of(links.capacity[0], 0, test::length_of(links.period), links.job_period, links.phase_offset,
                       links.start, links.length, links.rate);
}

// `angles`: 0 for the exact method.
void check_solution(Bytes& in, const SmallLinks& links, const cassini_options& options, int64_t angles) {
  const TickLink& tick = links.tick[0];
  const std::size_t n = links.period.size();
  std::vector<int64_t> shift(n), slack(n);
  std::vector<uint8_t> is_free(n);
  auto r = test::sized<cassini_link_result>();
  double claimed = 0.0;
  const cassini_link link = whole_link(links);
  const cassini_link_output to = test::link_output(shift.data(), slack.data(), is_free.data());
  PROMISE((angles == 0 ? cassini_solve_link(&link, &options, nullptr, &to, &r, nullptr)
                       : cassini_solve_link_angles(&link, angles, &options, nullptr, &to, &r, &claimed, nullptr)) ==
          CASSINI_OK);
  PROMISE(is_free == tick.is_free);
  const double best = best_score(tick);
  PROMISE(r.score_lower == r.score_upper && close(r.score_lower, score(tick, shift)));
  PROMISE(r.score_lower <= best + slack_of_rounding(best) && r.upper_bound >= best - slack_of_rounding(best));
  PROMISE(r.optimal == 0 || r.score_lower >= best - 2 * slack_of_rounding(best));
  const bool proves = angles == 0 && options.node_limit == std::numeric_limits<int64_t>::max();
  PROMISE(!proves || (r.optimal == 1 && r.stopped_by == CASSINI_STOP_COMPLETE));
  check_slack(tick, shift, slack.data(), options.slack_tolerance, false);
  check_hold(in, tick, shift, r.hold_ns, options.slack_tolerance);
}

void check_evaluation(Bytes& in, const SmallLinks& links, const cassini_options& options) {
  const TickLink& tick = links.tick[0];
  const std::size_t n = links.period.size();
  const std::vector<int64_t> shift = small_shifts(in, links.period);
  std::vector<int64_t> slack(n);
  std::vector<uint8_t> is_free(n);
  double lower = 0.0, upper = 0.0;
  int64_t hold = 0;
  const cassini_link link = whole_link(links);
  const cassini_evaluation to = test::evaluation(&lower, &upper, slack.data(), &hold, is_free.data());
  PROMISE(cassini_evaluate_link(&link, shift.data(), &options, nullptr, &to, nullptr) == CASSINI_OK);
  PROMISE(is_free == tick.is_free && lower == upper && close(lower, score(tick, shift)));
  check_slack(tick, shift, slack.data(), options.slack_tolerance, true);
  check_hold(in, tick, shift, hold, options.slack_tolerance);

  // One job at every tick, the others where they are.
  const std::size_t job = in.index(n);
  std::vector<int64_t> moved = shift;
  const cassini_evaluation score_alone = test::evaluation(&lower, &upper, nullptr, nullptr);
  for (int64_t q = 0; q < links.period[job]; ++q) {
    moved[job] = q + (in.once_in(8) ? -links.period[job] : 0);
    PROMISE(cassini_evaluate_link(&link, moved.data(), &options, nullptr, &score_alone, nullptr) == CASSINI_OK);
    PROMISE(lower == upper && close(lower, score(tick, moved)));
  }
}

}  // namespace

void fuzz_small_link(Bytes& in) {
  const SmallLinks links = small_links(in, false);
  cassini_options options;
  PROMISE(cassini_init_options(&options, sizeof options) == CASSINI_OK);
  options.resolution_ns = links.resolution;
  options.node_limit = in.once_in(3) ? in.in(1, 40) : std::numeric_limits<int64_t>::max();
  options.slack_tolerance = static_cast<double>(in.pick({0, 10, 50, 300})) / 1000.0;
  const bool exact = !in.once_in(6);
  int64_t angles = in.in(1, 72);
  if (exact) angles = 0;
  if (angles > 0) options.node_limit = std::min<int64_t>(options.node_limit, 1000);
  check_solution(in, links, options, angles);
  check_evaluation(in, links, options);
}

}  // namespace cassini::fuzz
