// "Complete" means proven: what ended without a proof, and for no limit of the caller, says so.
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "cassini/cassini.h"
#include "check.hpp"

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
};

cassini_options searching_everywhere() {
  cassini_options options;
  cassini_init_options(&options, sizeof options);
  options.resolution = 0;
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
    cassini_result result;
    result.size = sizeof result;
    CHECK(cassini_solve_link(49, jobs.period.data(), jobs.offset.data(), jobs.start.data(), jobs.length.data(),
                             jobs.rate.data(), 5000, &options, shift.data(), nullptr, is_free.data(),
                             &result) == CASSINI_OK);
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
    const std::vector<double> weight(kJobs, 1.0);
    std::array<int32_t, kJobs> status{};
    cassini_links* links = nullptr;
    CHECK(cassini_prepare_links(kJobs, job_offset.data(), period.data(), offset.data(), start.data(), length.data(),
                                rate.data(), capacity.data(), &options, &links, status.data()) == CASSINI_OK);
    std::vector<int64_t> shift(kJobs);
    std::vector<double> lower(kJobs), upper(kJobs);
    cassini_block_result result;
    result.size = sizeof result;
    CHECK(cassini_solve_block(links, kJobs, jobs.period.data(), kJobs, link.data(), member.data(), weight.data(),
                              nullptr, nullptr, nullptr, nullptr, 0, &options, shift.data(), lower.data(), upper.data(),
                              &result) == CASSINI_OK);
    cassini_free_links(links);
    CHECK(result.stopped_by == (result.optimal ? CASSINI_STOP_COMPLETE : CASSINI_STOP_UNPROVEN));
    unproven += result.stopped_by == CASSINI_STOP_UNPROVEN;
  }
  CHECK(unproven > 0);
}

TEST(a_grid_of_angles_that_was_searched_through_is_complete) {
  std::mt19937 rng(63);
  cassini_options options = searching_everywhere();
  options.method = CASSINI_METHOD_ANGLES;
  const Jobs jobs(rng, 3, 2);
  std::array<int64_t, 3> shift{};
  std::array<uint8_t, 3> is_free{};
  cassini_result result;
  result.size = sizeof result;
  CHECK(cassini_solve_link(3, jobs.period.data(), jobs.offset.data(), jobs.start.data(), jobs.length.data(),
                           jobs.rate.data(), 700, &options, shift.data(), nullptr, is_free.data(),
                           &result) == CASSINI_OK);
  CHECK(result.optimal == 0 && result.stopped_by == CASSINI_STOP_COMPLETE);
}
