# The library is a guest of programs in C, Go, Rust and Python, on systems that may be older than the compiler that made it.
#
# cassini_static_runtime(TARGET): it carries the parts of libstdc++ that it uses, and needs libc, libm and libgcc_s. That
# one is there wherever glibc is, which needs it itself; the one that could be linked in wants glibc 2.35 (GCC 12). Where
# libstdc++.a is not installed, or cannot be part of a shared library, the shared libstdc++ is used.
include(CheckCXXSourceCompiles)

function(cassini_static_runtime target)
  set(CMAKE_REQUIRED_FLAGS -fPIC)
  set(CMAKE_REQUIRED_LINK_OPTIONS -shared -static-libstdc++)
  check_cxx_source_compiles("#include <stdexcept>
    void fail(const char* why) { throw std::invalid_argument(why); }" CASSINI_STATIC_RUNTIME)
  if(CASSINI_STATIC_RUNTIME)
    # Without the parts of its object files that nothing calls: random_device alone wants glibc 2.36.
    target_link_options(${target} PRIVATE -static-libstdc++ LINKER:--gc-sections)
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/csrc/src/api/single_threaded.c")
  endif()
endfunction()
