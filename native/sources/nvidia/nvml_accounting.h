// Exact peaks: where accounting mode is on, the driver recomputes a process's memory at every allocation and keeps the
// maximum, also after the process ended. It is never turned on from here (that needs root and changes the machine);
// `nvidia-smi -am 1` does.
#pragma once

#include <cstdint>
#include <vector>

#include "../../support/job_pids.h"
#include "../../support/pid_map.h"
#include "../device_backend.h"
#include "nvml_api.h"
#include "nvml_device.h"

namespace stormlog {

class NvmlAccounting {
 public:
  void use(const NvmlApi* api) { api_ = api; }

  // Reads whether accounting is on, and which ended processes the driver still lists. Returns a capability:
  // "accounting", "accounting:off", "accounting:denied", or "" where the driver does not support it.
  const char* probe(const NvmlState& device);

  // Remembers the job's processes. Cheap while they do not change.
  void follow(const JobPids* pids);

  // A process list named `pid` on `device`.
  void seen(const NvmlState& device, uint32_t pid);

  // Records the peaks that changed, of living and of newly ended processes. With `last`: of every process that was ever
  // in the job, including those too short-lived for any list.
  void read(const std::vector<NvmlState>& devices, uint64_t timeNs, bool last, RecordSink& out);

 private:
  struct Followed {
    int device;
    int pid;
    uint64_t peak;
    bool done;
  };
  static constexpr size_t kMaxFollowed = 1024;
  static constexpr size_t kMaxPids = 4096;
  static constexpr uint64_t kAlive = 1;
  static constexpr uint64_t kEnded = 2;

  Followed* find(int device, int pid);
  void readOne(const NvmlState& device, Followed& followed, uint64_t timeNs, bool last, RecordSink& out);
  void addShortLived(const NvmlState& device);

  const NvmlApi* api_ = nullptr;
  // Devices with accounting on, by index.
  std::vector<int> on_;
  std::vector<Followed> followed_;
  // Pairs of device and pid that the driver listed before the job began.
  std::vector<Followed> before_;
  // Every process that was ever in the job: kAlive or kEnded.
  PidMap<kMaxPids> job_;
  uint64_t version_ = 0;
  std::vector<int> now_;
  std::vector<int> copy_;
  std::vector<unsigned> pids_;
};

}  // namespace stormlog
