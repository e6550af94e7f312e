// Device memory of NVIDIA GPUs. Only the memory query: it is answered from the driver's own books in about 12 µs, while process lists
// hold the driver's global lock for milliseconds and would slow the measured program.
#pragma once

#include <string>
#include <vector>

#include "../error_log.h"
#include "nvml_api.h"
#include "source.h"

namespace stormlog {

class NvmlSource final : public Source {
 public:
  explicit NvmlSource(std::string path) : path_(static_cast<std::string&&>(path)) {}

  SourceReport probe() override;
  void sample(uint64_t timeNs, RecordSink& out) override;

  const std::vector<DeviceReport>& devices() const { return devices_; }
  // Sum over devices at the last sample; false when no device answered.
  bool usedBytes(uint64_t& out) const {
    out = usedSum_;
    return usedKnown_;
  }

 private:
  struct Device {
    NvmlDevice handle = nullptr;
    int index = 0;
    bool lost = false;
    bool useV2 = false;
  };

  int read(Device& device, Record& record);
  void describe(unsigned index, NvmlDevice handle, const std::string& driver);

  const std::string path_;
  NvmlApi api_;
  ErrorLog errors_;
  std::vector<Device> handles_;
  std::vector<DeviceReport> devices_;
  uint64_t usedSum_ = 0;
  bool usedKnown_ = false;
};

}  // namespace stormlog
