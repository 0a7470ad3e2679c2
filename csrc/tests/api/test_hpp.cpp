// cassini.hpp says what the C functions say, to the last bit, and every failed call throws.
#include <array>
#include <cstring>

#include "api/host_calls.hpp"
#include "cassini/cassini.hpp"
#include "check.hpp"

namespace {

template <class Call>
int32_t status_thrown(Call&& call) {
  try {
    call();
  } catch (const cassini::Error& error) {
    return error.status();
  } catch (const std::invalid_argument&) {
    return -1;
  }
  return CASSINI_OK;
}

std::vector<cassini::Link> links_of(const HostCalls& in) {
  std::vector<cassini::Link> out;
  for (std::size_t l = 0; l + 1 < in.job_offset.size(); ++l) {
    cassini::Link link(in.capacity[l]);
    for (auto j = static_cast<std::size_t>(in.job_offset[l]); j < static_cast<std::size_t>(in.job_offset[l + 1]); ++j) {
      std::vector<cassini::Phase> phases;
      for (auto i = static_cast<std::size_t>(in.offset[j]); i < static_cast<std::size_t>(in.offset[j + 1]); ++i) {
        phases.push_back({in.start[i], in.length[i], in.rate[i]});
      }
      link.add_job(in.period[j], phases);
    }
    out.push_back(link);
  }
  return out;
}

cassini::Block block_of(const HostCalls& in) {
  return {{in.period[0], in.period[1], in.period[2], in.period[4]}, {0, 1}, {0, 1, 2, 1, 3}, {1.0, 0.3}, {}, {}};
}

TEST(the_example_of_the_header_is_true) {
  cassini::require_abi();
  cassini::Link link(50'000'000);
  const cassini::Phase burst{141'000'000, 114'000'000, 45'000'000};
  link.add_job(255'000'000, {{burst}}).add_job(255'000'000, {{burst}});
  const cassini::LinkSolution best = cassini::solve(link);
  CHECK(best.score_lower == 1.0 && best.shift[0] == 0 && best.shift[1] == 127'500'000 && best.optimal == 1);
}

TEST(links_alone_and_many_at_once_are_answered_as_in_c) {
  const HostCalls in;
  int64_t shift[5], slack[5];
  uint8_t is_free[5];
  int32_t status[2];
  cassini_result result[2];
  for (cassini_result& r : result) r.size = sizeof r;
  CHECK(cassini_solve_links(2, in.job_offset.data(), in.period.data(), in.offset.data(), in.start.data(),
                            in.length.data(), in.rate.data(), in.capacity.data(), nullptr, shift, slack, is_free,
                            result, status) == CASSINI_OK);
  const auto links = links_of(in);
  const auto batch = cassini::solve(std::span<const cassini::Link>(links));
  for (std::size_t l = 0; l < links.size(); ++l) {
    const auto first = static_cast<std::size_t>(in.job_offset[l]);
    for (const cassini::LinkSolution& one : {cassini::solve(links[l]), batch[l].solution}) {
      CHECK(std::memcmp(static_cast<const cassini_result*>(&one), &result[l], sizeof result[l]) == 0);
      CHECK(std::memcmp(one.shift.data(), shift + first, links[l].n_jobs() * sizeof *shift) == 0);
      CHECK(std::memcmp(one.slack.data(), slack + first, links[l].n_jobs() * sizeof *slack) == 0);
      CHECK(std::memcmp(one.is_free.data(), is_free + first, links[l].n_jobs()) == 0);
    }
    const auto evaluated = cassini::evaluate(links[l], batch[l].solution.shift);
    CHECK(evaluated.score_lower == result[l].score_lower && evaluated.hold == result[l].hold);
    CHECK(evaluated.slack == batch[l].solution.slack);
    const auto excess = cassini::marginals(links[l], batch[l].solution.shift, 1, batch[l].solution.shift);
    double in_c[3];
    const auto at = static_cast<std::size_t>(in.job_offset[l]);
    CHECK(cassini_marginals(static_cast<int64_t>(links[l].n_jobs()), in.period.data() + at, in.offset.data() + at,
                            in.start.data(), in.length.data(), in.rate.data(), in.capacity[l], shift + at, 1,
                            static_cast<int64_t>(links[l].n_jobs()), shift + at, nullptr, in_c) == CASSINI_OK);
    CHECK(std::memcmp(excess.data(), in_c, excess.size() * sizeof(double)) == 0);
  }
}

TEST(a_link_that_cannot_be_solved_does_not_keep_the_others) {
  auto links = links_of(HostCalls());
  links.insert(links.begin(), cassini::Link(1));  // no jobs
  const auto batch = cassini::solve(std::span<const cassini::Link>(links));
  CHECK(batch[0].status == CASSINI_EINVAL && batch[0].solution.shift.empty());
  CHECK(batch[1].status == CASSINI_OK && batch[2].solution.shift == cassini::solve(links[2]).shift);
  const int32_t cancel = 1;
  cassini::Options options;
  options.cancel = &cancel;
  CHECK(cassini::solve(std::span<const cassini::Link>(links), options)[1].status == CASSINI_ECANCELED);
  CHECK(cassini::solve(std::span<const cassini::Link>()).empty());
}

TEST(blocks_are_answered_as_in_c) {
  const HostCalls in;
  const auto links = links_of(in);
  auto prepared = std::make_shared<const cassini::PreparedLinks>(links);
  const cassini::Block block = block_of(in);
  const auto found = cassini::solve(*prepared, block);
  int64_t shift[4];
  double lower[2], upper[2];
  cassini_block_result result;
  result.size = sizeof result;
  CHECK(cassini_solve_block(prepared->get(), 4, block.period.data(), 2, block.link.data(), block.member.data(),
                            block.weight.data(), nullptr, nullptr, nullptr, nullptr, 1, nullptr, shift, lower, upper,
                            &result) == CASSINI_OK);
  CHECK(std::memcmp(static_cast<const cassini_block_result*>(&found), &result, sizeof result) == 0);
  CHECK(std::memcmp(found.shift.data(), shift, sizeof shift) == 0 && found.score_lower[1] == lower[1]);
  const auto evaluated = cassini::evaluate(*prepared, block, found.shift);
  CHECK(evaluated.score_lower == found.score_lower && evaluated.slack.size() == 5 && evaluated.hold.size() == 2);

  // The anchor keeps the links alive, and moves.
  cassini::Anchor first(prepared, block, found.shift);
  prepared.reset();
  const cassini::Anchor anchor = std::move(first);
  const std::array<int64_t, 1> dropped{0};
  const auto beside = anchor.solve(dropped, {{}, {1}, {0, 3}, {1.0}, {}, {}});
  CHECK(beside.score_lower.size() == 2 && beside.shift.size() == 4 && beside.score <= beside.upper_bound);
}

TEST(what_does_not_fit_together_throws) {
  const HostCalls in;
  const auto links = links_of(in);
  const cassini::PreparedLinks prepared(links);
  const std::vector<int64_t> short_shift{0};
  cassini::Block block = block_of(in);
  CHECK(status_thrown([&] { cassini::solve(cassini::Link(50)); }) == CASSINI_EINVAL);
  CHECK(status_thrown([&] { cassini::evaluate(links[0], short_shift); }) == -1);
  CHECK(status_thrown([&] { cassini::marginals(links[0], short_shift, 0, short_shift); }) == -1);
  CHECK(status_thrown([&] { cassini::marginals(links[1], {{0, 0}}, 2, short_shift); }) == CASSINI_EINVAL);
  CHECK(status_thrown([&] { cassini::evaluate(prepared, block, short_shift); }) == -1);
  CHECK(status_thrown([&] { cassini::solve(prepared, block, cassini::Options(), short_shift); }) == -1);
  block.member.pop_back();
  CHECK(status_thrown([&] { cassini::solve(prepared, block); }) == -1);
  block = block_of(in);
  block.link[1] = 7;
  CHECK(status_thrown([&] { cassini::solve(prepared, block); }) == -1);
  block = block_of(in);
  block.upper_bound = {1.0};
  CHECK(status_thrown([&] { cassini::solve(prepared, block); }) == -1);
  block = block_of(in);
  block.period[0] += 1;
  CHECK(status_thrown([&] { cassini::solve(prepared, block); }) == CASSINI_EINVAL);
  cassini::Options options;
  options.node_limit = 0;
  CHECK(status_thrown([&] { cassini::solve(links[0], options); }) == CASSINI_EINVAL);
}

}  // namespace
