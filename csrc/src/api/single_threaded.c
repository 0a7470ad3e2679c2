/* glibc has this variable since 2.32: not 0 while the process has one thread. The static C++ runtime reads it to count
 * references without atomic operations; that reference alone would keep the library from older systems. This one, hidden
 * in the library, says that there may be threads, which is always right. */
extern char __libc_single_threaded;
__attribute__((visibility("hidden"))) char __libc_single_threaded = 0;
