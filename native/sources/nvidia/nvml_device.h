// What is remembered of one NVIDIA device between readings.
#pragma once

#include <cstdint>
#include <string>

#include "nvml_abi.h"

namespace stormlog {

struct NvmlState {
  NvmlHandle handle = nullptr;
  int index = 0;
  // Of a MIG device: its GPU.
  int parent = -1;
  std::string uuid;
  // Its memory is read. False for a GPU in MIG mode and for one that shares its memory with the CPU.
  bool sampled = true;
  bool unified = false;
  bool useV2 = false;
  // It is no longer read.
  bool lost = false;
  uint64_t total = 0;

  // While readings fail: since when, the time of the next retry, and the delay between retries.
  bool failing = false;
  uint64_t failingSinceNs = 0;
  uint64_t nextTryNs = 0;
  uint64_t distanceNs = 0;
  // Its handle may have become invalid with its MIG instance. It is looked up by its UUID again.
  bool stale = false;

  // Process lists: compute, graphics, MPS.
  bool refused[3] = {false, false, false};
  bool hadEntries[3] = {false, false, false};
  uint64_t used = 0;
  bool usedKnown = false;
  uint64_t usedAtList = 0;
  bool listed = false;
};

}  // namespace stormlog
