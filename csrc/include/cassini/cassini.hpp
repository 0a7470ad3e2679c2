// cassini.h for C++20: values own their memory, spans say how long they are, a failed call throws. Header only, so that
// nothing of C++ crosses the library's boundary: exceptions are thrown and caught on the caller's side.
//
//   cassini::Link link(50'000'000);                                           // kbit/s
//   const cassini::Phase burst{141'000'000, 114'000'000, 45'000'000};         // ns, ns, kbit/s
//   link.add_job(255'000'000, {{burst}}).add_job(255'000'000, {{burst}});
//   const cassini::LinkSolution best = cassini::solve(link);
//   best.score_lower; best.shift_ns[1];                                       // 1.0, 127'500'000
//
// Units and meanings are those of cassini.h, where each function is described; so is its cost. Every object may be read
// from any number of threads at once. Errors: cassini::Error with the status of cassini.h and what it says of the cause;
// std::bad_alloc; std::invalid_argument where vectors do not fit together.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cassini.h"

static_assert(CASSINI_ABI_VERSION == 3);  // the inline namespace below is named after it

// Inline, so that these names never meet those of the library's own sources where it is linked statically, nor those of
// a later header in another part of the program.
namespace cassini::inline abi3 {

// A struct of cassini.h with its size set and all else 0.
template <class Sized>
Sized sized() {
  Sized out{};
  out.size = sizeof(Sized);
  return out;
}

// A call that failed, with what cassini_error says of it.
class Error : public std::runtime_error {
 public:
  Error(const char* function, int32_t status, const cassini_error& why = {})
      : std::runtime_error(std::string(function) + ": " + (why.text[0] != 0 ? why.text : cassini_strerror(status))),
        status_(status),
        argument_(why.argument),
        index_(why.status != CASSINI_OK ? why.index : -1),
        link_(why.status != CASSINI_OK ? why.link : -1) {}
  int32_t status() const noexcept { return status_; }
  const std::string& argument() const noexcept { return argument_; }  // empty where no single one is to blame
  int64_t index() const noexcept { return index_; }                   // -1: not an array
  int64_t link() const noexcept { return link_; }                     // -1: not one of several links

 private:
  int32_t status_;
  std::string argument_;
  int64_t index_;
  int64_t link_;
};

inline void throw_if_failed(int32_t status, const char* function, const cassini_error& why = {}) {
  if (status == CASSINI_ENOMEM) throw std::bad_alloc();
  if (status != CASSINI_OK) throw Error(function, status, why);
}

// Throws unless the library that was loaded speaks this header's ABI. Call it once, before anything else.
inline void require_abi() {
  if (cassini_abi_version() != CASSINI_ABI_VERSION) {
    throw std::runtime_error("libcassini has ABI " + std::to_string(cassini_abi_version()) + ", expected " +
                             std::to_string(CASSINI_ABI_VERSION));
  }
}

// cassini_options with the library's defaults; all fields are open.
struct Options : cassini_options {
  Options() : cassini_options{} {
    throw_if_failed(cassini_init_options(this, sizeof(cassini_options)), "init_options");
  }
};

// Set by any thread to end the calls it is given to.
using CancelFlag = std::atomic<int32_t>;

// An Up interval of an iteration.
struct Phase {
  int64_t start_ns;
  int64_t length_ns;
  int64_t rate_kbps;
};

// The jobs of one link and its capacity.
class Link {
 public:
  explicit Link(int64_t capacity_kbps) : capacity_(capacity_kbps) {}

  // Gives back *this.
  Link& add_job(int64_t period_ns, std::span<const Phase> phases) {
    start_.reserve(start_.size() + phases.size());
    length_.reserve(length_.size() + phases.size());
    rate_.reserve(rate_.size() + phases.size());
    period_.reserve(period_.size() + 1);
    offset_.push_back(offset_.back() + static_cast<int64_t>(phases.size()));
    period_.push_back(period_ns);
    for (const Phase& phase : phases) {
      start_.push_back(phase.start_ns);
      length_.push_back(phase.length_ns);
      rate_.push_back(phase.rate_kbps);
    }
    return *this;
  }

