// The pids of the measured job and the memory of its processes, published by the host thread and copied by the threads
// that talk to devices: a sequence lock over a fixed array, so that neither ever waits for the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stormlog {

class JobPids {
 public:
  static constexpr size_t kCapacity = 4096;

  // One publisher. Pids beyond the capacity are left out.
  void publish(const int* pids, size_t count) {
    const size_t kept = count < kCapacity ? count : kCapacity;
    const uint64_t sequence = sequence_.load(std::memory_order_relaxed);
    sequence_.store(sequence + 1, std::memory_order_relaxed);
    // A reader that sees one of these stores also sees the odd sequence before it. Release stores in place of a fence,
    // because ThreadSanitizer does not model fences.
    for (size_t i = 0; i < kept; ++i) pids_[i].store(pids[i], std::memory_order_release);
    count_.store(kept, std::memory_order_release);
    sequence_.store(sequence + 2, std::memory_order_release);
  }

  // Rises with every publication; a reader that remembers it knows whether anything changed.
  uint64_t version() const { return sequence_.load(std::memory_order_acquire) / 2; }

  // Host memory of the job at the last tick; one publisher.
  void setMemoryBytes(uint64_t bytes) { memory_.store(bytes, std::memory_order_relaxed); }
  uint64_t memoryBytes() const { return memory_.load(std::memory_order_relaxed); }

  // Copies at most `max` pids and returns how many; 0 when the publisher interfered a hundred times in a row.
  size_t copy(int* out, size_t max) const {
    for (int attempt = 0; attempt < 100; ++attempt) {
      const uint64_t before = sequence_.load(std::memory_order_acquire);
      if (before % 2 != 0) continue;
      size_t count = count_.load(std::memory_order_acquire);
      if (count > max) count = max;
      for (size_t i = 0; i < count; ++i) out[i] = pids_[i].load(std::memory_order_acquire);
      if (sequence_.load(std::memory_order_relaxed) == before) return count;
    }
    return 0;
  }

 private:
  std::atomic<uint64_t> sequence_{0};
  std::atomic<size_t> count_{0};
  std::atomic<uint64_t> memory_{0};
  std::atomic<int> pids_[kCapacity] = {};
};

}  // namespace stormlog
