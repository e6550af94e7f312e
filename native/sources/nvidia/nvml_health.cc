#include "nvml_health.h"

#include "../../support/clock.h"

namespace stormlog {
namespace {

constexpr unsigned kWaitMs = 200;
// A wait that fails at once must not become a busy loop.
constexpr uint64_t kPauseNs = 200 * kMillisecond;
constexpr uint64_t kWanted = kNvmlEventXid | kNvmlEventDoubleBitEcc | kNvmlEventUnavailable;

}  // namespace

NvmlHealth::~NvmlHealth() {
  if (set_ != nullptr && api_->eventSetFree != nullptr) api_->eventSetFree(set_);
}

bool NvmlHealth::add(int index, NvmlHandle handle) {
  if (api_->eventSetCreate == nullptr || api_->eventSetWait == nullptr || api_->registerEvents == nullptr) return false;
  if (set_ == nullptr && api_->eventSetCreate(&set_) != kNvmlSuccess) {
    set_ = nullptr;
    return false;
  }
  // A driver refuses the whole set for one kind of event that it does not know.
  uint64_t types = kWanted;
  unsigned long long supported = 0;
  if (api_->supportedEvents != nullptr && api_->supportedEvents(handle, &supported) == kNvmlSuccess) types &= supported;
  for (const uint64_t tried : {types, types & (kNvmlEventXid | kNvmlEventDoubleBitEcc), types & kNvmlEventXid}) {
    if (tried == 0 || api_->registerEvents(handle, tried, set_) != kNvmlSuccess) continue;
    devices_.push_back(Device{index, handle, replacedRows(handle)});
    return true;
  }
  return false;
}

int64_t NvmlHealth::replacedRows(NvmlHandle handle) const {
  unsigned corrected = 0;
  unsigned uncorrected = 0;
  unsigned pending = 0;
  unsigned failed = 0;
  if (api_->remappedRows == nullptr) return -1;
  if (api_->remappedRows(handle, &corrected, &uncorrected, &pending, &failed) != kNvmlSuccess) return -1;
  return static_cast<int64_t>(corrected) + uncorrected;
}

void NvmlHealth::checkRows(uint64_t timeNs, RecordSink& out) {
  for (Device& device : devices_) {
    const int64_t now = device.replaced < 0 ? -1 : replacedRows(device.handle);
    if (now <= device.replaced) continue;
    device.replaced = now;
    Record record = deviceEvent(DeviceEvent::kRowRemap, RecordSource::kNvml, device.index, timeNs);
    record.set(1, static_cast<uint64_t>(now));
    out.push(record);
  }
}

void NvmlHealth::report(const NvmlEventData& event, uint64_t timeNs, RecordSink& out) const {
  Record record = recordOf(RecordKind::kDeviceEvent, RecordSource::kNvml, -1, timeNs);
  for (const Device& device : devices_) {
    if (device.handle == event.device) record.id = device.index;
  }
  switch (event.type) {
    case kNvmlEventXid: record.set(0, static_cast<uint64_t>(DeviceEvent::kXid)); break;
    case kNvmlEventDoubleBitEcc: record.set(0, static_cast<uint64_t>(DeviceEvent::kDoubleBitEcc)); break;
    case kNvmlEventUnavailable: record.set(0, static_cast<uint64_t>(DeviceEvent::kUnavailable)); break;
    default: return;
  }
  record.set(1, event.data);
  if (event.gpuInstanceId != kNvmlNoInstance) record.set(2, event.gpuInstanceId);
  if (event.computeInstanceId != kNvmlNoInstance) record.set(3, event.computeInstanceId);
  out.push(record);
}

void NvmlHealth::watch(uint64_t timeZeroNs, RecordSink& out, const StopFlag& stop) {
  while (!stop.asked()) {
    NvmlEventData event{nullptr, 0, 0, kNvmlNoInstance, kNvmlNoInstance};
    const uint64_t began = monotonicNs();
    const int code = api_->eventSetWait(set_, &event, kWaitMs);
    const uint64_t now = monotonicNs();
    if (code == kNvmlSuccess) {
      report(event, now - timeZeroNs, out);
      checkRows(now - timeZeroNs, out);
      // A broken GPU may report more events than the host thread reads.
      stop.sleepUntilNs(now + kMillisecond);
      continue;
    }
    const bool never = code == kNvmlUninitialized || code == kNvmlNotSupported || code == kNvmlVersionMismatch || code == kNvmlFunctionNotFound;
    if (never) return;
    // A failed wait is not an error of one device, and not recorded: a lost device fails when it is read.
    if (now - began < kPauseNs / 2) stop.sleepUntilNs(now + kPauseNs);
  }
  checkRows(monotonicNs() - timeZeroNs, out);
}

}  // namespace stormlog
