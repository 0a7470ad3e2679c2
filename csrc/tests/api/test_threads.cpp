// The same calls from eight threads at once give the same bytes, and a cancel flag set by another thread ends a search.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "c_structs.hpp"
#include "cassini/cassini.h"

using namespace cassini::test;

namespace {

constexpr int64_t kMs = 1000000;

struct Input {
  std::vector<int64_t> period, offset{0}, start, length, rate;
  int64_t capacity = 50 * kMs;
};

Input random_input(unsigned seed, int64_t jobs, int64_t phases) {
  std::mt19937 rng(seed);
  const auto pick = [&](int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(rng); };
  Input in;
  for (int64_t j = 0; j < jobs; ++j) {
    in.period.push_back(255 * kMs);
    for (int64_t i = 0; i < phases; ++i) {
      in.start.push_back(pick(0, 254 * kMs));
      in.length.push_back(pick(1, 60 * kMs));
      in.rate.push_back(pick(1, 50 * kMs));
    }
    in.offset.push_back(static_cast<int64_t>(in.start.size()));
  }
  return in;
}

struct Output {
  std::vector<int64_t> shift, slack;
  std::vector<uint8_t> is_free;
  cassini_link_result result;
  int32_t status;
  explicit Output(std::size_t n) : shift(n), slack(n), is_free(n), result(), status(0) {
    result.size = sizeof(cassini_link_result);
  }
  bool operator==(const Output& o) const {
    return status == o.status && shift == o.shift && slack == o.slack && is_free == o.is_free &&
           std::memcmp(&result, &o.result, sizeof result) == 0;
  }
};

Output solve(const Input& in, const cassini_options* options, const int32_t* cancel = nullptr) {
  const int64_t n_jobs = length_of(in.period);
  Output out(in.period.size());
  const cassini_link link = link_of(in.capacity, 0, n_jobs, in.period, in.offset, in.start, in.length, in.rate);
  const cassini_link_output to = link_output(out.shift.data(), out.slack.data(), out.is_free.data());
  out.status = cassini_solve_link(&link, options, cancel, &to, &out.result, nullptr);
  return out;
}

// A ring of jobs with a link between neighbours, and joint problems beside it.
struct Ring {
  static constexpr int64_t kJobs = 24;
  std::vector<int64_t> period, job_offset{0}, phase_offset{0}, start, length, rate, capacity, link, member;
  cassini_prepared_links* prepared = nullptr;
  cassini_baseline* baseline = nullptr;

  Ring() {
    std::mt19937 rng(7);
    const Input jobs = random_input(7, kJobs, 2);
    for (int64_t i = 0; i < kJobs; ++i) {
      for (const int64_t j : {i, (i + 1) % kJobs, (i + 5) % kJobs}) {
        const auto k = static_cast<std::size_t>(2 * j);
        period.push_back(255 * kMs);
        start.insert(start.end(), {jobs.start[k], jobs.start[k + 1]});
        length.insert(length.end(), {jobs.length[k], jobs.length[k + 1]});
        rate.insert(rate.end(), {jobs.rate[k], jobs.rate[k + 1]});
        phase_offset.push_back(static_cast<int64_t>(start.size()));
        member.push_back(j);
      }
      job_offset.push_back(static_cast<int64_t>(period.size()));
      capacity.push_back(50 * kMs);
      link.push_back(i);
    }
    std::vector<int32_t> status(kJobs);
    const cassini_links links = links_of(capacity, job_offset, period, phase_offset, start, length, rate);
    cassini_prepare_links(&links, nullptr, nullptr, &prepared, status.data(), nullptr);
    const std::vector<int64_t> zero(kJobs, 0), jobs_of_ring(kJobs, 255 * kMs);
    // The last four links are only in problems beside the baseline.
    const std::vector<int64_t> kept(link.begin(), link.end() - 4), on_kept(member.begin(), member.end() - 12);
    const cassini_joint joint = joint_of(jobs_of_ring, kept, on_kept);
    cassini_prepare_baseline(prepared, &joint, zero.data(), nullptr, nullptr, &baseline, nullptr);
  }
  ~Ring() {
    cassini_free_baseline(baseline);
    cassini_free_prepared_links(prepared);
  }

  // Without one link, and with one of the last four.
  std::vector<int64_t> beside(int64_t dropped, int64_t added) const {
    cassini_options options;
    cassini_init_options(&options, sizeof options);
    options.node_limit = 2000;
    std::vector<int64_t> shift(kJobs);
    std::vector<double> lower(kJobs), upper(kJobs);
    auto result = sized<cassini_joint_result>();
    const int64_t which = kJobs - 1 - added;
    const std::vector<int64_t> gone{dropped}, come{which};
    const std::vector<int64_t> on_come(member.begin() + 3 * which, member.begin() + 3 * which + 3);
    const cassini_delta delta = delta_of(gone, come, on_come);
    const cassini_joint_output to = joint_output(shift.data(), lower.data(), upper.data());
    const int32_t status = cassini_solve_delta(baseline, &delta, &options, nullptr, &to, &result, nullptr);
    shift.push_back(status);
    shift.push_back(static_cast<int64_t>(result.nodes));
    shift.push_back(static_cast<int64_t>(std::llround(result.score * 1e15)));
    return shift;
  }
};

int beside_from_many_threads() {
  const Ring ring;
  std::vector<std::vector<int64_t>> expected;
  for (int64_t k = 0; k < 40; ++k) expected.push_back(ring.beside(k % 20, k % 4));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = 0; i < 40; ++i) {
        const int64_t k = (i + 5 * t) % 40;
        if (ring.beside(k % 20, k % 4) != expected[static_cast<std::size_t>(k)]) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& one : expected) wrong += one[Ring::kJobs] != CASSINI_OK;
  return wrong;
}

}  // namespace

int main() {
  int failures = beside_from_many_threads();
  std::vector<Input> inputs;
  std::vector<Output> expected;
  for (unsigned seed = 0; seed < 20; ++seed) {
    inputs.push_back(random_input(seed, 2 + seed % 3, 1 + seed % 3));
    expected.push_back(solve(inputs.back(), nullptr));
    if (expected.back().status != CASSINI_OK) ++failures;
  }
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const std::size_t k = (i + t) % inputs.size();
        if (!(solve(inputs[k], nullptr) == expected[k])) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  failures += wrong;

  Input hard = random_input(99, 10, 4);  // as much demand as capacity: no bound is tight, minutes of work
  hard.capacity = 0;
  for (std::size_t i = 0; i < hard.length.size(); ++i) hard.capacity += hard.length[i] * hard.rate[i] / (255 * kMs);
  cassini_options options;
  cassini_init_options(&options, sizeof options);
  int32_t cancel = 0;
  options.node_limit = std::numeric_limits<int64_t>::max();
  const std::clock_t begin = std::clock();  // of the processor: a busy machine may stop us meanwhile
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::atomic_ref<int32_t>(cancel).store(1);
  });
  const Output canceled = solve(hard, &options, &cancel);
  stopper.join();
  const double worked_s = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  if (canceled.status != CASSINI_ECANCELED || canceled.shift[0] != 0 || worked_s > 5) {
    std::printf("cancel: status %d after %.3f s\n", canceled.status, worked_s);
    ++failures;
  }
  std::printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
