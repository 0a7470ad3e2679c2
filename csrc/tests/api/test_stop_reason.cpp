// "Complete" means proven: what ended without a proof, and for no limit of the caller, says so.
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "c_structs.hpp"
#include "cassini/cassini.h"
#include "check.hpp"

using namespace cassini::test;

namespace {

// Jobs of one period, each with a phase or two at random places, that ask for more than the links can carry.
struct Jobs {
  std::vector<int64_t> period;
  std::vector<int64_t> offset{0};
  std::vector<int64_t> start;
  std::vector<int64_t> length;
  std::vector<int64_t> rate;

  Jobs(std::mt19937& rng, int64_t count, int64_t phases) {
    for (int64_t j = 0; j < count; ++j) {
      period.push_back(1000000);
      for (int64_t at = 0; at < 1000000; at += 1000000 / phases) {
        start.push_back(at + static_cast<int64_t>(rng() % 100000U));
        length.push_back(20000 + static_cast<int64_t>(rng() % 300000U));
        rate.push_back(100 + static_cast<int64_t>(rng() % 900U));
      }
      offset.push_back(phases * (j + 1));
    }
  }

  cassini_link on_a_link(int64_t capacity) const {
    return link_of(capacity, 0, length_of(period), period, offset, start, length, rate);
  }
};

cassini_options searching_everywhere() {
  cassini_options options;
  cassini_init_options(&options, sizeof options);
  options.resolution_ns = 0;
  options.node_limit = 4000000;
  return options;
}

}  // namespace

TEST(a_link_of_more_jobs_than_are_searched_says_that_nothing_is_proven) {
  std::mt19937 rng(61);
  const cassini_options options = searching_everywhere();
  int unproven = 0;
  for (int round = 0; round < 3; ++round) {
    const Jobs jobs(rng, 49, 1);
    std::vector<int64_t> shift(49);
    std::vector<uint8_t> is_free(49);
    auto result = sized<cassini_link_result>();
    const cassini_link link = jobs.on_a_link(5000);
    const cassini_link_output to = link_output(shift.data(), nullptr, is_free.data());
    CHECK(cassini_solve_link(&link, &options, nullptr, &to, &result, nullptr) == CASSINI_OK);
    CHECK(result.stopped_by == (result.optimal ? CASSINI_STOP_COMPLETE : CASSINI_STOP_UNPROVEN));
    unproven += result.stopped_by == CASSINI_STOP_UNPROVEN;
  }
  CHECK(unproven > 0);
}

TEST(a_joint_problem_of_more_jobs_than_are_searched_says_that_nothing_is_proven) {
  std::mt19937 rng(62);
  const cassini_options options = searching_everywhere();
  int unproven = 0;
  for (int round = 0; round < 1; ++round) {
    // A ring: job j shares a link with job j + 1.
    constexpr int64_t kJobs = CASSINI_MAX_PROOF_JOBS + 1;
    const Jobs jobs(rng, kJobs, 2);
    std::vector<int64_t> job_offset{0};
    std::vector<int64_t> period, offset{0}, start, length, rate, member, link;
    for (int64_t j = 0; j < kJobs; ++j) {
      for (const int64_t k : {j, (j + 1) % kJobs}) {
        period.push_back(jobs.period[static_cast<std::size_t>(k)]);
        for (const int64_t i : {2 * k, 2 * k + 1}) {
          const auto from = static_cast<std::size_t>(i);
          start.push_back(jobs.start[from]);
          length.push_back(jobs.length[from]);
          rate.push_back(jobs.rate[from]);
        }
        offset.push_back(offset.back() + 2);
        member.push_back(k);
      }
      job_offset.push_back(job_offset.back() + 2);
      link.push_back(j);
    }
    const std::vector<int64_t> capacity(kJobs, 700);
    std::array<int32_t, kJobs> status{};
    cassini_prepared_links* prepared = nullptr;
    const cassini_links links = links_of(capacity, job_offset, period, offset, start, length, rate);
    CHECK(cassini_prepare_links(&links, &options, nullptr, &prepared, status.data(), nullptr) == CASSINI_OK);
    std::vector<int64_t> shift(kJobs);
    std::vector<double> lower(kJobs), upper(kJobs);
    auto result = sized<cassini_joint_result>();
    const cassini_joint joint = joint_of(jobs.period, link, member);
    const cassini_joint_output to = joint_output(shift.data(), lower.data(), upper.data());
    CHECK(cassini_solve_joint(prepared, &joint, nullptr, &options, nullptr, &to, &result, nullptr) == CASSINI_OK);
    cassini_free_prepared_links(prepared);
    CHECK(result.stopped_by == (result.optimal ? CASSINI_STOP_COMPLETE : CASSINI_STOP_UNPROVEN));
    unproven += result.stopped_by == CASSINI_STOP_UNPROVEN;
  }
  CHECK(unproven > 0);
}

TEST(a_grid_of_angles_that_was_searched_through_is_complete) {
  std::mt19937 rng(63);
  const cassini_options options = searching_everywhere();
  const Jobs jobs(rng, 3, 2);
  std::array<int64_t, 3> shift{};
  std::array<uint8_t, 3> is_free{};
  double claimed = 0.0;
  auto result = sized<cassini_link_result>();
  const cassini_link link = jobs.on_a_link(700);
  const cassini_link_output to = link_output(shift.data(), nullptr, is_free.data());
  CHECK(cassini_solve_link_angles(&link, 72, &options, nullptr, &to, &result, &claimed, nullptr) == CASSINI_OK);
  CHECK(result.optimal == 0 && result.stopped_by == CASSINI_STOP_COMPLETE);
}
