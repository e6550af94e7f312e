// The kernel's "dmem" control group (Linux 6.14 and later): memory of graphics cards by region and group, without pids.
// The top group shows each region's size and what all groups together use of it; a group shows its own use, newer
// kernels its highest use too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../../support/unique_fd.h"

namespace stormlog {

// The sum of the regions "drm/<pci>/vram*" in lines "region bytes"; false when there is none, or none whose value is a
// number ("max").
bool dmemBytes(const char* text, size_t size, const char* pci, uint64_t& out);

// Size and use of a card's own memory, by all processes.
class DmemTop {
 public:
  void open(const std::string& sysRoot);
  bool available() const { return available_; }
  bool capacity(const std::string& pci, uint64_t& out) const;

  // One reading serves all cards. 0 or an errno; allocates nothing.
  int read();
  bool used(const char* pci, uint64_t& out) const { return dmemBytes(text_, size_, pci, out); }

 private:
  std::string capacities_;
  UniqueFd current_;
  bool available_ = false;
  char text_[4096];
  size_t size_ = 0;
};

// The control group of the measured job, used while it contains only the job.
class DmemGroup {
 public:
  DmemGroup(const std::string& sysRoot, const std::string& procRoot) : mount_(sysRoot + "/fs/cgroup"), procRoot_(procRoot) {}

  // Finds the group of these processes (sorted pids). Allocates.
  void follow(const int* pids, size_t count);
  // The group has a counter of its use.
  bool exists() const { return static_cast<bool>(current_); }
  // Every process of the group is the job's, or has no graphics device open; and every process of the job is in it.
  bool isJobs() const { return isJobs_; }

  bool current(const char* pci, uint64_t& out) const { return value(current_, pci, out); }
  // The highest use since the group was made; false on kernels that do not count it.
  bool peak(const char* pci, uint64_t& out) const { return value(peak_, pci, out); }

 private:
  bool value(const UniqueFd& fd, const char* pci, uint64_t& out) const;
  std::string groupOf(int pid) const;
  bool holdsNoDevice(int pid) const;

  const std::string mount_;
  const std::string procRoot_;
  std::string path_;
  UniqueFd current_;
  UniqueFd peak_;
  bool isJobs_ = false;
};

}  // namespace stormlog
