// The interface of all sources: reports what can be read on this machine, and reads it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../record_format.h"

namespace stormlog {

struct SourceReport {
  std::string name;
  bool available = false;
  // Why not, when not available.
  std::string reason;
  std::vector<std::string> capabilities;
};

struct DeviceReport {
  // The id of its records; unique over all backends (device_backend.h).
  int index = 0;
  std::string name;
  std::string model;
  std::string uuid;
  // 0 = unknown.
  uint64_t totalBytes = 0;
  std::string driver;
  // "nvml", "amd", "intel" or "apple".
  std::string backend;
  // "0000:03:00.0", or "".
  std::string pciBusId;
  // A MIG device: the index of its GPU, and its profile ("1g.10gb"). -1 and "" otherwise.
  int parent = -1;
  std::string migProfile;
  // Shares its memory with the CPU: the used memory is not the device's own.
  bool unified = false;
  // "memory", "memory:v1", "memory:v2", "processes", "accounting", "events", "persistence:off", …
  std::vector<std::string> capabilities;
  // Entries of the first process list, and how many of them came without their memory; -1 = no list could be read.
  int listEntries = -1;
  int listUnknown = 0;
  // What cannot be read, and why; "" when everything can.
  std::string reason;

  void addReason(const std::string& text) {
    if (!text.empty()) reason += (reason.empty() ? "" : "; ") + text;
  }
};

// A record without values.
inline Record recordOf(RecordKind kind, RecordSource source, int32_t id, uint64_t timeNs) {
  Record record;
  record.timeNs = timeNs;
  record.kind = kind;
  record.source = source;
  record.id = id;
  return record;
}

inline Record deviceEvent(DeviceEvent event, RecordSource source, int32_t device, uint64_t timeNs) {
  Record record = recordOf(RecordKind::kDeviceEvent, source, device, timeNs);
  record.set(0, static_cast<uint64_t>(event));
  return record;
}

// The memory of a process on a device: kDeviceProcess or kDeviceProcessPeak.
inline Record deviceProcess(RecordKind kind, RecordSource source, int32_t pid, int device, uint64_t timeNs) {
  Record record = recordOf(kind, source, pid, timeNs);
  record.set(1, static_cast<uint64_t>(device));
  return record;
}

class Source {
 public:
  virtual ~Source() = default;

  // Opens the source and reports what can be read. May allocate and block; never called from a sampling loop.
  virtual SourceReport probe() = 0;

  // Reads once and pushes records stamped `timeNs` (since time zero). Allocates nothing and never throws.
  virtual void sample(uint64_t timeNs, RecordSink& out) = 0;
};

}  // namespace stormlog
