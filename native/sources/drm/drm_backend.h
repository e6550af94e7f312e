// Cards of AMD and Intel on Linux, through what the kernel shows of graphics devices (DRM): memory by sysfs,
// processes by AMD's compute driver and by fdinfo. NVIDIA's cards are left to NVML.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../../error_log.h"
#include "../device_backend.h"
#include "drm_device.h"
#include "drm_usage.h"
#include "fdinfo_scan.h"
#include "kfd.h"

namespace stormlog {

// An absolute path in the environment in place of the usual root: STORMLOG_GATE_SYSFS for "/sys", STORMLOG_GATE_PROC
// for "/proc".
std::string drmRoot(const char* variable, const std::string& usual);

class DrmBackend final : public DeviceBackend, private FdInfoVisitor {
 public:
  // The roots are "/sys" and "/proc", or made-up trees of the same shape.
  DrmBackend(const std::string& sysRoot, const std::string& procRoot);

  SourceReport probe() override;
  void sample(uint64_t timeNs, RecordSink& out) override;
  void sampleProcesses(uint64_t timeNs, RecordSink& out) override;
  bool wantsProcesses() const override;

 private:
  // State of a device between readings.
  struct State {
    bool lost = false;
    bool failing = false;
    uint64_t failingSinceNs = 0;
    uint64_t retryNs = 0;
    uint64_t backoffNs = 0;
    uint64_t used = 0;
    bool usedKnown = false;
    // At the last process list.
    uint64_t usedAtList = 0;
    uint64_t total = 0;
    bool listed = false;
  };

  void nameDevices();
  void finishReports();
  std::string whatIsNotRead(const std::vector<DrmCard>& cards) const;
  void fail(size_t i, int error, uint64_t timeNs, RecordSink& out);
  void event(DeviceEvent what, int id, uint64_t code, uint64_t timeNs, RecordSink& out) const;
  void checkDevices(uint64_t timeNs, RecordSink& out);

  // Visitor of fdinfo.
  void client(int pid, int minor, const FdInfo& info) override;
  void refused(int pid, int error) override;

  int deviceOf(const char* pci, int minor) const;
  void takePids();
  bool isJobs(int pid) const;
  void gather(bool look);
  void emitLists(bool onlyWithoutUsed, uint64_t beganNs, uint64_t timeNs, RecordSink& out);
  size_t emitEntry(const DrmUsage& entry, uint64_t timeNs, RecordSink& out) const;

  const std::string sysRoot_;
  const std::string procRoot_;
  std::vector<DrmDevice> devices_;
  std::vector<State> states_;
  ErrorLog errors_;
  KfdProcesses kfd_;
  std::unique_ptr<FdInfoScan> fdinfo_;
  std::unique_ptr<DrmUsageTable> usage_;
  std::unique_ptr<DrmClients> clients_;
  // The job's pids, sorted, and a buffer for the next ones.
  std::unique_ptr<int[]> jobPids_;
  std::unique_ptr<int[]> scratchPids_;
  // Per device: the compute driver is skipped, because its pids are of another namespace and fdinfo has the job's
  // processes.
  std::unique_ptr<bool[]> leaveOut_;
  size_t jobPidCount_ = 0;
  uint64_t pidsVersion_ = 0;
  uint64_t nextQuickNs_ = 0;
  int cards_ = 0;
  bool countReported_ = false;
  bool anyWithoutUsed_ = false;
  bool foreignPids_ = false;
  bool moved_ = false;
  // While fdinfo is read: where its errors go.
  RecordSink* sink_ = nullptr;
  uint64_t sinkTimeNs_ = 0;
};

}  // namespace stormlog
