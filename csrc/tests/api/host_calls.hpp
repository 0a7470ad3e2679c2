// A link of a few jobs as plain arrays, and every function of the C API called on it: what a host would do.
#pragma once

#include <cstdint>
#include <cstring>
#include <vector>

#include "cassini/cassini.h"

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
    double lower[2], upper[2], excess[5];
    cassini_result result[2];
    int32_t status[2];
    for (cassini_result& r : result) r.size = sizeof r;

    int32_t rc = cassini_solve_links(2, job_offset.data(), period.data(), offset.data(), start.data(), length.data(),
                                     rate.data(), capacity.data(), options, shift, slack, is_free, result, status);
    keep(rc, shift, sizeof shift);
    keep(status[0] | status[1], result, sizeof result);
    rc = cassini_solve_link(3, period.data(), offset.data(), start.data(), length.data(), rate.data(), capacity[0],
                            options, shift, slack, is_free, result);
    keep(rc, slack, 3 * sizeof *slack);
    rc = cassini_evaluate_link(3, period.data(), offset.data(), start.data(), length.data(), rate.data(), capacity[0],
                               shift, options, lower, upper, slack, hold, is_free);
    keep(rc, lower, sizeof *lower);
    keep(rc, slack, 3 * sizeof *slack);
    rc = cassini_marginals(3, period.data(), offset.data(), start.data(), length.data(), rate.data(), capacity[0],
                           shift, 1, 5, start.data(), options, excess);
    keep(rc, excess, sizeof excess);

    // A loop: jobs 0 and 1 meet on the first link with job 2, and again on the second with each other's periods equal.
    const int64_t block_period[4] = {period[0], period[1], period[2], period[4]};
    const int64_t link[2] = {0, 1}, member[5] = {0, 1, 2, 1, 3}, twice[1] = {1};
    const int64_t twice_member[2] = {0, 3};
    const double weight[2] = {1.0, 0.3};
    cassini_links* links = nullptr;
    cassini_anchor* anchor = nullptr;
    cassini_block_result found;
    found.size = sizeof found;
    rc = cassini_prepare_links(2, job_offset.data(), period.data(), offset.data(), start.data(), length.data(),
                               rate.data(), capacity.data(), options, &links, status);
    keep(rc, status, sizeof status);
    rc = cassini_solve_block(links, 4, block_period, 2, link, member, weight, nullptr, nullptr, nullptr, nullptr, 1,
                             options, shift, lower, upper, &found);
    keep(rc, shift, 4 * sizeof *shift);
    keep(rc, &found, sizeof found);
    rc = cassini_evaluate_block(links, 4, block_period, 2, link, member, shift, options, lower, upper, slack, hold);
    keep(rc, slack, sizeof slack);
    keep(rc, lower, sizeof lower);
    rc = cassini_prepare_anchor(links, 4, block_period, 2, link, member, weight, nullptr, shift, options, &anchor);
    keep(rc, hold, sizeof hold);
    const int64_t dropped[1] = {0};
    rc = cassini_solve_beside(anchor, 1, dropped, 1, twice, twice_member, weight, nullptr, options, shift, lower, upper,
                              &found);
    keep(rc, shift, 4 * sizeof *shift);
    keep(rc, &found, sizeof found);
    cassini_free_anchor(anchor);
    cassini_free_links(links);

    // A call that fails must leave as little behind.
    good = good && cassini_solve_link(0, nullptr, nullptr, nullptr, nullptr, nullptr, 1, options, shift, slack, is_free,
                                      result) == CASSINI_EINVAL;
    if (!good) out.clear();
    return out;
  }
};
