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

cassini::JointProblem problem_of(const HostCalls& in) {
  return {{in.period[0], in.period[1], in.period[2], in.period[4]}, {0, 1}, {0, 1, 2, 1, 3}, {1.0, 0.3}, {}, {}};
}

TEST(the_example_of_the_header_is_true) {
  cassini::require_abi();
  cassini::Link link(50'000'000);
  const cassini::Phase burst{141'000'000, 114'000'000, 45'000'000};
  link.add_job(255'000'000, {{burst}}).add_job(255'000'000, {{burst}});
  const cassini::LinkSolution best = cassini::solve(link);
  CHECK(best.score_lower == 1.0 && best.shift_ns[0] == 0 && best.shift_ns[1] == 127'500'000 && best.optimal == 1);
}

TEST(links_alone_many_at_once_and_prepared_are_answered_as_in_c) {
  const HostCalls in;
  int64_t shift[5], slack[5];
  uint8_t is_free[5];
  int32_t status[2];
  cassini_link_result result[2] = {cassini::sized<cassini_link_result>(), cassini::sized<cassini_link_result>()};
  const cassini_links all =
      test::links_of(in.capacity, in.job_offset, in.period, in.offset, in.start, in.length, in.rate);
  const cassini_link_output to = test::link_output(shift, slack, is_free);
  CHECK(cassini_solve_links(&all, nullptr, nullptr, &to, result, status, nullptr) == CASSINI_OK);
  const auto links = links_of(in);
  const auto batch = cassini::solve(std::span<const cassini::Link>(links));
  const cassini::PreparedLinks prepared(links);
  for (std::size_t l = 0; l < links.size(); ++l) {
    const auto first = static_cast<std::size_t>(in.job_offset[l]);
    const auto again = prepared.solve(l, l + 1);
    for (const cassini::LinkSolution& one : {cassini::solve(links[l]), batch[l].solution, again[0].solution}) {
      CHECK(std::memcmp(static_cast<const cassini_link_result*>(&one), &result[l], sizeof result[l]) == 0);
      CHECK(std::memcmp(one.shift_ns.data(), shift + first, links[l].n_jobs() * sizeof *shift) == 0);
      CHECK(std::memcmp(one.slack_ns.data(), slack + first, links[l].n_jobs() * sizeof *slack) == 0);
      CHECK(std::memcmp(one.is_free.data(), is_free + first, links[l].n_jobs()) == 0);
    }
    const auto evaluated = cassini::evaluate(links[l], batch[l].solution.shift_ns);
    CHECK(evaluated.score_lower == result[l].score_lower && evaluated.hold_ns == result[l].hold_ns);
    CHECK(evaluated.slack_ns == batch[l].solution.slack_ns);
    const auto grid = cassini::solve_angles(links[l], 24);
    const cassini_link link = links[l].c();
    double claimed = 0.0;
    auto by_angles = cassini::sized<cassini_link_result>();
    CHECK(cassini_solve_link_angles(&link, 24, nullptr, nullptr, &to, &by_angles, &claimed, nullptr) == CASSINI_OK);
    CHECK(grid.claimed_score == claimed && grid.score_lower == by_angles.score_lower && grid.shift_ns[1] == shift[1]);
    CHECK(cassini_solve_links(&all, nullptr, nullptr, &to, result, status, nullptr) == CASSINI_OK);
  }
}

TEST(a_link_that_cannot_be_solved_does_not_keep_the_others) {
  auto links = links_of(HostCalls());
  links.insert(links.begin(), cassini::Link(1));  // no jobs
  const auto batch = cassini::solve(std::span<const cassini::Link>(links));
  CHECK(batch[0].status == CASSINI_EINVAL && batch[0].solution.shift_ns.empty());
  CHECK(batch[0].reason == "n_jobs: expected 1 .. 1024, got 0" && batch[1].reason.empty());
  CHECK(batch[1].status == CASSINI_OK && batch[2].solution.shift_ns == cassini::solve(links[2]).shift_ns);
  const cassini::CancelFlag cancel = 1;
  CHECK(cassini::solve(std::span<const cassini::Link>(links), {}, &cancel)[1].status == CASSINI_ECANCELED);
  CHECK(cassini::solve(std::span<const cassini::Link>()).empty());
}