  std::size_t n_jobs() const noexcept { return period_.size(); }
  int64_t capacity_kbps() const noexcept { return capacity_; }
  std::span<const int64_t> period_ns() const noexcept { return period_; }        // [n_jobs]
  std::span<const int64_t> phase_offset() const noexcept { return offset_; }     // [n_jobs + 1]
  std::span<const int64_t> phase_start_ns() const noexcept { return start_; }    // [n_phases]
  std::span<const int64_t> phase_length_ns() const noexcept { return length_; }  // [n_phases]
  std::span<const int64_t> phase_rate_kbps() const noexcept { return rate_; }    // [n_phases]

  // For the functions of cassini.h; valid until the link changes or goes.
  cassini_link c() const noexcept {
    cassini_link out = sized<cassini_link>();
    out.capacity_kbps = capacity_;
    out.n_jobs = static_cast<int64_t>(period_.size());
    out.period_ns = period_.data();
    out.phase_offset = offset_.data();
    out.n_phases = static_cast<int64_t>(start_.size());
    out.phase_start_ns = start_.data();
    out.phase_length_ns = length_.data();
    out.phase_rate_kbps = rate_.data();
    return out;
  }

 private:
  int64_t capacity_;
  std::vector<int64_t> period_, offset_{0}, start_, length_, rate_;
};

// What cassini_solve_link found.
struct LinkSolution : cassini_link_result {
  std::vector<int64_t> shift_ns;  // [n_jobs]
  std::vector<int64_t> slack_ns;  // [n_jobs]
  std::vector<uint8_t> is_free;   // [n_jobs] 1: the shift does not matter
};

// What cassini_solve_link_angles found.
struct AngleSolution : LinkSolution {
  double claimed_score = 0.0;
};

// What cassini_evaluate_link found.
struct LinkEvaluation {
  double score_lower = 0.0;
  double score_upper = 0.0;
  int64_t hold_ns = 0;
  std::vector<int64_t> slack_ns;  // [n_jobs]
  std::vector<uint8_t> is_free;   // [n_jobs]
};

// A link of a batch: its solution, or why there is none.
struct BatchEntry {
  int32_t status = CASSINI_EINTERNAL;
  LinkSolution solution;  // empty unless status is CASSINI_OK
  std::string reason;     // of the first link that was refused: which argument was wrong, and how
};

namespace detail {

static_assert(sizeof(CancelFlag) == sizeof(int32_t) && CancelFlag::is_always_lock_free);
inline const int32_t* flag(const CancelFlag* cancel) noexcept { return reinterpret_cast<const int32_t*>(cancel); }

inline void require_length(std::size_t got, std::size_t expected, const char* what) {
  if (got != expected) {
    throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(expected) + " entries, got " +
                                std::to_string(got));
  }
}

// Links one after the other, as cassini_links has them.
struct Concatenated {
  std::vector<int64_t> capacity, job_offset{0}, period, phase_offset{0}, start, length, rate;

  explicit Concatenated(std::span<const Link> links) {
    for (const Link& link : links) {
      const int64_t first = phase_offset.back();
      append(period, link.period_ns());
      for (const int64_t offset : link.phase_offset().subspan(1)) phase_offset.push_back(first + offset);
      append(start, link.phase_start_ns());
      append(length, link.phase_length_ns());
      append(rate, link.phase_rate_kbps());
      capacity.push_back(link.capacity_kbps());
      job_offset.push_back(static_cast<int64_t>(period.size()));
    }
  }

  cassini_links c() const noexcept {
    cassini_links out = sized<cassini_links>();
    out.n_links = static_cast<int64_t>(capacity.size());
    out.capacity_kbps = capacity.data();
    out.job_offset = job_offset.data();
    out.n_jobs = static_cast<int64_t>(period.size());
    out.period_ns = period.data();
    out.phase_offset = phase_offset.data();
    out.n_phases = static_cast<int64_t>(start.size());
    out.phase_start_ns = start.data();
    out.phase_length_ns = length.data();
    out.phase_rate_kbps = rate.data();
    return out;
  }

