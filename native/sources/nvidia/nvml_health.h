// Events of an NVIDIA driver: Xid errors, double-bit memory errors, a GPU that went away; and replaced rows of memory,
// which are read after each event and at the end.
#pragma once

#include <vector>

#include "../../support/stop_flag.h"
#include "../source.h"
#include "nvml_api.h"
#include "nvml_device.h"

namespace stormlog {

class NvmlHealth {
 public:
  NvmlHealth() = default;
  NvmlHealth(const NvmlHealth&) = delete;
  NvmlHealth& operator=(const NvmlHealth&) = delete;
  ~NvmlHealth();

  void use(const NvmlApi* api) { api_ = api; }
  // True when the driver will report events of this GPU. Before `watch`.
  bool add(int index, NvmlHandle handle);
  bool watches() const { return !devices_.empty(); }

  // Until `stop` is asked for, which is checked five times a second.
  void watch(uint64_t timeZeroNs, RecordSink& out, const StopFlag& stop);

 private:
  struct Device {
    int index;
    NvmlHandle handle;
    // Replaced rows at the last reading; -1 = unknown to the driver.
    int64_t replaced;
  };
  int64_t replacedRows(NvmlHandle handle) const;
  void checkRows(uint64_t timeNs, RecordSink& out);
  void report(const NvmlEventData& event, uint64_t timeNs, RecordSink& out) const;

  const NvmlApi* api_ = nullptr;
  void* set_ = nullptr;
  std::vector<Device> devices_;
};

}  // namespace stormlog
