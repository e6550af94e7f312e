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

  // Asks whether it is on, and which dead processes of before it still knows. An answer for the capabilities:
  // "accounting", "accounting:off", "accounting:denied", or "" where the driver has no such thing.
  const char* probe(const NvmlState& device);

  // Remembers who was in the job. Cheap while nothing changed.
  void follow(const JobPids* pids);

  // A process list named `pid` on `device`.
  void seen(const NvmlState& device, uint32_t pid);

  // Peaks that changed, of living processes and of those that ended since. Last: of all that were ever in the job, also
  // those that lived too short to be in any list.
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
  // Pairs of device and pid that were in the driver's books before the job began.
  std::vector<Followed> before_;
  // Everybody who was ever in the job: kAlive or kEnded.
  PidMap<kMaxPids> job_;
  uint64_t version_ = 0;
  std::vector<int> now_;
  std::vector<int> copy_;
  std::vector<unsigned> pids_;
};

}  // namespace stormlog