 private:
  static void append(std::vector<int64_t>& to, std::span<const int64_t> from) {
    to.insert(to.end(), from.begin(), from.end());
  }
};

struct Free {
  void operator()(cassini_prepared_links* links) const noexcept { cassini_free_prepared_links(links); }
  void operator()(cassini_baseline* baseline) const noexcept { cassini_free_baseline(baseline); }
};

// Makes room for the answer of a link and says where it is.
inline cassini_link_output room(LinkSolution& out, std::size_t n_jobs) {
  out.shift_ns.resize(n_jobs);
  out.slack_ns.resize(n_jobs);
  out.is_free.resize(n_jobs);
  static_cast<cassini_link_result&>(out).size = sizeof(cassini_link_result);
  cassini_link_output to = sized<cassini_link_output>();
  to.shift_ns = out.shift_ns.data();
  to.slack_ns = out.slack_ns.data();
  to.is_free = out.is_free.data();
  return to;
}

// The outputs of a batch, and what is made of them. job_offset: [links + 1] from 0.
struct Batch {
  LinkSolution all;
  cassini_link_output output;
  std::vector<cassini_link_result> result;
  std::vector<int32_t> status;
  cassini_error why = sized<cassini_error>();

  Batch(std::size_t n_links, std::size_t n_jobs)
      : output(room(all, n_jobs)), result(n_links, sized<cassini_link_result>()), status(n_links) {}

  std::vector<BatchEntry> entries(int32_t rc, std::span<const int64_t> job_offset, const char* function) const {
    if (rc != CASSINI_ECANCELED) throw_if_failed(rc, function, why);
    std::vector<BatchEntry> out(status.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      out[i].status = status[i];
      if (why.text[0] != 0 && why.link == static_cast<int64_t>(i)) out[i].reason = why.text;
      if (status[i] != CASSINI_OK) continue;
      const auto first = job_offset[i] - job_offset[0], last = job_offset[i + 1] - job_offset[0];
      LinkSolution& one = out[i].solution;
      static_cast<cassini_link_result&>(one) = result[i];
      one.shift_ns.assign(all.shift_ns.begin() + first, all.shift_ns.begin() + last);
      one.slack_ns.assign(all.slack_ns.begin() + first, all.slack_ns.begin() + last);
      one.is_free.assign(all.is_free.begin() + first, all.is_free.begin() + last);
    }
    return out;
  }
};

}  // namespace detail

// Best shifts for one link: cassini_solve_link.
inline LinkSolution solve(const Link& link, const Options& options = {}, const CancelFlag* cancel = nullptr) {
  LinkSolution out;
  const cassini_link_output to = detail::room(out, link.n_jobs());
  const cassini_link in = link.c();
  cassini_error why = sized<cassini_error>();
  throw_if_failed(cassini_solve_link(&in, &options, detail::flag(cancel), &to, &out, &why), "solve_link", why);
  return out;
}

// Best rotations for one link by whole angles: cassini_solve_link_angles.
inline AngleSolution solve_angles(const Link& link, int64_t angles = 72, const Options& options = {},
                                  const CancelFlag* cancel = nullptr) {
  AngleSolution out;
  const cassini_link_output to = detail::room(out, link.n_jobs());
  const cassini_link in = link.c();
  cassini_error why = sized<cassini_error>();
  throw_if_failed(
      cassini_solve_link_angles(&in, angles, &options, detail::flag(cancel), &to, &out, &out.claimed_score, &why),
      "solve_link_angles", why);
  return out;
}

// Score, slack and hold of given shifts [n_jobs]: cassini_evaluate_link.
inline LinkEvaluation evaluate(const Link& link, std::span<const int64_t> shift_ns, const Options& options = {},
                               const CancelFlag* cancel = nullptr) {
  detail::require_length(shift_ns.size(), link.n_jobs(), "shift_ns");
  LinkEvaluation out;
  out.slack_ns.resize(link.n_jobs());
  out.is_free.resize(link.n_jobs());
  cassini_evaluation to = sized<cassini_evaluation>();
  to.score_lower = &out.score_lower;
  to.score_upper = &out.score_upper;
  to.slack_ns = out.slack_ns.data();
  to.hold_ns = &out.hold_ns;
  to.is_free = out.is_free.data();
  const cassini_link in = link.c();
  cassini_error why = sized<cassini_error>();
  throw_if_failed(cassini_evaluate_link(&in, shift_ns.data(), &options, detail::flag(cancel), &to, &why),
                  "evaluate_link", why);
  return out;
}

