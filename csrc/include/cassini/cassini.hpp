// cassini.h for C++20: values own their memory, spans say how long they are, a failed call throws. Header only, so that
// nothing of C++ crosses the library's boundary: exceptions are thrown and caught on the caller's side.
//
//   cassini::Link link(50'000'000);                                           // kbit/s
//   const cassini::Phase burst{141'000'000, 114'000'000, 45'000'000};         // ns, ns, kbit/s
//   link.add_job(255'000'000, {{burst}}).add_job(255'000'000, {{burst}});
//   const cassini::LinkSolution best = cassini::solve(link);
//   best.score_lower; best.shift[1];                                          // 1.0, 127'500'000 ns
//
// Units and meanings are those of cassini.h, where each function is described; so is its cost. Every object may be read
// from any number of threads at once. Errors: cassini::Error with the status of cassini.h; std::bad_alloc.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "cassini.h"

static_assert(CASSINI_ABI_VERSION == 2);  // the inline namespace below is named after it

// Inline, so that these names never meet those of the library's own sources where it is linked statically, nor those of
// a later header in another part of the program.
namespace cassini::inline abi2 {

// A call that failed, with the status that cassini.h lists.
class Error : public std::runtime_error {
 public:
  Error(const char* function, int32_t status)
      : std::runtime_error(std::string(function) + ": " + cassini_strerror(status)), status_(status) {}
  int32_t status() const noexcept { return status_; }

