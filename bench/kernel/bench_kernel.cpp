// Micro-benchmark of the kernel's loops: excess, marginal, pair, search.
//
//   bench_kernel                     nanoseconds and bytes per operation, every loop
//   bench_kernel LOOP COUNT          runs one loop COUNT times and prints nothing: for counting instructions
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "base/budget.hpp"
#include "cassini/cassini.h"
#include "demand/folded_demand.hpp"
#include "demand/job_pattern.hpp"
#include "demand/link_problem.hpp"
#include "demand/marginal.hpp"
#include "link/branch_and_bound.hpp"

namespace {

using namespace cassini;

constexpr int64_t kMs = 1000000;
constexpr int64_t kNone = std::numeric_limits<int64_t>::max();

// Fixed inputs: `jobs` jobs of `phases` phases, 255 ms, 50 Gbit/s, Up for `load` of the time all together.
struct Input {
  std::vector<int64_t> period, offset{0}, start, length, rate;
  int64_t capacity = 50 * kMs;
};

Input input(unsigned seed, int64_t jobs, int64_t phases, double load) {
  std::mt19937 rng(seed);
  const auto pick = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(rng() % static_cast<uint32_t>(high - low + 1));  // the same on every library
  };
  Input in;
  for (int64_t j = 0; j < jobs; ++j) {
    in.period.push_back(255 * kMs);
    for (int64_t i = 0; i < phases; ++i) {
      in.start.push_back(pick(0, 254) * kMs);
      in.length.push_back(std::max<int64_t>(1, static_cast<int64_t>(load * 255.0) / (jobs * phases) + pick(-3, 3)) *
                          kMs);
      in.rate.push_back(pick(30, 50) * kMs);
    }
    in.offset.push_back(static_cast<int64_t>(in.start.size()));
  }
  return in;
}

Link link_of(const Input& in) {
  std::vector<JobPattern> jobs;
  for (std::size_t j = 0; j < in.period.size(); ++j) {
    std::vector<Phase> phases;
    for (auto i = static_cast<std::size_t>(in.offset[j]); i < static_cast<std::size_t>(in.offset[j + 1]); ++i) {
      phases.push_back({in.start[i], in.length[i], in.rate[i]});
    }
    jobs.push_back(make_pattern(in.period[j], phases, kMs));
  }
  const std::size_t n = jobs.size();
  return make_link(std::move(jobs), std::vector<uint8_t>(n, 0), static_cast<double>(in.capacity / kMs), {});
}

double sink = 0.0;

void solve(const Input& in, int64_t* slack) {
  int64_t shift[8];
  uint8_t is_free[8];
  cassini_link link{};
  link.size = sizeof link;
  link.capacity_kbps = in.capacity;
  link.n_jobs = static_cast<int64_t>(in.period.size());
  link.period_ns = in.period.data();
  link.phase_offset = in.offset.data();
  link.n_phases = static_cast<int64_t>(in.start.size());
  link.phase_start_ns = in.start.data();
  link.phase_length_ns = in.length.data();
  link.phase_rate_kbps = in.rate.data();
  const cassini_link_output output{sizeof output, shift, slack, is_free};
  cassini_link_result result{};
  result.size = sizeof result;
  cassini_options options;
  cassini_init_options(&options, sizeof options);
  options.node_limit = kNone;
  cassini_solve_link(&link, &options, nullptr, &output, &result, nullptr);
  sink += result.score_lower;
}

struct Loop {
  const char* name;
  void (*run)(int64_t count);
};

template <int Jobs, int Phases>
void run_excess(int64_t count) {
  static const Link link = link_of(input(1, Jobs, Phases, 1.0));
  std::vector<int64_t> shift(link.size());
  int64_t work = 0;
  for (int64_t i = 0; i < count; ++i) {
    for (std::size_t m = 0; m < shift.size(); ++m) shift[m] = (i * 7 + static_cast<int64_t>(m) * 31) % 255 * kMs;
    sink += link.excess(shift, &work);
  }
}

template <int Jobs, int Phases>
void run_marginal(int64_t count) {
  static const Link link = link_of(input(2, Jobs, Phases, 1.0));
  std::vector<int64_t> shift(link.size(), 0);
  int64_t work = 0;
  Demand others;
  link.total(shift, 0, others, &work);
  Marginal marginal;
  Kinks kinks;
  Values values;
  for (int64_t i = 0; i < count; ++i) {
    marginal.build(others, link.pattern(0), link.capacity, &work);
    marginal.profile(kinks, values);
    sink += values.back();
  }
}

template <int Jobs, int Phases>
void run_search(int64_t count) {
  static const Link link = link_of(input(3, Jobs, Phases, 1.3));
  for (int64_t i = 0; i < count; ++i) {
    Budget budget(kNone, kNone, nullptr);
    sink += search(link, budget).excess;
  }
}

template <int Jobs, int Phases, bool Slack>
void run_solve(int64_t count) {
  static const Input in = input(4, Jobs, Phases, 1.0);
  int64_t slack[8];
  for (int64_t i = 0; i < count; ++i) solve(in, Slack ? slack : nullptr);
}

constexpr Loop kLoops[] = {
    {"excess-2x1", run_excess<2, 1>},           {"excess-4x3", run_excess<4, 3>},
    {"excess-8x3", run_excess<8, 3>},           {"marginal-2x1", run_marginal<2, 1>},
    {"marginal-4x3", run_marginal<4, 3>},       {"search-3x1", run_search<3, 1>},
    {"search-4x3", run_search<4, 3>},           {"solve-2x1", run_solve<2, 1, true>},
    {"solve-2x3", run_solve<2, 3, true>},       {"solve-3x1", run_solve<3, 1, true>},
    {"solve-3x3", run_solve<3, 3, true>},       {"solve-4x3", run_solve<4, 3, true>},
    {"score-only-2x1", run_solve<2, 1, false>}, {"score-only-3x1", run_solve<3, 1, false>},
    {"score-only-3x3", run_solve<3, 3, false>},
};

double nanoseconds(const Loop& loop) {
  using Clock = std::chrono::steady_clock;
  loop.run(1);
  int64_t count = 1;
  double best = std::numeric_limits<double>::infinity();
  for (int round = 0; round < 9;) {
    const auto begin = Clock::now();
    loop.run(count);
    const double took = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
    if (took < 5e6) {
      count *= 2;
      continue;
    }
    best = std::min(best, took / static_cast<double>(count));
    ++round;
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3) {
    for (const Loop& loop : kLoops) {
      if (std::strcmp(loop.name, argv[1]) == 0) {
        loop.run(std::atoll(argv[2]));
        return 0;
      }
    }
    std::fprintf(stderr, "bench_kernel: no loop %s\n", argv[1]);
    return 2;
  }
  if (argc == 2 && std::strcmp(argv[1], "--list") == 0) {
    for (const Loop& loop : kLoops) std::printf("%s\n", loop.name);
    return 0;
  }
  for (const Loop& loop : kLoops) std::printf("%-16s %12.1f ns\n", loop.name, nanoseconds(loop));
  return sink == 0.12345 ? 1 : 0;  // keeps the loops
}
