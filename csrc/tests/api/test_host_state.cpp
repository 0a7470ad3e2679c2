// What is the host's stays as it was, and makes no difference: errno, rounding, flushing to zero, traps, exception
// flags, signal handlers and mask, locale, rand().
#include <cerrno>
#include <cfenv>
#include <clocale>
#include <csignal>
#include <cstdlib>
#include <string>

#include "api/host_calls.hpp"
#include "check.hpp"

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace {

void on_signal(int) {}

TEST(errno_is_left_as_it_was) {
  const HostCalls calls;
  errno = ERANGE;
  CHECK(!calls.all(nullptr).empty());
  CHECK(errno == ERANGE);
}

TEST(rounding_changes_no_answer_and_is_left_as_it_was) {
  const HostCalls calls;
  const auto usual = calls.all(nullptr);
  CHECK(!usual.empty());
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const auto now = calls.all(nullptr);
    const int after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(now == usual);
    CHECK(after == mode);
  }
}

TEST(exception_flags_are_left_as_they_were) {
  const HostCalls calls;
  for (const int flags : {0, FE_DIVBYZERO | FE_INEXACT}) {
    std::feclearexcept(FE_ALL_EXCEPT);
    std::feraiseexcept(flags);
    CHECK(!calls.all(nullptr).empty());
    CHECK(std::fetestexcept(FE_ALL_EXCEPT) == flags);
  }
  std::feclearexcept(FE_ALL_EXCEPT);
}

#if defined(__SSE2__)
TEST(flushing_to_zero_changes_no_answer_and_is_left_as_it_was) {
  const HostCalls calls;
  const auto usual = calls.all(nullptr);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040);  // results and operands that are denormal count as zero
  const auto now = calls.all(nullptr);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(now == usual && after == (before | 0x8040));
}

TEST(traps_do_not_end_the_process) {
  const HostCalls calls;
  const auto usual = calls.all(nullptr);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before & ~0x1F80U & ~0x3FU);  // every exception traps, no flag is raised
  const auto now = calls.all(nullptr);
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  CHECK(now == usual && after == (before & ~0x1F80U & ~0x3FU));
}
#endif

TEST(signals_are_left_as_they_were) {
  const HostCalls calls;
  struct sigaction mine{}, now{};
  mine.sa_handler = on_signal;
  std::vector<struct sigaction> before(32);
  sigset_t mask, mask_after;
  for (int s = 1; s < 32; ++s) {
    if (s != SIGKILL && s != SIGSTOP) sigaction(s, &mine, &before[static_cast<std::size_t>(s)]);
  }
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR1);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  CHECK(!calls.all(nullptr).empty());
  sigprocmask(SIG_SETMASK, nullptr, &mask_after);
  for (int s = 1; s < 32; ++s) {
    CHECK(sigismember(&mask_after, s) == (s == SIGUSR1 ? 1 : 0));
    if (s == SIGKILL || s == SIGSTOP) continue;
    sigaction(s, &before[static_cast<std::size_t>(s)], &now);
    CHECK(now.sa_handler == on_signal);
  }
  sigemptyset(&mask);
  sigprocmask(SIG_SETMASK, &mask, nullptr);
}

TEST(locale_and_random_numbers_are_left_as_they_were) {
  const HostCalls calls;
  const char* const own = std::setlocale(LC_ALL, "C.UTF-8");
  const std::string locale = own != nullptr ? own : std::setlocale(LC_ALL, nullptr);
  std::srand(7);
  const int first = std::rand(), second = std::rand();
  std::srand(7);
  CHECK(std::rand() == first);
  CHECK(!calls.all(nullptr).empty());
  CHECK(std::rand() == second);
  CHECK(locale == std::setlocale(LC_ALL, nullptr));
  std::setlocale(LC_ALL, "C");
}

}  // namespace
