// Any bytes, as arguments of every function of cassini.h.
#include <cstring>

#include "boundary.hpp"
#include "bytes.hpp"
#include "cassini/cassini.h"

using namespace cassini::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  Bytes in(data, size);
  switch (in.in(0, 4)) {
    case 0:
    case 1:
      fuzz_link(in);
      break;
    case 2:
      fuzz_links(in);
      break;
    case 3:
      fuzz_blocks(in);
      break;
    default:
      PROMISE(cassini_abi_version() == CASSINI_ABI_VERSION);
      PROMISE(std::strlen(cassini_version()) > 0);
      PROMISE(std::strlen(cassini_strerror(static_cast<int32_t>(in.any()))) > 0);
      PROMISE(cassini_default_options(nullptr) == CASSINI_EINVAL);
  }
  return 0;
}
