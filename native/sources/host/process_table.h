// The processes of the measured tree: a dense fixed-size array for the fast loop and a hash from pid to index,
// allocated once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "../../support/unique_fd.h"
#include "procfs.h"

namespace stormlog {

struct ProcessEntry {
  int pid = 0;
  // In the namespace of the job's root, as the process itself sees it; otherwise the same.
  int ownPid = 0;
  int parent = 0;
  // Open descriptors follow the process, not the pid: after a reuse of the pid they fail with ESRCH.
  UniqueFd statm;
  UniqueFd status;
  // Of the main thread, while `statm` is of another one: a thread's file fails when the thread ends, not the process.
  UniqueFd mainStatm;
  // Children of the main thread; other threads are opened when there are any.
  UniqueFd children;
  // The task directory, for its link count.
  UniqueFd tasks;
  // The last statm reading.
  Statm pages;
  // CPU time of the process at its last reading as a quiet process.
  uint64_t readCpuNs = 0;
  // The last status reading, and the CPU time of the process at that time.
  Status statusValues;
  uint64_t statusCpuNs = 0;
  uint64_t nextStatusNs = 0;
  // Open descriptors at the last reading.
  uint64_t descriptors = 0;
  bool descriptorsKnown = false;
  uint64_t nextDescriptorsNs = 0;
  uint64_t firstSeenNs = 0;
  // True while `pages` and `statusValues` are part of the tree's sums.
  bool counted = false;
  // Ended but not yet reaped: no memory, kept so that a rescan does not take it for new.
  bool ended = false;
  // Alive, and not measured; `ended`, too.
  bool ignored = false;
  // Still in its parent's address space (between vfork and exec): its pages are the parent's and must not count twice.
  bool borrowsMemory = false;
  // How a borrowed address space is detected: by kcmp, or by an identical statm line.
  bool borrowCheckByText = false;
};

class ProcessTable {
 public:
  static constexpr size_t kCapacity = 4096;

  ProcessTable() : entries_(new ProcessEntry[kCapacity]), quiet_(new uint8_t[kCapacity]()), slots_(new int16_t[kSlots]) { rehash(); }

  size_t size() const { return size_; }
  bool full() const { return size_ == kCapacity; }
  ProcessEntry& operator[](size_t index) { return entries_[index]; }
  // Readings in a row that changed nothing. Apart from the entries, so that one cache line answers for 64 of them.
  uint8_t& quietReads(size_t index) { return quiet_[index]; }

  ProcessEntry* find(int pid) {
    for (size_t slot = start(pid);; slot = (slot + 1) & (kSlots - 1)) {
      const int16_t index = slots_[slot];
      if (index < 0) return nullptr;
      if (entries_[index].pid == pid) return &entries_[index];
    }
  }

  // Writes the pids of at most `max` processes that have not ended, and returns how many.
  size_t living(int* out, size_t max) const {
    size_t count = 0;
    for (size_t i = 0; i < size_ && count < max; ++i) {
      if (!entries_[i].ended) out[count++] = entries_[i].pid;
    }
    return count;
  }

  // By its number in its own namespace; 0 where there is none.
  int pidOf(int ownPid) const {
    for (size_t i = 0; i < size_; ++i) {
      if (entries_[i].ownPid == ownPid) return entries_[i].pid;
    }
    return 0;
  }

  // The caller has made sure that there is room and that the pid is not in the table.
  ProcessEntry& add(int pid) {
    ProcessEntry& entry = entries_[size_];
    entry = ProcessEntry{};
    entry.pid = entry.ownPid = pid;
    quiet_[size_] = 0;
    place(size_++);
    return entry;
  }

  // Closes and removes the entry at `index` by moving the last one there; the hash is rebuilt by `rehash()`, which must
  // follow before the next `find`.
  void removeAt(size_t index) {
    --size_;
    if (index != size_) {
      entries_[index] = static_cast<ProcessEntry&&>(entries_[size_]);
      quiet_[index] = quiet_[size_];
    }
    entries_[size_] = ProcessEntry{};
  }

  void rehash() {
    for (size_t i = 0; i < kSlots; ++i) slots_[i] = -1;
    for (size_t i = 0; i < size_; ++i) place(i);
  }

 private:
  // At most a quarter full, so probes stay short.
  static constexpr size_t kSlots = 16384;

  static size_t start(int pid) { return (static_cast<uint32_t>(pid) * 2654435761u >> 8) & (kSlots - 1); }

  void place(size_t index) {
    size_t slot = start(entries_[index].pid);
    while (slots_[slot] >= 0) slot = (slot + 1) & (kSlots - 1);
    slots_[slot] = static_cast<int16_t>(index);
  }

  std::unique_ptr<ProcessEntry[]> entries_;
  std::unique_ptr<uint8_t[]> quiet_;
  std::unique_ptr<int16_t[]> slots_;
  size_t size_ = 0;
};

}  // namespace stormlog
