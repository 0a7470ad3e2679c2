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
  cassini_result known;
  int64_t unheard_of = -1;
};

// What a library that has grown does with the options of a host that has not.
struct GrownOptions {
  int64_t size;
  double kept = 2.5;
};

int32_t solve(const HostCalls& in, const cassini_options* options, cassini_result* result) {
  int64_t shift[3], slack[3];
  uint8_t is_free[3];
  return cassini_solve_link(3, in.period.data(), in.offset.data(), in.start.data(), in.length.data(), in.rate.data(),
                            in.capacity[0], options, shift, slack, is_free, result);
}

TEST(no_byte_beyond_the_size_is_written) {
  std::array<unsigned char, 2 * sizeof(cassini_options)> room{};
  for (std::size_t size = 0; size < room.size(); ++size) {
    room.fill(0xA5);
    const int32_t rc =
        cassini_init_options(reinterpret_cast<cassini_options*>(room.data()), static_cast<int64_t>(size));
    const bool known = size >= static_cast<std::size_t>(kFirstSize<cassini_options>) && size % 8 == 0;
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

TEST(results_are_written_as_far_as_the_caller_has_room) {
  const HostCalls calls;
  cassini_result usual;
  usual.size = sizeof usual;
  CHECK(solve(calls, nullptr, &usual) == CASSINI_OK);
  std::array<unsigned char, 2 * sizeof(cassini_result)> room{};
  for (int64_t size = 0; size < static_cast<int64_t>(room.size()); ++size) {
    room.fill(0xA5);
    std::memcpy(room.data(), &size, sizeof size);
    const int32_t rc = solve(calls, nullptr, reinterpret_cast<cassini_result*>(room.data()));
    const bool known = size >= kFirstSize<cassini_result> && size % 8 == 0;
    CHECK(rc == (known ? CASSINI_OK : CASSINI_EINVAL));
    const auto written = static_cast<std::size_t>(known ? size : 8);
    for (std::size_t i = written; i < room.size(); ++i) CHECK(room[i] == 0xA5);
    if (known) CHECK(std::memcmp(room.data() + 8, &usual.score_lower, 56) == 0);
  }
}

TEST(many_results_lie_as_far_apart_as_the_caller_says) {
  const HostCalls in;
  int64_t shift[5];
  uint8_t is_free[5];
  int32_t status[2];
  cassini_result usual[2];
  NewerResult newer[2];
  for (auto& r : usual) r.size = sizeof r;
  for (auto& r : newer) r.known.size = sizeof r;
  const auto solve_both = [&](cassini_result* result) {
    return cassini_solve_links(2, in.job_offset.data(), in.period.data(), in.offset.data(), in.start.data(),
                               in.length.data(), in.rate.data(), in.capacity.data(), nullptr, shift, nullptr, is_free,
                               result, status);
  };
  CHECK(solve_both(usual) == CASSINI_OK && status[0] == CASSINI_OK && status[1] == CASSINI_OK);
  CHECK(solve_both(&newer[0].known) == CASSINI_OK && status[0] == CASSINI_OK && status[1] == CASSINI_OK);
  for (int i = 0; i < 2; ++i) {
    CHECK(newer[i].unheard_of == 0 && newer[i].known.size == static_cast<int64_t>(sizeof(NewerResult)));
    newer[i].known.size = usual[i].size;
    CHECK(std::memcmp(&newer[i].known, &usual[i], sizeof usual[i]) == 0);
  }
  newer[1].known.size = sizeof(cassini_result);  // not the same in all
  newer[0].known.size = sizeof(NewerResult);
  CHECK(solve_both(&newer[0].known) == CASSINI_OK && status[0] == CASSINI_OK && status[1] == CASSINI_EINVAL);
}

}  // namespace

namespace cassini {
template <>
inline constexpr int64_t kFirstSize<GrownOptions> = 8;
}  // namespace cassini

TEST(a_field_that_an_older_host_does_not_have_keeps_its_default) {
  GrownOptions given{8, 7.0};
  const GrownOptions read = read_sized(&given, GrownOptions{16, 2.5});
  CHECK(read.kept == 2.5 && read.size == 16);
  given.size = 16;
  CHECK(read_sized(&given, GrownOptions{16, 2.5}).kept == 7.0);
}
