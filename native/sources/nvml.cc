#include "nvml.h"

#include <cstring>

namespace stormlog {
namespace {

// After these the device does not come back without a new process or a reset; asking on would only press the driver.
bool isFinal(int code) {
  switch (code) {
    case kNvmlUninitialized:
    case kNvmlInvalidArgument:
    case kNvmlNotSupported:
    case kNvmlNoPermission:
    case kNvmlFunctionNotFound:
    case kNvmlGpuIsLost:
    case kNvmlResetRequired:
    case kNvmlVersionMismatch:
    case kNvmlGpuNotFound:
      return true;
    default:
      return false;
  }
}

// A library may leave its buffer without an end; what is past it is not ours to read.
std::string textOf(const char* buffer, size_t size) { return std::string(buffer, strnlen(buffer, size)); }

}  // namespace

void NvmlSource::describe(unsigned index, NvmlDevice handle, const std::string& driver) {
  DeviceReport report;
  report.index = static_cast<int>(index);
  report.name = "cuda:" + std::to_string(index);
  report.driver = driver;
  char text[128] = "";
  if (api_.deviceName != nullptr && api_.deviceName(handle, text, sizeof text) == kNvmlSuccess) report.model = textOf(text, sizeof text);
  text[0] = '\0';
  if (api_.deviceUuid != nullptr && api_.deviceUuid(handle, text, sizeof text) == kNvmlSuccess) report.uuid = textOf(text, sizeof text);
  devices_.push_back(report);
}

SourceReport NvmlSource::probe() {
  SourceReport report;
  report.name = "nvml";
  report.reason = api_.load(path_);
  if (!report.reason.empty()) return report;
  int code = api_.init();
  if (code != kNvmlSuccess) {
    report.reason = "the NVIDIA driver does not answer: " + nvmlCodeName(code);
    return report;
  }
  std::string driver;
  char text[96] = "";
  if (api_.driverVersion != nullptr && api_.driverVersion(text, sizeof text) == kNvmlSuccess) driver = textOf(text, sizeof text);
  unsigned count = 0;
  code = api_.deviceCount(&count);
  if (code != kNvmlSuccess || count == 0) {
    report.reason = code != kNvmlSuccess ? "the NVIDIA devices cannot be counted: " + nvmlCodeName(code) : "no NVIDIA device is visible";
    return report;
  }
  // No machine has more; a library that says so is not to be believed.
  constexpr unsigned kMostDevices = 256;
  bool anyV2 = false;
  std::string lastError;
  for (unsigned i = 0; i < count && i < kMostDevices; ++i) {
    Device device;
    // Asking for a handle initialises the device, which is dear: once, here.
    code = api_.deviceByIndex(i, &device.handle);
    if (code != kNvmlSuccess || device.handle == nullptr) {
      lastError = "cuda:" + std::to_string(i) + ": " + nvmlCodeName(code);
      continue;
    }
    device.index = static_cast<int>(i);
    device.useV2 = api_.memoryV2 != nullptr;
    describe(i, device.handle, driver);
    Record record;
    code = read(device, record);
    if (code == kNvmlSuccess && (record.valid & 2)) devices_.back().totalBytes = record.v[1];
    if (code != kNvmlSuccess) lastError = "cuda:" + std::to_string(i) + ": " + nvmlCodeName(code);
    anyV2 |= device.useV2;
    handles_.push_back(device);
  }
  if (handles_.empty()) {
    report.reason = "no NVIDIA device gives a handle: " + lastError;
    return report;
  }
  report.available = true;
  report.capabilities.push_back("memory");
  // The older query counts what the driver reserves for itself as used.
  report.capabilities.push_back(anyV2 ? "memory:v2" : "memory:v1");
  if (!driver.empty()) report.capabilities.push_back("driver");
  if (!lastError.empty()) report.reason = lastError;
  return report;
}

int NvmlSource::read(Device& device, Record& record) {
  if (device.useV2) {
    NvmlMemoryV2 memory{};
    memory.version = kNvmlMemoryV2Version;
    const int code = api_.memoryV2(device.handle, &memory);
    if (code == kNvmlSuccess) {
      if (memory.total == 0) return code;
      record.set(0, memory.used);
      record.set(1, memory.total);
      record.set(2, memory.free);
      record.set(3, memory.reserved);
      return code;
    }
    const bool refused = code == kNvmlFunctionNotFound || code == kNvmlArgumentVersionMismatch || code == kNvmlInvalidArgument;
    if (!refused || api_.memoryV1 == nullptr) return code;
    device.useV2 = false;
  }
  if (api_.memoryV1 == nullptr) return kNvmlFunctionNotFound;
  NvmlMemoryV1 memory{};
  const int code = api_.memoryV1(device.handle, &memory);
  // Total 0 is how unified-memory machines say that there is no separate device memory: unknown, not empty.
  if (code != kNvmlSuccess || memory.total == 0) return code;
  record.set(0, memory.used);
  record.set(1, memory.total);
  record.set(2, memory.free);
  return code;
}

void NvmlSource::sample(uint64_t timeNs, RecordSink& out) {
  usedSum_ = 0;
  usedKnown_ = false;
  for (Device& device : handles_) {
    if (device.lost) continue;
    Record record;
    record.timeNs = timeNs;
    record.kind = RecordKind::kDevice;
    record.source = RecordSource::kNvml;
    record.id = device.index;
    const int code = read(device, record);
    if (code != kNvmlSuccess) {
      errors_.note(out, timeNs, RecordSource::kNvml, device.index, 0, static_cast<uint64_t>(code));
      device.lost = isFinal(code);
      continue;
    }
    out.push(record);
    if (record.valid & 1) {
      usedSum_ += record.v[0];
      usedKnown_ = true;
    }
  }
}

}  // namespace stormlog