// Many links in one call: cassini_solve_links. A link that cannot be solved does not keep the others; canceled, the
// links before have their solutions and all others CASSINI_ECANCELED.
inline std::vector<BatchEntry> solve(std::span<const Link> links, const Options& options = {},
                                     const CancelFlag* cancel = nullptr) {
  const detail::Concatenated all(links);
  detail::Batch batch(links.size(), all.period.size());
  const cassini_links in = all.c();
  const int32_t rc = cassini_solve_links(&in, &options, detail::flag(cancel), &batch.output, batch.result.data(),
                                         batch.status.data(), &batch.why);
  return batch.entries(rc, all.job_offset, "solve_links");
}

// Link problems prepared once: cassini_prepare_links. Immutable; may be moved, not copied.
class PreparedLinks {
 public:
  explicit PreparedLinks(std::span<const Link> links, const Options& options = {}, const CancelFlag* cancel = nullptr)
      : status_(links.size()) {
    detail::Concatenated all(links);
    const cassini_links in = all.c();
    cassini_prepared_links* made = nullptr;
    cassini_error why = sized<cassini_error>();
    throw_if_failed(cassini_prepare_links(&in, &options, detail::flag(cancel), &made, status_.data(), &why),
                    "prepare_links", why);
    links_.reset(made);
    job_offset_ = std::move(all.job_offset);
  }

  std::size_t size() const noexcept { return status_.size(); }
  std::span<const int32_t> status() const noexcept { return status_; }  // [size] CASSINI_OK: can be used
  const cassini_prepared_links* get() const noexcept { return links_.get(); }

  // Jobs of a link.
  std::size_t n_jobs(int64_t link) const {
    if (link < 0 || static_cast<std::size_t>(link) >= size()) {
      throw std::invalid_argument("link: expected an index below " + std::to_string(size()) + ", got " +
                                  std::to_string(link));
    }
    const auto at = static_cast<std::size_t>(link);
    return static_cast<std::size_t>(job_offset_[at + 1] - job_offset_[at]);
  }

  // Links first .. last-1 each for itself: cassini_solve_prepared_links.
  std::vector<BatchEntry> solve(std::size_t first, std::size_t last, const Options& options = {},
                                const CancelFlag* cancel = nullptr) const {
    if (first > last || last > size()) {
      throw std::invalid_argument("first, last: expected links up to " + std::to_string(size()));
    }
    const auto offsets = std::span(job_offset_).subspan(first, last - first + 1);
    detail::Batch batch(last - first, static_cast<std::size_t>(offsets.back() - offsets.front()));
    const int32_t rc = cassini_solve_prepared_links(
        links_.get(), static_cast<int64_t>(first), static_cast<int64_t>(last), &options, detail::flag(cancel),
        &batch.output, batch.result.data(), batch.status.data(), &batch.why);
    return batch.entries(rc, offsets, "solve_prepared_links");
  }

 private:
  std::unique_ptr<cassini_prepared_links, detail::Free> links_;
  std::vector<int32_t> status_;
  std::vector<int64_t> job_offset_;
};

// Which prepared links hold which jobs together.
struct JointProblem {
  std::vector<int64_t> period_ns;     // [n_jobs]
  std::vector<int64_t> link;          // [n_links] index of a prepared link
  std::vector<int64_t> member;        // [n_members] job at each place of each link, links one after the other
  std::vector<double> weight;         // [n_links]; empty: all 1
  std::vector<double> upper_bound;    // [n_links]; empty: what demand allows
  std::vector<int64_t> own_shift_ns;  // [n_members]; empty: none known
};

