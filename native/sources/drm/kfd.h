// AMD's compute driver: its list of processors, and what every compute process of the machine holds on each.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "../../support/unique_fd.h"
#include "drm_usage.h"

namespace stormlog {

struct KfdNode {
  // N of topology/nodes/N: the order in which ROCm counts.
  int number = 0;
  uint64_t gpuId = 0;
  uint64_t domain = 0;
  // Bus in bits 8 to 15, device in 3 to 7, function or partition below.
  uint64_t location = 0;
  int renderMinor = -1;
  uint64_t uniqueId = 0;
  // Above 0: the processor shares its memory with the CPU it is part of.
  uint64_t cpuCores = 0;
  // Of the memory banks that are its own; 0 = unknown.
  uint64_t memoryBytes = 0;
  // topology/nodes/N
  std::string directory;

  // Whether it is a processor of the card at this PCI address.
  bool isOn(const std::string& pci) const;
};

// The processors that can compute and that this process may see, in ROCm's order.
std::vector<KfdNode> findKfdNodes(const std::string& sysRoot);

class KfdProcesses {
 public:
  // `devices[i]` is the index of the card that `nodes[i]` belongs to, or -1. `maxKept`: how many descriptors may be
  // kept open.
  void open(const std::string& sysRoot, const std::vector<KfdNode>& nodes, const std::vector<int>& devices, size_t maxKept);
  bool available() const { return available_; }
  // Whether processes of this card are listed.
  bool counts(int device) const;

  // Adds every process with memory on a card; memory that cannot be read is added as unknown. Skips devices for which
  // `leaveOut`, unless null, is true. False with errno when the list itself cannot be read.
  bool read(DrmUsageTable& table, const bool* leaveOut);

 private:
  struct Counter {
    int device;
    // "vram_4231"
    char name[32];
  };

  // A process's open counters. Opening a file of sysfs costs ten times its reading; the file of an ended process fails
  // with ENODEV, so a reused pid is not mistaken for it.
  struct Kept {
    int pid = 0;
    uint64_t round = 0;
    std::unique_ptr<UniqueFd[]> files;
  };
  static constexpr size_t kKept = 256;

  Kept* keptOf(int pid);
  void close(Kept& kept);
  int readCounter(int directory, int pid, size_t counter, Kept* kept, uint64_t& out);

  char directory_[560] = "";
  std::vector<Counter> counters_;
  std::unique_ptr<Kept[]> kept_;
  size_t keptFiles_ = 0;
  size_t maxKept_ = 0;
  uint64_t round_ = 0;
  bool available_ = false;
};

}  // namespace stormlog
