// The next definition of each function of the C heap, and memory for what the loader allocates while it looks for them.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stormlog_heap {

struct Next {
  void* (*malloc)(size_t);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void (*free)(void*);
  void* (*memalign)(size_t, size_t);
  void* (*alignedAlloc)(size_t, size_t);
  int (*posixMemalign)(void**, size_t, size_t);
  size_t (*usableSize)(void*);
};

// Without constructors: used before those of the library run.
class NextAllocator {
 public:
  // Looks once, before the program has a second thread: the loader itself allocates, and gets null.
  const Next* get() {
    if (found_.load(std::memory_order_acquire) == kFound) return &next_;
    int expected = kUnknown;
    if (!found_.compare_exchange_strong(expected, kLooking, std::memory_order_acq_rel)) return nullptr;
    look("malloc", next_.malloc);
    look("calloc", next_.calloc);
    look("realloc", next_.realloc);
    look("free", next_.free);
    look("memalign", next_.memalign);
    look("aligned_alloc", next_.alignedAlloc);
    look("posix_memalign", next_.posixMemalign);
    look("malloc_usable_size", next_.usableSize);
    found_.store(kFound, std::memory_order_release);
    return &next_;
  }

 private:
  enum : int { kUnknown, kLooking, kFound };

  template <typename Function>
  static void look(const char* name, Function& function) {
    void* found = dlsym(RTLD_NEXT, name);
    memcpy(&function, &found, sizeof found);
  }

  std::atomic<int> found_;
  Next next_;
};

// Allocations that dlsym makes meanwhile. Never given back.
class EarlyMemory {
 public:
  void* bytes(size_t size) {
    // A header with the size, for realloc.
    const size_t whole = (size + kHeader + 15) / 16 * 16;
    const size_t at = size > sizeof memory_ ? sizeof memory_ : used_.fetch_add(whole, std::memory_order_relaxed);
    if (at + whole > sizeof memory_) {
      errno = ENOMEM;
      return nullptr;
    }
    memcpy(memory_ + at, &size, sizeof size);
    return memory_ + at + kHeader;
  }
  bool has(const void* address) const {
    const auto at = reinterpret_cast<uintptr_t>(address);
    return at >= reinterpret_cast<uintptr_t>(memory_) && at < reinterpret_cast<uintptr_t>(memory_) + sizeof memory_;
  }
  static size_t sizeOf(const void* address) {
    size_t size = 0;
    memcpy(&size, static_cast<const char*>(address) - kHeader, sizeof size);
    return size;
  }

 private:
  static constexpr size_t kHeader = 16;
  alignas(16) char memory_[64 * 1024];
  std::atomic<size_t> used_;
};

}  // namespace stormlog_heap
