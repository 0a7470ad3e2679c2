#include "link/canonical_shifts.hpp"

#include <numeric>
#include <utility>

#include "base/periods.hpp"

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

CanonicalShifts::CanonicalShifts(const Link& link) {
  int64_t common = 1;
  for (const int64_t modulus : link.modulus) {
    const int64_t next = lcm_capped(common, modulus);
    Member& at = member_.emplace_back(Member{modulus, common, modulus, 0});
    if (next != common && next < kTooLarge) {
      at.step = std::gcd(common, modulus);
      at.inverse = inverse(common / at.step, modulus / at.step);
    }
    common = next;  // once too large it stays so
  }
}

void CanonicalShifts::apply(std::span<int64_t> shift) const {
  int64_t by = 0;  // all jobs are rotated earlier by this; below the common modulus of those already looked at
  for (std::size_t m = 0; m < shift.size(); ++m) {
    const Member& at = member_[m];
    int64_t to = wrap(wrap(shift[m], at.modulus) - wrap(by, at.modulus), at.modulus);
    if (to >= at.step) {
      const int64_t lifts = at.modulus / at.step;
      by += at.common * product(to / at.step, at.inverse, lifts);
      to %= at.step;
    }
    shift[m] = to;
  }
}

}  // namespace cassini
