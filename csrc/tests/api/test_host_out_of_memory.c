/* A host in C that loads the library while it runs, as Python does, and is short of memory: whatever is left, a call
 * returns. Threads that never threw an exception are where the C++ runtime itself still has to allocate. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cassini/cassini.h"

void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);

/* Bytes that this thread may still take; below 0: any. */
static __thread int64_t left = -1;
static __thread int64_t refused = 0;

static int refuses(size_t bytes) {
  if (left < 0) return 0;
  if ((int64_t)bytes > left) return (int)++refused;
  return 0;
}

static void* taken(void* block) {
  if (left >= 0 && block != NULL) {
    const int64_t bytes = (int64_t)malloc_usable_size(block);
    left = bytes < left ? left - bytes : 0;
  }
  return block;
}

void* malloc(size_t bytes) { return refuses(bytes) ? NULL : taken(__libc_malloc(bytes)); }
void* calloc(size_t n, size_t bytes) { return refuses(n * bytes) ? NULL : taken(__libc_calloc(n, bytes)); }
void* realloc(void* block, size_t bytes) { return refuses(bytes) ? NULL : taken(__libc_realloc(block, bytes)); }
void free(void* block) {
  if (left >= 0 && block != NULL) left += (int64_t)malloc_usable_size(block);
  __libc_free(block);
}

typedef int32_t (*solve_link)(const cassini_link*, const cassini_options*, const int32_t*, const cassini_link_output*,
                              cassini_link_result*, cassini_error*);

struct call {
  solve_link solve;
  int64_t memory;
  int32_t status;
  int64_t refused;
  cassini_link_result result;
};

static void* run(void* argument) {
  static const int64_t ms = 1000000;
  const int64_t period[3] = {255 * ms, 255 * ms, 170 * ms}, offset[4] = {0, 1, 2, 3};
  const int64_t start[3] = {0, 100 * ms, 20 * ms}, length[3] = {120 * ms, 90 * ms, 60 * ms};
  const int64_t rate[3] = {45 * ms, 40 * ms, 30 * ms};
  int64_t shift[3], slack[3];
  uint8_t is_free[3];
  const cassini_link link = {CASSINI_SIZE(cassini_link), .capacity_kbps = 50 * ms,  .n_jobs = 3,
                             .period_ns = period,        .phase_offset = offset,    .n_phases = 3,
                             .phase_start_ns = start,    .phase_length_ns = length, .phase_rate_kbps = rate};
  const cassini_link_output output = {CASSINI_SIZE(cassini_link_output), shift, slack, is_free};
  struct call* call = argument;
  memset(&call->result, 0, sizeof call->result);
  call->result.size = (int64_t)sizeof call->result;
  refused = 0;
  left = call->memory;
  call->status = call->solve(&link, NULL, NULL, &output, &call->result, NULL);
  left = -1;
  call->refused = refused;
  return NULL;
}

static void in_new_thread(struct call* call) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, call) == 0) pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  void* library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void* found = library != NULL ? dlsym(library, "cassini_solve_link") : NULL;
  struct call plenty = {0}, scarce = {0};
  int64_t calls = 0;
  if (found == NULL) {
    printf("usage: test_host_out_of_memory LIBRARY\n");
    return 2;
  }
  memcpy(&plenty.solve, &found, sizeof found);
  plenty.memory = -1;
  plenty.status = -1;
  scarce = plenty;
  in_new_thread(&plenty);
  for (scarce.memory = 0; scarce.status != CASSINI_OK && calls < 10000; scarce.memory += 16, ++calls) {
    in_new_thread(&scarce);
    if (scarce.status != CASSINI_OK && (scarce.status != CASSINI_ENOMEM || scarce.refused == 0)) break;
  }
  printf("%d calls until %d bytes were enough\n", (int)calls, (int)scarce.memory);
  return plenty.status == CASSINI_OK && scarce.status == CASSINI_OK && calls > 100 &&
                 memcmp(&plenty.result, &scarce.result, sizeof plenty.result) == 0
             ? 0
             : 1;
}
