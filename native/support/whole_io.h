// Reading and writing all bytes that are asked for: again after a signal, and after a part. Allocates nothing.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace stormlog {

// `step(done)` transfers bytes from number `done` on. Returns how many were transferred: fewer than `size` at the end
// of a file (errno 0) and after an error (its errno).
template <typename Step>
size_t transferWhole(size_t size, Step step) {
  size_t done = 0;
  while (done < size) {
    errno = 0;
    const ssize_t n = step(done);
    if (n > 0) done += static_cast<size_t>(n);
    else if (n == 0 || errno != EINTR) break;
  }
  return done;
}

inline size_t readWhole(int fd, void* into, size_t size, uint64_t offset) {
  return transferWhole(size, [&](size_t done) {
    return ::pread(fd, static_cast<char*>(into) + done, size - done, static_cast<off_t>(offset + done));
  });
}

inline size_t writeWhole(int fd, const void* data, size_t size) {
  return transferWhole(size, [&](size_t done) { return ::write(fd, static_cast<const char*>(data) + done, size - done); });
}

inline size_t writeWholeAt(int fd, const void* data, size_t size, uint64_t offset) {
  return transferWhole(size, [&](size_t done) {
    return ::pwrite(fd, static_cast<const char*>(data) + done, size - done, static_cast<off_t>(offset + done));
  });
}

}  // namespace stormlog
