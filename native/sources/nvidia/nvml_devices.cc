// Finds the NVIDIA devices and what can be read of each. Slow, so done once.
#include <cstdlib>
#include <cstring>

#include "../../support/pid_namespace.h"
#include "nvml.h"

namespace stormlog {
namespace {

// No machine has more. A library that reports more is broken.
constexpr unsigned kMaxDevices = kMigDevices;
// The driver divides a GPU into seven at most.
constexpr unsigned kMaxMigDevices = 8;
// From this driver on, process lists within a container name processes by the container's numbers; before, by the
// host's.
constexpr int kPidsConvertedMajor = 535;
constexpr int kPidsConvertedMinor = 113;

// A library may leave the buffer without a terminating NUL.
std::string textOf(const char* buffer, size_t size) { return std::string(buffer, strnlen(buffer, size)); }

template <typename Call, typename... Handle>
std::string ask(Call call, Handle... handle) {
  char text[128] = "";
  if (call == nullptr || call(handle..., text, sizeof text) != kNvmlSuccess) return "";
  return textOf(text, sizeof text);
}

// "00000000:65:00.0" as the kernel writes it: "0000:65:00.0".
std::string kernelBusId(const NvmlPciInfo& info) {
  std::string text = textOf(info.busId, sizeof info.busId);
  if (text.size() == 16 && text.compare(0, 4, "0000") == 0) text.erase(0, 4);
  for (char& c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string profileOf(const NvmlApi& api, NvmlHandle handle, const std::string& model) {
  // "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
  const size_t at = model.rfind("MIG ");
  if (at != std::string::npos) return model.substr(at + 4);
  NvmlAttributes attributes{};
  if (api.attributes == nullptr || api.attributes(handle, &attributes) != kNvmlSuccess || attributes.gpuSlices == 0) return "";
  std::string text;
  if (attributes.computeSlices != 0 && attributes.computeSlices != attributes.gpuSlices) {
    text = std::to_string(attributes.computeSlices) + "c.";
  }
  return text + std::to_string(attributes.gpuSlices) + "g." + std::to_string((attributes.memoryMb + 512) / 1024) + "gb";
}

}  // namespace

SourceReport NvmlBackend::probe() {
  SourceReport report;
  report.name = "nvml";
  report.reason = api_.load(path_);
  if (!report.reason.empty()) return report;
  int code = api_.init();
  if (code != kNvmlSuccess) {
    report.reason = "the NVIDIA driver does not answer: " + nvmlCodeName(code);
    return report;
  }
  lists_.use(&api_);
  accounting_.use(&api_);
  health_.use(&api_);
  driver_ = ask(api_.driverVersion);
  nvmlVersion_ = ask(api_.nvmlVersion);
  const char* dot = strchr(driver_.c_str(), '.');
  const int major = atoi(driver_.c_str());
  const int minor = dot != nullptr ? atoi(dot + 1) : 0;
  foreignPids_ = inPidNamespace() && major > 0 &&
                 (major < kPidsConvertedMajor || (major == kPidsConvertedMajor && minor < kPidsConvertedMinor));
  code = api_.deviceCount(&count_);
  if (code != kNvmlSuccess || count_ == 0) {
    report.reason = code != kNvmlSuccess ? "the NVIDIA devices cannot be counted: " + nvmlCodeName(code) : "no NVIDIA device is visible";
    return report;
  }
  for (unsigned i = 0; i < count_ && i < kMaxDevices; ++i) attach(i);
  return summary();
}

SourceReport NvmlBackend::summary() const {
  SourceReport report;
  report.name = "nvml";
  bool anyMemory = false;
  bool anyV2 = false;
  for (const NvmlState& state : states_) {
    anyMemory |= state.sampled;
    anyV2 |= state.sampled && state.useV2;
  }
  for (const DeviceReport& device : reports_) {
    if (!device.reason.empty() && report.reason.empty()) report.reason = device.name + ": " + device.reason;
  }
  report.available = !states_.empty();
  if (states_.empty()) report.reason = "no NVIDIA device can be read: " + report.reason;
  // The older query counts what the driver reserves for itself as used.
  if (anyMemory) report.capabilities = {"memory", anyV2 ? "memory:v2" : "memory:v1"};
  if (health_.watches()) report.capabilities.push_back("events");
  if (!driver_.empty()) report.capabilities.push_back("driver");
  if (!nvmlVersion_.empty()) report.capabilities.push_back("nvml:" + nvmlVersion_);
  return report;
}

DeviceReport NvmlBackend::describe(int index, NvmlHandle handle) const {
  DeviceReport report;
  report.index = index;
  report.name = "cuda:" + std::to_string(index);
  report.driver = driver_;
  report.backend = "nvml";
  if (handle == nullptr) return report;
  report.model = ask(api_.deviceName, handle);
  report.uuid = ask(api_.deviceUuid, handle);
  NvmlPciInfo pci{};
  if (api_.pciInfo != nullptr && api_.pciInfo(handle, &pci) == kNvmlSuccess) report.pciBusId = kernelBusId(pci);
  return report;
}

void NvmlBackend::attach(unsigned index) {
  NvmlHandle handle = nullptr;
  // Getting a handle initialises the device, which is expensive, and keeps it initialised while this process runs. Done
  // once, here.
  const int code = api_.deviceByIndex(index, &handle);
  if (code != kNvmlSuccess || handle == nullptr) {
    DeviceReport report = describe(static_cast<int>(index), nullptr);
    report.reason = "the driver gives no access to it: " + nvmlCodeName(code);
    reports_.push_back(report);
    return;
  }
  NvmlState state;
  state.handle = handle;
  state.index = static_cast<int>(index);
  DeviceReport report = describe(state.index, handle);
  int persistent = 0;
  if (api_.persistenceMode != nullptr && api_.persistenceMode(handle, &persistent) == kNvmlSuccess) {
    report.capabilities.push_back(persistent == 1 ? "persistence:on" : "persistence:off");
  }
  if (health_.add(state.index, handle)) report.capabilities.push_back("events");
  unsigned divided = 0;
  unsigned pending = 0;
  if (api_.migMode != nullptr && api_.migMode(handle, &divided, &pending) == kNvmlSuccess && divided == 1) {
    report.capabilities.push_back("mig");
    state.sampled = false;
    Record record;
    state.useV2 = api_.memoryV2 != nullptr;
    const int memory = read(state, record);
    if (memory == kNvmlSuccess && (record.valid & 2)) report.totalBytes = record.v[1];
    const std::string refusal = memory == kNvmlSuccess ? "" : " (asked as a whole it answers " + nvmlCodeName(memory) + ")";
    reports_.push_back(report);
    const bool any = attachMig(index, handle);
    reportOf(state.index)->reason =
        (any ? "it is divided by MIG and read through its MIG devices" : "it is divided by MIG, and no MIG device of it is visible") + refusal;
    return;
  }
  addDevice(state, report);
}

bool NvmlBackend::attachMig(unsigned gpu, NvmlHandle handle) {
  unsigned max = kMaxMigDevices;
  if (api_.migByIndex == nullptr) return false;
  if (api_.migCount != nullptr && api_.migCount(handle, &max) != kNvmlSuccess) max = kMaxMigDevices;
  bool any = false;
  for (unsigned i = 0; i < max && i < kMaxMigDevices; ++i) {
    NvmlHandle instance = nullptr;
    // An index without an instance returns NOT_FOUND.
    if (api_.migByIndex(handle, i, &instance) != kNvmlSuccess || instance == nullptr) continue;
    any = true;
    attachMigDevice(gpu, i, instance);
  }
  return any;
}

void NvmlBackend::attachMigDevice(unsigned gpu, unsigned index, NvmlHandle handle) {
  NvmlState state;
  state.handle = handle;
  state.index = kMigDevices + static_cast<int>(gpu * kMaxMigDevices + index);
  state.parent = static_cast<int>(gpu);
  DeviceReport report = describe(state.index, handle);
  report.name = "mig:" + std::to_string(gpu) + "." + std::to_string(index);
  report.parent = state.parent;
  report.migProfile = profileOf(api_, handle, report.model);
  report.pciBusId = reportOf(state.parent)->pciBusId;
  addDevice(state, report);
}

void NvmlBackend::addDevice(NvmlState state, DeviceReport report) {
  state.uuid = report.uuid;
  state.useV2 = api_.memoryV2 != nullptr;
  readAbilities(state, report);
  reports_.push_back(report);
  states_.push_back(state);
}

void NvmlBackend::readAbilities(NvmlState& state, DeviceReport& report) {
  Record record;
  const int code = read(state, record);
  if (code == kNvmlSuccess && (record.valid & 2)) {
    state.total = report.totalBytes = record.v[1];
    report.capabilities.push_back("memory");
    report.capabilities.push_back(state.useV2 ? "memory:v2" : "memory:v1");
  } else if (code == kNvmlSuccess || code == kNvmlNotSupported) {
    state.sampled = false;
    state.unified = report.unified = true;
    report.reason = "it shares its memory with the CPU: the driver counts none of its own";
  } else {
    // Later readings show whether that is permanent.
    report.reason = "its memory cannot be read: " + nvmlCodeName(code);
  }
  if (!lists_.has(0)) report.addReason("the driver library has no process lists");
  if (foreignPids_) report.capabilities.push_back("pids:host");
  const std::string accounting = accounting_.probe(state);
  if (!accounting.empty()) report.capabilities.push_back(accounting);
}

DeviceReport* NvmlBackend::reportOf(int index) {
  for (DeviceReport& report : reports_) {
    if (report.index == index) return &report;
  }
  return nullptr;
}

}  // namespace stormlog
