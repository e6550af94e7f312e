// The thread that talks to device drivers. Apart from host sampling because a driver call may hang for seconds or for good; nothing here
// ever waits for it longer than a stated time.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "sources/source.h"
#include "support/spsc_ring.h"
#include "support/thread.h"

namespace stormlog {

struct DeviceOptions {
  uint64_t timeZeroNs = 0;
  uint64_t periodNs = 0;
  // Fraction of one core, or below 0 for no governor.
  double cpuBudget = -1;
  std::string nvmlPath;
  // Stop after the probe: somebody only asks what is there.
  bool probeOnly = false;
};

class DeviceWorker {
 public:
  explicit DeviceWorker(const DeviceOptions& options);
  ~DeviceWorker();
  DeviceWorker(const DeviceWorker&) = delete;
  DeviceWorker& operator=(const DeviceWorker&) = delete;

  // Returns 0 or an errno.
  int start();
  // True when the probe ended within `timeoutNs`.
  bool waitProbed(uint64_t timeoutNs) const;
  // What is known so far; a driver that has not answered yet is "not available" for that reason.
  SourceReport report() const;
  std::vector<DeviceReport> devices() const;

  // Consumer side of the ring; host thread only.
  bool take(Record& out);

  uint64_t ticks() const;
  uint64_t missed() const;
  uint64_t cpuNs() const;
  uint64_t periodNs() const;
  uint64_t lostRecords() const;
  // Sum of used bytes over the devices; false when unknown.
  bool usedBytes(uint64_t& out) const;

  // Asks the thread to end and waits at most `timeoutNs`. A thread that hangs in the driver is left to itself with the state it uses.
  void stop(uint64_t timeoutNs);

 private:
  struct Shared;
  static void* run(void* shared);
  static void release(Shared* shared);

  Shared* shared_;
  Thread thread_;
};

}  // namespace stormlog
