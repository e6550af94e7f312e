// The device backends of this platform.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../sources/device_backend.h"

namespace stormlog {

struct BackendOptions {
  // "" = the usual places.
  std::string nvmlPath;
  std::string sysRoot = "/sys";
  std::string procRoot = "/proc";
};

struct NamedBackend {
  // As its source report names it.
  const char* name;
  std::unique_ptr<DeviceBackend> backend;
};

// The reader of the job's shared memory (sources/host/shared_memory.h); null where the platform has none.
std::unique_ptr<DeviceBackend> createSharedMemory(const std::string& procRoot, int rootPid);

// In the order in which their devices are reported. A backend that finds nothing costs a thread's start and end.
std::vector<NamedBackend> createDeviceBackends(const BackendOptions& options);

}  // namespace stormlog
