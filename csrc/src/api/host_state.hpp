// What belongs to the host and may not be changed by a call: errno and the floating-point environment.
#pragma once

#include <cfenv>

namespace cassini {

// Within its scope floating point works as the kernel was tested: to nearest, with denormals, nothing trapped. A host
// may have flushing to zero (common beside neural networks), another rounding or traps switched on; bounds would not be
// certified under the first two, and the third would end the process at the first inexact sum. Afterwards everything is
// as it was, the exception flags too.
class HostState {
 public:
  HostState() noexcept;
  ~HostState();
  HostState(const HostState&) = delete;
  HostState& operator=(const HostState&) = delete;

 private:
  int errno_;
#if defined(__SSE2__)
  unsigned control_;  // MXCSR; the kernel does not touch the x87 unit, whose state takes 50 times as long to save
#else
  std::fenv_t environment_;
#endif
};

}  // namespace cassini
