#include "dmem.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "drm_sysfs.h"
#include "../host/procfs.h"

namespace stormlog {
namespace {

constexpr size_t kMaxText = 1 << 16;
// A group with more processes of other jobs is not the job's group, and checking each would take long.
constexpr size_t kMaxForeign = 64;

// "drm/0000:03:00.0/vram0": the card's own memory. Other regions ("stolen", "gtt") are the machine's.
bool isCardMemory(const char* line, const char* end, const char* pci, const char*& value) {
  for (const char* part : {"drm/", pci, "/vram"}) {
    const size_t size = strlen(part);
    if (static_cast<size_t>(end - line) < size || memcmp(line, part, size) != 0) return false;
    line += size;
  }
  while (line < end && *line >= '0' && *line <= '9') ++line;
  if (line == end || *line != ' ') return false;
  value = line + 1;
  return true;
}

}  // namespace

bool dmemBytes(const char* text, size_t size, const char* pci, uint64_t& out) {
  const char* end = text + size;
  uint64_t sum = 0;
  bool found = false;
  while (text < end) {
    const char* stop = static_cast<const char*>(memchr(text, '\n', static_cast<size_t>(end - text)));
    // A last line without a newline may be truncated.
    if (stop == nullptr) break;
    const char* at = nullptr;
    if (isCardMemory(text, stop, pci, at)) {
      uint64_t bytes = 0;
      if (!parseNumber(at, stop, bytes) || at != stop || bytes > UINT64_MAX / 2 - sum) return false;
      sum += bytes;
      found = true;
    }
    text = stop + 1;
  }
  if (found) out = sum;
  return found;
}

void DmemTop::open(const std::string& sysRoot) {
  const std::string top = sysRoot + "/fs/cgroup/";
  // Only the real root group has this file. Inside a container the root of the mount is an ordinary group.
  capacities_ = sysText(top + "dmem.capacity", kMaxText);
  if (capacities_.empty()) return;
  capacities_ += '\n';
  current_ = openSys(top + "dmem.current");
  available_ = true;
}

bool DmemTop::capacity(const std::string& pci, uint64_t& out) const {
  return dmemBytes(capacities_.data(), capacities_.size(), pci.c_str(), out) && out > 0;
}

int DmemTop::read() {
  size_ = 0;
  if (!current_) return ENOENT;
  const ssize_t n = preadText(current_.get(), text_, sizeof text_);
  if (n < 0) return errno;
  size_ = static_cast<size_t>(n);
  return 0;
}

std::string DmemGroup::groupOf(int pid) const {
  const std::string text = sysText(procRoot_ + "/" + std::to_string(pid) + "/cgroup", kMaxText) + "\n";
  // The unified hierarchy has number 0 and no controllers: "0::/path".
  size_t at = 0;
  while (at < text.size()) {
    const size_t stop = text.find('\n', at);
    if (text.compare(at, 3, "0::") == 0) return text.substr(at + 3, stop - at - 3);
    at = stop + 1;
  }
  return "";
}

bool DmemGroup::holdsNoDevice(int pid) const {
  const std::string directory = procRoot_ + "/" + std::to_string(pid) + "/fd";
  const std::vector<std::string> names = sysNames(directory);
  // An unreadable directory looks empty; a process has at least one descriptor unless it ends just now.
  if (names.empty()) return false;
  for (const std::string& name : names) {
    const std::string target = sysLinkName(directory + "/" + name);
    if (numberAfter(target.c_str(), "renderD") >= 0 || numberAfter(target.c_str(), "card") >= 0 || target == "kfd") return false;
  }
  return true;
}

void DmemGroup::follow(const int* pids, size_t count) {
  isJobs_ = false;
  if (count == 0) return;
  const std::string group = groupOf(pids[0]);
  if (group.empty()) return;
  const std::string path = mount_ + (group == "/" ? "" : group);
  if (path != path_) {
    path_ = path;
    current_ = openSys(path + "/dmem.current");
    peak_ = openSys(path + "/dmem.peak");
  }
  // The memory of child groups counts here, but their processes are not listed here.
  if (!current_ || linkCount(path.c_str()) > 2) return;
  std::string text = sysText(path + "/cgroup.procs", kMaxText);
  if (text.size() >= kMaxText) return;
  text += '\n';
  size_t ours = 0;
  size_t foreign = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t stop = text.find('\n', at);
    const char* digits = text.c_str() + at;
    uint64_t pid = 0;
    if (!parseNumber(digits, text.c_str() + stop, pid) || pid == 0 || pid > INT32_MAX) return;
    if (std::binary_search(pids, pids + count, static_cast<int>(pid))) {
      ++ours;
    } else if (++foreign > kMaxForeign || !holdsNoDevice(static_cast<int>(pid))) {
      return;
    }
    at = stop + 1;
  }
  isJobs_ = ours == count;
}

bool DmemGroup::value(const UniqueFd& fd, const char* pci, uint64_t& out) const {
  if (!fd) return false;
  char text[4096];
  const ssize_t n = preadText(fd.get(), text, sizeof text);
  return n > 0 && dmemBytes(text, static_cast<size_t>(n), pci, out);
}

}  // namespace stormlog
