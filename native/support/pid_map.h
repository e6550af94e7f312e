// A number for each of up to Capacity pids: open addressing in one block, no allocation after the construction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace stormlog {

template <size_t Capacity>
class PidMap {
  static_assert((Capacity & (Capacity - 1)) == 0, "capacity must be a power of two");

 public:
  PidMap() : slots_(new Slot[kSlots]()) {}

  size_t size() const { return size_; }
  bool full() const { return size_ == Capacity; }

  // Null when the pid is not there. Pids are above 0.
  uint64_t* find(int pid) {
    Slot& slot = slots_[at(pid)];
    return slot.pid == pid ? &slot.value : nullptr;
  }

  // False when it is full.
  bool set(int pid, uint64_t value) {
    Slot& slot = slots_[at(pid)];
    if (slot.pid != pid) {
      if (full() || pid <= 0) return false;
      slot.pid = pid;
      ++size_;
    }
    slot.value = value;
    return true;
  }

  // Removes every pid for whose value `gone` returns true.
  template <typename Predicate>
  void removeIf(Predicate gone) {
    std::unique_ptr<Slot[]> before(new Slot[kSlots]());
    before.swap(slots_);
    size_ = 0;
    for (size_t i = 0; i < kSlots; ++i) {
      if (before[i].pid != 0 && !gone(before[i].value)) set(before[i].pid, before[i].value);
    }
  }

 private:
  struct Slot {
    int pid = 0;
    uint64_t value = 0;
  };
  // At most half full, so that probes stay short and a search always ends.
  static constexpr size_t kSlots = 2 * Capacity;

  size_t at(int pid) const {
    size_t slot = (static_cast<uint32_t>(pid) * 2654435761u >> 8) & (kSlots - 1);
    while (slots_[slot].pid != 0 && slots_[slot].pid != pid) slot = (slot + 1) & (kSlots - 1);
    return slot;
  }

  std::unique_ptr<Slot[]> slots_;
  size_t size_ = 0;
};

}  // namespace stormlog
