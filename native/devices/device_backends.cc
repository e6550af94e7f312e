#include "device_backends.h"

#include "../sources/nvidia/nvml.h"
#if defined(__linux__)
#include "../sources/drm/drm_backend.h"
#include "../sources/host/shared_memory.h"
#elif defined(__APPLE__)
#include "../sources/apple/apple.h"
#endif

namespace stormlog {

std::vector<NamedBackend> createDeviceBackends(const BackendOptions& options) {
  std::vector<NamedBackend> all;
  all.push_back(NamedBackend{"nvml", std::unique_ptr<DeviceBackend>(new NvmlBackend(options.nvmlPath))});
#if defined(__linux__)
  const std::string sysRoot = drmRoot("STORMLOG_GATE_SYSFS", options.sysRoot);
  const std::string procRoot = drmRoot("STORMLOG_GATE_PROC", options.procRoot);
  all.push_back(NamedBackend{"drm", std::unique_ptr<DeviceBackend>(new DrmBackend(sysRoot, procRoot))});
#elif defined(__APPLE__)
  all.push_back(NamedBackend{"apple", createAppleBackend()});
#endif
  return all;
}

std::unique_ptr<DeviceBackend> createSharedMemory(const std::string& procRoot, int rootPid) {
#if defined(__linux__)
  return std::unique_ptr<DeviceBackend>(new SharedMemory(procRoot, rootPid));
#else
  (void)procRoot;
  (void)rootPid;
  return nullptr;
#endif
}

}  // namespace stormlog
