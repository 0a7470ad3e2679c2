#include <vector>

#include "boundary.hpp"
#include "guarded.hpp"
#include "wild_block.hpp"

namespace cassini::fuzz {
namespace {

struct BlockOutputs {
  BlockOutputs(std::size_t n_jobs, std::size_t n_links, std::size_t words)
      : shift(n_jobs), lower(n_links), upper(n_links), result(1, words) {}
  void remember() {
    shift.remember();
    lower.remember();
    upper.remember();
    result.remember();
  }
  bool unchanged() const { return shift.unchanged() && lower.unchanged() && upper.unchanged() && result.unchanged(); }
  bool same(const BlockOutputs& other) const {
    return shift.same(other.shift) && lower.same(other.lower) && upper.same(other.upper) && result.same(other.result);
  }
  Output<int64_t> shift;
  Output<double> lower;
  Output<double> upper;
  Results<cassini_block_result> result;
};

void check_answer(const Array& period, BlockOutputs& out) {
  const cassini_block_result r = out.result[0];
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
int32_t checked_call(const Array& period, bool sound, const WildOptions& options, BlockOutputs& out, Call&& call) {
  out.remember();
  const int32_t status = call(out);
  PROMISE(expected(status, sound, options.canceled()));
  if (status != CASSINI_OK) {
    PROMISE(out.unchanged());
    return status;
  }
  check_answer(period, out);
  if (options.in_haste) return status;
  const auto words = static_cast<std::size_t>(out.result.size(0)) / sizeof(int64_t);
  BlockOutputs again(out.shift.size(), out.lower.size(), words);
  PROMISE(call(again) == CASSINI_OK && again.same(out));
  return status;
}

void evaluate(Bytes& in, const PreparedLinks& links, const Use& use, BlockOutputs& solved) {
  const auto options = wild_options(in, true);
  const std::size_t n = use.link.size();
  Output<double> lower(n), upper(n);
  Output<int64_t> slack(use.member.size()), hold(n);
  lower.remember();
  slack.remember();
  const bool with_slack = !in.once_in(4);
  const int32_t status =
      cassini_evaluate_block(links.handle, static_cast<int64_t>(links.period.size()), links.period.data(), use.n(),
                             use.links(), use.member.data(), solved.shift.data(), options->pointer(), lower.data(),
                             upper.data(), with_slack ? slack.data() : nullptr, with_slack ? hold.data() : nullptr);
  PROMISE(expected(status, options->sound, options->canceled()));
  if (status != CASSINI_OK) PROMISE(lower.unchanged() && slack.unchanged());
  if (status != CASSINI_OK) return;
  PROMISE(lower.same(solved.lower) && upper.same(solved.upper));
  for (std::size_t k = 0; k < slack.size() && with_slack; ++k) {
    PROMISE(slack[k] >= 0 && slack[k] <= links.period[static_cast<std::size_t>(use.member[k])] / 2);
  }
  for (std::size_t i = 0; i < n && with_slack; ++i) PROMISE(hold[i] >= 0);
}

struct Anchor {
  Anchor() = default;
  Anchor(const Anchor&) = delete;
  Anchor& operator=(const Anchor&) = delete;
  ~Anchor() { cassini_free_anchor(handle); }
  cassini_anchor* handle = nullptr;
};

void beside(Bytes& in, const PreparedLinks& links, const Use& use, const Array& shift) {
  Anchor anchor;
  const auto options = wild_options(in, true);
  const int64_t* given = in.once_in(60) ? nullptr : shift.data();
  const int32_t rc = cassini_prepare_anchor(links.handle, static_cast<int64_t>(links.period.size()),
                                            links.period.data(), use.n(), use.links(), use.member.data(), use.weights(),
                                            use.bounds(), given, options->pointer(), &anchor.handle);
  PROMISE(expected(rc, use.sound_wishes() && options->sound && given != nullptr, options->canceled()));
  PROMISE((rc == CASSINI_OK) == (anchor.handle != nullptr));
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
  BlockOutputs out(links.period.size(), n_left, struct_words<cassini_block_result>(in));
  checked_call(links.period, sound && how->sound, *how, out, [&](BlockOutputs& to) {
    return cassini_solve_beside(anchor.handle, static_cast<int64_t>(dropped.size()), dropped.data(), added.n(),
                                added.links(), added.member.data(), added.weights(), added.bounds(), how->pointer(),
                                to.shift.data(), to.lower.data(), to.upper.data(), to.result.data());
  });
}

}  // namespace

void fuzz_blocks(Bytes& in) {
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
  if (in.once_in(60)) n_jobs = in.pick({0, -1, CASSINI_MAX_BLOCK_JOBS + 1});
  bool jobs_sound = n_jobs >= 1 && n_jobs <= CASSINI_MAX_BLOCK_JOBS;
  for (const int64_t period : links->period) jobs_sound = jobs_sound && period >= 1 && period <= CASSINI_MAX_TICKS;
  BlockOutputs out(links->period.size(), use.link.size(), struct_words<cassini_block_result>(in));
  const bool sized = !in.once_in(40);
  if (!sized) out.result.size(0) = wrong_size(in);
  const bool sound = jobs_sound && use.sound(*links, links->period) && use.sound_wishes() && options->sound && sized;
  const int32_t status = checked_call(links->period, sound, *options, out, [&](BlockOutputs& to) {
    return cassini_solve_block(links->handle, n_jobs, links->period.data(), use.n(), use.links(), use.member.data(),
                               use.weights(), use.bounds(), has_own ? use.own_shift.data() : nullptr,
                               has_start ? start.data() : nullptr, has_dirty ? dirty.data() : nullptr, centred,
                               options->pointer(), to.shift.data(), to.lower.data(), to.upper.data(), to.result.data());
  });
  if (status != CASSINI_OK) return;
  evaluate(in, *links, use, out);
  beside(in, *links, use, start);
}

}  // namespace cassini::fuzz
