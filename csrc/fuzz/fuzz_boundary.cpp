// Any bytes, as arguments of every function of cassini.h.
#include <cstring>

#include "boundary.hpp"
#include "bytes.hpp"
#include "cassini/cassini.h"
#include "guarded.hpp"

using namespace cassini::fuzz;

namespace {

void fuzz_init_options(Bytes& in) {
  Results<cassini_options> out(1, struct_words<cassini_options>(in));
  const int64_t size = out.size(0);
  PROMISE(cassini_init_options(nullptr, size) == CASSINI_EINVAL);
  out.size(0) = 0;
  out.remember();
  PROMISE(cassini_init_options(out.data(), wrong_size(in)) == CASSINI_EINVAL && out.unchanged());
  PROMISE(cassini_init_options(out.data(), size) == CASSINI_OK && out.well_sized(0));
}

}  // namespace

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
      fuzz_joint(in);
      break;
    default: {
      PROMISE(cassini_abi_version() == CASSINI_ABI_VERSION);
      PROMISE(std::strlen(cassini_version()) > 0);
      const auto any = static_cast<int32_t>(in.any());
      PROMISE(std::strlen(cassini_strerror(any)) > 0 && std::strlen(cassini_stop_string(any)) > 0);
      fuzz_init_options(in);
    }
  }
  return 0;
}
