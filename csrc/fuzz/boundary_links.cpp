#include <cstring>
#include <vector>

#include "boundary.hpp"
#include "guarded.hpp"
#include "many_links.hpp"

namespace cassini::fuzz {
namespace {

struct Outputs {
  Outputs(std::size_t n_jobs, std::size_t n_links)
      : shift(n_jobs), slack(n_jobs), is_free(n_jobs), result(n_links), status(n_links) {
    for (std::size_t i = 0; i < n_links; ++i) result[i].size = static_cast<int64_t>(sizeof(cassini_result));
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
  Output<cassini_result> result;
  Output<int32_t> status;
};

// The answer is that of one call for the link alone; where there is none nothing was written.
void check_link(const ManyLinks& links, std::size_t i, const WildOptions& options, Outputs& out) {
  const WildLink& all = links.all;
  const auto first = static_cast<std::size_t>(links.job_offset[i]);
  const auto n = static_cast<std::size_t>(links.job_offset[i + 1]) - first;
  PROMISE(expected(out.status[i], links.sound(i), options.canceled()));
  Output<int64_t> shift(n), slack(n);
  Output<uint8_t> is_free(n);
  Output<cassini_result> result(1);
  result[0].size = static_cast<int64_t>(sizeof(cassini_result));
  if (out.status[i] == CASSINI_OK && !options.in_haste) {
    PROMISE(cassini_solve_link(static_cast<int64_t>(n), all.period.data() + first, all.offset.data() + first,
                               all.starts(), all.length.data(), all.rate.data(), links.capacity[i], options.pointer(),
                               shift.data(), slack.data(), is_free.data(), result.data()) == CASSINI_OK);
  } else if (out.status[i] == CASSINI_OK) {
    return;
  }
  PROMISE(std::memcmp(shift.data(), out.shift.data() + first, n * sizeof(int64_t)) == 0);
  PROMISE(std::memcmp(slack.data(), out.slack.data() + first, n * sizeof(int64_t)) == 0);
  PROMISE(std::memcmp(is_free.data(), out.is_free.data() + first, n) == 0);
  PROMISE(std::memcmp(result.data(), out.result.data() + i, sizeof(cassini_result)) == 0);
}

}  // namespace

void fuzz_links(Bytes& in) {
  const ManyLinks links = many_links(in);
  const auto options = wild_options(in, links.all.period.size() <= 4 && links.all.start.size() <= 8);
  Outputs out(links.all.period.size(), links.capacity.size());
  const int32_t status = cassini_solve_links(
      links.n_links, links.offsets(), links.all.periods(), links.all.offsets(), links.all.starts(),
      links.all.length.data(), links.all.rate.data(), links.capacity.data(), options->pointer(), out.shift.data(),
      out.slack.data(), out.is_free.data(), out.result.data(), out.status.data());
  if (links.n_links == 0 && status == CASSINI_OK) return;
  PROMISE(expected(status, links.callable() && options->sound, options->canceled()));
  if (status == CASSINI_EINVAL) {
    PROMISE(out.unchanged());
    return;
  }
  for (std::size_t i = 0; i < links.capacity.size(); ++i) check_link(links, i, *options, out);
}

}  // namespace cassini::fuzz
