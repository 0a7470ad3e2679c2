// Whether this thread can throw at all.
#pragma once

#include <cstdlib>
#include <exception>

namespace cassini {

// False: there is no memory. True: an exception may be thrown on this thread.
//
// The C++ runtime counts exceptions in thread-local storage. Where it came with dlopen, as under Python, the loader
// allocates that storage when the thread throws for the first time, and ends the process if it cannot: running out of
// memory would be the end of the host. So it is asked for before anything is thrown, once there is seen to be room, and
// then stays. Between the two another thread may take the room; nothing that a library can do prevents that.
inline bool ready_to_throw() noexcept {
  constexpr std::size_t kRoom = 4096;  // bytes; some 50 for the storage, 16 per loaded library for the table of it
  void* volatile room = std::malloc(kRoom);
  if (room == nullptr) return false;
  std::free(room);
  return std::uncaught_exceptions() >= 0;
}

}  // namespace cassini
