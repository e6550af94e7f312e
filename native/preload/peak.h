// What was live when most was: the samples by stack, copied when the first is given back after a new maximum.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "sample_table.h"

namespace stormlog_heap {

// Estimated live bytes and samples of each stack, at one moment.
struct StackSums {
  uint64_t timeNs;
  uint64_t total;
  uint64_t bytes[SampleTable::kStacks];
  uint32_t counts[SampleTable::kStacks];

  void read(const SampleTable& table, uint64_t now) {
    memset(bytes, 0, sizeof bytes);
    memset(counts, 0, sizeof counts);
    timeNs = now;
    total = 0;
    table.each([this](uint32_t stack, uint64_t own) {
      if (stack >= SampleTable::kStacks) return;
      bytes[stack] += own;
      ++counts[stack];
      total += own;
    });
  }
};

class Peak {
 public:
  // After a sample came.
  void grew(uint64_t live) {
    if (live <= highest_.load(std::memory_order_relaxed)) return;
    highest_.store(live, std::memory_order_relaxed);
    fresh_.store(true, std::memory_order_relaxed);
  }

  // Estimated bytes.
  uint64_t highest() const { return highest_.load(std::memory_order_relaxed); }

  // Whether the samples are at a maximum that is worth a copy.
  bool due() const { return fresh_.load(std::memory_order_relaxed) && isHigher(highest_.load(std::memory_order_relaxed)); }

  // Before a sample goes.
  void shrinks(const SampleTable& table, uint64_t now) {
    if (busy_.test_and_set(std::memory_order_acquire)) return;
    take(table, now);
    busy_.clear(std::memory_order_release);
  }

  // A copy of the peak so far. One thread at a time; other threads go on.
  void read(StackSums& out, const SampleTable& table, uint64_t now) {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
    if (fresh_.load(std::memory_order_relaxed) && table.live() > captured_.total) take(table, now);
    out = captured_;
    busy_.clear(std::memory_order_release);
  }

  // In a child: whatever a thread of the parent was doing.
  void clear() {
    highest_.store(0, std::memory_order_relaxed);
    known_.store(0, std::memory_order_relaxed);
    fresh_.store(false, std::memory_order_relaxed);
    captured_.total = 0;
    busy_.clear(std::memory_order_release);
  }

 private:
  // Smaller rises are not copied: a copy reads the whole table.
  static constexpr uint64_t kRise = 256;

  bool isHigher(uint64_t live) const {
    const uint64_t known = known_.load(std::memory_order_relaxed);
    return live > known + known / kRise;
  }

  void take(const SampleTable& table, uint64_t now) {
    fresh_.store(false, std::memory_order_relaxed);
    captured_.read(table, now);
    known_.store(captured_.total, std::memory_order_relaxed);
    highest_.store(captured_.total, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> highest_;
  std::atomic<uint64_t> known_;
  std::atomic<bool> fresh_;
  std::atomic_flag busy_;
  StackSums captured_;
};

}  // namespace stormlog_heap
