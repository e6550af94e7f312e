// The ring file that a probe inside a measured process writes (`<pid>.<n>.probe`), version 1, little-endian. Written by
// the Python probe and by preload/heap.cc through a shared mapping, read by sources/probe_file.cc with pread, never
// through a mapping: a process could truncate its file, and a mapped reader would get SIGBUS.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stormlog {

constexpr char kProbeMagic[8] = {'S', 'L', 'G', 'P', 'R', 'B', '\x01', '\n'};
constexpr uint32_t kProbeHeaderBytes = 256;
constexpr uint32_t kProbeRecordBytes = 96;
// A ring of this many records is read; a larger one is not written by this project.
constexpr uint32_t kProbeMaxCapacity = 65536;

enum ProbeFlag : uint32_t {
  kProbeHeapReadable = 1,
  kProbeFrameworkImported = 2,
  kProbeDeviceInitialised = 4,
  kProbeStepsSeen = 8,
  kProbePeaksReset = 16,
  kProbeAttributing = 32,
};

enum ProbeState : uint32_t { kProbeStarting = 0, kProbeAttached = 1, kProbeEnded = 2 };

// 0 is not a device: such a record only reports a step.
enum ProbeDeviceKind : uint16_t {
  kProbeNoDevice = 0,
  kProbeHostHeap = 1,
  kProbeCuda = 2,
  kProbeMps = 3,
  kProbeXpu = 4,
  kProbeTensorflow = 5,
  kProbeJax = 6,
};

enum ProbeReason : uint16_t { kProbeTimer = 1, kProbeStep = 2, kProbeOom = 3, kProbeEnd = 4, kProbeExplicit = 5 };

enum ProbeValue : unsigned {
  kProbeAllocated = 0,
  kProbeReserved = 1,
  kProbeActive = 2,
  kProbeAllocatedPeak = 3,
  kProbeReservedPeak = 4,
  kProbeRetries = 5,
  kProbeOoms = 6,
  kProbeStepNumber = 7,
};

struct ProbeHeader {
  char magic[8];
  uint32_t headerBytes;
  uint32_t recordBytes;
  // A power of two.
  uint32_t capacity;
  int32_t pid;
  // Records ever written; stored after the record is complete.
  uint64_t head;
  // CLOCK_MONOTONIC, as every time here.
  uint64_t createdNs;
  uint32_t flags;
  uint32_t state;
  // -1 = unknown, as the next two.
  int32_t rank;
  int32_t localRank;
  int32_t worldSize;
  // 0 plain, 1 rank, 2 agent (the launcher of ranks), 3 child of a rank.
  int32_t role;
  int64_t parent;
  // Valid when kProbeStepsSeen is set.
  uint64_t step;
  uint8_t zero[176];
};

struct ProbeRecord {
  // Index + 1, here and in `seqEnd`: a reader takes the record only when both match.
  uint64_t seq;
  uint64_t timeNs;
  uint16_t deviceKind;
  uint16_t deviceIndex;
  // Bit k = value k is known; an unknown one is 0.
  uint16_t valid;
  uint16_t reason;
  uint64_t v[8];
  uint64_t seqEnd;
};

static_assert(sizeof(ProbeHeader) == kProbeHeaderBytes, "probe header size");
static_assert(offsetof(ProbeHeader, capacity) == 16 && offsetof(ProbeHeader, head) == 24, "probe header layout");
static_assert(offsetof(ProbeHeader, flags) == 40 && offsetof(ProbeHeader, rank) == 48, "probe header layout");
static_assert(offsetof(ProbeHeader, parent) == 64 && offsetof(ProbeHeader, step) == 72, "probe header layout");
static_assert(sizeof(ProbeRecord) == kProbeRecordBytes, "probe record size");
static_assert(offsetof(ProbeRecord, deviceKind) == 16 && offsetof(ProbeRecord, v) == 24, "probe record layout");
static_assert(offsetof(ProbeRecord, seqEnd) == 88, "probe record layout");

}  // namespace stormlog
