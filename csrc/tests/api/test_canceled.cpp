// A call that begins with the cancel flag set does nothing, and a batch canceled on the way keeps what it has done.
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "api/public_calls.hpp"
#include "check.hpp"

using namespace cassini::test;

namespace {

constexpr int64_t kMs = 1000000;

// What solve_links and solve_prepared_links say of links of which none was reached.
void none_reached(Outputs& expected, std::size_t n_links) {
  for (std::size_t i = 0; i < n_links; ++i) expected.status[i] = CASSINI_ECANCELED;
  say(expected.error, CASSINI_ECANCELED, n_links > 0 ? 0 : -1);
}

// Links: one that is refused, one that is easy, one that takes minutes, one that is easy.
struct Mixed {
  static constexpr std::size_t kLinks = 4;
  LinkArrays arrays;

  explicit Mixed(bool with_refused) {
    std::mt19937 rng(99);
    const auto add = [&](int jobs, int phases) {
      for (int j = 0; j < jobs; ++j) arrays.add_job(255 * kMs, phases, rng);
      arrays.close_link(50 * kMs);
    };
    add(2, 1);
    if (with_refused) arrays.rate[0] = -1;
    add(2, 1);
    add(12, 8);
    add(2, 1);
    // As much demand as capacity: no bound is tight.
    int64_t demand = 0;
    for (auto i = arrays.phase_offset[4]; i < arrays.phase_offset[16]; ++i) {
      const auto k = static_cast<std::size_t>(i);
      demand += arrays.length[k] / 1000 * arrays.rate[k] / (255 * kMs / 1000);
    }
    arrays.capacity[2] = demand;
  }
};

int32_t solve(const Mixed& in, const int32_t* cancel, Outputs& out) {
  const cassini_links links = in.arrays.all();
  const cassini_link_output to = link_output(out.shift, out.slack, out.is_free);
  cassini_options options;
  cassini_init_options(&options, sizeof options);
  options.node_limit = cancel != nullptr ? std::numeric_limits<int64_t>::max() : 1;
  return cassini_solve_links(&links, &options, cancel, &to, out.result, out.status, &out.error);
}

}  // namespace

TEST(a_call_that_begins_canceled_writes_its_error_alone) {
  int32_t cancel = 0;
  const PublicCalls calls(&cancel);
  cancel = 1;
  for (const PublicCall& call : calls.cancelable()) {
    Outputs out = blank();
    Outputs expected = blank();
    say(expected.error, CASSINI_ECANCELED);
    if (call.name == "solve_links" || call.name == "solve_prepared_links") none_reached(expected, 6);
    CHECK(call.run(out) == CASSINI_ECANCELED);
    CHECK(out == expected);
  }
}

TEST(a_batch_without_links_hears_the_flag) {
  const int32_t cancel = 1;
  auto links = sized<cassini_links>();
  auto error = sized<cassini_error>();
  Outputs out = blank();
  CHECK(cassini_solve_links(&links, nullptr, &cancel, nullptr, nullptr, nullptr, &out.error) == CASSINI_ECANCELED);
  Outputs expected = blank();
  none_reached(expected, 0);
  CHECK(out == expected);
  cassini_prepared_links* prepared = nullptr;
  CHECK(cassini_prepare_links(&links, nullptr, &cancel, &prepared, nullptr, &error) == CASSINI_ECANCELED);
  CHECK(prepared == nullptr && error.status == CASSINI_ECANCELED);
}

TEST(a_batch_canceled_on_the_way_keeps_what_was_solved_and_tells_of_the_first_that_was_not) {
  for (const bool with_refused : {false, true}) {
    const Mixed in(with_refused);
    Outputs expected = blank();
    CHECK(solve(in, nullptr, expected) == CASSINI_OK);  // the hard link too, cut short
    int32_t cancel = 0;
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      std::atomic_ref<int32_t>(cancel).store(1, std::memory_order_relaxed);
    });
    Outputs out = blank();
    CHECK(solve(in, &cancel, out) == CASSINI_ECANCELED);
    stopper.join();
    // The flag is seen at the hard link, or before it on a machine that was busy with something else.
    std::size_t reached = 0;
    while (reached < Mixed::kLinks && out.status[reached] != CASSINI_ECANCELED) ++reached;
    CHECK(reached <= 2);
    const Outputs untouched = blank();
    for (std::size_t i = reached; i < Mixed::kLinks; ++i) {
      expected.status[i] = CASSINI_ECANCELED;
      expected.result[i] = untouched.result[i];
      for (auto j = in.arrays.job_offset[i]; j < in.arrays.job_offset[i + 1]; ++j) {
        expected.shift[j] = untouched.shift[j];
        expected.slack[j] = untouched.slack[j];
        expected.is_free[j] = untouched.is_free[j];
      }
    }
    if (!with_refused || reached == 0) say(expected.error, CASSINI_ECANCELED, static_cast<int64_t>(reached));
    CHECK(out == expected);
    if (with_refused && reached > 0) {
      CHECK(out.status[0] == CASSINI_EINVAL && out.error.link == 0 && out.error.index == 0);
      CHECK(std::strcmp(out.error.argument, "phase_rate_kbps") == 0);
    }
  }
}
