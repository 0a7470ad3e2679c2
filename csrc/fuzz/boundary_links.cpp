#include <cstring>
#include <vector>

#include "boundary.hpp"
#include "guarded.hpp"
#include "many_links.hpp"

namespace cassini::fuzz {
namespace {

struct Outputs {
  Outputs(std::size_t n_jobs, std::size_t n_links, std::size_t words)
      : shift(n_jobs), slack(n_jobs), is_free(n_jobs), result(n_links, words), status(n_links) {}
  void remember() {
    shift.remember();
    slack.remember();
    is_free.remember();
    result.remember();
    status.remember();
  }
  bool unchanged() const {
    return shift.unchanged() && slack.unchanged() && is_free.unchanged() && result.unchanged() && status.unchanged();
  }
  Output<int64_t> shift;
  Output<int64_t> slack;
  Output<uint8_t> is_free;
  Results<cassini_link_result> result;
  Output<int32_t> status;
};

// The answer is that of one call for the link alone; where there is none nothing was written.
void check_link(const ManyLinks& links, std::size_t i, const WildOptions& options, bool sized, Outputs& out) {
  const WildLink& all = links.all;
  const auto first = static_cast<std::size_t>(links.job_offset[i]);
  const auto n = static_cast<std::size_t>(links.job_offset[i + 1]) - first;
  PROMISE(expected(out.status[i], links.sound(i) && sized, options.canceled()));
  Output<int64_t> shift(n), slack(n);
  Output<uint8_t> is_free(n);
  const auto words = static_cast<std::size_t>(out.result.size(sized ? i : 0)) / sizeof(int64_t);
  Results<cassini_link_result> result(1, words);
  if (!sized) result.size(0) = out.result.size(i);
  if (out.status[i] == CASSINI_OK && !options.in_haste) {
    cassini_link alone = all.c();
    alone.capacity_kbps = links.capacity[i];
    alone.n_jobs = static_cast<int64_t>(n);
    alone.period_ns += first;
    alone.phase_offset += first;
    alone.n_phases = links.c().n_phases;
    const cassini_link_output to = test::link_output(shift.data(), slack.data(), is_free.data());
    PROMISE(cassini_solve_link(&alone, options.pointer(), options.cancel(), &to, result.data(), nullptr) == CASSINI_OK);
  } else if (out.status[i] == CASSINI_OK) {
    return;
  }
  PROMISE(std::memcmp(shift.data(), out.shift.data() + first, n * sizeof(int64_t)) == 0);
  PROMISE(std::memcmp(slack.data(), out.slack.data() + first, n * sizeof(int64_t)) == 0);
  PROMISE(std::memcmp(is_free.data(), out.is_free.data() + first, n) == 0);
  PROMISE(std::memcmp(result.data(), reinterpret_cast<int64_t*>(out.result.data()) + i * words, words * 8) == 0);
}

}  // namespace

void fuzz_links(Bytes& in) {
  const ManyLinks links = many_links(in);
  const auto options = wild_options(in, links.all.period.size() <= 4 && links.all.start.size() <= 8);
  Outputs out(links.all.period.size(), links.capacity.size(), struct_words<cassini_link_result>(in));
  const std::size_t odd = in.once_in(20) ? in.index(links.capacity.size() + 1) : links.capacity.size();
  if (odd < links.capacity.size()) out.result.size(odd) = wrong_size(in);
  out.remember();
  const cassini_links given = links.c();
  const cassini_link_output to = test::link_output(out.shift.data(), out.slack.data(), out.is_free.data());
  Told told;
  const int32_t status = cassini_solve_links(&given, options->pointer(), options->cancel(), &to, out.result.data(),
                                             out.status.data(), told.error());
  if (links.n_links == 0 && status == CASSINI_OK && !options->canceled()) return;
  PROMISE(expected(status, links.callable() && options->sound && (odd > 0 || links.n_links == 0), options->canceled()));
  if (links.n_links == 0 || status == CASSINI_EINVAL) {
    PROMISE(out.unchanged() && told.of(status));
    return;
  }
  PROMISE(told.of_first_refused({out.status.data(), out.status.data() + links.capacity.size()}));
  for (std::size_t i = 0; i < links.capacity.size(); ++i) check_link(links, i, *options, i != odd, out);
}

}  // namespace cassini::fuzz
