// Live samples of allocations with their stacks, in memory of a fixed size. Nothing in it waits: every operation may
// run in any thread and in a signal handler.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace stormlog_heap {

// A Python frame as it lies in memory. The probe finds the code object again, with the same three values, and its line.
struct PythonFrame {
  uintptr_t code;
  // Where the code continues: an address, or an index of bytes for interpreters that have frame objects.
  uintptr_t instruction;
  // Of the code's file name, name and first line.
  uintptr_t file;
  uintptr_t name;
  uint64_t firstLine;
};

constexpr unsigned kNativeFrames = 40;
// A nested module of torch has up to four frames to each level.
constexpr unsigned kPythonFrames = 24;

// What the probe reports of a sample's memory: its category and the phase it was allocated in, by the probe's numbers;
// 0 where that is not known.
struct Tag {
  uint8_t category;
  uint8_t phase;
  // Allocated in an earlier call of a model than the newest.
  bool kept;
};

struct Stack {
  std::atomic<uint32_t> state;
  uint16_t natives;
  uint16_t pythons;
  // Whether Python's own allocator gave out the memory.
  bool objects;
  uint64_t hash;
  uintptr_t native[kNativeFrames];
  PythonFrame python[kPythonFrames];
};

// A sampled block, without its address.
struct Sample {
  uint32_t stack;
  // What it stands for.
  uint64_t bytes;
  // Its own size, bytes.
  uint64_t size;
  uint8_t phase;
};

class SampleTable {
 public:
  static constexpr uint32_t kStacks = 8192;
  static constexpr uint32_t kBuckets = 4096;
  static constexpr uint32_t kWays = 16;
  static constexpr uint32_t kSamples = kBuckets * kWays;
  static constexpr uint32_t kNone = UINT32_MAX;
  enum : uint32_t { kEmpty, kWriting, kReady };

