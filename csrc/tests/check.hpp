// The least a test needs: named cases, a check that says where it failed, and random link problems with an oracle.
#pragma once

#include <cstdint>
#include <cstdio>
#include <random>
#include <span>
#include <vector>

#include "circle.hpp"
#include "link.hpp"

namespace cassini::test {

struct Case {
  const char* name;
  void (*run)();
};

std::vector<Case>& cases();
int& failures();

struct Register {
  Register(const char* name, void (*run)()) { cases().push_back({name, run}); }
};

// A link of a few jobs with small whole periods, some wrapping, overlapping, constant or silent.
struct Problem {
  std::vector<int64_t> period;
  std::vector<std::vector<Phase>> phases;
  int64_t capacity = 1;
  std::vector<Circle> circles() const;
};

Problem random_problem(std::mt19937& rng, std::size_t n_jobs, std::span<const int64_t> periods, int max_phases);

// Mean excess by laying out every tick of the LCM circle: shares no code with the kernel.
double excess_by_ticks(const Problem& problem, std::span<const int64_t> shift);

// Least mean excess over all whole shifts, the first job at 0.
double best_by_ticks(const Problem& problem);

}  // namespace cassini::test

#define TEST(name)                                                    \
  static void name();                                                 \
  static const cassini::test::Register register_##name(#name, &name); \
  static void name()

#define CHECK(condition)                                                  \
  do {                                                                    \
    if (!(condition)) {                                                   \
      std::printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      ++cassini::test::failures();                                        \
    }                                                                     \
  } while (false)
