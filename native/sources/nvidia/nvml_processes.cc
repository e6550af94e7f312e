#include "nvml_processes.h"

#include <cstring>

namespace stormlog {
namespace {

constexpr uint8_t kPatternA = 0xA5;
constexpr uint8_t kPatternB = 0x5A;
// Attempts to get two lists of equal length, because processes start and end between two calls.
constexpr int kTries = 4;
constexpr size_t kStrides[] = {16, 24, 32};

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
  return calls.v2 != nullptr || calls.v3 != nullptr || calls.v1 != nullptr || details_ != nullptr;
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

// Tries the versions in turn until the driver has one. "_v2" is first because its rows never changed.
int NvmlProcessLists::call(NvmlHandle device, unsigned kind, unsigned& count) {
  NvmlListCalls& calls = calls_[kind];
  if (rows_.empty()) rows_.resize(capacity_ * kMaxRow);
  if (calls.v2 != nullptr) {
    stride_ = 24;
    const int code = callGrowing(calls.v2, device, count);
    if (code != kNvmlFunctionNotFound) return code;
    calls.v2 = nullptr;
  }
  if (calls.v3 != nullptr) {
    stride_ = v3Stride_;
    const int code = v3Stride_ == 0 ? callUnknownStride(calls.v3, device, count) : callGrowing(calls.v3, device, count);
    if (code != kNvmlFunctionNotFound) return code;
    calls.v3 = nullptr;
  }
  if (calls.v1 != nullptr) {
    stride_ = 16;
    const int code = callGrowing(calls.v1, device, count);
    if (code != kNvmlFunctionNotFound) return code;
    calls.v1 = nullptr;
  }
  stride_ = sizeof(NvmlProcessRow);
  return details_ != nullptr ? callDetails(device, kind, count) : kNvmlFunctionNotFound;
}

int NvmlProcessLists::callGrowing(NvmlListCalls::Call function, NvmlHandle device, unsigned& count) {
  for (int attempt = 0;; ++attempt) {
    count = capacity_;
    const int code = function(device, &count, rows_.data());
    if (code != kNvmlInsufficientSize || attempt == kTries || capacity_ == kMaxCapacity) return code;
    // `count` is the number of entries. There may be more by the next call.
    const unsigned wanted = (count > capacity_ ? count : capacity_) + capacity_ / 2;
    capacity_ = wanted < kMaxCapacity ? wanted : kMaxCapacity;
    rows_.resize(capacity_ * kMaxRow);
  }
}

// The "_v3" lists changed their rows from driver to driver under one name. Filling the buffer twice with different
// patterns shows how many bytes the library writes, and so how long a row is.
int NvmlProcessLists::callUnknownStride(NvmlListCalls::Call function, NvmlHandle device, unsigned& count) {
  for (int attempt = 0; attempt < kTries; ++attempt) {
    fill(kPatternA);
    int code = callGrowing(function, device, count);
    if (code != kNvmlSuccess || count == 0) return code;
    const unsigned first = count;
    other_ = rows_;
    fill(kPatternB);
    code = callGrowing(function, device, count);
    if (code != kNvmlSuccess || count == 0) return code;
    if (count != first || count > capacity_ || other_.size() != rows_.size()) continue;
    size_t written = rows_.size();
    while (written > 0 && other_[written - 1] == kPatternA && rows_[written - 1] == kPatternB) --written;
    for (const size_t stride : kStrides) {
      // The last field has eight bytes, of which the library's compiler may not write the upper half.
      if (written > count * stride || written + 8 <= count * stride) continue;
      stride_ = v3Stride_ = stride;
      return kNvmlSuccess;
    }
    return kNvmlStrangeLayout;
  }
  count = 0;
  return kNvmlStrangeLayout;
}

int NvmlProcessLists::callDetails(NvmlHandle device, unsigned kind, unsigned& count) {
  for (int attempt = 0;; ++attempt) {
    NvmlProcessDetailList list{kNvmlProcessDetailListVersion, kind, capacity_, reinterpret_cast<NvmlProcessRow*>(rows_.data())};
    const int code = details_(device, &list);
    count = list.entries;
    if (code != kNvmlInsufficientSize || attempt == kTries || capacity_ == kMaxCapacity) return code;
    const unsigned wanted = (count > capacity_ ? count : capacity_) + capacity_ / 2;
    capacity_ = wanted < kMaxCapacity ? wanted : kMaxCapacity;
    rows_.resize(capacity_ * kMaxRow);
  }
}

void NvmlProcessLists::fill(uint8_t pattern) { memset(rows_.data(), pattern, rows_.size()); }

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
