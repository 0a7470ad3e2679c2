// A link of a few jobs as plain arrays, and every function of the C API called on it: what a host would do.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "c_structs.hpp"
#include "cassini/cassini.h"

namespace test = cassini::test;

struct HostCalls {
  std::vector<int64_t> job_offset{0, 3, 5};
  std::vector<int64_t> period{255000001, 255000001, 85000000, 255000001, 200000000};
  std::vector<int64_t> offset{0, 1, 3, 4, 5, 6};
  std::vector<int64_t> start{141000000, 7, 100000003, 0, 141000000, 33};
  std::vector<int64_t> length{114000000, 50000001, 64000000, 20000000, 114000000, 90000000};
  std::vector<int64_t> rate{45000001, 39000000, 20000003, 30000007, 45000001, 33333333};
  std::vector<int64_t> capacity{50000003, 50000003};

  // Everything that came back, as bytes; empty if a call failed.
  std::vector<unsigned char> all(const cassini_options* options) const {
    std::vector<unsigned char> out;
    bool good = true;
    const auto keep = [&](int32_t status, const void* data, std::size_t n) {
      good = good && status == CASSINI_OK;
      const auto* bytes = static_cast<const unsigned char*>(data);
      out.insert(out.end(), bytes, bytes + n);
    };
    int64_t shift[5], slack[5], hold[2];
    uint8_t is_free[5];
    double lower[2], upper[2], claimed = 0.0;
    cassini_link_result result[2] = {test::sized<cassini_link_result>(), test::sized<cassini_link_result>()};
    int32_t status[2];
    const cassini_link_output output = test::link_output(shift, slack, is_free);
    const cassini_evaluation evaluation = test::evaluation(lower, upper, slack, hold, is_free);
    const cassini_links links = test::links_of(capacity, job_offset, period, offset, start, length, rate);
    const cassini_link link = test::link_of(capacity[0], 0, 3, period, offset, start, length, rate);

    int32_t rc = cassini_solve_links(&links, options, nullptr, &output, result, status, nullptr);
    keep(rc, shift, sizeof shift);
    keep(status[0] | status[1], result, sizeof result);
    rc = cassini_solve_link(&link, options, nullptr, &output, result, nullptr);
    keep(rc, slack, 3 * sizeof *slack);
    rc = cassini_evaluate_link(&link, shift, options, nullptr, &evaluation, nullptr);
    keep(rc, lower, sizeof *lower);
    keep(rc, slack, 3 * sizeof *slack);
    rc = cassini_solve_link_angles(&link, 24, options, nullptr, &output, result, &claimed, nullptr);
    keep(rc, shift, 3 * sizeof *shift);
    keep(rc, &claimed, sizeof claimed);

    // A loop: jobs 0 and 1 meet on the first link with job 2, and again on the second with each other's periods equal.
    const std::vector<int64_t> joint_period{period[0], period[1], period[2], period[4]};
    const std::vector<int64_t> both{0, 1}, member{0, 1, 2, 1, 3}, again{1}, again_member{0, 3}, dropped{0};
    const double weight[2] = {1.0, 0.3};
    cassini_prepared_links* prepared = nullptr;
    cassini_baseline* baseline = nullptr;
    auto found = test::sized<cassini_joint_result>();
    const cassini_joint joint = test::joint_of(joint_period, both, member, weight);
    const cassini_joint_search search = test::search_of(nullptr, nullptr, true);
    const cassini_delta delta = test::delta_of(dropped, again, again_member, weight);
    const cassini_joint_output to = test::joint_output(shift, lower, upper);
    rc = cassini_prepare_links(&links, options, nullptr, &prepared, status, nullptr);
    keep(rc, status, sizeof status);
    rc = cassini_solve_prepared_links(prepared, 0, 2, options, nullptr, &output, result, status, nullptr);
    keep(rc | status[0] | status[1], result, sizeof result);
    rc = cassini_solve_joint(prepared, &joint, &search, options, nullptr, &to, &found, nullptr);
    keep(rc, shift, 4 * sizeof *shift);
    keep(rc, &found, sizeof found);
    rc = cassini_evaluate_joint(prepared, &joint, shift, options, nullptr, &evaluation, nullptr);
    keep(rc, slack, sizeof slack);
    keep(rc, lower, sizeof lower);
    rc = cassini_prepare_baseline(prepared, &joint, shift, options, nullptr, &baseline, nullptr);
    keep(rc, hold, sizeof hold);
    rc = cassini_solve_delta(baseline, &delta, options, nullptr, &to, &found, nullptr);
    keep(rc, shift, 4 * sizeof *shift);
    keep(rc, &found, sizeof found);
    cassini_free_baseline(baseline);
    cassini_free_prepared_links(prepared);

    // A call that fails must leave as little behind.
    auto error = test::sized<cassini_error>();
    good = good && cassini_solve_link(nullptr, options, nullptr, &output, result, &error) == CASSINI_EINVAL;
    if (!good) out.clear();
    return out;
  }
};
