// The job's memory with each shared page counted once, from smaps_rollup of every process (kHostShared records). The
// kernel walks every page of a process for it (11 ms per GiB) under a lock that its mmap calls wait for, so this runs
// in a worker of its own (device_worker.h), which paces it like a process list.
#pragma once

#include <memory>
#include <vector>

#include "../device_backend.h"
#include "procfs.h"

namespace stormlog {

class SharedMemory final : public DeviceBackend {
 public:
  // A change of the job's memory that is worth a reading before the next one is due.
  static constexpr uint64_t kMovedBytes = 32ULL << 20;

  // `rootPid`: the process whose smaps_rollup the probe reads in a test's tree.
  SharedMemory(const std::string& procRoot, int rootPid)
      : proc_(procRoot), rootPid_(rootPid), members_(new int[JobPids::kCapacity]) {}

  SourceReport probe() override;
  void sample(uint64_t /*timeNs*/, RecordSink& /*out*/) override {}
  void sampleProcesses(uint64_t timeNs, RecordSink& out) override;
  bool wantsProcesses() const override;
  const std::vector<DeviceReport>& devices() const override { return none_; }
  bool usedBytes(uint64_t& /*out*/) const override { return false; }

 private:
  bool borrows(int pid) const;

  const ProcFs proc_;
  const int rootPid_;
  const std::unique_ptr<int[]> members_;
  const std::vector<DeviceReport> none_;
  uint64_t readAtBytes_ = 0;
};

}  // namespace stormlog
