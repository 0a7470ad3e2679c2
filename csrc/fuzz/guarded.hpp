// Memory that a kernel function is given to write to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define CASSINI_FUZZ_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CASSINI_FUZZ_POISONS 1
#endif
#endif
#ifdef CASSINI_FUZZ_POISONS
#include <sanitizer/asan_interface.h>
#endif

#include "bytes.hpp"

namespace cassini::fuzz {

// An output array between guard zones. Under the address sanitizer the zones cannot even be read; without it a write
// there is seen when the array goes.
template <class T>
class Output {
 public:
  explicit Output(std::size_t n) : n_(n), raw_((n + 2 * kGuard) * sizeof(T), kPattern) { poison(true); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;
  ~Output() {
    poison(false);
    const auto intact = [](uint8_t byte) { return byte == kPattern; };
    PROMISE(std::all_of(raw_.begin(), raw_.begin() + bytes(kGuard), intact));
    PROMISE(std::all_of(raw_.end() - bytes(kGuard), raw_.end(), intact));
  }

  T* data() { return reinterpret_cast<T*>(raw_.data()) + kGuard; }
  std::size_t size() const { return n_; }
  T& operator[](std::size_t i) { return data()[i]; }

  // A call that failed has to leave this as it was.
  void remember() { before_.assign(inner(), inner() + bytes(n_)); }
  bool unchanged() const { return std::equal(before_.begin(), before_.end(), inner()); }
  bool same(const Output& other) const {
    return n_ == other.n_ && std::equal(inner(), inner() + bytes(n_), other.inner());
  }

 private:
  static constexpr std::size_t kGuard = 64 / sizeof(T) > 0 ? 64 / sizeof(T) : 1;
  static constexpr uint8_t kPattern = 0xA5;

  static std::ptrdiff_t bytes(std::size_t n) { return static_cast<std::ptrdiff_t>(n * sizeof(T)); }
  const uint8_t* inner() const { return raw_.data() + bytes(kGuard); }

  void poison([[maybe_unused]] bool on) {
#ifdef CASSINI_FUZZ_POISONS
    for (const std::ptrdiff_t at : {std::ptrdiff_t{0}, bytes(kGuard + n_)}) {
      if (on) ASAN_POISON_MEMORY_REGION(raw_.data() + at, kGuard * sizeof(T));
      if (!on) ASAN_UNPOISON_MEMORY_REGION(raw_.data() + at, kGuard * sizeof(T));
    }
#endif
  }

  std::size_t n_;
  std::vector<uint8_t> raw_;
  std::vector<uint8_t> before_;
};

// An array of structs of the kernel that begin with their size, as callers of other ages have them: `words` of 8 bytes
// each.
template <class T>
class Results {
 public:
  Results(std::size_t n, std::size_t words) : words_(words), raw_(n * words) {
    for (std::size_t i = 0; i < n; ++i) size(i) = static_cast<int64_t>(words * sizeof(int64_t));
  }
  static constexpr std::size_t kWords = sizeof(T) / sizeof(int64_t);

  T* data() { return reinterpret_cast<T*>(raw_.data()); }
  int64_t& size(std::size_t i) { return raw_[i * words_]; }
  T operator[](std::size_t i) {
    T out{};
    std::memcpy(&out, raw_.data() + i * words_, std::min(words_, kWords) * sizeof(int64_t));
    return out;
  }
  // What came back of the size the caller gave, with zeros where the caller knows more fields than the library.
  bool well_sized(std::size_t i) {
    for (std::size_t w = kWords; w < words_; ++w) {
      if (raw_[i * words_ + w] != 0) return false;
    }
    return size(i) == static_cast<int64_t>(words_ * sizeof(int64_t));
  }
  void remember() { raw_.remember(); }
  bool unchanged() const { return raw_.unchanged(); }
  bool same(const Results& other) const { return raw_.same(other.raw_); }

 private:
  std::size_t words_;
  Output<int64_t> raw_;
};

}  // namespace cassini::fuzz
