// No function of cassini.h writes to standard output or standard error, or ends the process, whether it answers,
// refuses or is canceled. A child does it all with both going to a file, and says with its exit status that it came to
// the end: one that the library chose would be another.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "api/public_calls.hpp"

namespace {

using cassini::test::blank;
using cassini::test::Outputs;
using cassini::test::PublicCall;
using cassini::test::PublicCalls;

constexpr int kAllRight = 42, kWrong = 43;

int call_all() {
  int32_t cancel = 0;
  const PublicCalls calls(&cancel);
  bool right = true;
  for (cancel = 0; cancel < 2; ++cancel) {
    for (const PublicCall& call : calls.all()) {
      Outputs out = blank();
      const int32_t status = call.run(out);
      right = right && PublicCalls::kept_promise(call, status, out, CASSINI_ECANCELED);
    }
  }
  return right ? kAllRight : kWrong;
}

}  // namespace

int main(int argc, char**) {
  std::FILE* said = std::tmpfile();
  if (said == nullptr) return 2;
  const pid_t child = fork();
  if (child < 0) return 2;
  if (child == 0) {
    dup2(fileno(said), STDOUT_FILENO);
    dup2(fileno(said), STDERR_FILENO);
    const int outcome = call_all();
    if (argc > 1) std::puts("said on purpose");  // any argument: the test must fail
    std::fflush(nullptr);
    _exit(outcome);
  }
  int how = 0;
  if (waitpid(child, &how, 0) != child) return 2;
  std::fseek(said, 0, SEEK_END);
  const long bytes = std::ftell(said);
  const int exited = WIFEXITED(how) ? WEXITSTATUS(how) : -1;
  std::printf("ended with %d, %ld bytes written\n", exited, bytes);
  return exited == kAllRight && bytes == 0 ? 0 : 1;
}
