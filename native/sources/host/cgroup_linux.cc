// Memory of the control group of the root process, v2 or v1.
#include "cgroup_source.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>

#include "host_source.h"
#include "procfs.h"

namespace stormlog {
namespace {

constexpr int kMaxParents = 64;

UniqueFd openIn(const std::string& directory, const char* name) {
  return UniqueFd(::open((directory + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
}

std::string readAll(const UniqueFd& fd, size_t limit) {
  std::string text;
  char chunk[4096];
  ssize_t n = 0;
  while (fd && text.size() < limit && (n = ::read(fd.get(), chunk, sizeof chunk)) > 0) text.append(chunk, static_cast<size_t>(n));
  return text;
}

std::string field(const std::string& line, size_t wanted) {
  size_t at = 0;
  for (size_t i = 0; i < wanted && at != std::string::npos; ++i) at = line.find(' ', at) == std::string::npos ? std::string::npos : line.find(' ', at) + 1;
  if (at == std::string::npos) return "";
  return line.substr(at, line.find(' ', at) == std::string::npos ? std::string::npos : line.find(' ', at) - at);
}

template <typename Visit>
void eachLine(const std::string& text, Visit visit) {
  size_t at = 0;
  while (at < text.size()) {
    size_t end = text.find('\n', at);
    if (end == std::string::npos) end = text.size();
    visit(text.substr(at, end - at));
    at = end + 1;
  }
}

bool readNumber(const UniqueFd& fd, uint64_t& out) {
  if (!fd) return false;
  char text[64];
  const ssize_t n = preadText(fd.get(), text, sizeof text);
  const char* at = text;
  return n > 0 && parseNumber(at, text + n, out);
}

class KernelCgroup final : public CgroupSource {
 public:
  // `host` knows which pids belong to the job; null when only the capabilities are needed.
  KernelCgroup(const std::string& procRoot, int rootPid, HostSource* host) : proc_(procRoot), rootPid_(rootPid), host_(host) {}

  SourceReport probe() override;
  void sample(uint64_t timeNs, RecordSink& out) override;
  bool ownShmem(uint64_t& out) override;

 private:
  struct Mounts {
    std::string v2;
    std::string v1Memory;
  };
  Mounts findMounts() const;
  bool openVersion2(const std::string& mount, const std::string& path);
  bool openVersion1(const std::string& mount, const std::string& path);
  bool dedicated() const;
  bool inJob(int pid) const;
  bool readShmem(const char* stat, size_t size, uint64_t& out) const;

  const ProcFs proc_;
  const int rootPid_;
  HostSource* const host_;
  std::string directory_;
  RecordSource version_ = RecordSource::kNone;
  UniqueFd current_;
  UniqueFd peak_;
  UniqueFd events_;
  UniqueFd stat_;
  bool own_ = false;
};

KernelCgroup::Mounts KernelCgroup::findMounts() const {
  Mounts mounts;
  UniqueFd info = proc_.open(rootPid_, "mountinfo");
  eachLine(readAll(info, 1 << 20), [&](const std::string& line) {
    // "36 35 98:0 /root /mount/point options - type source super-options"
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) return;
    const std::string tail = line.substr(dash + 3);
    const std::string type = field(tail, 0);
    const std::string point = field(line, 4);
    if (type == "cgroup2" && mounts.v2.empty()) mounts.v2 = point;
    const std::string options = "," + field(tail, 2) + ",";
    if (type == "cgroup" && options.find(",memory,") != std::string::npos && mounts.v1Memory.empty()) mounts.v1Memory = point;
  });
  return mounts;
}

bool KernelCgroup::openVersion2(const std::string& mount, const std::string& path) {
  // Inside a container the path may be the host's, of which only the mount itself is visible here.
  for (const std::string& directory : {mount + (path == "/" ? "" : path), mount}) {
    current_ = openIn(directory, "memory.current");
    if (!current_) continue;
    peak_ = openIn(directory, "memory.peak");
    events_ = openIn(directory, "memory.events");
    stat_ = openIn(directory, "memory.stat");
    directory_ = directory;
    version_ = RecordSource::kCgroup2;
    return true;
  }
  return false;
}

bool KernelCgroup::openVersion1(const std::string& mount, const std::string& path) {
  for (const std::string& directory : {mount + (path == "/" ? "" : path), mount}) {
    current_ = openIn(directory, "memory.usage_in_bytes");
    if (!current_) continue;
    peak_ = openIn(directory, "memory.max_usage_in_bytes");
    events_ = openIn(directory, "memory.oom_control");
    stat_ = openIn(directory, "memory.stat");
    directory_ = directory;
    version_ = RecordSource::kCgroup1;
    return true;
  }
  return false;
}

// A process that started after the tree was read is recognised by its parents. One that has ended holds no memory.
bool KernelCgroup::inJob(int pid) const {
  for (int depth = 0; depth < kMaxParents; ++depth) {
    if (host_->owns(pid)) return true;
    char text[1024];
    Stat stat;
    const ssize_t n = proc_.read(pid, "stat", text, sizeof text);
    if (n < 0) return depth == 0 && (errno == ENOENT || errno == ESRCH);
    if (!parseStat(text, static_cast<size_t>(n), stat) || stat.parent <= 1) return false;
    pid = stat.parent;
  }
  return false;
}

bool KernelCgroup::dedicated() const {
  // The memory of child groups counts here, but their processes are not listed here.
  if (host_ == nullptr || linkCount(directory_.c_str()) > 2) return false;
  bool any = false;
  bool foreign = false;
  eachLine(readAll(openIn(directory_, "cgroup.procs"), 1 << 20), [&](const std::string& line) {
    const char* at = line.c_str();
    uint64_t pid = 0;
    if (!parseNumber(at, at + line.size(), pid) || pid > INT32_MAX) {
      foreign = true;
      return;
    }
    any = true;
    foreign |= !inJob(static_cast<int>(pid));
  });
  return any && !foreign;
}

SourceReport KernelCgroup::probe() {
  SourceReport report;
  report.name = "cgroup";
  std::string v2Path;
  std::string v1Path;
  eachLine(readAll(proc_.open(rootPid_, "cgroup"), 1 << 16), [&](const std::string& line) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) return;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") v2Path = path;
    if (controllers.find(",memory,") != std::string::npos) v1Path = path;
  });
  const Mounts mounts = findMounts();
  // A hybrid machine mounts v2 without the memory controller; then v1 is where memory is counted.
  const bool opened = (!mounts.v2.empty() && !v2Path.empty() && openVersion2(mounts.v2, v2Path)) ||
                      (!mounts.v1Memory.empty() && !v1Path.empty() && openVersion1(mounts.v1Memory, v1Path));
  if (!opened) {
    report.reason = mounts.v2.empty() && mounts.v1Memory.empty() ? "no cgroup file system with a memory controller is mounted"
                                                                 : "the memory files of this process's cgroup cannot be opened";
    return report;
  }
  report.available = true;
  report.capabilities.push_back(version_ == RecordSource::kCgroup2 ? "v2" : "v1");
  own_ = dedicated();
  report.capabilities.push_back(own_ ? "dedicated" : "shared");
  report.capabilities.push_back("current");
  if (peak_) report.capabilities.push_back("peak");
  if (events_) report.capabilities.push_back("oom-kill");
  if (stat_) report.capabilities.push_back("anonymous");
  return report;
}

void KernelCgroup::sample(uint64_t timeNs, RecordSink& out) {
  if (version_ == RecordSource::kNone) return;
  Record record;
  record.timeNs = timeNs;
  record.kind = RecordKind::kCgroup;
  record.source = version_;
  uint64_t value = 0;
  if (readNumber(current_, value)) record.set(0, value);
  if (readNumber(peak_, value)) record.set(1, value);
  char text[8192];
  ssize_t n = events_ ? preadText(events_.get(), text, sizeof text) : -1;
  if (n > 0 && findKeyValue(text, static_cast<size_t>(n), "oom_kill", value)) record.set(2, value);
  n = stat_ ? preadText(stat_.get(), text, sizeof text) : -1;
  if (n > 0) {
    const size_t size = static_cast<size_t>(n);
    const bool v2 = version_ == RecordSource::kCgroup2;
    uint64_t anon = 0;
    uint64_t shmem = 0;
    // v1 calls anonymous memory "rss"; its total_ lines include the groups below, as v2's plain ones do.
    if (findKeyValue(text, size, v2 ? "anon" : "total_rss", anon) && readShmem(text, size, shmem)) {
      record.set(3, anon + shmem);
    }
  }
  if (record.valid != 0) out.push(record);
}

bool KernelCgroup::readShmem(const char* stat, size_t size, uint64_t& out) const {
  return findKeyValue(stat, size, version_ == RecordSource::kCgroup2 ? "shmem" : "total_shmem", out);
}

bool KernelCgroup::ownShmem(uint64_t& out) {
  char text[8192];
  const ssize_t n = own_ && stat_ ? preadText(stat_.get(), text, sizeof text) : -1;
  return n > 0 && readShmem(text, static_cast<size_t>(n), out);
}

}  // namespace

std::unique_ptr<CgroupSource> createCgroupSource(const std::string& procRoot, int rootPid, HostSource* host) {
  return std::unique_ptr<CgroupSource>(new KernelCgroup(procRoot, rootPid, host));
}

}  // namespace stormlog
