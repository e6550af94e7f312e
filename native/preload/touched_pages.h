// Which part of a block is memory already: an allocator gives out addresses, and the kernel gives pages when they are
// touched.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

namespace stormlog_heap {

// Smaller blocks share pages with others, and each costs a system call.
constexpr uint64_t kMinTouchedBytes = 256 * 1024;

// From 0 to 1 by the pages that the kernel holds; 1 where it does not say, as for a block that was freed meanwhile. One
// thread at a time.
inline double touchedShare(uintptr_t address, uint64_t size) {
  constexpr uintptr_t kPage = 4096;
  constexpr size_t kPages = 64 * 1024;
  static unsigned char present[kPages];
  const uintptr_t end = address + size;
  uint64_t pages = 0;
  uint64_t touched = 0;
  for (uintptr_t at = address / kPage * kPage; at < end;) {
    const uintptr_t left = (end - at + kPage - 1) / kPage;
    const size_t count = left < kPages ? static_cast<size_t>(left) : kPages;
    if (mincore(reinterpret_cast<void*>(at), count * kPage, present) != 0) return 1;
    for (size_t i = 0; i < count; ++i) touched += present[i] & 1U;
    pages += count;
    at += count * kPage;
  }
  return pages == 0 ? 1 : static_cast<double>(touched) / static_cast<double>(pages);
}

}  // namespace stormlog_heap
