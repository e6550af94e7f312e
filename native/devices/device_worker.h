// The thread that talks to the driver of one vendor's devices. Separate from host sampling because a driver call may
// hang for seconds or for ever. Every wait for this thread has a deadline.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "../sources/device_backend.h"
#include "../support/spsc_ring.h"
#include "../support/thread.h"

namespace stormlog {

struct DeviceOptions {
  uint64_t timeZeroNs = 0;
  uint64_t periodNs = 0;
  // Fraction of one core, or below 0 for no governor.
  double cpuBudget = -1;
  // Stop after the first reading: only the list of devices is needed.
  bool probeOnly = false;
};

// What one worker did.
struct DeviceWorkerStats {
  std::string name;
  size_t devices = 0;
  uint64_t ticks = 0;
  uint64_t missed = 0;
  // Rounds of process lists.
  uint64_t lists = 0;
  uint64_t periodNs = 0;
  uint64_t cpuNs = 0;
  // Records that found no room because the host thread was held up.
  uint64_t lostRecords = 0;
};

class DeviceWorker {
 public:
  // A call that takes longer than this is reported as a stall.
  static constexpr uint64_t kStallNs = 1000000000ULL;

  // `name` identifies the backend until it answers.
  DeviceWorker(const char* name, std::unique_ptr<DeviceBackend> backend, const DeviceOptions& options);
  ~DeviceWorker();
  DeviceWorker(const DeviceWorker&) = delete;
  DeviceWorker& operator=(const DeviceWorker&) = delete;

  // Returns 0 or an errno.
  int start();
  // True when, before `deadlineNs`, every device had its first sample and process list, or it was known that there are
  // no devices.
  bool waitReady(uint64_t deadlineNs) const;
  // What is known so far; a driver that has not answered yet is "not available" for that reason.
  SourceReport report() const;
  std::vector<DeviceReport> devices() const;
  // True when devices were found.
  bool active() const;

  // Replaces `cpuBudget` of the options.
  void setCpuBudget(double budget);

  // Host thread only, all of the following up to the statistics.
  void publishPids(const int* pids, size_t count);
  void publishMemory(uint64_t bytes);
  bool take(Record& out);
  // True when a stall or its end has to be reported; `out` is then its record.
  bool watchdog(uint64_t nowNs, Record& out);

  // Any thread.
  uint64_t cpuNs() const;
  uint64_t periodNs() const;
  DeviceWorkerStats stats() const;
  // Sum of used bytes over the devices; false when unknown.
  bool usedBytes(uint64_t& out) const;

  // Asks the threads to end.
  void askStop();
  // Waits for their end until `deadlineNs`. Threads that hang in the driver are abandoned with the state they use.
  void stop(uint64_t deadlineNs);

 private:
  struct Shared;
  static void* run(void* shared);
  static void* watch(void* shared);
  static void release(Shared* shared);

  Shared* shared_;
  Thread thread_;
  // Host thread only: the call that was reported as stalled, by its start time; 0 = none.
  uint64_t reportedNs_ = 0;
  int reportedDevice_ = -1;
};

}  // namespace stormlog
