// Reads NVIDIA's process lists in any version the library has, and merges the kinds of one device into one entry per
// process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nvml_api.h"

namespace stormlog {

struct NvmlProcess {
  uint32_t pid = 0;
  // 1 compute, 2 graphics, 4 MPS.
  uint32_t kinds = 0;
  // False: unknown to the driver.
  bool known = false;
  uint64_t used = 0;
};

class NvmlProcessLists {
 public:
  static constexpr unsigned kKinds = 3;

  void use(const NvmlApi* api);
  // False when the library has no such list at all.
  bool has(unsigned kind) const;

  void clear() { processes_.clear(); }
  // Adds what one list of one device holds. Returns an NVML code.
  int read(NvmlHandle device, unsigned kind);

  // One entry per pid: a process may be in several lists with the same memory, which must not add up.
  const std::vector<NvmlProcess>& processes() const { return processes_; }
  // How many rows the last `read` got.
  unsigned lastRows() const { return lastRows_; }

 private:
  int call(NvmlHandle device, unsigned kind, unsigned& count);
  template <typename Read>
  int callGrowing(unsigned& count, Read read);
  void merge(unsigned kind, const uint8_t* row);

  // The driver caps a list at 950 processes. A library that asks for more than kMaxCapacity is broken.
  static constexpr unsigned kFirstCapacity = 1024;
  static constexpr unsigned kMaxCapacity = 65536;
  static constexpr size_t kMaxRow = sizeof(NvmlProcessRow);

  // Versions that the driver lacks are set to null.
  NvmlListCalls calls_[kKinds];
  int (*details_)(NvmlHandle, NvmlProcessDetailList*) = nullptr;
  std::vector<uint8_t> rows_;
  unsigned capacity_ = kFirstCapacity;
  // Bytes from row to row in the last result.
  size_t stride_ = 0;
  unsigned lastRows_ = 0;
  std::vector<NvmlProcess> processes_;
};

}  // namespace stormlog
