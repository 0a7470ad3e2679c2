// Where an answer may move without losing: plateaus, slack and hold (F5).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "budget.hpp"
#include "link.hpp"
#include "marginal.hpp"

namespace cassini {

struct Reach {
  int64_t early = 0;  // ticks towards smaller shifts
  int64_t late = 0;
  bool everywhere = false;  // no shift is worse: early and late mean nothing
};

// Kinks worth reading for one slack of many.
inline constexpr std::size_t kReadable = std::size_t{1} << 15;

// How far the job of `marginal` may move from `shift` with marginal.at(.) at most `tolerance` above its value there, all
// the way; less where more than `readable` kinks make that too much to find out.
Reach reach(const Marginal& marginal, int64_t shift, double tolerance, std::size_t readable, int64_t* work);

// The same for two tolerances, near <= far, for little more than one.
struct Reaches {
  Reach near;
  Reach far;
  double value = 0.0;  // of the marginal at the shift
};
Reaches reaches(const Marginal& marginal, int64_t shift, double near, double far, std::size_t readable, int64_t* work);

struct Optimum {
  int64_t shift = 0;
  double excess = 0.0;  // marginal
};

// The middle of the widest interval on which the marginal is least; the first on ties.
Optimum widest_minimum(const Marginal& marginal, double noise);

struct Hold {
  std::vector<int64_t> slack;  // [jobs of the link] ticks
  int64_t hold = 0;            // ticks
};

// What is known of the shifts already: their mean excess, and the slack of the movable jobs where it was computed.
struct Known {
  double excess;
  std::span<const int64_t> slack;  // [movable], or empty
};

// Slack and hold of given shifts [movable]: exact slack, certified hold; out of time, less. `tolerance` is a mean excess
// in the link's unit.
Hold slack_and_hold(const Link& link, std::span<const int64_t> shift, const Known& known, double tolerance,
                    Budget& budget);
Hold slack_and_hold(const Link& link, std::span<const int64_t> shift, double tolerance, Budget& budget);

// Moves single jobs within their plateaus as long as that raises the least slack; the excess never grows.
// Returns the slack of the movable jobs where it ends; none for a pair, which stands in the middle already.
std::vector<int64_t> centre(const Link& link, std::vector<int64_t>& shift, double tolerance, Budget& budget);

}  // namespace cassini
