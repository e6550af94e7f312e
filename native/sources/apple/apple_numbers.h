// Converts the counters of Apple's GPUs to records, separately from how they are read.
#pragma once

#include <cstdint>
#include <cstring>

#include "../../record_format.h"

namespace stormlog {

// "In use system memory" and "Alloc system memory" of an accelerator's "PerformanceStatistics"; below 0 = unknown.
struct AppleMemory {
  int64_t inUse = -1;
  int64_t allocated = -1;
};

// Fills in a kDevice record; false when nothing is known. Used memory may exceed the total, because macOS overcommits
// memory that it can swap.
inline bool appleRecord(const AppleMemory& memory, uint64_t totalBytes, Record& record) {
  if (memory.inUse < 0 && memory.allocated < 0) return false;
  const uint64_t used = static_cast<uint64_t>(memory.inUse >= 0 ? memory.inUse : memory.allocated);
  record.set(0, used);
  if (totalBytes > 0) {
    record.set(1, totalBytes);
    if (used <= totalBytes) record.set(2, totalBytes - used);
  }
  // Memory that the driver has allocated but does not use.
  if (memory.inUse >= 0 && memory.allocated >= memory.inUse) record.set(3, static_cast<uint64_t>(memory.allocated - memory.inUse));
  return true;
}

// The graphics of a virtual machine: its class in the registry, or the name Metal gives it. It can only draw, not
// compute.
inline bool isParavirtual(const char* className, const char* model) {
  return strstr(className, "Paravirt") != nullptr || strstr(model, "Paravirtual") != nullptr;
}

}  // namespace stormlog
