// A running measurement: one thread for the host, one for the devices of each vendor, one record file.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "devices/device_owners.h"
#include "devices/device_worker.h"
#include "records/downsampler.h"
#include "records/record_writer.h"
#include "sources/host/cgroup_source.h"
#include "sources/host/host_source.h"
#include "sources/probe/probe_source.h"
#include "support/thread.h"

namespace stormlog {

constexpr uint64_t kMinPeriodNs = 500 * 1000;
constexpr uint64_t kMaxPeriodNs = 1000 * 1000 * 1000;

struct SamplerOptions {
  std::string file;
  int rootPid = 0;
  bool includeRoot = true;
  uint64_t hostPeriodNs = 5 * 1000 * 1000;
  uint64_t devicePeriodNs = 20 * 1000 * 1000;
  // Fraction of one core, or below 0 for no governor.
  double cpuBudget = 0.01;
  std::string marker;
  // Programs that are not measured, one a line.
  std::string ignore;
  std::string procRoot = "/proc";
  std::string sysRoot = "/sys";
  // "" = the usual places.
  std::string nvmlPath;
  // Where probes inside the measured processes leave their rings; "" = there are none.
  std::string probeDirectory;
  // How long the start waits for the drivers; it goes on without devices after that, and takes them when they come.
  uint64_t deviceProbeTimeoutNs = 5ULL * 1000 * 1000 * 1000;
  // Time from which on the record is thinned.
  uint64_t denseNs = kDenseNs;
};

struct SamplerStats {
  uint64_t ticks = 0;
  uint64_t missedTicks = 0;
  // Of the slowest vendor that has devices.
  uint64_t deviceTicks = 0;
  uint64_t durationNs = 0;
  uint64_t hostPeriodNs = 0;
  uint64_t devicePeriodNs = 0;
  uint64_t cpuNs = 0;
  // 0 or an errno.
  int writeError = 0;
  // Those that have devices.
  std::vector<DeviceWorkerStats> workers;
};

// The latest values, readable from any thread at any time without a lock. NaN = unknown.
struct LiveValues {
  static constexpr size_t kCount = 8;
  enum Index { kTimeNs, kRss, kHost, kPeakHost, kProcesses, kDeviceUsed, kTicks, kMissed };
};

class Sampler {
 public:
  explicit Sampler(const SamplerOptions& options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Creates the file, probes the sources, takes the first samples of host and devices and starts the threads. Returns 0
  // or an errno.
  int start();
  // Takes the last sample, ends the threads and closes the file. A second call returns the same numbers.
  SamplerStats stop();

  void live(double out[LiveValues::kCount]) const;
  uint64_t monotonicStartNs() const { return startNs_; }
  int64_t epochNs() const { return epochNs_; }
  std::vector<SourceReport> sources() const;
  std::vector<DeviceReport> devices() const;
  // What was recorded, to be read back after `stop`.
  RecordWriter& records() { return writer_; }

 private:
  static void* runHost(void* self);
  void hostLoop();
  void hostTick(uint64_t nowNs, uint64_t latenessNs);
  // Exchanges records and membership with the device threads.
  void serveDevices(uint64_t nowNs);
  void serveSharedMemory();
  SourceReport unmappedReport() const;
  void shareMembers(uint64_t timeNs);
  uint64_t deviceCpuNs() const;
  uint64_t devicePeriodNs() const;
  void pushRate(uint64_t timeNs, uint64_t cpuNs);
  void publish(uint64_t timeNs);

  const SamplerOptions options_;
  uint64_t startNs_ = 0;
  int64_t epochNs_ = 0;
  RecordWriter writer_;
  // What every source writes to.
  Downsampler thinner_;
  std::unique_ptr<HostSource> host_;
  std::unique_ptr<CgroupSource> cgroup_;
  std::unique_ptr<ProbeSource> probe_;
  std::unique_ptr<DeviceOwners> owners_;
  std::vector<std::unique_ptr<DeviceWorker>> workers_;
  // Reads no devices, so it counts neither for their rates nor for their stalls. Null where there is none.
  std::unique_ptr<DeviceWorker> sharedMemory_;
  SourceReport hostReport_;
  SourceReport cgroupReport_;
  SourceReport probeReport_;
  Thread thread_;
  std::atomic<bool> stopAsked_{false};
  // Doubles as bits.
  std::atomic<uint64_t> live_[LiveValues::kCount];
  // Host thread only, read by others after it has ended.
  uint64_t ticks_ = 0;
  uint64_t missed_ = 0;
  uint64_t period_ = 0;
  uint64_t devicePeriod_ = 0;
  uint64_t cpu_ = 0;
  uint64_t nextCgroupNs_ = 0;
  // The membership that the device threads received last, and its size.
  uint64_t sharedMembership_ = 0;
  size_t sharedWith_ = 0;
  std::unique_ptr<int[]> members_;
  // Of all devices, as last served.
  uint64_t usedBytes_ = 0;
  bool usedKnown_ = false;
  double peakHost_ = 0;
  bool peakKnown_ = false;
  bool stopped_ = false;
  SamplerStats stats_;
};

struct EmptyLoopResult {
  uint64_t ticks = 0;
  uint64_t cpuNs = 0;
};

// A thread that only wakes at the deadlines of `periodNs` for `durationNs`: what sampling at that rate costs before it
// reads anything.
EmptyLoopResult runEmptyLoop(uint64_t periodNs, uint64_t durationNs);

}  // namespace stormlog
