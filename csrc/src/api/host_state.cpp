#include "api/host_state.hpp"

#include <cerrno>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace cassini {

#if defined(__SSE2__)

constexpr unsigned kPowerOnControl = 0x1F80;  // Intel SDM vol. 1, 10.2.3: all masked, to nearest, no flushing, no flags

HostState::HostState() noexcept : errno_(errno), control_(_mm_getcsr()) { _mm_setcsr(kPowerOnControl); }

HostState::~HostState() {
  _mm_setcsr(control_);
  errno = errno_;
}

#else

HostState::HostState() noexcept : errno_(errno) {
  std::feholdexcept(&environment_);
  std::fesetenv(FE_DFL_ENV);
}

HostState::~HostState() {
  std::fesetenv(&environment_);
  errno = errno_;
}

#endif

}  // namespace cassini
