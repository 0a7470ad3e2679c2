#include "check.hpp"

namespace cassini::test {

std::vector<Case>& cases() {
  static std::vector<Case> all;
  return all;
}

int& failures() {
  static int count = 0;
  return count;
}

}  // namespace cassini::test

int main() {
  for (const auto& one : cassini::test::cases()) {
    const int before = cassini::test::failures();
    one.run();
    std::printf("%s %s\n", cassini::test::failures() == before ? "ok  " : "FAIL", one.name);
  }
  std::printf("%zu cases, %d failed checks\n", cassini::test::cases().size(), cassini::test::failures());
  return cassini::test::failures() == 0 ? 0 : 1;
}
