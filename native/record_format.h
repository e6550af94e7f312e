// The record file, version 1, byte for byte as `src/sampler/record-layout.ts` describes it (a test compares the two).
// Little-endian, which every platform this is built for is; the static_asserts keep compilers from adding padding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stormlog {

constexpr char kRecordMagic[8] = {'S', 'L', 'G', 'R', 'E', 'C', '\x01', '\n'};
constexpr uint32_t kHeaderBytes = 64;
constexpr uint32_t kRecordBytes = 48;

struct FileHeader {
  char magic[8];
  uint32_t headerBytes;
  uint32_t recordBytes;
  uint64_t monotonicStartNs;
  int64_t epochNs;
  uint64_t hostPeriodNs;
  uint64_t devicePeriodNs;
  int32_t rootPid;
  uint32_t pageSize;
  uint64_t reserved;
};

enum class RecordKind : uint8_t {
  kTree = 1,
  kProcess = 2,
  kCgroup = 3,
  kDevice = 4,
  kDeviceProcess = 5,
  kProcessStart = 6,
  kProcessExit = 7,
  kError = 8,
  kRate = 9,
  kStop = 10,
  // Of earlier releases.
  kRollup = 11,
  kAllocator = 12,
  kAllocatorPeaks = 13,
  kStream = 14,
  kStep = 15,
  kDeviceProcessPeak = 16,
  kDeviceEvent = 17,
  kDeviceList = 18,
  kHostShared = 19,
  kCounts = 20,
};

enum class RecordSource : uint16_t {
  kNone = 0,
  kStatm = 1,
  kStatus = 2,
  kTree = 3,
  kCgroup2 = 4,
  kCgroup1 = 5,
  kNvml = 6,
  kFile = 7,
  kFallback = 8,
  kProbe = 9,
  kAmd = 10,
  kKfd = 11,
  kFdinfo = 12,
  kApple = 14,
  kRollup = 15,
};

// v0 of a device event.
enum class DeviceEvent : uint64_t {
  kXid = 1,
  kDoubleBitEcc = 2,
  kUnavailable = 3,
  kRowRemap = 4,
  kCapacityChanged = 5,
  kCountChanged = 6,
  kStalled = 7,
  kRecovered = 8,
};

struct Record {
  uint64_t timeNs = 0;
  RecordKind kind = RecordKind::kError;
  uint8_t valid = 0;
  RecordSource source = RecordSource::kNone;
  int32_t id = -1;
  uint64_t v[4] = {0, 0, 0, 0};

  // An unknown value stays 0 with its bit clear. A reader must check the bit, not the number.
  void set(unsigned index, uint64_t value) {
    v[index] = value;
    valid = static_cast<uint8_t>(valid | (1u << index));
  }

  // Why an allocator record was taken (ProbeReason), in the upper half of the valid bits.
  void setReason(unsigned reason) { valid = static_cast<uint8_t>((valid & 15u) | ((reason & 15u) << 4)); }
};

static_assert(sizeof(FileHeader) == kHeaderBytes, "header size");
static_assert(offsetof(FileHeader, headerBytes) == 8 && offsetof(FileHeader, recordBytes) == 12, "header layout");
static_assert(offsetof(FileHeader, monotonicStartNs) == 16 && offsetof(FileHeader, epochNs) == 24, "header layout");
static_assert(offsetof(FileHeader, hostPeriodNs) == 32 && offsetof(FileHeader, devicePeriodNs) == 40, "header layout");
static_assert(offsetof(FileHeader, rootPid) == 48 && offsetof(FileHeader, pageSize) == 52, "header layout");
static_assert(sizeof(Record) == kRecordBytes, "record size");
static_assert(offsetof(Record, kind) == 8 && offsetof(Record, valid) == 9, "record layout");
static_assert(offsetof(Record, source) == 10 && offsetof(Record, id) == 12 && offsetof(Record, v) == 16, "record layout");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the record file is little-endian");

// Where a source pushes its records: the writer itself, or the ring of a device thread.
class RecordSink {
 public:
  virtual void push(const Record& record) = 0;

 protected:
  ~RecordSink() = default;
};

}  // namespace stormlog
