// AMD cards, read from sysfs without a library: none of AMD's libraries has a stable ABI.
#include <algorithm>
#include <cstdio>

#include "../device_backend.h"
#include "drm_device.h"
#include "drm_sysfs.h"

namespace stormlog {
namespace {

// The header of the metrics identifies a GPU that is integrated in the CPU: tables of format 2 and 3 are integrated, 1
// is a card.
bool metricsSayIntegrated(const std::string& device) {
  const std::string header = sysText(device + "/gpu_metrics", 4);
  return header.size() >= 3 && (header[2] == 2 || header[2] == 3);
}

bool isUniqueId(const std::string& digits) {
  return !digits.empty() && digits.size() <= 16 && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos &&
         digits.find_first_not_of('0') != std::string::npos;
}

// In the form HIP reports and takes in ROCR_VISIBLE_DEVICES; "" when the card has none.
std::string uuidOf(const std::string& device, uint64_t fromKfd) {
  std::string digits = sysText(device + "/unique_id", 32);
  if (!isUniqueId(digits)) {
    char text[24];
    snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(fromKfd));
    digits = text;
  }
  return isUniqueId(digits) ? "GPU-" + std::string(16 - digits.size(), '0') + digits : "";
}

void openMemory(DrmDevice& amd, const std::string& device) {
  uint64_t vram = 0;
  const bool hasVram = sysNumber(device + "/mem_info_vram_total", vram) && vram > 0;
  if (amd.report.unified || !hasVram) {
    // The video memory that firmware set aside and the system memory that the GPU uses are the same physical memory.
    amd.report.unified = true;
    amd.used = openSys(device + "/mem_info_gtt_used");
    amd.totalFiles.push_back(device + "/mem_info_gtt_total");
    if (hasVram) {
      amd.usedToo = openSys(device + "/mem_info_vram_used");
      amd.totalFiles.push_back(device + "/mem_info_vram_total");
    }
  } else {
    amd.used = openSys(device + "/mem_info_vram_used");
    amd.totalFiles.push_back(device + "/mem_info_vram_total");
  }
  amd.total = amd.readTotal();
  amd.report.totalBytes = amd.total;
  if (!amd.used) amd.report.addReason("the driver shows no memory counter (mem_info_vram_used)");
}

DrmDevice makeCard(const std::string& sysRoot, const DrmCard& card, const KfdNode* node) {
  const std::string device = card.directory + "/device";
  DrmDevice amd = deviceOfCard(sysRoot, card, "amd", "AMD");
  amd.isAmd = true;
  amd.source = RecordSource::kAmd;
  // Sorted after all devices that ROCm counts.
  amd.order = node != nullptr ? node->number : 1 << 20 | card.number;
  DeviceReport& report = amd.report;
  const std::string product = sysText(device + "/product_name", 128);
  if (!product.empty()) report.model = product;
  report.uuid = uuidOf(device, node != nullptr ? node->uniqueId : 0);
  report.unified = (node != nullptr && node->cpuCores > 0) || metricsSayIntegrated(device);
  openMemory(amd, device);
  std::vector<std::string> nodeFiles;
  if (card.renderMinor >= 0) nodeFiles.push_back(amd.renderNode());
  if (node != nullptr) nodeFiles.push_back("kfd");
  report.addReason(nodeTrouble(sysRoot, nodeFiles));
  return amd;
}

DrmDevice makePartition(const DrmDevice& card, int parent, const std::string& mode, const KfdNode& node) {
  DrmDevice part;
  part.isAmd = true;
  part.source = RecordSource::kKfd;
  part.parent = parent;
  part.renderMinor = node.renderMinor;
  part.directory = node.directory;
  part.order = node.number;
  part.report = card.report;
  part.report.reason = "";
  part.report.migProfile = mode;
  part.total = node.memoryBytes;
  part.report.totalBytes = node.memoryBytes;
  part.used = openSys(node.directory + "/mem_banks/0/used_memory");
  if (!part.used) part.report.addReason("the driver does not show how much of a partition is used in all: only what each process holds");
  return part;
}

}  // namespace

void findAmdDevices(const std::string& sysRoot, const std::vector<DrmCard>& cards, const std::vector<KfdNode>& nodes,
                    std::vector<DrmDevice>& devices, std::vector<int>& nodeDevices) {
  nodeDevices.assign(nodes.size(), -1);
  for (const DrmCard& card : cards) {
    // The kernel lists the partitions of a card as further cards, without a bus address or counters. They are found
    // through their KFD nodes.
    if (card.driver != "amdgpu" || card.pci.empty()) continue;
    std::vector<size_t> own;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].isOn(card.pci) || (card.renderMinor >= 0 && nodes[i].renderMinor == card.renderMinor)) own.push_back(i);
    }
    const int place = static_cast<int>(devices.size());
    devices.push_back(makeCard(sysRoot, card, own.empty() ? nullptr : &nodes[own[0]]));
    if (own.size() == 1) nodeDevices[own[0]] = place;
    if (own.size() < 2) continue;
    devices[place].hasPartitions = true;
    const std::string mode = sysText(card.directory + "/device/current_compute_partition", 16);
    for (size_t i : own) {
      nodeDevices[i] = static_cast<int>(devices.size());
      devices.push_back(makePartition(devices[place], place, mode.empty() ? "partition" : mode, nodes[i]));
    }
  }
}

}  // namespace stormlog
