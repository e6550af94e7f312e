// A device backend finds the devices of one vendor, reads their memory often and their processes rarely. Each backend
// has its own thread (device_worker.h), so a driver that hangs delays only its own devices.
#pragma once

#include <string>
#include <vector>

#include "../support/job_pids.h"
#include "../support/stop_flag.h"
#include "source.h"

namespace stormlog {

// Numbers of devices in records: each backend has a range of its own, so that they never clash. Within NVIDIA's range a
// device has its NVML index, a MIG device of GPU g has kMigDevices + 8 * g + its MIG index.
constexpr int kNvidiaDevices = 0;
constexpr int kMigDevices = 256;
constexpr int kDrmDevices = 4096;
constexpr int kAppleDevices = 8192;

// v2 of a kDeviceProcess record whose bit is clear: the owner of the process cannot be known, because its pid is of
// another pid namespace. Otherwise the host thread sets v2, not the backend.
constexpr uint64_t kOwnerUnknown = UINT64_MAX;

class DeviceBackend : public Source {
 public:
  // Called with the job's pids before the first sample; they live as long as the backend's thread.
  virtual void follow(const JobPids* pids) { pids_ = pids; }

  // Memory by process: kDeviceProcess records, then one kDeviceList record for each device that could be read. May take
  // milliseconds and slow the measured program down, so the worker calls it at most once a second, and after events.
  virtual void sampleProcesses(uint64_t /*timeNs*/, RecordSink& /*out*/) {}

  // True when the last samples show a change that only a process list explains.
  virtual bool wantsProcesses() const { return false; }

  // The final reading: exact peaks of ended processes, last events.
  virtual void finish(uint64_t /*timeNs*/, RecordSink& /*out*/) {}

  // True when `watch` has something to wait for; asked once, after the probe.
  virtual bool watches() const { return false; }

  // Waits for the driver's events (kDeviceEvent records) until `stop` is set, which it checks five times a second. Runs
  // in a thread of its own beside `sample`.
  virtual void watch(uint64_t /*timeZeroNs*/, RecordSink& /*out*/, const StopFlag& /*stop*/) {}

  virtual const std::vector<DeviceReport>& devices() const { return reports_; }

  // Sum over devices at the last sample; false when no device answered.
  virtual bool usedBytes(uint64_t& out) const {
    out = usedSum_;
    return usedKnown_;
  }

  // The device of the current call, so that a call that does not return has a name; -1 = unknown.
  // Any thread.
  int workingOn() const { return workingOn_.load(std::memory_order_relaxed); }

 protected:
  void working(int device) { workingOn_.store(device, std::memory_order_relaxed); }

  void forgetUsed() {
    usedSum_ = 0;
    usedKnown_ = false;
  }
  void addUsed(uint64_t bytes) {
    usedSum_ += bytes;
    usedKnown_ = true;
  }

  const JobPids* pids_ = nullptr;
  std::vector<DeviceReport> reports_;

 private:
  uint64_t usedSum_ = 0;
  bool usedKnown_ = false;
  std::atomic<int> workingOn_{-1};
};

}  // namespace stormlog
