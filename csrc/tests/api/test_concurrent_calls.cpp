// Every function of cassini.h from eight threads at once, on the same inputs, links and baselines: each gives the same
// bytes as alone. Then again while yet another thread raises and lowers the cancel flag of all of them.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "api/public_calls.hpp"

namespace {

using cassini::test::blank;
using cassini::test::Outputs;
using cassini::test::PublicCall;
using cassini::test::PublicCalls;

constexpr unsigned kThreads = 8;
constexpr int kRounds = 3;

struct Tally {
  std::atomic<int> calls{0}, canceled{0}, wrong{0};
};

void call_all(const PublicCalls& calls, unsigned seed, Tally& tally) {
  std::vector<std::size_t> order(calls.all().size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 rng(seed);
  for (int round = 0; round < kRounds; ++round) {
    std::shuffle(order.begin(), order.end(), rng);
    for (const std::size_t i : order) {
      const PublicCall& call = calls.all()[i];
      Outputs out = blank();
      const int32_t status = call.run(out);
      ++tally.calls;
      if (status == CASSINI_ECANCELED) ++tally.canceled;
      if (PublicCalls::kept_promise(call, status, out, CASSINI_ECANCELED)) continue;
      ++tally.wrong;
      std::printf("%s: status %d\n", call.name.c_str(), status);
    }
  }
}

void call_from_threads(const PublicCalls& calls, Tally& tally) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) threads.emplace_back([&, t] { call_all(calls, t + 1, tally); });
  for (std::thread& thread : threads) thread.join();
}

int undisturbed() {
  const PublicCalls calls;
  Tally tally;
  call_from_threads(calls, tally);
  std::printf("%d calls, %d wrong\n", tally.calls.load(), tally.wrong.load());
  return tally.wrong + tally.canceled;
}

int canceled() {
  int32_t cancel = 0;
  const PublicCalls calls(&cancel);
  Tally tally;
  std::atomic<bool> done{false};
  std::thread canceler([&] {
    const std::atomic_ref<int32_t> flag(cancel);
    while (!done) {
      flag.store(1, std::memory_order_relaxed);
      std::this_thread::sleep_for(std::chrono::microseconds(50));
      flag.store(0, std::memory_order_relaxed);
      std::this_thread::sleep_for(std::chrono::microseconds(150));
    }
  });
  call_from_threads(calls, tally);
  done = true;
  canceler.join();
  std::printf("%d calls, %d canceled, %d wrong\n", tally.calls.load(), tally.canceled.load(), tally.wrong.load());
  return tally.wrong + (tally.canceled == 0);
}

}  // namespace

int main() { return undisturbed() + canceled() == 0 ? 0 : 1; }
