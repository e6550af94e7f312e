// Asks threads to end, and wakes those that sleep.
#pragma once

#include <atomic>
#include <cstdint>

#include "clock.h"

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#endif

namespace stormlog {

class StopFlag {
 public:
  void ask() {
    asked_.store(1, std::memory_order_release);
#if defined(__linux__)
    syscall(SYS_futex, word(), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
#endif
  }

  bool asked() const { return asked_.load(std::memory_order_acquire) != 0; }

  // Sleeps until a time of CLOCK_MONOTONIC, or until asked to end.
  void sleepUntilNs(uint64_t deadlineNs) const {
#if defined(__linux__)
    const timespec t{static_cast<time_t>(deadlineNs / kSecond), static_cast<long>(deadlineNs % kSecond)};
    while (!asked() && monotonicNs() < deadlineNs) {
      // The absolute variant, with one word; ends early by a wake-up or a signal.
      syscall(SYS_futex, word(), FUTEX_WAIT_BITSET_PRIVATE, 0, &t, nullptr, FUTEX_BITSET_MATCH_ANY);
    }
#else
    while (!asked()) {
      const uint64_t slice = monotonicNs() + kSliceNs;
      stormlog::sleepUntilNs(deadlineNs < slice ? deadlineNs : slice);
      if (deadlineNs < slice) return;
    }
#endif
  }

 private:
#if !defined(__linux__)
  static constexpr uint64_t kSliceNs = 50 * kMillisecond;
#endif
  uint32_t* word() const { return reinterpret_cast<uint32_t*>(&asked_); }

  // The kernel compares this futex, so it has the layout of a plain uint32_t.
  mutable std::atomic<uint32_t> asked_{0};
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "a futex is 32 bits wide");
};

}  // namespace stormlog
