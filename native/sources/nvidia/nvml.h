// NVIDIA GPUs and their MIG devices, by the management library. Fast: only the memory query, which the driver answers
// from its own counters in about 12 µs. Rarely: process lists, which hold the driver's global lock for milliseconds and
// would slow the measured program. Never: power, temperature, fan, utilisation, which query the GPU itself.
//
// Capabilities of a device: "memory", "memory:v1" or "memory:v2", "processes", "pids:host" (process lists name
// processes by their numbers in another pid namespace), "accounting", "accounting:off", "accounting:denied", "events",
// "persistence:on", "persistence:off", "mig" (a GPU that is divided: its MIG devices are read instead).
#pragma once

#include <string>
#include <vector>

#include "../../error_log.h"
#include "../device_backend.h"
#include "nvml_accounting.h"
#include "nvml_api.h"
#include "nvml_device.h"
#include "nvml_health.h"
#include "nvml_processes.h"

namespace stormlog {

class NvmlBackend final : public DeviceBackend {
 public:
  // A change of used memory since the last list that is worth a new one: smaller changes are the noise of running
  // contexts.
  static constexpr uint64_t kUnexplainedBytes = 32ULL << 20;

  explicit NvmlBackend(std::string path) : path_(static_cast<std::string&&>(path)) {}

  SourceReport probe() override;
  void sample(uint64_t timeNs, RecordSink& out) override;
  void sampleProcesses(uint64_t timeNs, RecordSink& out) override;
  bool wantsProcesses() const override { return unexplained_; }
  void finish(uint64_t timeNs, RecordSink& out) override;
  bool watches() const override { return health_.watches(); }
  void watch(uint64_t timeZeroNs, RecordSink& out, const StopFlag& stop) override { health_.watch(timeZeroNs, out, stop); }

 private:
  // nvml_devices.cc: finds the devices.
  void attach(unsigned index);
  bool attachMig(unsigned gpu, NvmlHandle handle);
  void attachMigDevice(unsigned gpu, unsigned index, NvmlHandle handle);
  DeviceReport describe(int index, NvmlHandle handle) const;
  void addDevice(NvmlState state, DeviceReport report);
  void readAbilities(NvmlState& state, DeviceReport& report);
  SourceReport summary() const;

  int read(NvmlState& device, Record& record);
  void fail(NvmlState& device, int code, uint64_t timeNs, RecordSink& out);
  void answers(NvmlState& device, uint64_t timeNs, RecordSink& out);
  void checkCapacity(NvmlState& device, uint64_t total, uint64_t timeNs, RecordSink& out);
  void checkCount(uint64_t timeNs, RecordSink& out);
  void listDevice(NvmlState& device, bool everything, uint64_t timeNs, RecordSink& out);
  DeviceReport* reportOf(int index);

  const std::string path_;
  NvmlApi api_;
  ErrorLog errors_;
  NvmlProcessLists lists_;
  NvmlAccounting accounting_;
  NvmlHealth health_;
  std::vector<NvmlState> states_;
  std::string driver_;
  std::string nvmlVersion_;
  unsigned count_ = 0;
  // Process lists contain pids of another pid namespace.
  bool foreignPids_ = false;
  // The driver can no longer be reached, for any device.
  bool over_ = false;
  uint64_t listRounds_ = 0;
  uint64_t listedVersion_ = 0;
  bool unexplained_ = false;
};

}  // namespace stormlog
