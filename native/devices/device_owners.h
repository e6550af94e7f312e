// Owner of a process that a driver lists: the measured job, another job, or unknown. Host thread only.
#pragma once

#include <cstdint>
#include <vector>

#include "../record_format.h"
#include "../sources/host/host_source.h"
#include "../support/pid_map.h"

namespace stormlog {

class DeviceOwners {
 public:
  // Drivers list a process for a moment after its end, and the host thread reads a list later. An ended process counts
  // as the job's for this long, and not longer because pids are reused.
  static constexpr uint64_t kRememberNs = 10ULL * 1000 * 1000 * 1000;

  explicit DeviceOwners(HostSource& host) : host_(host) {}

  // To be called when the tree's membership changed, with its living members.
  void update(const int* pids, size_t count, uint64_t timeNs);

  // Fills in v2 of a kDeviceProcess record. May look for new processes, whose records go to `out`.
  void assign(Record& record, uint64_t timeNs, RecordSink& out);

 private:
  static constexpr size_t kCapacity = 8192;
  static constexpr uint64_t kLiving = UINT64_MAX;

  bool owned(int pid, uint64_t timeNs);

  HostSource& host_;
  // When a member ended, or kLiving.
  PidMap<kCapacity> members_;
  // Processes of other jobs, with the time of the last tree scan for each: one at first, then one every kRememberNs.
  PidMap<kCapacity> others_;
  std::vector<int> last_;
  // Time of the last tree scan for a process of another job: a list full of them needs one scan, not one each.
  uint64_t lookedNs_ = UINT64_MAX;
};

}  // namespace stormlog
