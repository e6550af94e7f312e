// One card, or a partition of one, as the DRM backend keeps it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../../support/unique_fd.h"
#include "drm_sysfs.h"
#include "kfd.h"
#include "../source.h"

namespace stormlog {

struct DrmDevice {
  DeviceReport report;
  bool isAmd = false;
  // Card and render node; -1 = none. A partition has its own render node.
  int cardNumber = -1;
  int renderMinor = -1;
  // Index of the card of a partition; -1 for a card.
  int parent = -1;
  bool hasPartitions = false;
  std::string directory;
  // Order among the devices of its vendor.
  int order = 0;

  // Where its used memory is read from: the sum of the first two, or `total` less `available`.
  UniqueFd used;
  UniqueFd usedToo;
  UniqueFd available;
  // Files whose sum is its size, read again now and then.
  std::vector<std::string> totalFiles;
  uint64_t total = 0;
  RecordSource source = RecordSource::kNone;

  // For nodeTrouble.
  std::string renderNode() const { return "dri/renderD" + std::to_string(renderMinor); }
  bool canReadUsed() const { return static_cast<bool>(used) || static_cast<bool>(available); }
  // 0 or an errno.
  int readUsed(uint64_t& out) const;
  // 0 = unknown.
  uint64_t readTotal() const;
};

// Devices of these cards that `amdgpu` drives; `nodeDevices[i]` becomes the index of the device of `nodes[i]`.
void findAmdDevices(const std::string& sysRoot, const std::vector<DrmCard>& cards, const std::vector<KfdNode>& nodes,
                    std::vector<DrmDevice>& devices, std::vector<int>& nodeDevices);

// Devices of these cards that `i915` or `xe` drives.
void findIntelDevices(const std::string& sysRoot, const std::vector<DrmCard>& cards, std::vector<DrmDevice>& devices);

// Which of these device nodes this user may not open: "" or a sentence part. The measured program needs them.
std::string nodeTrouble(const std::string& sysRoot, const std::vector<std::string>& nodes);

// What every card has: its numbers, address, driver ("amdgpu 6.12.12" where it has a version) and model ("AMD
// 1002:744c").
DrmDevice deviceOfCard(const std::string& sysRoot, const DrmCard& card, const char* backend, const char* vendorName);

}  // namespace stormlog
