// The part of NVML's C API used here, looked up symbol by symbol: a missing symbol is a missing capability.
#pragma once

#include <string>

#include "nvml_abi.h"

namespace stormlog {

// The versions of one kind of process list; null where the library lacks it.
struct NvmlListCalls {
  using Call = int (*)(NvmlHandle, unsigned* count, void* rows);
  // Rows of 24 bytes. Every library that has a "_v3", whose rows differ from driver to driver, has this one, too.
  Call v2 = nullptr;
  // Rows of 16 bytes.
  Call v1 = nullptr;
};

class NvmlApi {
 public:
  NvmlApi() = default;
  NvmlApi(const NvmlApi&) = delete;
  NvmlApi& operator=(const NvmlApi&) = delete;
  ~NvmlApi();

  // Takes the library of this path, as `nvmlLibrary` opened it. Returns "" or the reason.
  std::string load(const std::string& path);

  // Calls the newest initialiser present. An NVML code.
  int init();

  int (*driverVersion)(char*, unsigned) = nullptr;
  int (*nvmlVersion)(char*, unsigned) = nullptr;
  int (*deviceCount)(unsigned*) = nullptr;
  int (*deviceByIndex)(unsigned, NvmlHandle*) = nullptr;
  int (*deviceByUuid)(const char*, NvmlHandle*) = nullptr;
  int (*deviceName)(NvmlHandle, char*, unsigned) = nullptr;
  int (*deviceUuid)(NvmlHandle, char*, unsigned) = nullptr;
  int (*pciInfo)(NvmlHandle, NvmlPciInfo*) = nullptr;
  int (*persistenceMode)(NvmlHandle, int*) = nullptr;
  int (*memoryV1)(NvmlHandle, NvmlMemoryV1*) = nullptr;
  int (*memoryV2)(NvmlHandle, NvmlMemoryV2*) = nullptr;
  // Compute, graphics, MPS.
  NvmlListCalls lists[3];
  int (*processDetails)(NvmlHandle, NvmlProcessDetailList*) = nullptr;
  int (*migMode)(NvmlHandle, unsigned* current, unsigned* pending) = nullptr;
  int (*migCount)(NvmlHandle, unsigned*) = nullptr;
  int (*migByIndex)(NvmlHandle, unsigned, NvmlHandle*) = nullptr;
  int (*attributes)(NvmlHandle, NvmlAttributes*) = nullptr;
  int (*accountingMode)(NvmlHandle, int*) = nullptr;
  int (*accountingStats)(NvmlHandle, unsigned pid, NvmlAccountingStats*) = nullptr;
  int (*accountingPids)(NvmlHandle, unsigned* count, unsigned* pids) = nullptr;
  int (*eventSetCreate)(void**) = nullptr;
  int (*eventSetFree)(void*) = nullptr;
  int (*eventSetWait)(void*, NvmlEventData*, unsigned timeoutMs) = nullptr;
  int (*registerEvents)(NvmlHandle, unsigned long long types, void* set) = nullptr;
  int (*remappedRows)(NvmlHandle, unsigned* corrected, unsigned* uncorrected, unsigned* pending, unsigned* failed) = nullptr;
  int (*supportedEvents)(NvmlHandle, unsigned long long*) = nullptr;

 private:
  void lookUpAll();

  int (*initWithFlags_)(unsigned) = nullptr;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  void* library_ = nullptr;
  bool initialised_ = false;
};

// A name for the codes worth naming: "GPU_IS_LOST", …; "code 77" otherwise.
std::string nvmlCodeName(int code);

}  // namespace stormlog
