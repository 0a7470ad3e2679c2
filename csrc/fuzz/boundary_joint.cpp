#include <algorithm>
#include <vector>

#include "boundary.hpp"
#include "guarded.hpp"
#include "wild_joint.hpp"

namespace cassini::fuzz {
namespace {

struct JointOutputs {
  JointOutputs(std::size_t n_jobs, std::size_t n_links, std::size_t words)
      : shift(n_jobs), lower(n_links), upper(n_links), result(1, words) {}
  void remember() {
    shift.remember();
    lower.remember();
    upper.remember();
    result.remember();
  }
  bool unchanged() const { return shift.unchanged() && lower.unchanged() && upper.unchanged() && result.unchanged(); }
  bool same(const JointOutputs& other) const {
    return shift.same(other.shift) && lower.same(other.lower) && upper.same(other.upper) && result.same(other.result);
  }
  cassini_joint_output to() { return test::joint_output(shift.data(), lower.data(), upper.data()); }
  Output<int64_t> shift;
  Output<double> lower;
  Output<double> upper;
  Results<cassini_joint_result> result;
};

void check_answer(const Array& period, JointOutputs& out) {
  const cassini_joint_result r = out.result[0];
  PROMISE(out.result.well_sized(0));
  PROMISE(std::isfinite(r.score) && r.score <= 1.0 + 1e-9 && r.upper_bound >= r.score && r.upper_bound <= 1.0 + 1e-9);
  PROMISE(r.nodes >= 0 && (r.optimal == 0 || r.optimal == 1));
  PROMISE((r.optimal != 0) == (r.score >= r.upper_bound - slop(r.score)));
  PROMISE(r.stopped_by >= CASSINI_STOP_COMPLETE && r.stopped_by <= CASSINI_STOP_UNPROVEN);
  for (std::size_t j = 0; j < out.shift.size(); ++j) PROMISE(out.shift[j] >= 0 && out.shift[j] < period[j]);
  for (std::size_t i = 0; i < out.lower.size(); ++i) PROMISE(interval(out.lower[i], out.upper[i]));
}

// Refused without a trace, or answered and answered alike the next time.
template <class Call>
int32_t checked_call(const Array& period, bool sound, const WildOptions& options, JointOutputs& out, Call&& call) {
  out.remember();
  Told told;
  const int32_t status = call(out, told.error());
  PROMISE(told.of(status));
  PROMISE(expected(status, sound, options.canceled()));
  if (status != CASSINI_OK) {
    PROMISE(out.unchanged());
    return status;
  }
  check_answer(period, out);
  if (options.in_haste) return status;
  const auto words = static_cast<std::size_t>(out.result.size(0)) / sizeof(int64_t);
  JointOutputs again(out.shift.size(), out.lower.size(), words);
  PROMISE(call(again, nullptr) == CASSINI_OK && again.same(out));
  return status;
}

void evaluate(Bytes& in, const PreparedLinks& links, const Use& use, JointOutputs& solved) {
  const auto options = wild_options(in, true);
  const std::size_t n = use.link.size();
  Output<double> lower(n), upper(n);
  Output<int64_t> slack(use.member.size()), hold(n);
  lower.remember();
  slack.remember();
  const bool with_slack = !in.once_in(4);
  const cassini_joint joint = use.joint(links.period);
  const cassini_evaluation to = test::evaluation(lower.data(), upper.data(), with_slack ? slack.data() : nullptr,
                                                 with_slack ? hold.data() : nullptr);
  Told told;
  const int32_t status = cassini_evaluate_joint(links.handle, &joint, solved.shift.data(), options->pointer(),
                                                options->cancel(), &to, told.error());
  PROMISE(told.of(status));
  PROMISE(expected(status, options->sound, options->canceled()));
  if (status != CASSINI_OK) PROMISE(lower.unchanged() && slack.unchanged());
  if (status != CASSINI_OK) return;
  PROMISE(lower.same(solved.lower) && upper.same(solved.upper));
  for (std::size_t k = 0; k < slack.size() && with_slack; ++k) {
    PROMISE(slack[k] >= 0 && slack[k] <= links.period[static_cast<std::size_t>(use.member[k])] / 2);
  }
  for (std::size_t i = 0; i < n && with_slack; ++i) PROMISE(hold[i] >= 0);
}

struct Baseline {
  Baseline() = default;
  Baseline(const Baseline&) = delete;
  Baseline& operator=(const Baseline&) = delete;
  ~Baseline() { cassini_free_baseline(handle); }
  cassini_baseline* handle = nullptr;
};

void solve_delta(Bytes& in, const PreparedLinks& links, const Use& use, const Array& shift) {
  Baseline baseline;
  const auto options = wild_options(in, true);
  const int64_t* given = in.once_in(60) ? nullptr : shift.data();
  const cassini_joint joint = use.joint(links.period);
  Told told;
  const int32_t rc = cassini_prepare_baseline(links.handle, &joint, given, options->pointer(), options->cancel(),
                                              &baseline.handle, told.error());
  PROMISE(told.of(rc));
  PROMISE(expected(rc, use.sound_wishes() && options->sound && given != nullptr, options->canceled()));
  PROMISE((rc == CASSINI_OK) == (baseline.handle != nullptr));
  if (rc != CASSINI_OK) return;

  const Use added = wild_use(in, links);
  Array dropped;
  bool sound = added.sound(links, links.period) && added.sound_wishes();
  std::vector<uint8_t> seen(use.link.size(), 0);
  for (std::size_t i = 0; i < use.link.size(); ++i) {
    if (!in.once_in(3)) continue;
    dropped.push_back(in.once_in(30) ? in.wild() : static_cast<int64_t>(in.once_in(20) ? 0 : i));
    const int64_t d = dropped.back();
    sound = sound && d >= 0 && d < use.n() && seen[static_cast<std::size_t>(d)]++ == 0;
  }
  dropped.shrink_to_fit();
  const auto how = wild_options(in, true);
  const std::size_t n_left = use.link.size() + added.link.size() - dropped.size();
  JointOutputs out(links.period.size(), n_left, struct_words<cassini_joint_result>(in));
  const cassini_delta delta = added.delta(dropped);
  checked_call(links.period, sound && how->sound, *how, out, [&](JointOutputs& outputs, cassini_error* error) {
    const cassini_joint_output to = outputs.to();
    return cassini_solve_delta(baseline.handle, &delta, how->pointer(), how->cancel(), &to, outputs.result.data(),
                               error);
  });
}

// All that were prepared, and some of them: each range gives what the whole does.
void solve_prepared(Bytes& in, const PreparedLinks& links) {
  const std::size_t n = links.status.size();
  if (n == 0) return;
  cassini_options options;
  PROMISE(cassini_init_options(&options, sizeof options) == CASSINI_OK);
  options.node_limit = 20;
  const std::size_t first = in.index(n + 1), last = first + in.index(n + 1 - first);
  const std::size_t base = links.first(first), n_jobs = links.first(last) - base;
  struct Range {
    Range(std::size_t jobs, std::size_t links)
        : shift(jobs), slack(jobs), is_free(jobs), status(links), result(links, Results<cassini_link_result>::kWords) {}
    Output<int64_t> shift, slack;
    Output<uint8_t> is_free;
    Output<int32_t> status;
    Results<cassini_link_result> result;
  };
  const auto solve = [&](Range& out, std::size_t from, std::size_t to) {
    const cassini_link_output where = test::link_output(out.shift.data(), out.slack.data(), out.is_free.data());
    Told told;
    PROMISE(cassini_solve_prepared_links(links.handle, static_cast<int64_t>(from), static_cast<int64_t>(to), &options,
                                         nullptr, &where, out.result.data(), out.status.data(),
                                         told.error()) == CASSINI_OK);
    PROMISE(told.of_first_refused({out.status.data(), out.status.data() + out.status.size()}));
  };
  Range all(links.first(n), n), some(n_jobs, last - first);
  solve(all, 0, n);
  solve(some, first, last);
  for (std::size_t i = 0; i < n; ++i) PROMISE(all.status[i] == links.status[i]);
  for (std::size_t i = first; i < last; ++i) {
    const cassini_link_result one = all.result[i], again = some.result[i - first];
    PROMISE(some.status[i - first] == all.status[i]);
    PROMISE(all.status[i] != CASSINI_OK || std::memcmp(&one, &again, sizeof one) == 0);
  }
  PROMISE(std::equal(some.shift.data(), some.shift.data() + n_jobs, all.shift.data() + base));
  PROMISE(std::equal(some.slack.data(), some.slack.data() + n_jobs, all.slack.data() + base));
  PROMISE(std::equal(some.is_free.data(), some.is_free.data() + n_jobs, all.is_free.data() + base));
}

}  // namespace

void fuzz_joint(Bytes& in) {
  const auto links = prepared_links(in);
  const Use use = wild_use(in, *links);
  const auto options = wild_options(in, true);
  Array start;
  std::vector<uint8_t> dirty;
  for (std::size_t j = 0; j < links->period.size(); ++j) {
    start.push_back(in.wild());
    dirty.push_back(in.byte());
  }
  const bool has_start = in.once_in(2), has_dirty = in.once_in(2), has_own = in.once_in(2);
  const auto centred = static_cast<int32_t>(in.in(0, 1));
  int64_t n_jobs = static_cast<int64_t>(links->period.size());
  if (in.once_in(60)) n_jobs = in.pick({0, -1, CASSINI_MAX_JOINT_JOBS + 1});
  bool jobs_sound = n_jobs >= 1 && n_jobs <= CASSINI_MAX_JOINT_JOBS;
  for (const int64_t period : links->period) jobs_sound = jobs_sound && period >= 1 && period <= CASSINI_MAX_PERIOD_NS;
  JointOutputs out(links->period.size(), use.link.size(), struct_words<cassini_joint_result>(in));
  const bool sized = !in.once_in(40);
  if (!sized) out.result.size(0) = wrong_size(in);
  const bool sound = jobs_sound && use.sound(*links, links->period) && use.sound_wishes() && options->sound && sized;
  cassini_joint joint = use.joint(links->period);
  joint.n_jobs = n_jobs;
  joint.own_shift_ns = has_own ? use.own_shift.data() : nullptr;
  const cassini_joint_search search =
      test::search_of(has_start ? start.data() : nullptr, has_dirty ? dirty.data() : nullptr, centred != 0);
  const int32_t status =
      checked_call(links->period, sound, *options, out, [&](JointOutputs& outputs, cassini_error* error) {
        const cassini_joint_output to = outputs.to();
        return cassini_solve_joint(links->handle, &joint, &search, options->pointer(), options->cancel(), &to,
                                   outputs.result.data(), error);
      });
  if (status != CASSINI_OK) return;
  evaluate(in, *links, use, out);
  solve_delta(in, *links, use, start);
  solve_prepared(in, *links);
}

}  // namespace cassini::fuzz
