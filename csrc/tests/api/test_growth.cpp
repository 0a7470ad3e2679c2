// A host compiled with an older or a newer header than the library: structs grow at their end, and both go on working.
#include <array>

#include "api/host_calls.hpp"
#include "api/sized_struct.hpp"
#include "check.hpp"

using namespace cassini;

namespace {

// cassini_options as a later header might have it.
struct NewerOptions {
  cassini_options known;
  int64_t unheard_of = 0;
  double another = 0.0;
};

struct NewerResult {
  cassini_link_result known;
  int64_t unheard_of = -1;
};

// A link as a later header might have it.
struct NewerLink {
  cassini_link known;
  int64_t unheard_of = 0;
};

cassini_link three_jobs(const HostCalls& in) {
  return test::link_of(in.capacity[0], 0, 3, in.period, in.offset, in.start, in.length, in.rate);
}

int32_t solve(const cassini_link* link, cassini_link_result* result) {
  int64_t shift[3], slack[3];
  uint8_t is_free[3];
  const cassini_link_output to = test::link_output(shift, slack, is_free);
  return cassini_solve_link(link, nullptr, nullptr, &to, result, nullptr);
}

TEST(no_byte_beyond_the_size_is_written) {
  std::array<unsigned char, 2 * sizeof(cassini_options)> room{};
  for (std::size_t size = 0; size < room.size(); ++size) {
    room.fill(0xA5);
    const int32_t rc =
        cassini_init_options(reinterpret_cast<cassini_options*>(room.data()), static_cast<int64_t>(size));
    const bool known = size >= static_cast<std::size_t>(first_size<cassini_options>()) && size % 8 == 0;
    CHECK(rc == (known ? CASSINI_OK : CASSINI_EINVAL));
    for (std::size_t i = known ? size : 0; i < room.size(); ++i) CHECK(room[i] == 0xA5);
    for (std::size_t i = sizeof(cassini_options); known && i < size; ++i) CHECK(room[i] == 0);
  }
  CHECK(cassini_init_options(nullptr, sizeof(cassini_options)) == CASSINI_EINVAL);
  CHECK(cassini_init_options(reinterpret_cast<cassini_options*>(room.data()), INT64_MAX) == CASSINI_EINVAL);
  CHECK(cassini_init_options(reinterpret_cast<cassini_options*>(room.data()), -8) == CASSINI_EINVAL);
}

TEST(options_of_a_newer_host_work_while_what_is_unknown_is_zero) {
  const HostCalls calls;
  NewerOptions options;
  CHECK(cassini_init_options(&options.known, sizeof options) == CASSINI_OK);
  CHECK(options.known.size == static_cast<int64_t>(sizeof options));
  CHECK(calls.all(&options.known) == calls.all(nullptr));
  options.another = 1.0;
  CHECK(calls.all(&options.known).empty());
}

TEST(inputs_of_a_newer_host_work_while_what_is_unknown_is_zero) {
  const HostCalls calls;
  auto result = test::sized<cassini_link_result>();
  NewerLink link{three_jobs(calls)};
  link.known.size = sizeof link;
  CHECK(solve(&link.known, &result) == CASSINI_OK);
  link.unheard_of = 1;
  CHECK(solve(&link.known, &result) == CASSINI_EINVAL);
}

TEST(no_size_of_an_input_is_taken_on_trust) {
  const HostCalls calls;
  auto result = test::sized<cassini_link_result>();
  cassini_link link = three_jobs(calls);
  for (const int64_t size : {int64_t{0}, int64_t{8}, int64_t{-8}, first_size<cassini_link>() - 8, int64_t{4104},
                             INT64_MAX, INT64_MIN, first_size<cassini_link>() + 1}) {
    link.size = size;
    CHECK(solve(&link, &result) == CASSINI_EINVAL);
  }
}

TEST(results_are_written_as_far_as_the_caller_has_room) {
  const HostCalls calls;
  const cassini_link link = three_jobs(calls);
  auto usual = test::sized<cassini_link_result>();
  CHECK(solve(&link, &usual) == CASSINI_OK);
  std::array<unsigned char, 2 * sizeof(cassini_link_result)> room{};
  for (int64_t size = 0; size < static_cast<int64_t>(room.size()); ++size) {
    room.fill(0xA5);
    std::memcpy(room.data(), &size, sizeof size);
    const int32_t rc = solve(&link, reinterpret_cast<cassini_link_result*>(room.data()));
    const bool known = size >= first_size<cassini_link_result>() && size % 8 == 0;
    CHECK(rc == (known ? CASSINI_OK : CASSINI_EINVAL));
    const auto written = static_cast<std::size_t>(known ? size : 8);
    for (std::size_t i = written; i < room.size(); ++i) CHECK(room[i] == 0xA5);
    if (known) CHECK(std::memcmp(room.data() + 8, &usual.score_lower, sizeof usual - 8) == 0);
  }
}

TEST(many_results_lie_as_far_apart_as_the_caller_says) {
  const HostCalls in;
  int64_t shift[5];
  uint8_t is_free[5];
  int32_t status[2];
  cassini_link_result usual[2];
  NewerResult newer[2];
  for (auto& r : usual) r.size = sizeof r;
  for (auto& r : newer) r.known.size = sizeof r;
  const cassini_links links =
      test::links_of(in.capacity, in.job_offset, in.period, in.offset, in.start, in.length, in.rate);
  const cassini_link_output to = test::link_output(shift, nullptr, is_free);
  const auto solve_both = [&](cassini_link_result* result) {
    return cassini_solve_links(&links, nullptr, nullptr, &to, result, status, nullptr);
  };
  CHECK(solve_both(usual) == CASSINI_OK && status[0] == CASSINI_OK && status[1] == CASSINI_OK);
  CHECK(solve_both(&newer[0].known) == CASSINI_OK && status[0] == CASSINI_OK && status[1] == CASSINI_OK);
  for (int i = 0; i < 2; ++i) {
    CHECK(newer[i].unheard_of == 0 && newer[i].known.size == static_cast<int64_t>(sizeof(NewerResult)));
    newer[i].known.size = usual[i].size;
    CHECK(std::memcmp(&newer[i].known, &usual[i], sizeof usual[i]) == 0);
  }
  newer[1].known.size = sizeof(cassini_link_result);  // not the same in all
  newer[0].known.size = sizeof(NewerResult);
  CHECK(solve_both(&newer[0].known) == CASSINI_OK && status[0] == CASSINI_OK && status[1] == CASSINI_EINVAL);
}

}  // namespace
