#include "stance.hpp"

#include <numeric>
#include <utility>

namespace cassini {
namespace {

__extension__ using Wide = unsigned __int128;

// a * b modulo m, all of them at least 0.
int64_t product(int64_t a, int64_t b, int64_t m) {
  return static_cast<int64_t>(static_cast<Wide>(a) * static_cast<Wide>(b) % static_cast<Wide>(m));
}

// What times a is 1 modulo m, for a without a common factor with m.
int64_t inverse(int64_t a, int64_t m) {
  int64_t r = m;
  int64_t next_r = wrap(a, m);
  int64_t x = 0;
  int64_t next_x = 1;
  while (next_r != 0) {
    const int64_t q = r / next_r;
    r = std::exchange(next_r, r - q * next_r);
    x = std::exchange(next_x, x - q * next_x);
  }
  return wrap(x, m);
}

}  // namespace

void take_stance(const Link& link, std::span<int64_t> shift) {
  int64_t by = 0;    // all jobs are turned earlier by this
  int64_t turn = 1;  // and may be turned further by this, as far as those already looked at say
  for (std::size_t m = 0; m < shift.size(); ++m) {
    const int64_t own = link.turn[m];
    int64_t to = wrap(wrap(shift[m], own) - by % own, own);
    const int64_t both = lcm_capped(turn, own);
    if (both != turn && both < kTooLarge) {
      const int64_t step = std::gcd(turn, own);
      const int64_t lifts = own / step;
      const int64_t k = product(to / step % lifts, inverse(turn / step, lifts), lifts);
      by += k * turn;
      to %= step;
    }
    turn = both;  // once too large it stays so
    shift[m] = to;
  }
}

}  // namespace cassini