TEST(joint_problems_are_answered_as_in_c) {
  const HostCalls in;
  const auto links = links_of(in);
  auto prepared = std::make_shared<const cassini::PreparedLinks>(links);
  const cassini::JointProblem problem = problem_of(in);
  int64_t shift[4];
  double lower[2], upper[2];
  const cassini_joint joint = test::joint_of(problem.period_ns, problem.link, problem.member, problem.weight.data());
  const cassini_joint_output to = test::joint_output(shift, lower, upper);
  for (const bool centred : {false, true}) {
    cassini::JointSearch how;
    how.centred = centred;
    const auto found = cassini::solve(*prepared, problem, how);
    auto result = cassini::sized<cassini_joint_result>();
    const cassini_joint_search search = test::search_of(nullptr, nullptr, centred);
    CHECK(cassini_solve_joint(prepared->get(), &joint, &search, nullptr, nullptr, &to, &result, nullptr) == CASSINI_OK);
    CHECK(std::memcmp(static_cast<const cassini_joint_result*>(&found), &result, sizeof result) == 0);
    CHECK(std::memcmp(found.shift_ns.data(), shift, sizeof shift) == 0 && found.score_lower[1] == lower[1]);
  }
  const auto found = cassini::solve(*prepared, problem);
  const auto evaluated = cassini::evaluate(*prepared, problem, found.shift_ns);
  CHECK(evaluated.score_lower == found.score_lower && evaluated.slack_ns.size() == 5 && evaluated.hold_ns.size() == 2);

  // The baseline keeps the links alive, and moves.
  cassini::Baseline first(prepared, problem, found.shift_ns);
  prepared.reset();
  const cassini::Baseline baseline = std::move(first);
  const auto differs = baseline.solve({{0}, {1}, {0, 3}, {1.0}, {}});
  CHECK(differs.score_lower.size() == 2 && differs.shift_ns.size() == 4 && differs.score <= differs.upper_bound);
}

TEST(what_does_not_fit_together_throws) {
  const HostCalls in;
  const auto links = links_of(in);
  const cassini::PreparedLinks prepared(links);
  const std::vector<int64_t> short_shift{0};
  cassini::JointProblem problem = problem_of(in);
  CHECK(status_thrown([&] { cassini::solve(cassini::Link(50)); }) == CASSINI_EINVAL);
  CHECK(status_thrown([&] { cassini::evaluate(links[0], short_shift); }) == -1);
  CHECK(status_thrown([&] { cassini::solve_angles(links[0], 0); }) == CASSINI_EINVAL);
  CHECK(status_thrown([&] { cassini::evaluate(prepared, problem, short_shift); }) == -1);
  CHECK(status_thrown([&] { cassini::solve(prepared, problem, {short_shift, {}}); }) == -1);
  CHECK(status_thrown([&] { prepared.solve(1, 3); }) == -1);
  problem.member.pop_back();
  CHECK(status_thrown([&] { cassini::solve(prepared, problem); }) == -1);
  problem = problem_of(in);
  problem.link[1] = 7;
  CHECK(status_thrown([&] { cassini::solve(prepared, problem); }) == -1);
  problem = problem_of(in);
  problem.upper_bound = {1.0};
  CHECK(status_thrown([&] { cassini::solve(prepared, problem); }) == -1);
  problem = problem_of(in);
  problem.period_ns[0] += 1;
  CHECK(status_thrown([&] { cassini::solve(prepared, problem); }) == CASSINI_EINVAL);
  cassini::Options options;
  options.node_limit = 0;
  CHECK(status_thrown([&] { cassini::solve(links[0], options); }) == CASSINI_EINVAL);
}

TEST(an_error_says_which_argument_was_wrong) {
  cassini::Link link(50'000'000);
  link.add_job(100, {{{0, 10, 5}, {20, 101, 5}}});
  try {
    cassini::solve(link);
    CHECK(false);
  } catch (const cassini::Error& error) {
    CHECK(error.status() == CASSINI_EINVAL && error.argument() == "phase_length_ns" && error.index() == 1);
    CHECK(std::string(error.what()) == "solve_link: phase_length_ns[1]: expected 0 .. 100, got 101");
  }
  const cassini::Error nothing_said("init_options", CASSINI_EINVAL);
  CHECK(nothing_said.argument().empty() && nothing_said.index() == -1 && nothing_said.link() == -1);
}

}  // namespace
