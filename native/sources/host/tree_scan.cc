#include "tree_scan.h"

#include <sys/vfs.h>

#include <cstring>

namespace stormlog {
namespace {

constexpr long kProcMagic = 0x9fa0;

}  // namespace

TreeScan::TreeScan(const ProcFs& proc, int rootPid) : proc_(proc), rootPid_(rootPid) {
  rootChildren_ = proc_.openTaskFile(rootPid, rootPid, "children");
  // The root may be gone already; then any living process answers whether the kernel has these files.
  childrenFiles_ = rootChildren_ || (proc_.isReal() && proc_.openTaskFile(getpid(), getpid(), "children"));
  if (!childrenFiles_) pairs_.reset(new Pair[kPairs]);
  loadavg_ = proc_.openTop("loadavg");
  struct statfs fs {};
  // Containers may put their own file system over loadavg, whose last-pid field is seconds old; only the kernel's own
  // file is used.
  if (loadavg_ && (fstatfs(loadavg_.get(), &fs) != 0 || fs.f_type != kProcMagic)) loadavg_.reset();
}

bool TreeScan::nothingBorn() {
  if (!loadavg_) return false;
  char text[128];
  const ssize_t n = preadText(loadavg_.get(), text, sizeof text);
  // "0.00 0.01 0.05 1/123 4567": the last number is the pid given out last in this pid namespace.
  if (n <= 1) return false;
  const char* end = text + n - (text[n - 1] == '\n' ? 1 : 0);
  const char* at = end;
  while (at > text && at[-1] >= '0' && at[-1] <= '9') --at;
  uint64_t last = 0;
  if (!parseNumber(at, end, last) || last == 0) return false;
  const bool same = last == lastBorn_;
  lastBorn_ = last;
  return same;
}

void TreeScan::pass(ProcessTable& table, Visitor& visitor) {
  if (!childrenFiles_) {
    scanParents(table, visitor);
    return;
  }
  scanChildren(rootPid_, rootChildren_, rootTasks_, visitor);
  // New entries are appended while this runs, so grandchildren are reached in the same pass.
  for (size_t i = 0; i < table.size(); ++i) {
    ProcessEntry& entry = table[i];
    if ((!entry.ended || entry.ignored) && entry.pid != rootPid_) scanChildren(entry.pid, entry.children, entry.tasks, visitor);
  }
}

void TreeScan::scanChildren(int pid, UniqueFd& mainThread, UniqueFd& tasks, Visitor& visitor) {
  if (!mainThread) mainThread = proc_.openTaskFile(pid, pid, "children");
  if (mainThread) readChildren(mainThread.get(), pid, visitor);
  // The file of a thread lists only what that thread forked. The link count of the task directory is 2 + the number of
  // threads.
  if (!tasks) tasks = proc_.openDirectory(pid, "task");
  if (tasks && linkCount(tasks.get()) == 3) return;
  PidDirectory threads(proc_.open(pid, "task"));
  if (!threads.valid()) return;
  for (int tid = threads.next(); tid != 0; tid = threads.next()) {
    if (tid == pid && mainThread) continue;
    const UniqueFd fd = proc_.openTaskFile(pid, tid, "children");
    if (fd) readChildren(fd.get(), pid, visitor);
  }
}

void TreeScan::readChildren(int fd, int parent, Visitor& visitor) {
  // The list can be longer than the buffer: read on, with a number cut at the end carried over.
  char text[4096];
  size_t carried = 0;
  off_t offset = 0;
  for (;;) {
    const ssize_t n = pread(fd, text + carried, sizeof text - carried, offset);
    if (n <= 0 && carried == 0) return;
    const size_t filled = carried + static_cast<size_t>(n > 0 ? n : 0);
    offset += n > 0 ? n : 0;
    const char* at = text;
    const char* end = text + filled;
    carried = 0;
    while (at < end) {
      const char* from = at;
      uint64_t pid = 0;
      if (!parseNumber(at, end, pid)) {
        at = from + 1;
        continue;
      }
      if (at == end && n > 0) {
        carried = static_cast<size_t>(end - from);
        memmove(text, from, carried);
        break;
      }
      if (pid > 0 && pid <= INT32_MAX) visitor.found(static_cast<int>(pid), parent);
    }
    if (n <= 0 || carried == sizeof text) return;
  }
}

void TreeScan::scanParents(ProcessTable& table, Visitor& visitor) {
  PidDirectory all(proc_.openTop("."));
  if (!all.valid()) return;
  size_t count = 0;
  char text[1024];
  for (int pid = all.next(); pid != 0 && count < kPairs; pid = all.next()) {
    const ssize_t n = proc_.read(pid, "stat", text, sizeof text);
    Stat stat;
    if (n > 0 && parseStat(text, static_cast<size_t>(n), stat)) pairs_[count++] = Pair{pid, stat.parent};
  }
  // Children usually have higher pids than their parents, so one or two rounds settle it; the number of rounds is
  // bounded by depth.
  bool grew = true;
  while (grew) {
    grew = false;
    for (size_t i = 0; i < count; ++i) {
      const Pair& pair = pairs_[i];
      if (pair.parent != rootPid_ && table.find(pair.parent) == nullptr) continue;
      if (pair.pid == rootPid_ || table.find(pair.pid) != nullptr) continue;
      const size_t before = table.size();
      visitor.found(pair.pid, pair.parent);
      grew |= table.size() != before;
    }
  }
}

}  // namespace stormlog
