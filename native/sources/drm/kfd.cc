#include "kfd.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "drm_sysfs.h"
#include "../host/procfs.h"

namespace stormlog {
namespace {

// Local memory, all of it or only a part open to the CPU (HSA heap types).
constexpr uint64_t kHeapLocalPublic = 1;
constexpr uint64_t kHeapLocalPrivate = 2;

uint64_t valueOf(const std::string& text, const char* key) {
  uint64_t value = 0;
  return findKeyValue(text.data(), text.size(), key, value) ? value : 0;
}

uint64_t ownMemory(const std::string& banks) {
  uint64_t sum = 0;
  for (const std::string& bank : sysNames(banks)) {
    const std::string text = sysText(banks + "/" + bank + "/properties");
    const uint64_t heap = valueOf(text, "heap_type");
    if (heap == kHeapLocalPublic || heap == kHeapLocalPrivate) sum += valueOf(text, "size_in_bytes");
  }
  return sum;
}

}  // namespace

bool KfdNode::isOn(const std::string& pci) const {
  // Partitions of a card differ only in the bits below the device number.
  char expected[32];
  snprintf(expected, sizeof expected, "%04x:%02x:%02x.", static_cast<unsigned>(domain), static_cast<unsigned>(location >> 8 & 0xFF),
           static_cast<unsigned>(location >> 3 & 0x1F));
  return pci.compare(0, pci.size() > 0 ? pci.size() - 1 : 0, expected) == 0;
}

std::vector<KfdNode> findKfdNodes(const std::string& sysRoot) {
  const std::string nodes = sysRoot + "/class/kfd/kfd/topology/nodes/";
  std::vector<KfdNode> found;
  for (const std::string& name : sysNames(nodes)) {
    KfdNode node;
    node.number = numberAfter(name.c_str(), "");
    node.directory = nodes + name;
    // 0 is a CPU. A processor that is not assigned to this process cannot be read.
    if (node.number < 0 || !sysNumber(node.directory + "/gpu_id", node.gpuId) || node.gpuId == 0) continue;
    const std::string text = sysText(node.directory + "/properties");
    node.domain = valueOf(text, "domain");
    node.location = valueOf(text, "location_id");
    node.uniqueId = valueOf(text, "unique_id");
    node.cpuCores = valueOf(text, "cpu_cores_count");
    const uint64_t minor = valueOf(text, "drm_render_minor");
    if (minor > 0 && minor < 1 << 20) node.renderMinor = static_cast<int>(minor);
    node.memoryBytes = ownMemory(node.directory + "/mem_banks");
    found.push_back(node);
  }
  std::sort(found.begin(), found.end(), [](const KfdNode& a, const KfdNode& b) { return a.number < b.number; });
  return found;
}

void KfdProcesses::open(const std::string& sysRoot, const std::vector<KfdNode>& nodes, const std::vector<int>& devices,
                        size_t maxKept) {
  maxKept_ = maxKept;
  snprintf(directory_, sizeof directory_, "%s/class/kfd/kfd/proc", sysRoot.c_str());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (devices[i] < 0) continue;
    Counter counter{devices[i], ""};
    snprintf(counter.name, sizeof counter.name, "vram_%llu", static_cast<unsigned long long>(nodes[i].gpuId));
    counters_.push_back(counter);
  }
  const UniqueFd directory(::open(directory_, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  available_ = static_cast<bool>(directory) && !counters_.empty();
  if (!available_) return;
  kept_.reset(new Kept[kKept]);
  for (size_t i = 0; i < kKept; ++i) kept_[i].files.reset(new UniqueFd[counters_.size()]);
}

bool KfdProcesses::counts(int device) const {
  for (const Counter& counter : counters_) {
    if (available_ && counter.device == device) return true;
  }
  return false;
}

void KfdProcesses::close(Kept& kept) {
  for (size_t i = 0; i < counters_.size(); ++i) {
    if (kept.files[i]) --keptFiles_;
    kept.files[i].reset();
  }
  kept.pid = 0;
}

// One slot per pid. A process whose slot is taken by a living process has its files opened each time.
KfdProcesses::Kept* KfdProcesses::keptOf(int pid) {
  Kept& kept = kept_[static_cast<size_t>(pid) % kKept];
  if (kept.pid != pid) {
    if (kept.pid != 0 && kept.round + 1 >= round_) return nullptr;
    close(kept);
    kept.pid = pid;
  }
  kept.round = round_;
  return &kept;
}

// 0 or an errno.
int KfdProcesses::readCounter(int directory, int pid, size_t counter, Kept* kept, uint64_t& out) {
  if (kept != nullptr && kept->files[counter]) {
    if (readKept(kept->files[counter], out) == 0) return 0;
    // Its process has ended, and the pid may be reused.
    kept->files[counter].reset();
    --keptFiles_;
  }
  char path[64];
  snprintf(path, sizeof path, "%d/%s", pid, counters_[counter].name);
  UniqueFd file(::openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return errno;
  const int error = readKept(file, out);
  if (error == 0 && kept != nullptr && keptFiles_ < maxKept_) {
    kept->files[counter] = std::move(file);
    ++keptFiles_;
  }
  return error;
}

bool KfdProcesses::read(DrmUsageTable& table, const bool* leaveOut) {
  UniqueFd opened(::open(directory_, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) return false;
  ++round_;
  const int directory = opened.get();
  PidDirectory pids(std::move(opened));
  for (int pid = pids.next(); pid > 0; pid = pids.next()) {
    Kept* kept = keptOf(pid);
    for (size_t i = 0; i < counters_.size(); ++i) {
      const int device = counters_[i].device;
      if (leaveOut != nullptr && leaveOut[device]) continue;
      uint64_t bytes = 0;
      const int error = readCounter(directory, pid, i, kept, bytes);
      // Every compute process has a file for every card; one that holds nothing of a card does not use it.
      if (error == 0 && bytes == 0) continue;
      if (error == ENOENT || error == ENODEV || error == ESRCH) continue;
      DrmUsage* entry = table.at(device, pid);
      if (entry == nullptr || error != 0) continue;
      entry->compute = bytes;
      entry->computeKnown = true;
    }
  }
  for (size_t i = 0; i < kKept; ++i) {
    if (kept_[i].pid != 0 && kept_[i].round != round_) close(kept_[i]);
  }
  return true;
}

}  // namespace stormlog
