// Allocations fail, one after the other, in every function of cassini.h: each call still returns, says ENOMEM or gives
// the usual answer, leaves all outputs untouched where it refuses, and keeps no memory.
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <random>

#include "api/public_calls.hpp"

namespace {

struct Heap {
  enum Mode { kNever, kOne, kRest, kRandom };
  Mode mode = kNever;
  int64_t countdown = 0;  // kOne, kRest: allocations until the first that fails
  int64_t failed = 0;
  int64_t live = 0;
  std::minstd_rand rng;

  bool refuses() {
    bool out = false;
    if (mode == kOne) out = countdown-- == 0;
    if (mode == kRest) out = countdown-- <= 0;
    if (mode == kRandom) out = rng() % 8 == 0;
    failed += out;
    return out;
  }
};

Heap heap;  // of one thread

void* counted(void* block) {
  heap.live += block != nullptr;
  return block;
}

}  // namespace

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Of the program, and so of all its libraries: what the C++ runtime allocates for itself fails too.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t n) { return heap.refuses() ? nullptr : counted(__libc_malloc(n)); }
void* calloc(std::size_t n, std::size_t size) { return heap.refuses() ? nullptr : counted(__libc_calloc(n, size)); }
void* realloc(void* block, std::size_t n) {
  if (heap.refuses()) return nullptr;
  void* moved = __libc_realloc(block, n);
  heap.live += block == nullptr && moved != nullptr;
  return moved;
}
void* aligned_alloc(std::size_t alignment, std::size_t n) {
  return heap.refuses() ? nullptr : counted(__libc_memalign(alignment, n));
}
void* memalign(std::size_t alignment, std::size_t n) { return aligned_alloc(alignment, n); }
int posix_memalign(void** out, std::size_t alignment, std::size_t n) {
  void* block = aligned_alloc(alignment, n);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
void free(void* block) {
  heap.live -= block != nullptr;
  __libc_free(block);
}
}
#else
// A sanitizer has malloc for itself: what is left is operator new, which is all that the kernel allocates by.
void* operator new(std::size_t n) {
  void* block = heap.refuses() ? nullptr : counted(std::malloc(n));
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
  return heap.refuses() ? nullptr : counted(std::malloc(n));
}
void* operator new[](std::size_t n) { return operator new(n); }
void* operator new[](std::size_t n, const std::nothrow_t& how) noexcept { return operator new(n, how); }
void operator delete(void* block) noexcept {
  heap.live -= block != nullptr;
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
void operator delete(void* block, const std::nothrow_t&) noexcept { operator delete(block); }
void operator delete[](void* block) noexcept { operator delete(block); }
void operator delete[](void* block, std::size_t) noexcept { operator delete(block); }
void operator delete[](void* block, const std::nothrow_t&) noexcept { operator delete(block); }
#endif

namespace {

using cassini::test::blank;
using cassini::test::Outputs;
using cassini::test::PublicCall;
using cassini::test::PublicCalls;

struct Tally {
  int64_t calls = 0, refused = 0, wrong = 0;
};

const PublicCall* running = nullptr;
int64_t at = 0;

[[noreturn]] void name_it() {
  heap.mode = Heap::kNever;
  std::printf("%s, allocation %lld: the process would end here\n", running->name.c_str(), static_cast<long long>(at));
  std::abort();
}

// Whether anything failed. The call is made again without failures now and then: nothing may be left of it.
bool disturb(const PublicCall& call, Heap::Mode mode, int64_t n, Tally& tally) {
  running = &call;
  at = n;
  Outputs out = blank();
  const int64_t before = heap.live;
  heap.failed = 0;
  heap.countdown = n;
  heap.mode = mode;
  const int32_t status = call.run(out);
  heap.mode = Heap::kNever;
  const int64_t left = heap.live - before;
  bool right = PublicCalls::kept_promise(call, status, out, CASSINI_ENOMEM) && left == 0;
  if (heap.failed == 0) right = right && status == call.status;
  ++tally.calls;
  tally.refused += status == CASSINI_ENOMEM;
  if (tally.calls % 16 == 0) {
    Outputs again = blank();
    right = right && call.run(again) == call.status && again == call.expected;
  }
  if (!right) {
    std::printf("%s, mode %d, allocation %lld: status %d, %lld blocks left\n", call.name.c_str(), mode,
                static_cast<long long>(n), status, static_cast<long long>(left));
    ++tally.wrong;
  }
  return heap.failed > 0;
}

// Each of the first allocations, and of the later ones a sample that thins out: some calls make thousands.
int64_t next(int64_t n) { return n + 1 + n / 64; }

}  // namespace

int main() {
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // what is printed before an abort is seen
  std::set_terminate(name_it);
  Tally tally;
  int64_t silent = 0;  // calls that allocate nothing
  const PublicCalls calls;
  for (const PublicCall& call : calls.all()) {
    const int64_t before = tally.refused;
    for (const Heap::Mode mode : {Heap::kOne, Heap::kRest}) {
      for (int64_t n = 0; disturb(call, mode, n, tally); n = next(n)) {
      }
    }
    for (unsigned seed = 1; seed <= 16; ++seed) {
      heap.rng.seed(seed);
      disturb(call, Heap::kRandom, 0, tally);
    }
    silent += tally.refused == before;
  }
  std::printf("%lld calls, %lld refused, %lld of %zu functions never; %lld wrong\n",
              static_cast<long long>(tally.calls), static_cast<long long>(tally.refused),
              static_cast<long long>(silent), calls.all().size(), static_cast<long long>(tally.wrong));
  // Were no allocation refused, or only those of a few functions, this would test nothing.
  return tally.wrong == 0 && silent <= 6 ? 0 : 1;
}
