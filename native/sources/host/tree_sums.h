// Sums over the processes of the tree, kept up to date by difference, so that a process that is not read costs nothing.
#pragma once

#include <cstdint>

#include "process_table.h"

namespace stormlog {

class TreeSums {
 public:
  void add(ProcessEntry& entry) {
    if (entry.counted) return;
    entry.counted = true;
    rssPages += entry.pages.residentPages;
    anonPages += anonymous(entry.pages);
    shmemBytes += entry.statusValues.shmem;
    if (!shmemKnown(entry)) ++shmemUnknown;
    threads += entry.statusValues.threads;
    if (!threadsKnown(entry)) ++threadsUnknown;
    descriptors += entry.descriptors;
    if (!entry.descriptorsKnown) ++descriptorsUnknown;
  }

  void remove(ProcessEntry& entry) {
    if (!entry.counted) return;
    entry.counted = false;
    rssPages -= entry.pages.residentPages;
    anonPages -= anonymous(entry.pages);
    shmemBytes -= entry.statusValues.shmem;
    if (!shmemKnown(entry)) --shmemUnknown;
    threads -= entry.statusValues.threads;
    if (!threadsKnown(entry)) --threadsUnknown;
    descriptors -= entry.descriptors;
    if (!entry.descriptorsKnown) --descriptorsUnknown;
  }

  uint64_t rssPages = 0;
  uint64_t anonPages = 0;
  uint64_t shmemBytes = 0;
  // Counted processes whose shared memory is not known; the sum of the others would be too small.
  uint32_t shmemUnknown = 0;
  uint64_t threads = 0;
  uint64_t descriptors = 0;
  // The same of processes whose threads or descriptors are not known.
  uint32_t threadsUnknown = 0;
  uint32_t descriptorsUnknown = 0;

 private:
  // statm's "shared" is file and shared-memory pages together.
  static uint64_t anonymous(const Statm& pages) {
    return pages.residentPages > pages.sharedPages ? pages.residentPages - pages.sharedPages : 0;
  }
  static bool shmemKnown(const ProcessEntry& entry) { return (entry.statusValues.valid & kStatusShmem) != 0; }
  static bool threadsKnown(const ProcessEntry& entry) { return (entry.statusValues.valid & kStatusThreads) != 0; }
};

}  // namespace stormlog
