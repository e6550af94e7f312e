#include "nvml.h"

#include "../../support/clock.h"

namespace stormlog {
namespace {

constexpr uint64_t kFirstRetryNs = 20 * kMillisecond;
constexpr uint64_t kMaxRetryNs = 1 * kSecond;
// Empty lists of graphics and MPS processes are read again every so many rounds: each kind costs as much as the first.
constexpr uint64_t kSeldomRounds = 8;

// After these codes the device does not recover without a new process or a reset; further queries would only load the
// driver.
bool isFinal(int code) {
  switch (code) {
    case kNvmlUninitialized:
    case kNvmlInvalidArgument:
    case kNvmlNotSupported:
    case kNvmlNoPermission:
    case kNvmlFunctionNotFound:
    case kNvmlGpuIsLost:
    case kNvmlResetRequired:
    case kNvmlGpuNotFound:
      return true;
    default:
      return false;
  }
}

// The driver was replaced while the library was loaded, or a container lost its devices: queries of all devices fail.
bool endsAll(int code) { return code == kNvmlVersionMismatch || code == kNvmlUnknown; }

// Codes for the handle of a MIG device whose instance was recreated.
bool handleDied(int code) { return code == kNvmlInvalidArgument || code == kNvmlNotFound || code == kNvmlGpuNotFound; }

}  // namespace

int NvmlBackend::read(NvmlState& device, Record& record) {
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
    // Only if the older function succeeds: an invalid argument may also be a stale handle.
    NvmlMemoryV1 older{};
    const int olderCode = api_.memoryV1(device.handle, &older);
    if (olderCode != kNvmlSuccess) return olderCode;
    device.useV2 = false;
  }
  if (api_.memoryV1 == nullptr) return kNvmlFunctionNotFound;
  NvmlMemoryV1 memory{};
  const int code = api_.memoryV1(device.handle, &memory);
  // Machines with unified memory report a total of 0, because they have no separate device memory: unknown, not 0.
  if (code != kNvmlSuccess || memory.total == 0) return code;
  record.set(0, memory.used);
  record.set(1, memory.total);
  record.set(2, memory.free);
  return code;
}

void NvmlBackend::fail(NvmlState& device, int code, uint64_t timeNs, RecordSink& out) {
  if (over_) return;
  errors_.note(out, timeNs, RecordSource::kNvml, endsAll(code) ? -1 : device.index, 0, static_cast<uint64_t>(code));
  if (endsAll(code)) {
    over_ = true;
    return;
  }
  device.stale = device.parent >= 0 && handleDied(code);
  if (isFinal(code) && !device.stale) {
    device.lost = true;
    return;
  }
  if (!device.failing) {
    device.failing = true;
    device.failingSinceNs = timeNs;
    // The first retry is immediate, because most transient failures are over by then.
    device.distanceNs = kFirstRetryNs;
    return;
  }
  device.nextTryNs = timeNs + device.distanceNs;
  device.distanceNs = device.distanceNs * 2 < kMaxRetryNs ? device.distanceNs * 2 : kMaxRetryNs;
}

void NvmlBackend::answers(NvmlState& device, uint64_t timeNs, RecordSink& out) {
  device.failing = false;
  Record record = deviceEvent(DeviceEvent::kRecovered, RecordSource::kNvml, device.index, timeNs);
  record.set(1, timeNs - device.failingSinceNs);
  out.push(record);
}

void NvmlBackend::checkCapacity(NvmlState& device, uint64_t total, uint64_t timeNs, RecordSink& out) {
  const bool first = device.total == 0;
  device.total = total;
  if (first) return;
  Record record = deviceEvent(DeviceEvent::kCapacityChanged, RecordSource::kNvml, device.index, timeNs);
  record.set(1, total);
  out.push(record);
}

void NvmlBackend::sample(uint64_t timeNs, RecordSink& out) {
  forgetUsed();
  accounting_.follow(pids_);
  for (NvmlState& device : states_) {
    if (over_) return;
    if (device.lost || timeNs < device.nextTryNs) continue;
    working(device.index);
    if (device.stale) {
      NvmlHandle handle = nullptr;
      if (api_.deviceByUuid != nullptr && api_.deviceByUuid(device.uuid.c_str(), &handle) == kNvmlSuccess && handle != nullptr) {
        device.handle = handle;
      }
    }
    Record record = recordOf(RecordKind::kDevice, RecordSource::kNvml, device.index, timeNs);
    const int code = device.sampled ? read(device, record) : kNvmlSuccess;
    if (code != kNvmlSuccess) {
      device.usedKnown = false;
      fail(device, code, timeNs, out);
      continue;
    }
    if (device.failing) answers(device, timeNs, out);
    device.stale = false;
    out.push(record);
    device.usedKnown = (record.valid & 1) != 0;
    if (!device.usedKnown) continue;
    if (record.v[1] != device.total) checkCapacity(device, record.v[1], timeNs, out);
    device.used = record.v[0];
    addUsed(device.used);
    if (!device.listed) continue;
    const uint64_t change = device.used > device.usedAtList ? device.used - device.usedAtList : device.usedAtList - device.used;
    if (change >= kUnexplainedBytes) unexplained_ = true;
  }
}

