// Small links and joint problems, whose answers are compared with brute force over every tick; links of extreme rates.
#include "small_link.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  cassini::fuzz::Bytes in(data, size);
  if (in.in(0, 1) == 0) {
    cassini::fuzz::fuzz_small_link(in);
  } else {
    cassini::fuzz::fuzz_small_joint(in);
  }
  if (in.once_in(2)) cassini::fuzz::fuzz_spiked_link(in);
  return 0;
}
