// A demand gone through interval by interval, round and round.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/periods.hpp"
#include "demand/folded_demand.hpp"

namespace cassini {

class IntervalCursor {
 public:
  IntervalCursor() = default;

  // Delayed by `delay`, from time 0 on, until `modulus` at least.
  IntervalCursor(const Demand& demand, int64_t delay, int64_t modulus)
      : begin_(demand.begin.data()),
        offset_(demand.offset.data()),
        atoms_(demand.atoms.data()),
        size_(demand.size()),
        modulus_(demand.modulus),
        next_(modulus) {
    if (size_ > 1) {  // else the same everywhere, however short its circle: it has no next change
      const int64_t at = wrap(-delay, modulus_);
      while (i_ + 1 < size_ && begin_[i_ + 1] <= at) ++i_;
      origin_ = -at;
      next_ = origin_ + end();
    }
  }

  // When the interval ends.
  int64_t next() const { return next_; }

  // Its levels.
  const Atom* first() const { return atoms_ + offset_[i_]; }
  const Atom* last() const { return atoms_ + offset_[i_ + 1]; }

  void advance() {
    if (++i_ == size_) {
      i_ = 0;
      origin_ += modulus_;
    }
    next_ = origin_ + end();
  }

 private:
  int64_t end() const { return i_ + 1 < size_ ? begin_[i_ + 1] : modulus_; }

  const int64_t* begin_ = nullptr;
  const uint32_t* offset_ = nullptr;
  const Atom* atoms_ = nullptr;
  std::size_t size_ = 0;
  int64_t modulus_ = 1;
  std::size_t i_ = 0;
  int64_t origin_ = 0;  // when its circle began
  int64_t next_ = 0;
};

}  // namespace cassini