// How a joint problem is searched; the defaults are those of Python.
struct JointSearch {
  std::vector<int64_t> start_ns;      // [n_jobs] shifts to begin from, and never to score less than; empty: none
  std::vector<uint8_t> is_dirty;      // [n_jobs] with start_ns: 0 where nothing changed since; empty: all are looked at
  bool centred = false;               // shifts are moved where slack grows and no score is lost
  std::vector<uint8_t> is_kept = {};  // [n_jobs] with start_ns: not 0 for jobs that stay where it has them; empty: none
};

// What differs from a baseline.
struct Delta {
  std::vector<int64_t> dropped;     // indices of the baseline's links
  std::vector<int64_t> link;        // [n_added] index of a prepared link
  std::vector<int64_t> member;      // [n_members] as of JointProblem
  std::vector<double> weight;       // [n_added]; empty: all 1
  std::vector<double> upper_bound;  // [n_added]; empty: what demand allows
};

// What cassini_solve_joint or cassini_solve_delta found.
struct JointSolution : cassini_joint_result {
  std::vector<int64_t> shift_ns;    // [n_jobs]
  std::vector<double> score_lower;  // [n_links]
  std::vector<double> score_upper;  // [n_links]
};

// Scores, slack and hold of a joint problem's links: cassini_evaluate_joint.
struct JointEvaluation {
  std::vector<double> score_lower, score_upper;  // [n_links]
  std::vector<int64_t> slack_ns;                 // [n_members]
  std::vector<int64_t> hold_ns;                  // [n_links]
};

namespace detail {

template <class T>
const T* given(const std::vector<T>& values, std::size_t expected, const char* what) {
  if (values.empty()) return nullptr;
  require_length(values.size(), expected, what);
  return values.data();
}

inline void require_members(const PreparedLinks& links, std::span<const int64_t> link, std::size_t n_members) {
  std::size_t n = 0;
  for (const int64_t one : link) n += links.n_jobs(one);
  require_length(n_members, n, "member");
}

inline cassini_joint joint_of(const PreparedLinks& links, const JointProblem& problem) {
  const std::size_t n_links = problem.link.size();
  require_members(links, problem.link, problem.member.size());
  cassini_joint out = sized<cassini_joint>();
  out.n_jobs = static_cast<int64_t>(problem.period_ns.size());
  out.period_ns = problem.period_ns.data();
  out.n_links = static_cast<int64_t>(n_links);
  out.link = problem.link.data();
  out.n_members = static_cast<int64_t>(problem.member.size());
  out.member = problem.member.data();
  out.weight = given(problem.weight, n_links, "weight");
  out.upper_bound = given(problem.upper_bound, n_links, "upper_bound");
  out.own_shift_ns = given(problem.own_shift_ns, problem.member.size(), "own_shift_ns");
  return out;
}

inline cassini_joint_output room(JointSolution& out, std::size_t n_jobs, std::size_t n_links) {
  out.shift_ns.resize(n_jobs);
  out.score_lower.resize(n_links);
  out.score_upper.resize(n_links);
  static_cast<cassini_joint_result&>(out).size = sizeof(cassini_joint_result);
  cassini_joint_output to = sized<cassini_joint_output>();
  to.shift_ns = out.shift_ns.data();
  to.score_lower = out.score_lower.data();
  to.score_upper = out.score_upper.data();
  return to;
}

}  // namespace detail

// Best shifts for the jobs of a joint problem, one each: cassini_solve_joint.
inline JointSolution solve(const PreparedLinks& links, const JointProblem& problem, const JointSearch& search = {},
                           const Options& options = {}, const CancelFlag* cancel = nullptr) {
  const std::size_t n_jobs = problem.period_ns.size();
  const cassini_joint in = detail::joint_of(links, problem);
  cassini_joint_search how = sized<cassini_joint_search>();
  how.start_ns = detail::given(search.start_ns, n_jobs, "start_ns");
  how.is_dirty = detail::given(search.is_dirty, n_jobs, "is_dirty");
  how.centred = search.centred ? 1 : 0;
  how.is_kept = detail::given(search.is_kept, n_jobs, "is_kept");
  JointSolution out;
  const cassini_joint_output to = detail::room(out, n_jobs, problem.link.size());
  cassini_error why = sized<cassini_error>();
  throw_if_failed(cassini_solve_joint(links.get(), &in, &how, &options, detail::flag(cancel), &to, &out, &why),
                  "solve_joint", why);
  return out;
}

