// The least a test needs: named cases, and a check that says where it failed.
#pragma once

#include <cstdio>
#include <vector>

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
