// Cards of AMD and Intel on Linux, through what the kernel shows of graphics devices (DRM): memory by sysfs and the
// dmem group, processes by AMD's compute driver and by fdinfo. NVIDIA's cards are left to NVML.
#pragma once

#include <memory>
#include <string>

#include "../device_backend.h"

namespace stormlog {

// The roots are "/sys" and "/proc", or made-up trees of the same shape.
std::unique_ptr<DeviceBackend> createDrmBackend(const std::string& sysRoot, const std::string& procRoot);

// An absolute path in the environment in place of the usual root: STORMLOG_GATE_SYSFS for "/sys", STORMLOG_GATE_PROC
// for "/proc".
std::string drmRoot(const char* variable, const std::string& usual);

}  // namespace stormlog
