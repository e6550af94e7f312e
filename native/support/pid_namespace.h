// Whether this is a separate pid namespace, as in a container.
#pragma once

#include <unistd.h>

#include <cstring>
#include <string>

namespace stormlog {

// The kernel gives its first pid namespace this inode number for good. False where /proc does not show it.
inline bool inPidNamespace(const std::string& procRoot = "/proc") {
#if defined(__linux__)
  char target[64];
  const ssize_t n = readlink((procRoot + "/self/ns/pid").c_str(), target, sizeof target - 1);
  if (n <= 0) return false;
  target[n] = '\0';
  return strcmp(target, "pid:[4026531836]") != 0;
#else
  (void)procRoot;
  return false;
#endif
}

}  // namespace stormlog