// Scores, slack and hold of a joint problem's links at given shifts [n_jobs]: cassini_evaluate_joint.
inline JointEvaluation evaluate(const PreparedLinks& links, const JointProblem& problem,
                                std::span<const int64_t> shift_ns, const Options& options = {},
                                const CancelFlag* cancel = nullptr) {
  const std::size_t n_links = problem.link.size();
  detail::require_length(shift_ns.size(), problem.period_ns.size(), "shift_ns");
  const cassini_joint in = detail::joint_of(links, problem);
  JointEvaluation out;
  out.score_lower.resize(n_links);
  out.score_upper.resize(n_links);
  out.slack_ns.resize(problem.member.size());
  out.hold_ns.resize(n_links);
  cassini_evaluation to = sized<cassini_evaluation>();
  to.score_lower = out.score_lower.data();
  to.score_upper = out.score_upper.data();
  to.slack_ns = out.slack_ns.data();
  to.hold_ns = out.hold_ns.data();
  cassini_error why = sized<cassini_error>();
  throw_if_failed(cassini_evaluate_joint(links.get(), &in, shift_ns.data(), &options, detail::flag(cancel), &to, &why),
                  "evaluate_joint", why);
  return out;
}

// A joint problem at given shifts [n_jobs], beside which others are solved at the cost of what differs:
// cassini_prepare_baseline. Keeps the prepared links alive. Immutable; may be moved, not copied.
class Baseline {
 public:
  Baseline(std::shared_ptr<const PreparedLinks> links, const JointProblem& problem, std::span<const int64_t> shift_ns,
           const Options& options = {}, const CancelFlag* cancel = nullptr)
      : links_(std::move(links)), n_jobs_(problem.period_ns.size()), n_links_(problem.link.size()) {
    if (links_ == nullptr) throw std::invalid_argument("links: expected prepared links, got null");
    detail::require_length(shift_ns.size(), n_jobs_, "shift_ns");
    const cassini_joint in = detail::joint_of(*links_, problem);
    cassini_baseline* made = nullptr;
    cassini_error why = sized<cassini_error>();
    throw_if_failed(
        cassini_prepare_baseline(links_->get(), &in, shift_ns.data(), &options, detail::flag(cancel), &made, &why),
        "prepare_baseline", why);
    baseline_.reset(made);
  }

  // The problem without the links dropped and with those added: cassini_solve_delta. Scores are of the links left, then
  // of those added.
  JointSolution solve(const Delta& delta, const Options& options = {}, const CancelFlag* cancel = nullptr) const {
    const std::size_t n_added = delta.link.size();
    if (delta.dropped.size() > n_links_) throw std::invalid_argument("dropped: more links than the baseline has");
    detail::require_members(*links_, delta.link, delta.member.size());
    cassini_delta in = sized<cassini_delta>();
    in.n_dropped = static_cast<int64_t>(delta.dropped.size());
    in.dropped = delta.dropped.data();
    in.n_added = static_cast<int64_t>(n_added);
    in.link = delta.link.data();
    in.n_members = static_cast<int64_t>(delta.member.size());
    in.member = delta.member.data();
    in.weight = detail::given(delta.weight, n_added, "weight");
    in.upper_bound = detail::given(delta.upper_bound, n_added, "upper_bound");
    JointSolution out;
    const cassini_joint_output to = detail::room(out, n_jobs_, n_links_ - delta.dropped.size() + n_added);
    cassini_error why = sized<cassini_error>();
    throw_if_failed(cassini_solve_delta(baseline_.get(), &in, &options, detail::flag(cancel), &to, &out, &why),
                    "solve_delta", why);
    return out;
  }

 private:
  std::shared_ptr<const PreparedLinks> links_;
  std::unique_ptr<cassini_baseline, detail::Free> baseline_;
  std::size_t n_jobs_;
  std::size_t n_links_;
};

}  // namespace cassini::inline abi3