void NvmlBackend::checkCount(uint64_t timeNs, RecordSink& out) {
  unsigned count = 0;
  if (api_.deviceCount(&count) != kNvmlSuccess || count == count_) return;
  count_ = count;
  Record record = deviceEvent(DeviceEvent::kCountChanged, RecordSource::kNvml, -1, timeNs);
  record.set(1, count);
  out.push(record);
}

void NvmlBackend::sampleProcesses(uint64_t timeNs, RecordSink& out) {
  if (over_) return;
  const uint64_t version = pids_ != nullptr ? pids_->version() : 0;
  const bool everything = unexplained_ || version != listedVersion_ || listRounds_ % kSeldomRounds == 0;
  unexplained_ = false;
  listedVersion_ = version;
  ++listRounds_;
  working(-1);
  if (listRounds_ > 1) checkCount(timeNs, out);
  accounting_.follow(pids_);
  for (NvmlState& device : states_) {
    if (over_) return;
    if (device.lost || device.failing) continue;
    working(device.index);
    listDevice(device, everything, timeNs, out);
  }
  accounting_.read(states_, timeNs, false, out);
}

void NvmlBackend::listDevice(NvmlState& device, bool everything, uint64_t timeNs, RecordSink& out) {
  const uint64_t began = monotonicNs();
  lists_.clear();
  bool compute = false;
  bool partial = false;
  int trouble = kNvmlSuccess;
  for (unsigned kind = 0; kind < NvmlProcessLists::kKinds; ++kind) {
    if (device.refused[kind] || !lists_.has(kind)) continue;
    if (kind != 0 && !everything && !device.hadEntries[kind]) continue;
    const int code = lists_.read(device.handle, kind);
    if (code == kNvmlSuccess) {
      compute |= kind == 0;
      device.hadEntries[kind] = lists_.lastRows() > 0;
      continue;
    }
    if (kind == 0) trouble = code;
    // A list alone may answer UNKNOWN, as in WSL. Only the memory query shows that the device no longer answers.
    if (code == kNvmlVersionMismatch || code == kNvmlGpuIsLost || code == kNvmlResetRequired) {
      fail(device, code, timeNs, out);
      return;
    }
    // A recreated MIG device is found by the next memory query.
    const bool remade = device.parent >= 0 && handleDied(code);
    device.refused[kind] = isFinal(code) && !remade;
    // A list that misses the entries of this kind would be incomplete.
    partial |= device.hadEntries[kind] && !device.refused[kind];
    if (device.refused[kind]) device.hadEntries[kind] = false;
    // A server GPU without a list of graphics processes is not an error.
    if (kind == 0 && listRounds_ > 1 && code != kNvmlUnknown) errors_.note(out, timeNs, RecordSource::kNvml, device.index, 0, static_cast<uint64_t>(code));
  }
  if (listRounds_ == 1) {
    DeviceReport& report = *reportOf(device.index);
    if (compute) report.capabilities.push_back("processes");
    if (trouble != kNvmlSuccess) report.addReason("its processes cannot be listed: " + nvmlCodeName(trouble));
  }
  if (!compute || partial) return;
  uint64_t unknown = 0;
  for (const NvmlProcess& process : lists_.processes()) {
    Record record = deviceProcess(RecordKind::kDeviceProcess, RecordSource::kNvml, static_cast<int>(process.pid), device.index, timeNs);
    if (process.known) record.set(0, process.used);
    if (foreignPids_) record.v[2] = kOwnerUnknown;
    record.set(3, process.kinds);
    unknown += process.known ? 0 : 1;
    out.push(record);
    accounting_.seen(device, process.pid);
  }
  Record list = recordOf(RecordKind::kDeviceList, RecordSource::kNvml, device.index, timeNs);
  list.set(0, lists_.processes().size());
  list.set(1, monotonicNs() - began);
  list.set(2, unknown);
  out.push(list);
  device.listed = device.usedKnown;
  device.usedAtList = device.used;
  if (listRounds_ == 1) {
    DeviceReport& report = *reportOf(device.index);
    report.listEntries = static_cast<int>(lists_.processes().size());
    report.listUnknown = static_cast<int>(unknown);
  }
}

void NvmlBackend::finish(uint64_t timeNs, RecordSink& out) {
  if (over_) return;
  working(-1);
  accounting_.follow(pids_);
  accounting_.read(states_, timeNs, true, out);
}

}  // namespace stormlog
