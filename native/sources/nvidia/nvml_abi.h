// NVML's structs and numbers, as the library lays them out on 64-bit machines; nothing here needs its header.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stormlog {

using NvmlHandle = void*;

enum NvmlCode : int {
  kNvmlSuccess = 0,
  kNvmlUninitialized = 1,
  kNvmlInvalidArgument = 2,
  kNvmlNotSupported = 3,
  kNvmlNoPermission = 4,
  kNvmlNotFound = 6,
  kNvmlInsufficientSize = 7,
  kNvmlTimeout = 10,
  kNvmlFunctionNotFound = 13,
  kNvmlGpuIsLost = 15,
  kNvmlResetRequired = 16,
  kNvmlVersionMismatch = 18,
  kNvmlArgumentVersionMismatch = 25,
  kNvmlGpuNotFound = 28,
  kNvmlUnknown = 999,
};

struct NvmlMemoryV1 {
  uint64_t total;
  uint64_t free;
  // Holds what the driver reserves for itself, too.
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

struct NvmlPciInfo {
  char busIdLegacy[16];
  uint32_t domain;
  uint32_t bus;
  uint32_t device;
  uint32_t pciDeviceId;
  uint32_t pciSubSystemId;
  char busId[32];
};

// The longest form of a row of a process list. The shorter ones (16 and 24 bytes) are its beginning.
struct NvmlProcessRow {
  uint32_t pid;
  uint64_t usedGpuMemory;
  uint32_t gpuInstanceId;
  uint32_t computeInstanceId;
  uint64_t usedGpuCcProtectedMemory;
};

struct NvmlProcessDetailList {
  uint32_t version;
  // 0 compute, 1 graphics, 2 MPS.
  uint32_t mode;
  uint32_t entries;
  NvmlProcessRow* rows;
};
constexpr uint32_t kNvmlProcessDetailListVersion = 0x01000018;

// The driver's value for unknown memory of a process.
constexpr uint64_t kNvmlNotAvailable = UINT64_MAX;

struct NvmlAccountingStats {
  uint32_t gpuUtilization;
  uint32_t memoryUtilization;
  uint64_t maxMemoryUsage;
  uint64_t timeMs;
  uint64_t startTimeUs;
  uint32_t isRunning;
  uint32_t reserved[5];
};

struct NvmlAttributes {
  uint32_t multiprocessors;
  uint32_t sharedCopyEngines;
  uint32_t sharedDecoders;
  uint32_t sharedEncoders;
  uint32_t sharedJpeg;
  uint32_t sharedOfa;
  uint32_t gpuSlices;
  uint32_t computeSlices;
  uint64_t memoryMb;
};

struct NvmlEventData {
  NvmlHandle device;
  uint64_t type;
  uint64_t data;
  uint32_t gpuInstanceId;
  uint32_t computeInstanceId;
};
constexpr uint64_t kNvmlEventDoubleBitEcc = 0x2;
constexpr uint64_t kNvmlEventXid = 0x8;
constexpr uint64_t kNvmlEventUnavailable = 0x4000;
constexpr uint32_t kNvmlNoInstance = UINT32_MAX;

static_assert(sizeof(NvmlMemoryV1) == 24 && sizeof(NvmlMemoryV2) == 40, "NVML struct sizes");
static_assert(offsetof(NvmlMemoryV2, reserved) == 16 && offsetof(NvmlMemoryV2, used) == 32, "NVML memory layout");
static_assert(sizeof(NvmlPciInfo) == 68 && offsetof(NvmlPciInfo, busId) == 36, "NVML PCI layout");
static_assert(sizeof(NvmlProcessRow) == 32 && offsetof(NvmlProcessRow, usedGpuMemory) == 8, "NVML process layout");
static_assert(sizeof(NvmlProcessDetailList) == 24, "NVML detail list layout");
static_assert(sizeof(NvmlAccountingStats) == 56 && offsetof(NvmlAccountingStats, maxMemoryUsage) == 8, "NVML accounting layout");
static_assert(sizeof(NvmlAttributes) == 40 && sizeof(NvmlEventData) == 32, "NVML struct sizes");

}  // namespace stormlog
