#include "nvml_processes.h"

#include <cstring>

namespace stormlog {
namespace {

// Attempts to read a list that grows between two calls.
constexpr int kTries = 4;

template <typename Value>
Value valueAt(const uint8_t* bytes, size_t offset) {
  Value value;
  memcpy(&value, bytes + offset, sizeof value);
  return value;
}

}  // namespace

void NvmlProcessLists::use(const NvmlApi* api) {
  for (unsigned kind = 0; kind < kKinds; ++kind) calls_[kind] = api->lists[kind];
  details_ = api->processDetails;
}

bool NvmlProcessLists::has(unsigned kind) const {
  const NvmlListCalls& calls = calls_[kind];
  return calls.v2 != nullptr || calls.v1 != nullptr || details_ != nullptr;
}

int NvmlProcessLists::read(NvmlHandle device, unsigned kind) {
  unsigned count = 0;
  lastRows_ = 0;
  const int code = call(device, kind, count);
  if (code != kNvmlSuccess) return code;
  if (count > capacity_) count = capacity_;
  lastRows_ = count;
  for (unsigned i = 0; i < count; ++i) merge(kind, rows_.data() + i * stride_);
  return kNvmlSuccess;
}

// `read()` takes the room from `count`, and leaves the number of entries there.
template <typename Read>
int NvmlProcessLists::callGrowing(unsigned& count, Read read) {
  for (int attempt = 0;; ++attempt) {
    count = capacity_;
    const int code = read();
    if (code != kNvmlInsufficientSize || attempt == kTries || capacity_ == kMaxCapacity) return code;
    // There may be more by the next call.
    const unsigned wanted = (count > capacity_ ? count : capacity_) + capacity_ / 2;
    capacity_ = wanted < kMaxCapacity ? wanted : kMaxCapacity;
    rows_.resize(capacity_ * kMaxRow);
  }
}

// Tries the versions in turn until the driver has one.
int NvmlProcessLists::call(NvmlHandle device, unsigned kind, unsigned& count) {
  if (rows_.empty()) rows_.resize(capacity_ * kMaxRow);
  NvmlListCalls& calls = calls_[kind];
  for (NvmlListCalls::Call* version : {&calls.v2, &calls.v1}) {
    const NvmlListCalls::Call function = *version;
    if (function == nullptr) continue;
    stride_ = version == &calls.v2 ? 24 : 16;
    const int code = callGrowing(count, [&] { return function(device, &count, rows_.data()); });
    if (code != kNvmlFunctionNotFound) return code;
    *version = nullptr;
  }
  if (details_ == nullptr) return kNvmlFunctionNotFound;
  stride_ = sizeof(NvmlProcessRow);
  return callGrowing(count, [&] {
    NvmlProcessDetailList list{kNvmlProcessDetailListVersion, kind, count, reinterpret_cast<NvmlProcessRow*>(rows_.data())};
    const int code = details_(device, &list);
    count = list.entries;
    return code;
  });
}

void NvmlProcessLists::merge(unsigned kind, const uint8_t* row) {
  const uint32_t pid = valueAt<uint32_t>(row, offsetof(NvmlProcessRow, pid));
  // Pid 0 is a process outside this pid namespace, or an empty row.
  if (pid == 0 || pid > INT32_MAX) return;
  const uint64_t used = valueAt<uint64_t>(row, offsetof(NvmlProcessRow, usedGpuMemory));
  // A listed process always holds memory. Drivers return 0 when they look it up by a pid of another namespace.
  const bool known = used != kNvmlNotAvailable && used != 0;
  for (NvmlProcess& process : processes_) {
    if (process.pid != pid) continue;
    process.kinds |= 1u << kind;
    if (known && (!process.known || used > process.used)) process.used = used;
    process.known |= known;
    return;
  }
  processes_.push_back(NvmlProcess{pid, 1u << kind, known, known ? used : 0});
}

}  // namespace stormlog
