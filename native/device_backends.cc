#include "device_backends.h"

#include "sources/nvml.h"
#if defined(__linux__)
#include "sources/drm.h"
#elif defined(__APPLE__)
#include "sources/apple.h"
#endif

namespace stormlog {

std::vector<NamedBackend> createDeviceBackends(const BackendOptions& options) {
  std::vector<NamedBackend> all;
  all.push_back(NamedBackend{"nvml", std::unique_ptr<DeviceBackend>(new NvmlBackend(options.nvmlPath))});
#if defined(__linux__)
  all.push_back(NamedBackend{"drm", createDrmBackend(drmRoot("STORMLOG_GATE_SYSFS", options.sysRoot),
                                                     drmRoot("STORMLOG_GATE_PROC", options.procRoot))});
#elif defined(__APPLE__)
  all.push_back(NamedBackend{"apple", createAppleBackend()});
#endif
  return all;
}

}  // namespace stormlog
