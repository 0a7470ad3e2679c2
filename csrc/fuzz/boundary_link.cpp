#include <vector>

#include "boundary.hpp"
#include "guarded.hpp"
#include "wild_link.hpp"

namespace cassini::fuzz {
namespace {

struct LinkOutputs {
  LinkOutputs(std::size_t n, std::size_t words) : shift(n), slack(n), is_free(n), result(1, words) {}
  void remember() {
    shift.remember();
    slack.remember();
    is_free.remember();
    result.remember();
  }
  bool unchanged() const { return shift.unchanged() && slack.unchanged() && is_free.unchanged() && result.unchanged(); }
  Output<int64_t> shift;
  Output<int64_t> slack;
  Output<uint8_t> is_free;
  Results<cassini_link_result> result;
};

void check_answer(const WildLink& link, LinkOutputs& out, bool with_slack) {
  const cassini_link_result r = out.result[0];
  PROMISE(out.result.well_sized(0));
  PROMISE(interval(r.score_lower, r.score_upper));
  PROMISE(r.upper_bound >= r.score_lower && r.upper_bound <= 1.0 + 1e-9);
  PROMISE(r.hold_ns >= 0 && r.nodes >= 0);
  PROMISE((r.optimal != 0) == (r.score_lower >= r.upper_bound - slop(r.score_lower)));
  PROMISE(r.optimal == 0 || r.optimal == 1);
  PROMISE(r.stopped_by >= CASSINI_STOP_COMPLETE && r.stopped_by <= CASSINI_STOP_UNPROVEN);
  for (std::size_t j = 0; j < out.shift.size(); ++j) {
    PROMISE(out.shift[j] >= 0 && out.shift[j] < link.period[j]);
    PROMISE(out.is_free[j] <= 1);
    if (with_slack) PROMISE(out.slack[j] >= 0 && out.slack[j] <= link.period[j] / 2);
  }
}

int32_t solve(const WildLink& link, const WildOptions& options, LinkOutputs& out, bool with_slack) {
  const cassini_link given = link.c();
  const cassini_link_output to =
      test::link_output(out.shift.data(), with_slack ? out.slack.data() : nullptr, out.is_free.data());
  Told told;
  Output<double> claimed(1);
  claimed.remember();
  const int32_t status =
      options.angles == 0
          ? cassini_solve_link(&given, options.pointer(), options.cancel(), &to, out.result.data(), told.error())
          : cassini_solve_link_angles(&given, options.angles, options.pointer(), options.cancel(), &to,
                                      out.result.data(), claimed.data(), told.error());
  PROMISE(told.of(status));
  PROMISE(status == CASSINI_OK && options.angles > 0 ? std::isfinite(claimed[0]) : claimed.unchanged());
  return status;
}

struct Scores {
  explicit Scores(std::size_t n) : lower(1), upper(1), slack(n), hold(1), is_free(n) {
    lower.remember();
    upper.remember();
    slack.remember();
    hold.remember();
    is_free.remember();
  }
  bool unchanged() const {
    return lower.unchanged() && upper.unchanged() && slack.unchanged() && hold.unchanged() && is_free.unchanged();
  }
  Output<double> lower;
  Output<double> upper;
  Output<int64_t> slack;
  Output<int64_t> hold;
  Output<uint8_t> is_free;
};

void evaluate(Bytes& in, const WildLink& link, const WildOptions& options, const int64_t* shift, LinkOutputs* solved) {
  Scores out(link.period.size());
  const bool with_slack = !in.once_in(6);
  const bool half = in.once_in(40);  // slack without hold is refused
  const cassini_link given = link.c();
  const cassini_evaluation to =
      test::evaluation(out.lower.data(), out.upper.data(), with_slack ? out.slack.data() : nullptr,
                       with_slack && !half ? out.hold.data() : nullptr, in.once_in(6) ? nullptr : out.is_free.data());
  Told told;
  const int32_t status = cassini_evaluate_link(&given, shift, options.pointer(), options.cancel(), &to, told.error());
  PROMISE(told.of(status));
  const bool sound = link.sound() && options.sound && shift != nullptr && !(with_slack && half);
  PROMISE(expected(status, sound, options.canceled()));
  if (status != CASSINI_OK) {
    PROMISE(out.unchanged());
    return;
  }
  PROMISE(interval(out.lower[0], out.upper[0]));
  for (std::size_t j = 0; j < out.slack.size() && with_slack; ++j) {
    PROMISE(out.slack[j] >= 0 && out.slack[j] <= link.period[j] / 2 && out.hold[0] >= 0);
  }
  if (solved == nullptr) return;
  PROMISE(solved->result[0].score_lower == out.lower[0] && solved->result[0].score_upper == out.upper[0]);
}

// The same call gives the same bytes.
void repeat(const WildLink& link, const WildOptions& options, LinkOutputs& first, bool with_slack) {
  LinkOutputs again(link.period.size(), static_cast<std::size_t>(first.result.size(0)) / sizeof(int64_t));
  PROMISE(solve(link, options, again, with_slack) == CASSINI_OK);
  PROMISE(again.shift.same(first.shift) && again.is_free.same(first.is_free));
  PROMISE(again.slack.same(first.slack) && again.result.same(first.result));
}

}  // namespace

void fuzz_link(Bytes& in) {
  const WildLink link = wild_link(in);
  const bool small = link.period.size() <= 3 && link.start.size() <= 8;
  const auto options = wild_options(in, small);
  const bool with_slack = !in.once_in(4);
  LinkOutputs out(link.period.size(), struct_words<cassini_link_result>(in));
  const bool sized = !in.once_in(40);
  if (!sized) out.result.size(0) = wrong_size(in);
  out.remember();
  const int32_t status = solve(link, *options, out, with_slack);
  PROMISE(expected(status, link.sound() && options->sound && sized, options->canceled()));
  if (status == CASSINI_OK) {
    check_answer(link, out, with_slack);
    if (!options->in_haste) repeat(link, *options, out, with_slack);
  } else {
    PROMISE(out.unchanged());
  }
  // At the shifts found, then at others.
  if (status == CASSINI_OK) evaluate(in, link, *options, out.shift.data(), &out);
  Array shift;
  for (std::size_t j = 0; j < link.period.size(); ++j) shift.push_back(in.wild());
  shift.shrink_to_fit();
  const int64_t* given = in.once_in(40) ? nullptr : shift.data();
  evaluate(in, link, *options, given, nullptr);
}

}  // namespace cassini::fuzz
