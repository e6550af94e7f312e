#include "nvml_api.h"

#include <dlfcn.h>

#include "nvml_library.h"

namespace stormlog {
namespace {

// NVML_INIT_FLAG_NO_GPUS: come up without GPUs, so that one broken device does not hide the others.
constexpr unsigned kInitNoGpus = 1;

template <typename Function>
void lookUp(void* library, const char* name, Function& out) {
  if (out == nullptr) out = reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

NvmlApi::~NvmlApi() {
  if (initialised_ && shutdown_ != nullptr) shutdown_();
}

std::string NvmlApi::load(const std::string& path) {
  const NvmlLibrary& library = nvmlLibrary(path);
  library_ = library.handle;
  if (library_ == nullptr) return "the NVIDIA management library cannot be loaded: " + library.reason;
  lookUpAll();
  if (initWithFlags_ == nullptr && init_ == nullptr) return "the NVIDIA management library has no initialiser";
  if (deviceCount == nullptr || deviceByIndex == nullptr) return "the NVIDIA management library cannot list devices";
  if (memoryV1 == nullptr && memoryV2 == nullptr) return "the NVIDIA management library cannot read memory";
  return "";
}

void NvmlApi::lookUpAll() {
  lookUp(library_, "nvmlInitWithFlags", initWithFlags_);
  lookUp(library_, "nvmlInit_v2", init_);
  lookUp(library_, "nvmlInit", init_);
  lookUp(library_, "nvmlShutdown", shutdown_);
  lookUp(library_, "nvmlSystemGetDriverVersion", driverVersion);
  lookUp(library_, "nvmlSystemGetNVMLVersion", nvmlVersion);
  lookUp(library_, "nvmlDeviceGetCount_v2", deviceCount);
  lookUp(library_, "nvmlDeviceGetCount", deviceCount);
  lookUp(library_, "nvmlDeviceGetHandleByIndex_v2", deviceByIndex);
  lookUp(library_, "nvmlDeviceGetHandleByIndex", deviceByIndex);
  lookUp(library_, "nvmlDeviceGetHandleByUUID", deviceByUuid);
  lookUp(library_, "nvmlDeviceGetName", deviceName);
  lookUp(library_, "nvmlDeviceGetUUID", deviceUuid);
  // Older versions of this one have a shorter struct.
  lookUp(library_, "nvmlDeviceGetPciInfo_v3", pciInfo);
  lookUp(library_, "nvmlDeviceGetPersistenceMode", persistenceMode);
  lookUp(library_, "nvmlDeviceGetMemoryInfo", memoryV1);
  lookUp(library_, "nvmlDeviceGetMemoryInfo_v2", memoryV2);
  constexpr const char* kLists[3] = {"nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetGraphicsRunningProcesses",
                                     "nvmlDeviceGetMPSComputeRunningProcesses"};
  for (size_t i = 0; i < 3; ++i) {
    const std::string name = kLists[i];
    lookUp(library_, (name + "_v2").c_str(), lists[i].v2);
    lookUp(library_, name.c_str(), lists[i].v1);
  }
  lookUp(library_, "nvmlDeviceGetRunningProcessDetailList", processDetails);
  lookUp(library_, "nvmlDeviceGetMigMode", migMode);
  lookUp(library_, "nvmlDeviceGetMaxMigDeviceCount", migCount);
  lookUp(library_, "nvmlDeviceGetMigDeviceHandleByIndex", migByIndex);
  lookUp(library_, "nvmlDeviceGetAttributes_v2", attributes);
  lookUp(library_, "nvmlDeviceGetAccountingMode", accountingMode);
  lookUp(library_, "nvmlDeviceGetAccountingStats", accountingStats);
  lookUp(library_, "nvmlDeviceGetAccountingPids", accountingPids);
  lookUp(library_, "nvmlEventSetCreate", eventSetCreate);
  lookUp(library_, "nvmlEventSetFree", eventSetFree);
  lookUp(library_, "nvmlEventSetWait_v2", eventSetWait);
  lookUp(library_, "nvmlEventSetWait", eventSetWait);
  lookUp(library_, "nvmlDeviceRegisterEvents", registerEvents);
  lookUp(library_, "nvmlDeviceGetRemappedRows", remappedRows);
  lookUp(library_, "nvmlDeviceGetSupportedEventTypes", supportedEvents);
}

int NvmlApi::init() {
  int code = initWithFlags_ != nullptr ? initWithFlags_(kInitNoGpus) : kNvmlFunctionNotFound;
  // Drivers older than the flag refuse it.
  if ((code == kNvmlFunctionNotFound || code == kNvmlInvalidArgument) && init_ != nullptr) code = init_();
  initialised_ = code == kNvmlSuccess;
  return code;
}

std::string nvmlCodeName(int code) {
  switch (code) {
    case 1: return "UNINITIALIZED";
    case 2: return "INVALID_ARGUMENT";
    case 3: return "NOT_SUPPORTED";
    case 4: return "NO_PERMISSION";
    case 6: return "NOT_FOUND";
    case 7: return "INSUFFICIENT_SIZE";
    case 9: return "DRIVER_NOT_LOADED";
    case 10: return "TIMEOUT";
    case 12: return "LIBRARY_NOT_FOUND";
    case 13: return "FUNCTION_NOT_FOUND";
    case 15: return "GPU_IS_LOST";
    case 16: return "RESET_REQUIRED";
    case 17: return "OPERATING_SYSTEM";
    case 18: return "LIB_RM_VERSION_MISMATCH";
    case 25: return "ARGUMENT_VERSION_MISMATCH";
    case 27: return "NOT_READY";
    case 28: return "GPU_NOT_FOUND";
    case 999: return "UNKNOWN";
    default: return "code " + std::to_string(code);
  }
}

}  // namespace stormlog
