// What the library makes of structs of other ages.
#include "api/sized_struct.hpp"
#include "check.hpp"

using namespace cassini;

namespace {

// What a library that has grown does with the options of a host that has not.
struct GrownOptions {
  int64_t size;
  double kept = 2.5;
};

}  // namespace

namespace cassini {
template <>
constexpr int64_t first_size<GrownOptions>() {
  return 8;
}
}  // namespace cassini

TEST(a_field_that_an_older_host_does_not_have_keeps_its_default) {
  GrownOptions given{8, 7.0};
  const GrownOptions read = read_sized(&given, "options", GrownOptions{16, 2.5});
  CHECK(read.kept == 2.5 && read.size == 16);
  given.size = 16;
  CHECK(read_sized(&given, "options", GrownOptions{16, 2.5}).kept == 7.0);
}

// A struct that nobody said the first size of has no size to be checked: such code does not compile.
template <class Sized>
concept HasFirstSize = requires { first_size<Sized>(); };

TEST(only_structs_with_a_first_size_are_sized) {
  struct Stranger {
    int64_t size;
  };
  CHECK(HasFirstSize<cassini_options> && !HasFirstSize<Stranger>);
}
