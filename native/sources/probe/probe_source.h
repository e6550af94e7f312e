// The rings of the probes inside the measured processes, and the step file: one source, drained by the host thread at
// its own rate. All tables are allocated at the start. Processes beyond their size are reported and not read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "../../error_log.h"
#include "../../support/clock.h"
#include "probe_directory.h"
#include "probe_file.h"
#include "../host/host_source.h"
#include "step_file.h"

namespace stormlog {

// Codes of this source's error records.
enum ProbeTrouble : uint64_t {
  // v2 of the record is how many records of this process were lost so far.
  kProbeRecordsLost = 1,
  kProbeNotARing = 2,
  kProbeRingTruncated = 3,
  kProbeTooManyFiles = 4,
  kProbeTooManyDevices = 5,
  kProbeRecordImpossible = 6,
  kProbeStepUnreadable = 7,
  kProbeDirectoryTooLarge = 8,
  kProbeFileUnreadable = 9,
};

class ProbeSource final : public Source, private ProbeDirectory::Visitor {
 public:
  // `startNs` is time zero on CLOCK_MONOTONIC. The launcher `rootPid` is not part of the job, whatever it loads, nor
  // are the processes that `host` ignores (null = none).
  ProbeSource(const std::string& directory, uint64_t startNs, int rootPid, HostSource* host = nullptr);
  ~ProbeSource();

  SourceReport probe() override;
  // Called as often as the host thread wakes. Reads at its own rates.
  void sample(uint64_t timeNs, RecordSink& out) override;

  // The final drain of all rings.
  void finish(uint64_t timeNs, RecordSink& out);

 private:
  struct File;
  class Delivery;
  static constexpr size_t kFiles = 512;
  static constexpr size_t kSeen = 16384;
  static constexpr size_t kMaxSeen = kSeen / 4 * 3;

  void ring(int pid, uint32_t instance, const char* name) override;
  bool isNew(int pid, uint32_t instance);
  bool isGone(int ownPid) const;
  void look(uint64_t timeNs, RecordSink& out);
  void drain(uint64_t timeNs, RecordSink& out, uint64_t budget, uint64_t budgetPerFile);
  void drainFile(File& file, uint64_t timeNs, RecordSink& out, uint64_t& budget);
  void reportLost(File& file, uint64_t timeNs, RecordSink& out, bool all);
  void reportHeaderStep(File& file, uint64_t timeNs, RecordSink& out);
  void close(File& file, uint64_t timeNs, RecordSink& out);
  void readStepFile(uint64_t timeNs, RecordSink& out);

  const std::string path_;
  const uint64_t startNs_;
  const int rootPid_;
  HostSource* const host_;
  ProbeDirectory directory_;
  bool available_ = false;
  std::unique_ptr<File[]> files_;
  // The first `used_` files are in use.
  size_t used_ = 0;
  // Where the next drain begins, so that a flood from one process does not starve the others.
  size_t turn_ = 0;
  // Names ever seen, as a hash table of (pid, instance) + 1.
  std::unique_ptr<uint64_t[]> seen_;
  size_t seenCount_ = 0;
  int32_t nextStream_ = 0;
  uint64_t nextDrainNs_ = 0;
  uint64_t nextStepNs_ = 0;
  uint64_t nextLookNs_ = 0;
  // A ring did not fit into the table: list the directory again once there is room, even without a change.
  bool refused_ = false;
  StepFile stepFile_;
  // Set while the directory is listed.
  uint64_t timeNs_ = 0;
  RecordSink* out_ = nullptr;
  ErrorLog errors_;
  ProbeFile::Batch batch_;
};

}  // namespace stormlog