 private:
  int32_t status_;
};

inline void throw_if_failed(int32_t status, const char* function) {
  if (status == CASSINI_ENOMEM) throw std::bad_alloc();
  if (status != CASSINI_OK) throw Error(function, status);
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

// An Up interval of an iteration: ticks, ticks, kbit/s.
struct Phase {
  int64_t start;
  int64_t length;
  int64_t rate;
};

// The jobs of one link and its capacity.
class Link {
 public:
  // capacity: kbit/s.
  explicit Link(int64_t capacity) : capacity_(capacity) {}

  // period: ticks. Gives back *this.
  Link& add_job(int64_t period, std::span<const Phase> phases) {
    start_.reserve(start_.size() + phases.size());
    length_.reserve(length_.size() + phases.size());
    rate_.reserve(rate_.size() + phases.size());
    period_.reserve(period_.size() + 1);
    offset_.push_back(offset_.back() + static_cast<int64_t>(phases.size()));
    period_.push_back(period);
    for (const Phase& phase : phases) {
      start_.push_back(phase.start);
      length_.push_back(phase.length);
      rate_.push_back(phase.rate);
    }
    return *this;
  }

  std::size_t n_jobs() const noexcept { return period_.size(); }
  std::span<const int64_t> period() const noexcept { return period_; }        // [n_jobs]
  std::span<const int64_t> phase_offset() const noexcept { return offset_; }  // [n_jobs + 1]
  std::span<const int64_t> phase_start() const noexcept { return start_; }    // [n_phases]
  std::span<const int64_t> phase_length() const noexcept { return length_; }  // [n_phases]
  std::span<const int64_t> phase_rate() const noexcept { return rate_; }      // [n_phases]
  int64_t capacity() const noexcept { return capacity_; }

 private:
  int64_t capacity_;
  std::vector<int64_t> period_, offset_{0}, start_, length_, rate_;
};

// What cassini_solve_link found.
struct LinkSolution : cassini_result {
  std::vector<int64_t> shift;    // [n_jobs] ticks
  std::vector<int64_t> slack;    // [n_jobs] ticks
  std::vector<uint8_t> is_free;  // [n_jobs] 1: the shift does not matter
};

// What cassini_evaluate_link found.
struct LinkEvaluation {
  double score_lower = 0.0;
  double score_upper = 0.0;
  int64_t hold = 0;              // ticks
  std::vector<int64_t> slack;    // [n_jobs] ticks
  std::vector<uint8_t> is_free;  // [n_jobs]
};

// A link of a batch: its solution, or why there is none.
struct BatchEntry {
  int32_t status = CASSINI_EINTERNAL;
  LinkSolution solution;  // empty unless status is CASSINI_OK
};

namespace detail {

inline void require_length(std::size_t got, std::size_t expected, const char* what) {
  if (got != expected) {
    throw std::invalid_argument(std::string(what) + ": expected " + std::to_string(expected) + " entries, got " +
                                std::to_string(got));
  }
}

// Links one after the other, as cassini_solve_links and cassini_prepare_links take them.
struct Concatenated {
  std::vector<int64_t> job_offset{0}, period, phase_offset{0}, phase_start, phase_length, phase_rate, capacity;

  explicit Concatenated(std::span<const Link> links) {
    for (const Link& link : links) {
      const int64_t first = phase_offset.back();
      append(period, link.period());
      for (const int64_t offset : link.phase_offset().subspan(1)) phase_offset.push_back(first + offset);
      append(phase_start, link.phase_start());
      append(phase_length, link.phase_length());
      append(phase_rate, link.phase_rate());
      capacity.push_back(link.capacity());
      job_offset.push_back(static_cast<int64_t>(period.size()));
    }
  }

 private:
  static void append(std::vector<int64_t>& to, std::span<const int64_t> from) {
    to.insert(to.end(), from.begin(), from.end());
  }
};

struct Free {
  void operator()(cassini_links* links) const noexcept { cassini_free_links(links); }
  void operator()(cassini_anchor* anchor) const noexcept { cassini_free_anchor(anchor); }
};

}  // namespace detail

// Best shifts for one link: cassini_solve_link.
inline LinkSolution solve(const Link& link, const Options& options = Options()) {
  LinkSolution out;
  out.shift.resize(link.n_jobs());
  out.slack.resize(link.n_jobs());
  out.is_free.resize(link.n_jobs());
  cassini_result& result = out;
  result.size = sizeof(cassini_result);
  throw_if_failed(
      cassini_solve_link(static_cast<int64_t>(link.n_jobs()), link.period().data(), link.phase_offset().data(),
                         link.phase_start().data(), link.phase_length().data(), link.phase_rate().data(),
                         link.capacity(), &options, out.shift.data(), out.slack.data(), out.is_free.data(), &result),
      "solve_link");
  return out;
}

// Score, slack and hold of given shifts: cassini_evaluate_link.
inline LinkEvaluation evaluate(const Link& link, std::span<const int64_t> shift, const Options& options = Options()) {
  detail::require_length(shift.size(), link.n_jobs(), "shift");
  LinkEvaluation out;
  out.slack.resize(link.n_jobs());
  out.is_free.resize(link.n_jobs());
  throw_if_failed(
      cassini_evaluate_link(static_cast<int64_t>(link.n_jobs()), link.period().data(), link.phase_offset().data(),
                            link.phase_start().data(), link.phase_length().data(), link.phase_rate().data(),
                            link.capacity(), shift.data(), &options, &out.score_lower, &out.score_upper,
                            out.slack.data(), &out.hold, out.is_free.data()),
      "evaluate_link");
  return out;
}

// Mean excess, kbit/s, for each shift of `query` of one job, the others standing at `shift`: cassini_marginals.
inline std::vector<double> marginals(const Link& link, std::span<const int64_t> shift, std::size_t job,
                                     std::span<const int64_t> query, const Options& options = Options()) {
  detail::require_length(shift.size(), link.n_jobs(), "shift");
  std::vector<double> excess(query.size());
  throw_if_failed(cassini_marginals(static_cast<int64_t>(link.n_jobs()), link.period().data(),
                                    link.phase_offset().data(), link.phase_start().data(), link.phase_length().data(),
                                    link.phase_rate().data(), link.capacity(), shift.data(), static_cast<int64_t>(job),
                                    static_cast<int64_t>(query.size()), query.data(), &options, excess.data()),
                  "marginals");
  return excess;
}

// Many links in one call: cassini_solve_links. A link that cannot be solved does not keep the others; canceled, the
// links before have their solutions and all others CASSINI_ECANCELED.
inline std::vector<BatchEntry> solve(std::span<const Link> links, const Options& options = Options()) {
  const detail::Concatenated all(links);
  const std::size_t n_jobs = all.period.size();
  std::vector<int64_t> shift(n_jobs), slack(n_jobs);
  std::vector<uint8_t> is_free(n_jobs);
  std::vector<cassini_result> result(links.size());
  std::vector<int32_t> status(links.size());
  for (cassini_result& one : result) one.size = sizeof(cassini_result);
  const int32_t rc = cassini_solve_links(static_cast<int64_t>(links.size()), all.job_offset.data(), all.period.data(),
                                         all.phase_offset.data(), all.phase_start.data(), all.phase_length.data(),
                                         all.phase_rate.data(), all.capacity.data(), &options, shift.data(),
                                         slack.data(), is_free.data(), result.data(), status.data());
  if (rc != CASSINI_ECANCELED) throw_if_failed(rc, "solve_links");
  std::vector<BatchEntry> out(links.size());
  for (std::size_t i = 0; i < links.size(); ++i) {
    out[i].status = status[i];
    if (status[i] != CASSINI_OK) continue;
    const auto first = all.job_offset[i], last = all.job_offset[i + 1];
    LinkSolution& one = out[i].solution;
    static_cast<cassini_result&>(one) = result[i];
    one.shift.assign(shift.begin() + first, shift.begin() + last);
    one.slack.assign(slack.begin() + first, slack.begin() + last);
    one.is_free.assign(is_free.begin() + first, is_free.begin() + last);
  }
  return out;
}

// Link problems prepared once, for blocks: cassini_prepare_links. Immutable; may be moved, not copied.
class PreparedLinks {
 public:
  explicit PreparedLinks(std::span<const Link> links, const Options& options = Options()) : status_(links.size()) {
    const detail::Concatenated all(links);
    for (const Link& link : links) n_jobs_.push_back(link.n_jobs());
    cassini_links* made = nullptr;
    throw_if_failed(cassini_prepare_links(static_cast<int64_t>(links.size()), all.job_offset.data(), all.period.data(),
                                          all.phase_offset.data(), all.phase_start.data(), all.phase_length.data(),
                                          all.phase_rate.data(), all.capacity.data(), &options, &made, status_.data()),
                    "prepare_links");
    links_.reset(made);
  }

  std::size_t size() const noexcept { return status_.size(); }
  std::span<const int32_t> status() const noexcept { return status_; }  // [size] CASSINI_OK: can be used
  const cassini_links* get() const noexcept { return links_.get(); }

  // Jobs of a link.
  std::size_t n_jobs(int64_t link) const {
    if (link < 0 || static_cast<std::size_t>(link) >= n_jobs_.size()) {
      throw std::invalid_argument("link: expected 0 .. " + std::to_string(n_jobs_.size()) + ", got " +
                                  std::to_string(link));
    }
    return n_jobs_[static_cast<std::size_t>(link)];
  }

 private:
  std::unique_ptr<cassini_links, detail::Free> links_;
  std::vector<int32_t> status_;
  std::vector<std::size_t> n_jobs_;
};

// Which prepared links hold which jobs together.
struct Block {
  std::vector<int64_t> period;      // [n_jobs] ticks
  std::vector<int64_t> link;        // [n_links] index of a prepared link
  std::vector<int64_t> member;      // [n_members] job at each place of each link, links one after the other
  std::vector<double> weight;       // [n_links]; empty: all 1
  std::vector<double> upper_bound;  // [n_links]; empty: what demand allows
  std::vector<int64_t> own_shift;   // [n_members] ticks; empty: none known
};

// What cassini_solve_block or cassini_solve_beside found.
struct BlockSolution : cassini_block_result {
  std::vector<int64_t> shift;       // [n_jobs] ticks
  std::vector<double> score_lower;  // [n_links]
  std::vector<double> score_upper;  // [n_links]
};

// Scores, slack and hold of a block's links: cassini_evaluate_block.
struct BlockEvaluation {
  std::vector<double> score_lower, score_upper;  // [n_links]
  std::vector<int64_t> slack;                    // [n_members] ticks
  std::vector<int64_t> hold;                     // [n_links] ticks
};

namespace detail {

inline std::size_t n_members(const PreparedLinks& links, std::span<const int64_t> link) {
  std::size_t n = 0;
  for (const int64_t one : link) n += links.n_jobs(one);
  return n;
}

template <class T>
const T* given(const std::vector<T>& values, std::size_t expected, const char* what) {
  if (values.empty()) return nullptr;
  require_length(values.size(), expected, what);
  return values.data();
}

inline std::vector<double> weights(const Block& block) {
  if (block.weight.empty()) return std::vector<double>(block.link.size(), 1.0);
  require_length(block.weight.size(), block.link.size(), "weight");
  return block.weight;
}

inline BlockSolution room(std::size_t n_jobs, std::size_t n_links) {
  BlockSolution out;
  out.shift.resize(n_jobs);
  out.score_lower.resize(n_links);
  out.score_upper.resize(n_links);
  static_cast<cassini_block_result&>(out).size = sizeof(cassini_block_result);
  return out;
}

}  // namespace detail

// Best shifts for the jobs of a block, one each: cassini_solve_block.
//
//   start     [n_jobs] or empty    ticks; shifts to begin from, and never to score less than
//   centred                        shifts are moved where slack grows and no score is lost
inline BlockSolution solve(const PreparedLinks& links, const Block& block, const Options& options = Options(),
                           std::span<const int64_t> start = {}, bool centred = true) {
  const std::size_t n_jobs = block.period.size(), n_links = block.link.size();
  const std::size_t n_members = detail::n_members(links, block.link);
  detail::require_length(block.member.size(), n_members, "member");
  if (!start.empty()) detail::require_length(start.size(), n_jobs, "start");
  const std::vector<double> weight = detail::weights(block);
  BlockSolution out = detail::room(n_jobs, n_links);
  throw_if_failed(cassini_solve_block(links.get(), static_cast<int64_t>(n_jobs), block.period.data(),
                                      static_cast<int64_t>(n_links), block.link.data(), block.member.data(),
                                      weight.data(), detail::given(block.upper_bound, n_links, "upper_bound"),
                                      detail::given(block.own_shift, n_members, "own_shift"),
                                      start.empty() ? nullptr : start.data(), nullptr, centred ? 1 : 0, &options,
                                      out.shift.data(), out.score_lower.data(), out.score_upper.data(), &out),
                  "solve_block");
  return out;
}

// Scores, slack and hold of a block's links at given shifts [n_jobs]: cassini_evaluate_block.
inline BlockEvaluation evaluate(const PreparedLinks& links, const Block& block, std::span<const int64_t> shift,
                                const Options& options = Options()) {
  const std::size_t n_jobs = block.period.size(), n_links = block.link.size();
  const std::size_t n_members = detail::n_members(links, block.link);
  detail::require_length(block.member.size(), n_members, "member");
  detail::require_length(shift.size(), n_jobs, "shift");
  BlockEvaluation out;
  out.score_lower.resize(n_links);
  out.score_upper.resize(n_links);
  out.slack.resize(n_members);
  out.hold.resize(n_links);
  throw_if_failed(cassini_evaluate_block(links.get(), static_cast<int64_t>(n_jobs), block.period.data(),
                                         static_cast<int64_t>(n_links), block.link.data(), block.member.data(),
                                         shift.data(), &options, out.score_lower.data(), out.score_upper.data(),
                                         out.slack.data(), out.hold.data()),
                  "evaluate_block");
  return out;
}

// A block at given shifts, beside which others are solved at the cost of what differs: cassini_prepare_anchor. Keeps
// the prepared links alive. Immutable; may be moved, not copied.
class Anchor {
 public:
  Anchor(std::shared_ptr<const PreparedLinks> links, const Block& block, std::span<const int64_t> shift,
         const Options& options = Options())
      : links_(std::move(links)), n_jobs_(block.period.size()), n_links_(block.link.size()) {
    if (links_ == nullptr) throw std::invalid_argument("links: expected prepared links, got null");
    detail::require_length(block.member.size(), detail::n_members(*links_, block.link), "member");
    detail::require_length(shift.size(), n_jobs_, "shift");
    cassini_anchor* made = nullptr;
    throw_if_failed(cassini_prepare_anchor(links_->get(), static_cast<int64_t>(n_jobs_), block.period.data(),
                                           static_cast<int64_t>(n_links_), block.link.data(), block.member.data(),
                                           detail::given(block.weight, n_links_, "weight"),
                                           detail::given(block.upper_bound, n_links_, "upper_bound"), shift.data(),
                                           &options, &made),
                    "prepare_anchor");
    anchor_.reset(made);
  }

  // The anchor's block without the links `dropped` (indices into its links) and with those of `added`, of which link,
  // member, weight and upper_bound are read: cassini_solve_beside. Scores are of the links left, then of those added.
  BlockSolution solve(std::span<const int64_t> dropped, const Block& added, const Options& options = Options()) const {
    if (dropped.size() > n_links_) throw std::invalid_argument("dropped: more links than the anchor has");
    const std::size_t n_added = added.link.size();
    detail::require_length(added.member.size(), detail::n_members(*links_, added.link), "member");
    BlockSolution out = detail::room(n_jobs_, n_links_ - dropped.size() + n_added);
    throw_if_failed(cassini_solve_beside(anchor_.get(), static_cast<int64_t>(dropped.size()), dropped.data(),
                                         static_cast<int64_t>(n_added), added.link.data(), added.member.data(),
                                         detail::given(added.weight, n_added, "weight"),
                                         detail::given(added.upper_bound, n_added, "upper_bound"), &options,
                                         out.shift.data(), out.score_lower.data(), out.score_upper.data(), &out),
                    "solve_beside");
    return out;
  }

 private:
  std::shared_ptr<const PreparedLinks> links_;
  std::unique_ptr<cassini_anchor, detail::Free> anchor_;
  std::size_t n_jobs_;
  std::size_t n_links_;
};

}  // namespace cassini::inline abi2
