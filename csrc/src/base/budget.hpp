// How much a call may still spend: nodes (reproducible), wall clock, and the caller's cancel flag.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <limits>

namespace cassini {

// The caller's cancel flag was seen. Becomes CASSINI_ECANCELED.
struct Canceled : std::exception {
  const char* what() const noexcept override { return "canceled"; }
};

class Budget {
 public:
  using Clock = std::chrono::steady_clock;

  Budget(int64_t node_limit, int64_t deadline_ns, const int32_t* cancel)
      : node_limit_(node_limit), cancel_(cancel), has_deadline_(deadline_ns != std::numeric_limits<int64_t>::max()) {
    // A hundred years stand for any longer deadline: the sum must not overflow.
    constexpr int64_t kLongest = int64_t{3155760000} * 1000000000;
    if (has_deadline_) deadline_ = Clock::now() + std::chrono::nanoseconds(std::min(deadline_ns, kLongest));
  }

  // Demand levels touched; a node limit would not bound time without them.
  int64_t work = 0;

  int64_t nodes() const { return expanded_ + work / 1024; }

  // Counts one node. False: stop now. Throws Canceled.
  bool spend() {
    if (!left()) return false;
    ++expanded_;
    return true;
  }

  // Like spend, without counting.
  bool left() {
    if (nodes() >= node_limit_) return stop(true);
    return in_time();
  }

  // Like left, whatever the nodes.
  bool in_time() {
    throw_if_canceled();
    if (has_deadline_ && Clock::now() >= deadline_) return stop(false);
    return true;
  }

  void throw_if_canceled() const {
    if (cancel_ != nullptr &&
        std::atomic_ref<int32_t>(*const_cast<int32_t*>(cancel_)).load(std::memory_order_relaxed) != 0) {
      throw Canceled{};
    }
  }

  // Levels that may be touched beside the search: less for who allows few nodes.
  int64_t work_beside(int64_t most) const { return node_limit_ < most / 32768 ? 32768 * node_limit_ : most; }

  bool out_of_nodes() const { return out_of_nodes_; }
  bool out_of_time() const { return out_of_time_; }

 private:
  bool stop(bool nodes) {
    (nodes ? out_of_nodes_ : out_of_time_) = true;
    return false;
  }

  int64_t node_limit_;
  int64_t expanded_ = 0;
  const int32_t* cancel_;
  bool has_deadline_;
  bool out_of_nodes_ = false;
  bool out_of_time_ = false;
  Clock::time_point deadline_{};
};

}  // namespace cassini
