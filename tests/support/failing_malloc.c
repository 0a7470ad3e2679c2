/* A library to be preloaded: what libcassini allocates fails when asked to, whether it calls malloc itself or the C++
 * runtime does, which it carries or shares. Python is left alone, so that what fails is the kernel. */
#define _GNU_SOURCE
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void* __libc_malloc(size_t);

enum { MOST = 8 };
static uintptr_t first[MOST], last[MOST]; /* where the code of the two lies */
static int ranges;
static atomic_long countdown, failed;
static atomic_int armed, ever_after;

static int find(struct dl_phdr_info* library, size_t size, void* unused) {
  (void)size, (void)unused;
  if (strstr(library->dlpi_name, "libcassini") == NULL && strstr(library->dlpi_name, "libstdc++") == NULL) return 0;
  for (int i = 0; i < library->dlpi_phnum && ranges < MOST; ++i) {
    const ElfW(Phdr)* part = &library->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    first[ranges] = library->dlpi_addr + part->p_vaddr;
    last[ranges++] = library->dlpi_addr + part->p_vaddr + part->p_memsz;
  }
  return 0;
}

static int counts(uintptr_t caller) {
  for (int i = 0; i < ranges; ++i) {
    if (caller >= first[i] && caller < last[i]) return 1;
  }
  return 0;
}

/* The allocation after `n` others fails, and with `rest` all that follow. */
void fail_after(long n, int rest) {
  ranges = 0;
  dl_iterate_phdr(find, NULL);
  failed = 0;
  countdown = n;
  ever_after = rest;
  armed = 1;
}

/* Nothing fails any more. How many allocations did. */
long fail_no_more(void) {
  armed = 0;
  return failed;
}

void* malloc(size_t n) {
  if (armed && counts((uintptr_t)__builtin_return_address(0))) {
    const long left = atomic_fetch_sub(&countdown, 1);
    if (left == 0 || (left < 0 && ever_after)) {
      ++failed;
      return NULL;
    }
  }
  return __libc_malloc(n);
}