  // Index of the stack with these frames; kNone where the table is full.
  uint32_t stack(const Stack& wanted) {
    uint64_t hash = 0xcbf29ce484222325ULL;
    const auto mix = [&hash](uint64_t word) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 32;
    };
    mix(wanted.objects);
    for (unsigned i = 0; i < wanted.natives; ++i) mix(wanted.native[i]);
    for (unsigned i = 0; i < wanted.pythons; ++i) {
      mix(wanted.python[i].code ^ wanted.python[i].name);
      mix(wanted.python[i].instruction);
    }
    for (uint32_t probe = 0; probe < 32; ++probe) {
      const auto at = static_cast<uint32_t>((hash >> 20) + probe) % kStacks;
      Stack& place = stacks_[at];
      uint32_t state = place.state.load(std::memory_order_acquire);
      if (state == kReady && place.hash == hash) return at;
      if (state != kEmpty || !place.state.compare_exchange_strong(state, kWriting, std::memory_order_acq_rel)) continue;
      place.hash = hash;
      place.natives = wanted.natives;
      place.pythons = wanted.pythons;
      place.objects = wanted.objects;
      memcpy(place.native, wanted.native, sizeof place.native);
      memcpy(place.python, wanted.python, sizeof place.python);
      place.state.store(kReady, std::memory_order_release);
      return at;
    }
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return kNone;
  }

  // Called before the program gets the address.
  bool insert(uintptr_t address, const Sample& sample) {
    const Place place = placeOf(address);
    // An entry of this address was freed by the C library itself, without a call of `remove`.
    remove(address);
    if (filter_[place.filter].fetch_add(1, std::memory_order_relaxed) < 255) {
      for (uint32_t way = 0; way < kWays; ++way) {
        const uint32_t at = place.bucket * kWays + way;
        uintptr_t expected = 0;
        if (addresses_[at].load(std::memory_order_relaxed) != 0 ||
            !addresses_[at].compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) {
          continue;
        }
        stackOf_[at].store(sample.stack, std::memory_order_relaxed);
        bytes_[at].store(sample.bytes, std::memory_order_relaxed);
        sizes_[at].store(sample.size, std::memory_order_relaxed);
        phases_[at].store(sample.phase, std::memory_order_relaxed);
        categories_[at].store(0, std::memory_order_relaxed);
        born_[at].store(inserted_.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        live_.fetch_add(sample.bytes, std::memory_order_relaxed);
        addresses_[at].store(address, std::memory_order_release);
        return true;
      }
    }
    filter_[place.filter].fetch_sub(1, std::memory_order_relaxed);
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  // Called before the address is freed. For nearly all addresses, one read of a small filter shows that they are not
  // sampled. `removed`: what it was.
  bool remove(uintptr_t address, Sample* removed = nullptr) {
    const Place place = placeOf(address);
    if (filter_[place.filter].load(std::memory_order_relaxed) == 0) return false;
    for (uint32_t way = 0; way < kWays; ++way) {
      const uint32_t at = place.bucket * kWays + way;
      uintptr_t expected = address;
      if (addresses_[at].load(std::memory_order_relaxed) != address ||
          // 1, not 0: no other thread takes the slot before its bytes were read.
          !addresses_[at].compare_exchange_strong(expected, 1, std::memory_order_acq_rel)) {
        continue;
      }
      const Sample sample{stackOf_[at].load(std::memory_order_relaxed), bytes_[at].load(std::memory_order_relaxed), sizes_[at].load(std::memory_order_relaxed), phaseOf(at)};
      if (removed != nullptr) *removed = sample;
      live_.fetch_sub(sample.bytes, std::memory_order_relaxed);
      addresses_[at].store(0, std::memory_order_release);
      filter_[place.filter].fetch_sub(1, std::memory_order_relaxed);
      return true;
    }
    return false;
  }

  // Whether the address is a sample's.
  bool holds(uintptr_t address) const { return indexOf(address) != kNone; }

  // Index of the sample at this address; kNone where there is none.
  uint32_t indexOf(uintptr_t address) const {
    const Place place = placeOf(address);
    if (filter_[place.filter].load(std::memory_order_relaxed) == 0) return kNone;
    for (uint32_t way = 0; way < kWays; ++way) {
      const uint32_t at = place.bucket * kWays + way;
      if (addresses_[at].load(std::memory_order_relaxed) == address) return at;
    }
    return kNone;
  }

  // A lower number is a more certain category and is kept.
  void categorize(uint32_t at, uint8_t category) {
    const uint8_t known = categories_[at].load(std::memory_order_relaxed);
    if (known == 0 || category < known) categories_[at].store(category, std::memory_order_relaxed);
  }
  uint8_t phaseOf(uint32_t at) const { return phases_[at].load(std::memory_order_relaxed); }
  uintptr_t addressOf(uint32_t at) const { return addresses_[at].load(std::memory_order_acquire); }
  uint64_t sizeOf(uint32_t at) const { return sizes_[at].load(std::memory_order_relaxed); }
  // Differs for every sample, also at the same address.
  uint32_t bornOf(uint32_t at) const { return born_[at].load(std::memory_order_relaxed); }

  // A model is called from outside of any other.
  void beginCall() { callBegan_.store(inserted_.load(std::memory_order_relaxed), std::memory_order_relaxed); }

  // Calls visit(index, stack index, estimated bytes, tag) for every live sample.
  template <typename Visit>
  void each(Visit visit) const {
    const uint32_t began = callBegan_.load(std::memory_order_relaxed);
    for (uint32_t at = 0; at < kSamples; ++at) {
      if (addresses_[at].load(std::memory_order_acquire) > 1) {
        const Tag tag{categories_[at].load(std::memory_order_relaxed), phaseOf(at), bornOf(at) <= began};
        visit(at, stackOf_[at].load(std::memory_order_relaxed), bytes_[at].load(std::memory_order_relaxed), tag);
      }
    }
  }

  bool any() const {
    bool found = false;
    each([&found](uint32_t, uint32_t, uint64_t, Tag) { found = true; });
    return found;
  }

  // Forgets all samples. Only while no other thread runs, as in a child.
  void clear() {
    for (auto& one : filter_) one.store(0, std::memory_order_relaxed);
    for (auto& one : addresses_) one.store(0, std::memory_order_relaxed);
    live_.store(0, std::memory_order_relaxed);
  }

  const Stack& at(uint32_t index) const { return stacks_[index]; }
  // Estimated bytes of all live samples.
  uint64_t live() const { return live_.load(std::memory_order_relaxed); }
  uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Place {
    uint32_t bucket;
    uint32_t filter;
  };
  static Place placeOf(uintptr_t address) {
    const uint64_t hash = static_cast<uint64_t>(address) * 0x9e3779b97f4a7c15ULL;
    return {static_cast<uint32_t>(hash >> 52), static_cast<uint32_t>(hash >> 36) & 0x7fff};
  }

  // Small enough for the L1 cache: it is read for every address that is freed.
  std::atomic<uint8_t> filter_[1 << 15];
  std::atomic<uintptr_t> addresses_[kSamples];
  std::atomic<uint32_t> stackOf_[kSamples];
  std::atomic<uint64_t> bytes_[kSamples];
  std::atomic<uint64_t> sizes_[kSamples];
  std::atomic<uint32_t> born_[kSamples];
  std::atomic<uint8_t> phases_[kSamples];
  std::atomic<uint8_t> categories_[kSamples];
  std::atomic<uint32_t> inserted_;
  std::atomic<uint32_t> callBegan_;
  std::atomic<uint64_t> live_;
  std::atomic<uint64_t> dropped_;
  Stack stacks_[kStacks];
};

}  // namespace stormlog_heap
