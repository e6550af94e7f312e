// Tells whose a process is that a driver names: the measured job's, somebody else's, or that it cannot be told. Host thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "record_format.h"
#include "sources/host_source.h"
#include "support/pid_map.h"

namespace stormlog {

class DeviceOwners {
 public:
  // Drivers go on naming a process for a moment after its end, and a list waits for the host thread: for so long the job's dead stay
  // the job's. Not longer, because numbers are used again.
  static constexpr uint64_t kRememberNs = 10ULL * 1000 * 1000 * 1000;

  explicit DeviceOwners(HostSource& host) : host_(host) {}

  // To be called when the tree's membership changed, with its living members.
  void update(const int* pids, size_t count, uint64_t timeNs);

  // Fills in v2 of a kDeviceProcess record. May look for new processes, whose records go to `out`.
  void tell(Record& record, uint64_t timeNs, RecordSink& out);

 private:
  static constexpr size_t kCapacity = 8192;
  static constexpr uint64_t kLiving = UINT64_MAX;

  bool owned(int pid, uint64_t timeNs);

  HostSource& host_;
  // When a member ended, or kLiving.
  PidMap<kCapacity> members_;
  // Strangers, by when they were last looked for in the tree: once each, then every kRememberNs.
  PidMap<kCapacity> strangers_;
  std::vector<int> last_;
  // When the tree was last looked through for a stranger: a list full of strangers is worth one look, not one each.
  uint64_t lookedNs_ = UINT64_MAX;
};

}  // namespace stormlog
