// What a fuzz target makes of its input: numbers read from the front, zeros when the input has ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <limits>

namespace cassini::fuzz {

class Bytes {
 public:
  Bytes(const uint8_t* data, std::size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }

  uint8_t byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }

  int64_t any() {
    uint64_t out = 0;
    for (int i = 0; i < 8; ++i) out = out << 8 | byte();
    return static_cast<int64_t>(out);
  }

  // low .. high, of as many bytes as the range needs.
  int64_t in(int64_t low, int64_t high) {
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    uint64_t out = byte();
    for (uint64_t seen = 0xFF; seen < range; seen = seen << 8 | 0xFF) out = out << 8 | byte();
    if (range != std::numeric_limits<uint64_t>::max()) out %= range + 1;
    return static_cast<int64_t>(static_cast<uint64_t>(low) + out);
  }

  std::size_t index(std::size_t n) { return static_cast<std::size_t>(in(0, static_cast<int64_t>(n) - 1)); }

  // Once in n; never where the input has ended.
  bool once_in(int64_t n) { return !empty() && in(0, n - 1) == n - 1; }

  int64_t pick(std::initializer_list<int64_t> from) { return from.begin()[index(from.size())]; }

  // Numbers that programs get wrong, or any.
  int64_t wild() {
    constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
    constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
    constexpr int64_t kLimit = int64_t{1} << 40;
    const std::array<int64_t, 16> known{
        0,      1,          -1,         2,         kMin,      kMin + 1,        kMax,      kMax - 1,
        kLimit, kLimit + 1, kLimit - 1, 1LL << 53, 1LL << 32, (1LL << 31) - 1, 1LL << 60, 255000000};
    const std::size_t at = index(known.size() + 4);
    return at < known.size() ? known[at] : any();
  }

  double wild_real() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const std::array<double, 14> known{
        0.0,   -0.0,   1.0,    -1.0,   0.5,     kInfinity, -kInfinity,
        1e300, -1e300, 5e-324, 1e-300, 1.7e308, 1e18,      std::numeric_limits<double>::quiet_NaN()};
    const std::size_t at = index(known.size() + 2);
    return at < known.size() ? known[at] : static_cast<double>(any()) / static_cast<double>(1 << 20);
  }

 private:
  const uint8_t* data_;
  std::size_t left_;
};

}  // namespace cassini::fuzz

// A promise of the header that is broken ends the process: that is how fuzzing engines see it.
#define PROMISE(condition)                                                         \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)
