// A library to be preloaded: C++ allocations of the whole process fail when asked to. Python and NumPy allocate by other
// ways, so that what fails is the kernel alone.
#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> countdown{-1};  // below 0: nothing fails
std::atomic<bool> ever_after{false};
std::atomic<long> failed{0};

void* allocate(std::size_t n) {
  if (countdown.load() >= 0) {
    const long left = countdown.load() > 0 ? countdown.fetch_sub(1) : 0;
    if (left <= 0) {
      if (!ever_after) countdown = -1;
      ++failed;
      return nullptr;
    }
  }
  return std::malloc(n > 0 ? n : 1);
}

}  // namespace

extern "C" {
// The allocation after `n` others fails, and with `rest` all that follow.
void fail_after(long n, int rest) {
  failed = 0;
  ever_after = rest != 0;
  countdown = n;
}

// Nothing fails any more. How many allocations did.
long fail_no_more() {
  countdown = -1;
  return failed;
}
}

void* operator new(std::size_t n) {
  void* block = allocate(n);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate(n); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate(n); }
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete[](void* block, std::size_t) noexcept { std::free(block); }
