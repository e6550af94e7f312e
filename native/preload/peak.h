// The live samples at the peak, copied when the first of them is freed after a new maximum.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>

#include "sample_table.h"
#include "touched_pages.h"

namespace stormlog_heap {

// The live samples of one moment.
struct LiveSamples {
  uint64_t timeNs;
  uint64_t total;
  // Bytes of the whole heap by its own counters; 0 when unknown.
  uint64_t heap;
  // By the index of a sample in the table: one more than its stack, 0 where none is live; estimated bytes; which
  // sample; its tag.
  uint32_t stacks[SampleTable::kSamples];
  uint64_t bytes[SampleTable::kSamples];
  uint32_t born[SampleTable::kSamples];
  Tag tags[SampleTable::kSamples];

  void read(const SampleTable& table, uint64_t now) {
    memset(stacks, 0, sizeof stacks);
    timeNs = now;
    total = 0;
    heap = 0;
    table.each([this, &table](uint32_t at, uint32_t stack, uint64_t own, Tag tag) {
      if (stack >= SampleTable::kStacks) return;
      stacks[at] = stack + 1;
      bytes[at] = own;
      born[at] = table.bornOf(at);
      tags[at] = tag;
      total += own;
    });
  }

  // Leaves out what a large block has not touched yet: a container that doubles its memory fills it slowly.
  void leaveUntouched(const SampleTable& table) {
    for (uint32_t at = 0; at < SampleTable::kSamples; ++at) {
      if (stacks[at] == 0 || table.sizeOf(at) < kMinTouchedBytes) continue;
      const double share = touchedShare(table.addressOf(at), table.sizeOf(at));
      // Freed in the meantime.
      if (table.bornOf(at) != born[at]) continue;
      const auto untouched = static_cast<uint64_t>(static_cast<double>(bytes[at]) * (1 - share));
      bytes[at] -= untouched;
      total -= untouched;
    }
  }
};

class Peak {
 public:
  // Called after a sample was added.
  void grew(uint64_t live) {
    if (live <= highest_.load(std::memory_order_relaxed)) return;
    highest_.store(live, std::memory_order_relaxed);
    fresh_.store(true, std::memory_order_relaxed);
  }

  // Estimated bytes.
  uint64_t highest() const { return highest_.load(std::memory_order_relaxed); }

  // Whether the samples are at a maximum that is worth a copy.
  bool due() const { return fresh_.load(std::memory_order_relaxed) && isHigher(highest_.load(std::memory_order_relaxed), kSmallRise); }

  // Called before a sample is removed. `heapBytes()`: bytes of the whole heap.
  template <typename Heap>
  void shrinks(const SampleTable& table, uint64_t now, Heap heapBytes) {
    if (busy_.test_and_set(std::memory_order_acquire)) return;
    const uint64_t live = table.live();
    if (isHigher(live, kLargeRise) || now - captured_.timeNs >= kPauseNs) {
      if (isHigher(live, kSmallRise)) {
        take(table, now, heapBytes);
      } else {
        // The small rise is over.
        fresh_.store(false, std::memory_order_relaxed);
        highest_.store(known_.load(std::memory_order_relaxed), std::memory_order_relaxed);
      }
    }
    busy_.clear(std::memory_order_release);
  }

  // The category of a live sample, which the probe finds after the sample was copied.
  void categorize(const SampleTable& table, uint32_t at, uint8_t category) {
    Tag& tag = captured_.tags[at];
    if (captured_.stacks[at] == 0 || captured_.born[at] != table.bornOf(at)) return;
    if (tag.category == 0 || category < tag.category) tag.category = category;
  }

  // A copy of the peak so far. One thread at a time; other threads go on.
  template <typename Heap>
  void read(LiveSamples& out, const SampleTable& table, uint64_t now, Heap heapBytes) {
    while (busy_.test_and_set(std::memory_order_acquire)) {
    }
    if (fresh_.load(std::memory_order_relaxed) && table.live() > captured_.total) take(table, now, heapBytes);
    out = captured_;
    busy_.clear(std::memory_order_release);
  }

  // In a forked child, whatever state a thread of the parent left.
  void clear() {
    highest_.store(0, std::memory_order_relaxed);
    known_.store(0, std::memory_order_relaxed);
    fresh_.store(false, std::memory_order_relaxed);
    captured_.total = 0;
    captured_.timeNs = 0;
    memset(captured_.stacks, 0, sizeof captured_.stacks);
    busy_.clear(std::memory_order_release);
  }

 private:
  // A copy reads the whole table: smaller rises than the first are not copied, smaller ones than the second not at once
  // after another copy.
  static constexpr uint64_t kSmallRise = 4096;
  static constexpr uint64_t kLargeRise = 256;
  static constexpr uint64_t kPauseNs = 5000000;

  bool isHigher(uint64_t live, uint64_t rise) const {
    const uint64_t known = known_.load(std::memory_order_relaxed);
    return live > known + known / rise;
  }

  template <typename Heap>
  void take(const SampleTable& table, uint64_t now, Heap heapBytes) {
    fresh_.store(false, std::memory_order_relaxed);
    captured_.read(table, now);
    captured_.heap = heapBytes();
    known_.store(captured_.total, std::memory_order_relaxed);
    highest_.store(captured_.total, std::memory_order_relaxed);
  }

  std::atomic<uint64_t> highest_;
  std::atomic<uint64_t> known_;
  std::atomic<bool> fresh_;
  std::atomic_flag busy_;
  LiveSamples captured_;
};

}  // namespace stormlog_heap
