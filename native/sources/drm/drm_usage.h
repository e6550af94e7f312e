// Bytes per process and card, gathered from sources that may both report the same process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

namespace stormlog {

struct DrmUsage {
  // Index of the card in the backend's list.
  int device = 0;
  int pid = 0;
  // What the compute driver counts for the process on the card.
  uint64_t compute = 0;
  bool computeKnown = false;
  // Sum over the graphics devices that the process has open.
  uint64_t open = 0;
  bool openKnown = false;
  // Not all of them could be read: the known bytes are a lower bound.
  bool partial = false;
  uint32_t next = 0;

  bool known() const { return computeKnown || (openKnown && !partial); }
  // Memory of a compute process is counted by both, so the larger is right, never the sum.
  bool computeDecides() const { return computeKnown && (!openKnown || compute >= open); }
  uint64_t bytes() const { return computeDecides() ? compute : open; }
};

// Entries in insertion order, indexed by (card, pid). Fixed size; only the constructor allocates.
class DrmUsageTable {
 public:
  static constexpr size_t kCapacity = 8192;

  DrmUsageTable() : entries_(new DrmUsage[kCapacity]), heads_(new uint32_t[kBuckets]) { clear(); }

  void clear() {
    size_ = 0;
    memset(heads_.get(), 0xFF, kBuckets * sizeof heads_[0]);
  }

  // The entry of the card and pid, made when there is none; null when the table is full.
  DrmUsage* at(int device, int pid) {
    uint32_t& head = heads_[(static_cast<uint32_t>(pid) * 2654435761u + static_cast<uint32_t>(device) * 0x9E3779B9u) >> (32 - kBits)];
    for (uint32_t i = head; i != kNone; i = entries_[i].next) {
      if (entries_[i].device == device && entries_[i].pid == pid) return &entries_[i];
    }
    if (size_ == kCapacity) return nullptr;
    DrmUsage& entry = entries_[size_];
    entry = DrmUsage{};
    entry.device = device;
    entry.pid = pid;
    entry.next = head;
    head = static_cast<uint32_t>(size_++);
    return &entry;
  }

  const DrmUsage* begin() const { return entries_.get(); }
  const DrmUsage* end() const { return entries_.get() + size_; }
  bool full() const { return size_ == kCapacity; }

 private:
  static constexpr uint32_t kBits = 12;
  static constexpr size_t kBuckets = size_t{1} << kBits;
  static constexpr uint32_t kNone = UINT32_MAX;

  std::unique_ptr<DrmUsage[]> entries_;
  std::unique_ptr<uint32_t[]> heads_;
  size_t size_ = 0;
};

// Clients already counted in this scan: two descriptors, or two processes after a fork, may share one.
class DrmClients {
 public:
  static constexpr size_t kCapacity = 8192;

  DrmClients() : places_(new Place[kCapacity]) {}

  void clear() {
    ++scan_;
    size_ = 0;
  }

  // True the first time; also true, and so counted twice rather than never, once the set is nearly full.
  bool add(int device, uint64_t client) {
    if (size_ >= kCapacity - kCapacity / 8) return true;
    const uint64_t mixed = (client + static_cast<uint64_t>(device) * 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
    for (size_t i = mixed >> 51;; i = (i + 1) % kCapacity) {
      Place& place = places_[i];
      if (place.scan != scan_) {
        place = Place{client, scan_, device};
        ++size_;
        return true;
      }
      if (place.client == client && place.device == device) return false;
    }
  }

 private:
  struct Place {
    uint64_t client = 0;
    uint32_t scan = 0;
    int device = 0;
  };
  static_assert(kCapacity == size_t{1} << 13, "the hash takes the upper 13 bits");

  std::unique_ptr<Place[]> places_;
  uint32_t scan_ = 0;
  size_t size_ = 0;
};

}  // namespace stormlog
