// Whether this is a separate pid namespace, as in a container.
#pragma once

#include <unistd.h>

#include <cstring>

namespace stormlog {

// The kernel gives its first pid namespace this inode number for good.
inline bool inPidNamespace() {
#if defined(__linux__)
  char target[64];
  const ssize_t n = readlink("/proc/self/ns/pid", target, sizeof target - 1);
  if (n <= 0) return false;
  target[n] = '\0';
  return strcmp(target, "pid:[4026531836]") != 0;
#else
  return false;
#endif
}

}  // namespace stormlog
