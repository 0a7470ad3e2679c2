// A defect of each kind that a sanitizer must find: a run that finds nothing proves nothing unless these are found.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <thread>

namespace {

// What the optimiser cannot see through.
template <class T>
T opaque(T value) {
  volatile T seen = value;
  return seen;
}

void overflow_of_the_heap() {
  auto* bytes = static_cast<char*>(std::malloc(opaque<std::size_t>(8)));
  bytes[opaque(8)] = 1;
  std::printf("%d\n", bytes[opaque(0)]);
  std::free(bytes);
}

void leak() {
  void* volatile joint = std::malloc(opaque<std::size_t>(4000));
  joint = nullptr;
}

void overflow_of_an_integer() { std::printf("%d\n", opaque(std::numeric_limits<int32_t>::max()) + opaque(1)); }

void race() {
  int32_t shared = 0;
  std::thread other([&] { shared = opaque(1); });
  shared = opaque(2);
  other.join();
  std::printf("%d\n", shared);
}

}  // namespace

int main(int argc, char** argv) {
  const char* defect = argc > 1 ? argv[1] : "";
  if (std::strcmp(defect, "heap") == 0) overflow_of_the_heap();
  if (std::strcmp(defect, "leak") == 0) leak();
  if (std::strcmp(defect, "integer") == 0) overflow_of_an_integer();
  if (std::strcmp(defect, "race") == 0) race();
  return 0;
}
