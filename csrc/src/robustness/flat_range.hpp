// Where the marginal of one job stays flat: how far it may move, and the widest interval on which it is least (F5).
#pragma once

#include <cstdint>

#include "demand/marginal.hpp"

namespace cassini {

struct Reach {
  int64_t early = 0;  // ticks towards smaller shifts
  int64_t late = 0;
  bool everywhere = false;  // no shift is worse: early and late mean nothing
};

// Kinks worth reading for one slack of many.
inline constexpr std::size_t kReadable = std::size_t{1} << 15;

struct Reaches {
  Reach near;
  Reach far;
  double value = 0.0;  // of the marginal at the shift
};

// How far the job of `marginal` may move from `shift` with marginal.at(.) at most so much above its value there, all the
// way, for two tolerances near <= far; less where more than `readable` kinks make that too much to find out.
Reaches reaches(const Marginal& marginal, int64_t shift, double near, double far, std::size_t readable, int64_t* work);

struct Optimum {
  int64_t shift = 0;
  double excess = 0.0;  // marginal
};

// The middle of the widest interval on which the marginal is least; the first on ties.
Optimum widest_minimum(const Marginal& marginal, double noise);

}  // namespace cassini
