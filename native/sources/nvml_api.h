// The part of NVML's C interface used here, looked up symbol by symbol: a missing symbol is a capability that is not there.
#pragma once

#include <cstdint>
#include <string>

namespace stormlog {

using NvmlDevice = void*;

enum NvmlCode : int {
  kNvmlSuccess = 0,
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlFunctionNotFound = 13,
  kNvmlGpuIsLost = 15,
  kNvmlResetRequired = 16,
  kNvmlVersionMismatch = 18,
  kNvmlArgumentVersionMismatch = 25,
  kNvmlGpuNotFound = 28,
};

struct NvmlMemoryV1 {
  uint64_t total;
  uint64_t free;
  uint64_t used;
};

struct NvmlMemoryV2 {
  // sizeof | 2 << 24, as the header's macro has it; the documentation's plain 2 is refused.
  uint32_t version;
  uint64_t total;
  uint64_t reserved;
  uint64_t free;
  uint64_t used;
};
constexpr uint32_t kNvmlMemoryV2Version = 0x02000028;
static_assert(sizeof(NvmlMemoryV1) == 24 && sizeof(NvmlMemoryV2) == 40, "NVML struct sizes");

class NvmlApi {
 public:
  NvmlApi() = default;
  NvmlApi(const NvmlApi&) = delete;
  NvmlApi& operator=(const NvmlApi&) = delete;
  ~NvmlApi();

  // Opens the library: `path` alone when given, else STORMLOG_GATE_NVML alone when set, else the usual places. Returns "" or the reason.
  std::string load(const std::string& path);

  // Calls the newest initialiser present. An NVML code.
  int init();

  int (*shutdown)() = nullptr;
  int (*driverVersion)(char*, unsigned) = nullptr;
  int (*deviceCount)(unsigned*) = nullptr;
  int (*deviceByIndex)(unsigned, NvmlDevice*) = nullptr;
  int (*deviceName)(NvmlDevice, char*, unsigned) = nullptr;
  int (*deviceUuid)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memoryV1)(NvmlDevice, NvmlMemoryV1*) = nullptr;
  int (*memoryV2)(NvmlDevice, NvmlMemoryV2*) = nullptr;

 private:
  int (*initWithFlags_)(unsigned) = nullptr;
  int (*init_)() = nullptr;
  void* library_ = nullptr;
  bool initialised_ = false;
};

// A name for the codes worth naming: "GPU_IS_LOST", …; "code 77" otherwise.
std::string nvmlCodeName(int code);

}  // namespace stormlog
